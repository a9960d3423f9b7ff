//! A simulated Azure: Resource Manager (scale sets, instances, interfaces, Autoscale, groups), the
//! login host and the metadata service at the wire, over one world.
//!
//! ```text
//! router ── service  route, authenticate, throttle, fault?, dispatch, journal
//!              ├─ protocol     answers, refusals, ids, pages
//!              ├─ login        tokens
//!              ├─ metadata     what the guest of one instance is told
//!              ├─ compute  network  insights  resources      one folder a provider
//!              └─ state        the world: time, events, capacity, subscriptions
//! world  ── the hands on it, for tests; control ── the same as JSON, for people
//! ```
//!
//! The world moves when somebody looks: each request first handles the events due by then.
//! [`AzureSim::run_nodes`] also moves it in the background, since nodes act by themselves.

pub(crate) mod compute;
mod control;
mod demo;
mod insights;
mod login;
mod metadata;
mod network;
pub(crate) mod protocol;
mod resources;
mod saved;
mod service;
pub(crate) mod state;
mod world;

use std::sync::Arc;

use axum::{Router, extract::Request, response::Response};
use tokio::task::JoinHandle;

pub use demo::{
    DEMO_CLIENT_ID, DEMO_CLIENT_SECRET, DEMO_GALLERY, DEMO_GROUP, DEMO_REGION, DEMO_SUBSCRIPTION,
    DEMO_TENANT, DEMO_WORKER_CLIENT_ID, DEMO_WORKER_IDENTITY, DEMO_WORKER_SUBNET,
};
pub use insights::Activity;
pub use state::{Behaviour, Lock, OperationHeaders, Timing};
pub use world::{InstanceInfo, OperationInfo, ScaleSetInfo, SettingInfo, World};

use self::state::{Fabric, State};
use crate::{
    Faults, RestoreError, Sim,
    cloud::Cloud,
    events::EventQueue,
    kubelet::{self, NodeOptions, WorkloadApis},
    sim::{SimBuilder, Simulated, Start},
};

/// A simulated Azure. Clones share the world.
pub type AzureSim = Sim<Azure>;

/// What an [`AzureSim`] is made of.
pub type AzureSimBuilder = SimBuilder<Azure>;

pub(crate) type Inner = Cloud<State>;

/// What Azure adds to a simulated cloud.
#[derive(Debug)]
pub struct Azure;

impl Simulated for Azure {
    const NAME: &'static str = "Azure";
    type Timing = Timing;
    type Behaviour = Behaviour;
    type State = State;

    fn timing(immediate: bool) -> Timing {
        if immediate {
            Timing::immediate()
        } else {
            Timing::realistic()
        }
    }

    fn begin(start: Start<Self>) -> State {
        State::new(fabric(start))
    }

    fn restore(start: Start<Self>, saved: &[u8]) -> Result<State, RestoreError> {
        saved::restore(fabric(start), saved)
    }

    fn save(state: &State) -> Vec<u8> {
        saved::save(state)
    }

    /// The cluster of the Azure document's fixture and of `examples/demo`.
    fn furnish(sim: &AzureSim) {
        demo::furnish(&sim.world());
    }

    async fn serve(cloud: Arc<Inner>, request: Request) -> Response {
        service::serve(cloud, request).await
    }

    fn control(sim: &AzureSim) -> Router {
        control::router(sim)
    }

    fn run(sim: AzureSim, apis: Arc<dyn WorkloadApis>, options: NodeOptions) -> JoinHandle<()> {
        kubelet::run(sim, apis, options)
    }
}

fn fabric(start: Start<Azure>) -> Fabric {
    Fabric {
        now: start.clock.now(),
        clock: start.clock,
        rng: start.random,
        timing: start.timing,
        behaviour: start.behaviour,
        events: EventQueue::default(),
        regions: std::collections::BTreeMap::new(),
        images: state::region::Images::default(),
        faults: Faults::default(),
        nodes: None,
        serial: 0,
    }
}

impl AzureSimBuilder {
    /// How the services behave.
    #[must_use]
    pub fn behaviour(mut self, behaviour: Behaviour) -> Self {
        self.behaviour = behaviour;
        self
    }
}

impl AzureSim {
    /// The hands on the world.
    pub fn world(&self) -> World {
        World::new(Arc::clone(&self.inner))
    }
}
