//! All conditions of a Machine (Cluster API document, 5.6).

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use super::{
    condition::{Finding, MachineCondition as C, MachineReason as R, Status},
    node::NodeView,
    progress::seconds,
    summary,
    view::{ConditionView, condition},
};

/// How long a workload cluster may be silent before a Machine says so (Cluster API document,
/// section 0).
pub const CONNECTION_GRACE: SignedDuration = SignedDuration::from_mins(5);

/// An object the Machine refers to, as far as its condition goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Referenced {
    /// None is named, and none is needed.
    NotNamed,
    /// It exists.
    There {
        /// Its kind, for messages.
        kind: String,
        /// It says that it is done.
        done: bool,
        /// Its own `Ready` condition.
        ready: Option<ConditionView>,
        /// It is being deleted.
        deleting: bool,
    },
    /// It is proven absent.
    Missing {
        /// Its kind and name.
        what: String,
        /// It was there before.
        was_there: bool,
    },
    /// It could not be read: why.
    Unknown(String),
}

/// What is known of the Machine's Node.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeState {
    /// This is it.
    Seen(Box<NodeView>),
    /// It is proven absent.
    Absent,
    /// Several Nodes claim the provider ID: their names.
    Several(Vec<String>),
    /// The workload cluster has not answered since.
    Down {
        /// Since when.
        since: Timestamp,
    },
    /// It could not be looked at: why.
    Unreadable(String),
}

/// One entry of `spec.readinessGates`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReadinessGate {
    /// Type of the condition.
    pub condition_type: String,
    /// `Negative`: False is good.
    pub polarity: Option<String>,
}

/// Whether the Machine is as a new one would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpToDate {
    /// Somebody else says so, or nobody does.
    NotOurs,
    /// What the infrastructure object of a pool Machine says; `None`: nobody knows yet.
    Pool(Option<bool>),
}

/// What the conditions look at.
#[derive(Debug, Clone)]
pub struct ConditionFacts<'a> {
    /// How far the deletion is; `None`: the Machine is not being deleted.
    pub deleting: Option<Finding>,
    /// When it began.
    pub deleted_at: Option<Timestamp>,
    /// When the drain began.
    pub drain_since: Option<Timestamp>,
    /// The bootstrap config.
    pub bootstrap: Referenced,
    /// The infrastructure object.
    pub infrastructure: Referenced,
    /// The Node.
    pub node: NodeState,
    /// `status.nodeRef.name`.
    pub node_name: Option<&'a str>,
    /// `spec.providerID`.
    pub provider_id: Option<&'a str>,
    /// Whether it is as a new one would be.
    pub up_to_date: UpToDate,
    /// Conditions as they are stored.
    pub live: &'a [ConditionView],
    /// `spec.readinessGates`.
    pub gates: &'a [ReadinessGate],
    /// `spec.minReadySeconds`.
    pub min_ready_seconds: i64,
    /// The time.
    pub now: Timestamp,
}

/// The conditions, and when one of them may change by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conditions {
    /// One of each type.
    pub findings: Vec<Finding>,
    /// How long until one changes without any event.
    pub recheck: Option<SignedDuration>,
}

/// All conditions.
pub fn conditions(facts: &ConditionFacts<'_>) -> Conditions {
    let mut findings = vec![
        bootstrap(&facts.bootstrap),
        infrastructure(&facts.infrastructure),
    ];
    let (node, mut recheck) = node(facts);
    findings.extend(node);
    let deleting = facts.deleting.clone();
    findings.push(deleting.unwrap_or_else(|| Finding::no(C::Deleting, R::NotDeleting, "")));
    findings.push(Finding::no(C::Updating, R::NotUpdating, ""));
    findings.extend(up_to_date(facts));
    let ready = summary::ready(facts, &findings);
    let (available, due) = available(facts, &ready);
    findings.push(ready);
    findings.push(available);
    findings.push(Finding::no(C::Paused, R::NotPaused, ""));
    recheck = [recheck, due].into_iter().flatten().min();
    Conditions { findings, recheck }
}

fn bootstrap(referenced: &Referenced) -> Finding {
    match referenced {
        Referenced::NotNamed => Finding::yes(C::BootstrapConfigReady, R::DataSecretProvided, ""),
        other => mirror(C::BootstrapConfigReady, other),
    }
}

fn infrastructure(referenced: &Referenced) -> Finding {
    mirror(C::InfrastructureReady, referenced)
}

fn mirror(kind: C, referenced: &Referenced) -> Finding {
    match referenced {
        Referenced::NotNamed => Finding::no(kind, R::ObjectDoesNotExist, "no object is named"),
        Referenced::There {
            ready: Some(ready), ..
        } => {
            let status = Status::read(&ready.status);
            let mut finding = Finding::new(kind, status, R::Ready, ready.message.clone());
            finding.reason = match (ready.reason.as_str(), status) {
                ("", Status::True) => format!("{:?}", R::Ready),
                ("", _) => format!("{:?}", R::NotReady),
                (reason, _) => reason.to_owned(),
            };
            finding
        }
        Referenced::There { done: true, .. } => Finding::yes(kind, R::Ready, ""),
        Referenced::There { kind: of, .. } => {
            Finding::no(kind, R::NotReady, format!("{of} is not provisioned yet"))
        }
        Referenced::Missing {
            what,
            was_there: true,
        } => Finding::no(kind, R::ObjectDeleted, format!("{what} has been deleted")),
        Referenced::Missing { what, .. } => Finding::no(
            kind,
            R::ObjectDoesNotExist,
            format!("{what} does not exist"),
        ),
        Referenced::Unknown(why) => Finding::unknown(kind, R::InternalError, why.clone()),
    }
}

/// `NodeReady` and `NodeHealthy`.
fn node(facts: &ConditionFacts<'_>) -> (Vec<Finding>, Option<SignedDuration>) {
    let both = |status: Status, reason: R, message: &str| {
        [C::NodeReady, C::NodeHealthy].map(|kind| Finding::new(kind, status, reason, message))
    };
    let found = match &facts.node {
        NodeState::Seen(node) => [node_ready(node), node_healthy(node)],
        NodeState::Several(names) => {
            let id = facts.provider_id.unwrap_or_default();
            let message = format!("Several Nodes claim {id}: {}", names.join(", "));
            both(Status::Unknown, R::InspectionFailed, &message)
        }
        NodeState::Unreadable(why) => {
            let kept = kept(facts.live);
            return (
                kept.unwrap_or_else(|| both(Status::Unknown, R::InspectionFailed, why).to_vec()),
                None,
            );
        }
        NodeState::Down { since } => return down(facts, *since),
        NodeState::Absent => absent(facts, both),
    };
    (found.to_vec(), None)
}

fn absent(
    facts: &ConditionFacts<'_>,
    both: impl Fn(Status, R, &str) -> [Finding; 2],
) -> [Finding; 2] {
    if let Some(name) = facts.node_name {
        let still = match facts.deleted_at {
            Some(_) => "",
            None => " while the Machine still exists",
        };
        let message = format!("Node {name} has been deleted{still}");
        return both(Status::False, R::NodeDeleted, &message);
    }
    let message = match facts.provider_id {
        Some(id) => format!("Waiting for a Node with spec.providerID {id} to exist"),
        None => "Waiting for the infrastructure object to report spec.providerID".to_owned(),
    };
    both(Status::Unknown, R::NodeDoesNotExist, &message)
}

/// The last known values stay until the grace period has passed.
fn down(facts: &ConditionFacts<'_>, since: Timestamp) -> (Vec<Finding>, Option<SignedDuration>) {
    let left = CONNECTION_GRACE - facts.now.duration_since(since);
    if left > SignedDuration::ZERO
        && let Some(kept) = kept(facts.live)
    {
        return (kept, Some(left));
    }
    let since = seconds(since);
    let message = format!("The workload cluster has not answered since {since}");
    let found = [C::NodeReady, C::NodeHealthy]
        .map(|kind| Finding::unknown(kind, R::ConnectionDown, message.clone()));
    (found.to_vec(), None)
}

/// Both conditions as they are stored, when they are.
fn kept(live: &[ConditionView]) -> Option<Vec<Finding>> {
    [C::NodeReady, C::NodeHealthy]
        .into_iter()
        .map(|kind| {
            let stored = condition(live, &kind.as_str())?;
            Some(Finding {
                kind,
                status: Status::read(&stored.status),
                reason: stored.reason.clone(),
                message: stored.message.clone(),
            })
        })
        .collect()
}

fn node_ready(node: &NodeView) -> Finding {
    let ready = node.conditions.get("Ready");
    let said = ready.map_or("", |ready| ready.message.as_str());
    match node.status_of("Ready") {
        // What a healthy kubelet says is of no use to anyone.
        Status::True => Finding::yes(C::NodeReady, R::NodeReady, ""),
        Status::False => Finding::no(
            C::NodeReady,
            R::NodeNotReady,
            format!("* Node.Ready: {said}"),
        ),
        Status::Unknown if ready.is_none() => Finding::unknown(
            C::NodeReady,
            R::NodeReadyUnknown,
            "* Node.Ready: Condition not yet reported",
        ),
        Status::Unknown => Finding::unknown(
            C::NodeReady,
            R::NodeReadyUnknown,
            format!("* Node.Ready: {said}"),
        ),
    }
}

fn node_healthy(node: &NodeView) -> Finding {
    let (mut bad, mut unknown) = (Vec::new(), Vec::new());
    for kind in ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"] {
        let good = if kind == "Ready" {
            Status::True
        } else {
            Status::False
        };
        let seen = node.conditions.get(kind);
        let said = seen.map_or("Condition not yet reported", |seen| seen.message.as_str());
        match node.status_of(kind) {
            status if status == good => {}
            Status::Unknown => unknown.push(format!("* Node.{kind}: {said}")),
            status => bad.push(format!(
                "* Node.{kind}: {kind} is {}: {said}",
                status.as_str()
            )),
        }
    }
    if !bad.is_empty() {
        bad.extend(unknown);
        return Finding::no(C::NodeHealthy, R::NodeNotHealthy, bad.join("\n"));
    }
    if !unknown.is_empty() {
        return Finding::unknown(C::NodeHealthy, R::NodeHealthyUnknown, unknown.join("\n"));
    }
    Finding::yes(C::NodeHealthy, R::NodeHealthy, "")
}

fn up_to_date(facts: &ConditionFacts<'_>) -> Option<Finding> {
    let UpToDate::Pool(verdict) = facts.up_to_date else {
        return None;
    };
    Some(match verdict {
        _ if facts.deleted_at.is_some() => {
            Finding::no(C::UpToDate, R::NotUpToDate, "The Machine is being deleted")
        }
        Some(true) => Finding::yes(C::UpToDate, R::UpToDate, ""),
        Some(false) => Finding::no(
            C::UpToDate,
            R::NotUpToDate,
            "The instance is made from an older model of the pool",
        ),
        None => Finding::unknown(
            C::UpToDate,
            R::UpToDateUnknown,
            "The infrastructure object does not say it yet",
        ),
    })
}

/// `Available`, and how long until it holds by itself.
fn available(facts: &ConditionFacts<'_>, ready: &Finding) -> (Finding, Option<SignedDuration>) {
    if ready.status != Status::True {
        return (Finding::no(C::Available, R::NotReady, ""), None);
    }
    let stored = condition(facts.live, &C::Ready.as_str());
    let since = stored
        .filter(|stored| stored.status == "True")
        .and_then(|stored| stored.last_transition_time)
        // One from the future is a clock that jumped.
        .filter(|since| *since <= facts.now)
        .unwrap_or(facts.now);
    let wait = SignedDuration::from_secs(facts.min_ready_seconds.max(0));
    let left = wait - facts.now.duration_since(seconds(since));
    if left > SignedDuration::ZERO {
        let reason = R::WaitingForMinReadySeconds;
        return (Finding::no(C::Available, reason, ""), Some(left));
    }
    (Finding::yes(C::Available, R::Available, ""), None)
}
