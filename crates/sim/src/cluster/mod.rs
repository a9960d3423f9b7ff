//! The rest of a simulated workload cluster: what Kubernetes' controllers and its scheduler do
//! there, as far as somebody who watches a drain would miss it.
//!
//! ```text
//! run ── client    requests, and lists that stay up to date
//!     ├─ state     what is known, with what was just done already in it ── node
//!     └─ decide    pure: state in, requests out
//!         ├─ workloads   Deployments, ReplicaSets
//!         ├─ daemons     DaemonSets
//!         ├─ schedule    which node an unbound pod goes to
//!         ├─ nodes       taints of nodes in trouble, pods of nodes that are gone
//!         └─ volumes     attachments that no pod needs any more
//! ```
//!
//! Level-triggered: after every change everything is looked at again, but for the taints of nodes
//! that did not change and whose requests were answered well. The status of disruption
//! budgets is kept by the API server that Remuda embeds. Not here: resource requests, affinity,
//! spread constraints, surge of a rollout (a new template replaces all pods at once), Jobs,
//! StatefulSets, provisioning and attaching of volumes.

pub(crate) mod client;
mod daemons;
mod node;
mod nodes;
mod schedule;
mod state;
mod volumes;
mod workloads;

use std::time::Duration;

use axum::Router;
use http::Method;
use serde_json::Value;
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep_until, timeout_at},
};

use self::{
    client::{Seen, send},
    state::{Kind, Memory, State},
};

const AGENT: &str = "kube-controller-manager (simulated)";
/// Changes that come this close together are looked at once. Ours.
const SETTLE: Duration = Duration::from_millis(100);
/// Pause before what failed is tried again. Ours.
const AGAIN: Duration = Duration::from_secs(5);

/// One request that the cluster's controllers want sent.
#[derive(Debug, Clone, PartialEq)]
struct Action {
    kind: Kind,
    method: Method,
    path: String,
    body: Value,
}

impl Action {
    fn create(kind: Kind, namespace: &str, body: Value) -> Self {
        Self {
            kind,
            method: Method::POST,
            path: kind.path_in(namespace),
            body,
        }
    }

    fn patch(kind: Kind, object: &Value, subresource: &str, body: Value) -> Self {
        Self {
            kind,
            method: Method::PATCH,
            path: format!("{}{subresource}", kind.path_of(object)),
            body,
        }
    }

    fn delete(kind: Kind, object: &Value, body: Value) -> Self {
        Self {
            kind,
            method: Method::DELETE,
            path: kind.path_of(object),
            body,
        }
    }
}

/// What there is to do, and how long until something may be due without another change.
#[derive(Debug, Default)]
struct Decision {
    actions: Vec<Action>,
    look_again: Option<Duration>,
}

impl Decision {
    fn due_in(&mut self, wait: Duration) {
        let sooner = self.look_again.map_or(wait, |other| other.min(wait));
        self.look_again = Some(sooner);
    }
}

/// Plays the rest of the workload cluster behind `api` for as long as it is polled. The router must
/// have every right.
pub async fn run(api: Router) {
    let (sender, mut news) = mpsc::unbounded_channel::<(Kind, Seen)>();
    let mut feeds = JoinSet::new();
    for kind in Kind::ALL {
        let sender = sender.clone();
        feeds.spawn(client::follow(api.clone(), kind.path(), move |seen| {
            let _ = sender.send((kind, seen));
        }));
    }
    let start = Instant::now();
    let (mut state, mut memory) = (State::default(), Memory::default());
    let mut due: Option<Instant> = None;
    loop {
        let far = Instant::now() + Duration::from_hours(24);
        match timeout_at(due.unwrap_or(far), news.recv()).await {
            Ok(Some((kind, seen))) => state.take(kind, seen),
            Ok(None) => return,
            Err(_) if due.is_none() => continue,
            Err(_) => {}
        }
        sleep_until(Instant::now() + SETTLE).await;
        while let Ok((kind, seen)) = news.try_recv() {
            state.take(kind, seen);
        }
        if !state.is_complete() {
            continue;
        }
        let decision = decide(&mut state, &mut memory, start.elapsed());
        due = decision.look_again.map(|wait| Instant::now() + wait);
        if !carry_out(&api, &mut state, decision.actions).await {
            state.look_at_all();
            due = Some(due.map_or(Instant::now() + AGAIN, |due| {
                due.min(Instant::now() + AGAIN)
            }));
        }
    }
}

/// Everything there is to do now. `memory` holds since when what was seen has been so; `now` is the
/// time since the cluster's start.
fn decide(state: &mut State, memory: &mut Memory, now: Duration) -> Decision {
    let mut decision = Decision::default();
    nodes::decide(state, memory, now, &mut decision);
    workloads::decide(state, &mut decision.actions);
    daemons::decide(state, &mut decision.actions);
    schedule::decide(state, &mut decision.actions);
    volumes::decide(state, &mut decision.actions);
    decision
}

/// Sends requests one by one; what they answer is known at once. Whether all were answered well, or
/// in a way that another change will tell of.
async fn carry_out(api: &Router, state: &mut State, actions: Vec<Action>) -> bool {
    let mut good = true;
    for action in actions {
        let call = (action.method.clone(), action.path.as_str());
        let reply = send(api, AGENT, call, Some(&action.body)).await;
        if reply.is_success() {
            state.note(action.kind, reply.body());
        } else if !matches!(reply.status.as_u16(), 404 | 409) {
            good = false;
            tracing::debug!(
                path = action.path,
                why = reply.why(),
                "a simulated cluster's request"
            );
        }
    }
    good
}
