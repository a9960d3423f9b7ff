//! What the gate found on its way, as data. `fold` turns it into conditions; nothing else does.

use jiff::Timestamp;

use super::objects::DriftAction;
use crate::{error::Refusal, limits, status::wire::Operation};

/// What the gate found, as far as it came. `None`: not evaluated, the condition stays as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Findings {
    /// The pool or its cluster is paused.
    pub paused: bool,
    /// The pool is being deleted.
    pub deleting: bool,
    /// Its deletion policy cannot be known.
    pub policy_unresolved: bool,
    /// Dependency gates: open or the first closed one.
    pub dependencies: Option<Result<(), Wait>>,
    /// The identity.
    pub identity: Option<IdentityFinding>,
    /// The record.
    pub state: Option<StateFinding>,
    /// Autoscaling annotations and the claim.
    pub autoscaling: Option<AutoscalingFinding>,
    /// Why no apply or destroy can start although it may be due.
    pub hold: Option<Hold>,
    /// Hash of the current inputs.
    pub inputs_hash: Option<String>,
    /// An apply is due.
    pub apply_due: Option<ApplyReason>,
    /// A drift check is due but the inputs to compare with are not there.
    pub drift_waits: bool,
    /// Size of the rendered inputs.
    pub inputs_bytes: Option<usize>,
    /// Policies after inheritance.
    pub policies: Policies,
}

impl Findings {
    /// Why nothing can be done, one line each, in the order the gate looks. Empty when nothing is
    /// in the way.
    pub fn problems(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(Err(wait)) = &self.dependencies {
            let (Wait::Owner(why)
            | Wait::OwnerMachinePool(why)
            | Wait::OwnerNotFound(why)
            | Wait::OwnerMismatch(why)
            | Wait::ClusterNotTerraform(why)
            | Wait::ClusterInfrastructure(why)
            | Wait::ClusterExports(why)
            | Wait::BootstrapData(why)
            | Wait::VariablesSource(why)
            | Wait::Variables(why)
            | Wait::Unreadable(why)) = wait;
            lines.push(why.clone());
        }
        match &self.identity {
            None | Some(IdentityFinding::Allowed | IdentityFinding::LocalSecret) => {}
            Some(
                IdentityFinding::NotFound(why)
                | IdentityFinding::NamespaceNotAllowed(why)
                | IdentityFinding::SecretNotFound(why)
                | IdentityFinding::CredentialsIncomplete(why)
                | IdentityFinding::CheckFailed(why),
            ) => lines.push(why.clone()),
        }
        match &self.state {
            Some(
                StateFinding::Corrupt(why)
                | StateFinding::Unreadable(why)
                | StateFinding::Retained(why),
            ) => lines.push(why.clone()),
            None
            | Some(
                StateFinding::NotFound
                | StateFinding::Read(_)
                | StateFinding::Lost
                | StateFinding::Adopting(_),
            ) => {}
            Some(StateFinding::LostForGood) => lines.push(
                "the record is lost, and nothing says where to look for the pool's group".into(),
            ),
        }
        match &self.hold {
            Some(Hold::Refused(refusals)) => lines.extend(refusals.iter().map(Refusal::to_string)),
            Some(Hold::Image(refusal)) => lines.push(refusal.to_string()),
            Some(Hold::Credentials(why)) => lines.push(why.clone()),
            Some(Hold::JobPolicy(why) | Hold::ClusterOperation(why) | Hold::Unreadable(why)) => {
                lines.push(why.clone());
            }
            Some(Hold::InputsTooLarge { bytes }) => {
                lines.push(format!(
                    "the rendered inputs have {bytes} bytes, more than 1,000,000"
                ));
            }
            Some(Hold::Identity(_) | Hold::DeadlineExceeded(_)) => {}
            Some(Hold::Backoff { until } | Hold::LookAgain { until }) => {
                lines.push(format!("waits until {until}"));
            }
            None => {}
        }
        if self.policy_unresolved {
            lines.push(
                "deletionPolicy is not set and the TerraformCluster it comes from cannot be found"
                    .into(),
            );
        }
        lines
    }
}

/// A closed dependency gate (captf document 2.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wait {
    /// DEP-1, or the cluster-name label is missing.
    Owner(String),
    /// DEP-2.
    OwnerMachinePool(String),
    /// DEP-3.
    OwnerNotFound(String),
    /// DEP-4.
    OwnerMismatch(String),
    /// DEP-5.
    ClusterNotTerraform(String),
    /// DEP-6.
    ClusterInfrastructure(String),
    /// DEP-7.
    ClusterExports(String),
    /// DEP-8.
    BootstrapData(String),
    /// DEP-9.
    VariablesSource(String),
    /// DEP-10.
    Variables(String),
    /// A read failed: neither open nor closed.
    Unreadable(String),
}

/// The identity (captf document 4.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdentityFinding {
    /// May be used.
    Allowed,
    /// A Secret of the pool's own namespace.
    LocalSecret,
    /// None named, or it does not exist.
    NotFound(String),
    /// Not from this namespace.
    NamespaceNotAllowed(String),
    /// Its Secret is missing.
    SecretNotFound(String),
    /// Keys are missing.
    CredentialsIncomplete(String),
    /// A read failed.
    CheckFailed(String),
}

impl IdentityFinding {
    /// An operation may start.
    pub fn usable(&self) -> bool {
        matches!(self, Self::Allowed | Self::LocalSecret)
    }
}

/// The record (captf document 6.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateFinding {
    /// None yet.
    NotFound,
    /// Read, at this revision.
    Read(i64),
    /// It does not parse.
    Corrupt(String),
    /// The read failed.
    Unreadable(String),
    /// There is none although the pool applied before: it is lost, or captf made the pool. The
    /// cloud is asked for the group that carries the pool's tags.
    Lost,
    /// The same, and nothing says where to look for the group.
    LostForGood,
    /// A deleted pool of this name left state behind.
    Retained(String),
    /// That state is being taken over.
    Adopting(String),
}

/// Autoscaling (captf document 2.5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AutoscalingFinding {
    /// Off.
    Disabled,
    /// The annotations are incomplete or wrong: off.
    AnnotationsInvalid(String),
    /// On, ours.
    Managed,
    /// On, but someone else holds the claim.
    ManagedExternally(String),
}

/// Why no apply or destroy can start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// The image names no driver.
    Image(Refusal),
    /// The merged job policy is contradictory.
    JobPolicy(String),
    /// Rendered inputs exceed the limit.
    InputsTooLarge {
        /// Their size.
        bytes: usize,
    },
    /// The driver refuses the inputs; all refusals, sorted.
    Refused(Vec<Refusal>),
    /// Waiting after a failure.
    Backoff {
        /// Not before.
        until: Timestamp,
    },
    /// The running operation asked for another look later.
    LookAgain {
        /// Not before.
        until: Timestamp,
    },
    /// The running operation is past its deadline.
    DeadlineExceeded(Operation),
    /// The cluster applies or destroys.
    ClusterOperation(String),
    /// The identity may not be used: deletion waits.
    Identity(IdentityFinding),
    /// The credential Secret holds no usable set of keys.
    Credentials(String),
    /// A read that the decision needs failed.
    Unreadable(String),
}

/// Why an apply is due (captf document 2.15).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApplyReason {
    /// No record, or no hash in it.
    NoState,
    /// The record was lost and can be rebuilt.
    Recovery,
    /// The hash differs.
    InputsChanged,
    /// The last one failed.
    Retry,
    /// Drift was found and is to be remedied.
    DriftRemediation,
}

impl ApplyReason {
    /// For people: why the operation runs.
    pub fn because(self) -> &'static str {
        match self {
            Self::NoState => "nothing was applied yet",
            Self::Recovery => "the record is lost and is rebuilt from the cloud",
            Self::InputsChanged => "the inputs changed",
            Self::Retry => "the last apply did not finish",
            Self::DriftRemediation => "drift is remedied",
        }
    }
}

/// Operational policies after inheritance (captf document 1.9).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policies {
    /// Seconds between two membership refreshes.
    pub membership_seconds: u32,
    /// Seconds between two drift checks.
    pub drift_seconds: u32,
    /// What follows a drift finding.
    pub drift_action: DriftAction,
    /// Overall deadline of an operation.
    pub deadline_seconds: u32,
    /// Failed tries before the longest wait.
    pub failed_limit: u32,
}

impl Default for Policies {
    fn default() -> Self {
        Self {
            membership_seconds: limits::MEMBERSHIP_INTERVAL_SECONDS,
            drift_seconds: limits::DRIFT_INTERVAL_SECONDS,
            drift_action: DriftAction::Report,
            deadline_seconds: limits::OPERATION_DEADLINE_SECONDS,
            failed_limit: limits::FAILED_HISTORY_LIMIT,
        }
    }
}
