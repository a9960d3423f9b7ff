//! Whether one Machine is healthy.

use jiff::{SignedDuration, Timestamp};

use super::Reason;
use crate::machines::view::{CONTROL_PLANE, ConditionView, MachineView, condition};

/// How long a Machine may take until its Node appears, where a check does not say (1.5).
pub const NODE_STARTUP_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);

/// What counts as unhealthy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checks {
    /// How long a Machine may take until its Node appears; zero: for ever.
    pub node_startup_timeout: SignedDuration,
    /// Conditions of the Machine.
    pub machine: Vec<Bad>,
    /// Conditions of its Node.
    pub node: Vec<Bad>,
}

/// A condition that is bad when it keeps a status for too long.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bad {
    /// Which condition.
    pub kind: String,
    /// Which status.
    pub status: String,
    /// For how long.
    pub timeout: SignedDuration,
}

/// What the Cluster says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterFacts {
    /// Since when condition `ControlPlaneInitialized` holds.
    pub control_plane_initialized: Option<Timestamp>,
    /// Since when condition `InfrastructureReady` holds.
    pub infrastructure_ready: Option<Timestamp>,
}

/// A Machine under a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The Machine.
    pub machine: MachineView,
    /// Its Node.
    pub node: NodeState,
}

/// What is known of a Machine's Node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeState {
    /// The Machine has none yet.
    NotYet,
    /// It had one that does not exist any more.
    Gone,
    /// The workload cluster cannot be asked.
    Unknown,
    /// Its conditions.
    There(Vec<ConditionView>),
}

/// How a Machine is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// Nothing speaks against it.
    Healthy,
    /// Nobody can tell yet; time alone decides at the latest then.
    Pending(Option<Timestamp>),
    /// It is not.
    Unhealthy(Reason, String),
}

/// Judges one Machine.
pub fn judge(target: &Target, checks: &Checks, cluster: &ClusterFacts, now: Timestamp) -> Health {
    let machine = &target.machine;
    if machine.asks_for_remediation() {
        let message = "the annotation cluster.x-k8s.io/remediate-machine is there".to_owned();
        return Health::Unhealthy(Reason::HasRemediateAnnotation, message);
    }
    let controls = machine.label(CONTROL_PLANE).is_some();
    let initialized = controls || cluster.control_plane_initialized.is_some();
    if !initialized || cluster.infrastructure_ready.is_none() {
        return Health::Pending(None);
    }
    let mut findings = Findings::default();
    findings.conditions(
        "Machine",
        &machine.status.conditions,
        &checks.machine,
        now,
        Reason::UnhealthyMachine,
    );
    match &target.node {
        NodeState::There(conditions) => {
            findings.conditions("Node", conditions, &checks.node, now, Reason::UnhealthyNode);
        }
        NodeState::Gone => findings.bad(
            Reason::NodeDeleted,
            "its Node does not exist any more".to_owned(),
        ),
        NodeState::NotYet => findings.startup(machine, checks, cluster, now),
        NodeState::Unknown => {}
    }
    let settled = matches!(target.node, NodeState::There(_)) && !machine.is_deleting();
    findings.verdict(settled)
}

/// What is found while one Machine is judged.
#[derive(Default)]
struct Findings {
    /// The first reason; what concerns the Machine comes before what concerns its Node.
    reason: Option<Reason>,
    messages: Vec<String>,
    due: Option<Timestamp>,
}

impl Findings {
    fn bad(&mut self, reason: Reason, message: String) {
        self.reason.get_or_insert(reason);
        self.messages.push(message);
    }

    fn wait(&mut self, due: Timestamp) {
        self.due = Some(self.due.map_or(due, |soonest| soonest.min(due)));
    }

    fn conditions(
        &mut self,
        whose: &str,
        conditions: &[ConditionView],
        bad: &[Bad],
        now: Timestamp,
        reason: Reason,
    ) {
        for bad in bad {
            let Some(found) = condition(conditions, &bad.kind).filter(|c| c.status == bad.status)
            else {
                continue;
            };
            let since = found.last_transition_time.unwrap_or(now);
            let due = since.saturating_add(bad.timeout).unwrap_or(Timestamp::MAX);
            if due > now {
                self.wait(due);
                continue;
            }
            let (kind, status, timeout) = (&bad.kind, &bad.status, bad.timeout);
            self.bad(
                reason,
                format!(
                    "condition {kind} of its {whose} has been {status} for more than {timeout:#}"
                ),
            );
        }
    }

    /// The clock starts when the last thing that a Node needs was there.
    fn startup(
        &mut self,
        machine: &MachineView,
        checks: &Checks,
        cluster: &ClusterFacts,
        now: Timestamp,
    ) {
        let timeout = checks.node_startup_timeout;
        if timeout.is_zero() {
            return;
        }
        let infrastructure = machine
            .condition("InfrastructureReady")
            .filter(|condition| condition.holds() == Some(true))
            .and_then(|condition| condition.last_transition_time);
        let since = [
            machine.metadata.creation_timestamp,
            cluster.control_plane_initialized,
            cluster.infrastructure_ready,
            infrastructure,
        ];
        let since = since.into_iter().flatten().max().unwrap_or(now);
        let due = since.saturating_add(timeout).unwrap_or(Timestamp::MAX);
        if due > now {
            self.wait(due);
        } else {
            self.bad(
                Reason::NodeStartupTimeout,
                format!("its Node has not come within {timeout:#}"),
            );
        }
    }

    fn verdict(self, settled: bool) -> Health {
        match (self.reason, self.due) {
            (Some(reason), _) => Health::Unhealthy(reason, self.messages.join("; ")),
            (None, None) if settled => Health::Healthy,
            (None, due) => Health::Pending(due),
        }
    }
}
