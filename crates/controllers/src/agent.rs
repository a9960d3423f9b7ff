//! The node agent: tells the management side that the cloud is about to end this machine, and the
//! cloud that the drain is over. What it does next is decided in `remuda_plan::machines::agent`.
//!
//! It runs on the Node itself and writes nothing but that Node's annotations. It drains nothing.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::api::core::v1::Node;
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use remuda_api::keys::annotation;
use remuda_cloud::GuestService;
use remuda_plan::machines::agent::{self, Step};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// The longest wait after looks that failed. Ours: a Spot instance is told 30 seconds ahead.
const PATIENCE: Duration = Duration::from_secs(8);

/// Why a look came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The metadata service.
    #[error("the metadata service: {0}")]
    Cloud(#[from] remuda_cloud::CloudError),
    /// The Kubernetes API.
    #[error("the Kubernetes API: {0}")]
    Kubernetes(#[from] kube::Error),
}

/// The agent on one machine.
pub struct Agent<'a> {
    /// The machine's metadata service.
    pub guest: &'a dyn GuestService,
    /// The workload cluster's Nodes.
    pub nodes: Api<Node>,
    /// This machine's Node.
    pub node: &'a str,
}

impl Agent<'_> {
    /// Looks every `pause` until the process ends. What fails is tried again, for ever: an agent
    /// that gives up lets the machine die undrained.
    ///
    /// # Cancellation
    /// Everything it does may be repeated.
    pub async fn run(&self, pause: Duration, shutdown: &CancellationToken) {
        let mut machine = None;
        let mut wait = pause;
        loop {
            match self.look(&mut machine).await {
                Ok(_) => wait = pause,
                Err(error) => {
                    tracing::warn!(node = self.node, %error, "the agent looks again");
                    wait = (wait * 2).min(PATIENCE.max(pause));
                }
            }
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// One look, and what follows from it. `machine` is the machine's name, once it is known.
    ///
    /// # Errors
    /// What could not be asked or written; nothing is concluded from that.
    pub async fn look(&self, machine: &mut Option<String>) -> Result<Step, AgentError> {
        let machine = match machine {
            Some(machine) => machine,
            None => machine.insert(self.guest.machine().await?),
        };
        let events = self.guest.events().await?;
        let node = self.nodes.get_opt(self.node).await?;
        let annotations: Option<BTreeMap<String, String>> =
            node.map(|node| node.metadata.annotations.unwrap_or_default());
        let step = agent::step(&events, machine, annotations.as_ref());
        self.carry_out(&step).await?;
        Ok(step)
    }

    async fn carry_out(&self, step: &Step) -> Result<(), AgentError> {
        match step {
            Step::Rest | Step::Wait => Ok(()),
            Step::Tell(told) => {
                tracing::info!(node = self.node, event = %told.event, "the cloud ends this machine");
                self.annotate(json!({ (annotation::NODE_TERMINATING): told.text() }))
                    .await
            }
            Step::Withdraw => {
                tracing::info!(node = self.node, "the cloud changed its mind");
                self.annotate(json!({
                    (annotation::NODE_TERMINATING): Value::Null,
                    (annotation::NODE_DRAINED): Value::Null,
                }))
                .await
            }
            Step::Acknowledge(event) => {
                tracing::info!(node = self.node, event, "drained: the machine may go");
                Ok(self.guest.acknowledge(event).await?)
            }
        }
    }

    async fn annotate(&self, annotations: Value) -> Result<(), AgentError> {
        let patch = json!({ "metadata": { "annotations": annotations } });
        self.nodes
            .patch(self.node, &PatchParams::default(), &Patch::Merge(&patch))
            .await?;
        Ok(())
    }
}
