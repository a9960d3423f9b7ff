//! `gate`: paused? mine? finalizer stored? waiting for whom? And if nothing stands in the way:
//! which operation is due, with everything a driver needs for it.
//!
//! In: a [`World`] and the time. Out: [`Findings`] for the conditions and [`Next`]. Makes no call
//! and reads nothing else, so `remuda plan` gets the controller's own answer.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{
    inputs::{Inputs, UserVariables},
    objects::{DriftAction, OwnerReference, PoolObject},
    record::Record,
    world::{CredentialSecret, World},
};
use crate::{
    driver::{Depth, Driver, Freshness, Observed, PoolContext},
    error::Refusal,
    limits,
    status::{pass::Unrecoverable, wire::Operation},
};

/// What the gate says.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// What was found on the way, for the conditions.
    pub findings: Findings,
    /// What happens now.
    pub next: Next,
}

/// What happens now.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Not ours: nothing is written at all.
    Ignore,
    /// The finalizer must be stored first; this pass ends.
    AddFinalizer,
    /// The block-move annotation must be stored before the operation; this pass ends.
    Prepare(Operation),
    /// The finalizer goes; the pool is done.
    Release(Release),
    /// Nothing starts now: something is awaited, refused or not due yet.
    Rest,
    /// Carry out this operation.
    Go(Box<Goal>),
}

/// Why the finalizer goes without (further) cloud calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// Nothing was ever applied.
    NeverApplied,
    /// `deletionPolicy: Retain`.
    Retained,
    /// `captf.io/abandon-infrastructure` names this pool's UID.
    Abandoned,
    /// The pool is managed by someone else.
    ExternallyManaged,
    /// The pool held at another pool's retained state, which stays.
    HeldAtRetainedState,
}

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
    /// Size of the rendered inputs.
    pub inputs_bytes: Option<usize>,
    /// Policies after inheritance.
    pub policies: Policies,
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
    /// It is gone although the pool applied before; being rebuilt from the cloud if possible.
    Lost,
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
    /// The cluster applies or destroys.
    ClusterOperation(String),
    /// The identity may not be used: deletion waits.
    Identity,
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
    /// The last one has more to do.
    Unfinished,
    /// Drift was found and is to be remedied.
    DriftRemediation,
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

/// One operation with everything a driver needs. `Goal::context` borrows from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// What to do.
    pub operation: Operation,
    /// Why, in one line: `inputs changed`.
    pub because: String,
    /// Whom to ask.
    pub driver: Driver,
    /// Current inputs; `None`: act on the record alone (deletion, or a gate is closed).
    pub inputs: Option<Inputs>,
    /// Merged user variables.
    pub variables: UserVariables,
    /// Variables whose winning value came from a Secret.
    pub sensitive: BTreeSet<String>,
    /// Hash of the inputs.
    pub inputs_hash: Option<String>,
    /// Credentials to use.
    pub credentials: CredentialSecret,
    /// How the credentials were named, `TerraformClusterIdentity/aws`.
    pub identity: String,
    /// How much to observe.
    pub depth: Depth,
    /// How old the answer may be.
    pub freshness: Freshness,
    /// The operation's name: `captf-mp-demo-pool-0-apply-a3`.
    pub job: String,
    /// Counts from 1.
    pub attempt: i64,
    /// Overall deadline.
    pub deadline_seconds: u32,
    /// Call [`confirm_recovery`] after observing: the record is lost.
    pub recovering: bool,
    /// Time of the pass.
    pub now: Timestamp,
    /// Namespace of the pool.
    pub namespace: String,
    /// Name of the pool.
    pub pool_name: String,
    /// Name of the owning MachinePool.
    pub machinepool_name: String,
    /// The four ownership tags.
    pub ownership: BTreeMap<String, String>,
    /// Installation id.
    pub installation: String,
    /// Pool Machines are off.
    pub machines_off: bool,
    /// The record.
    pub record: Option<Record>,
}

impl Goal {
    /// What a driver needs besides the inputs.
    pub fn context(&self) -> PoolContext<'_> {
        PoolContext {
            namespace: &self.namespace,
            pool_name: &self.pool_name,
            machinepool_name: &self.machinepool_name,
            ownership: &self.ownership,
            installation: &self.installation,
            record: self.record.as_ref(),
            machines_off: self.machines_off,
            now_epoch_seconds: self.now.as_second(),
        }
    }
}

/// The owner reference that makes a MachinePool the owner, for `gather` to follow.
pub fn owner_reference(pool: &PoolObject) -> Option<&OwnerReference> {
    pool.metadata.owner_references.iter().find(|owner| {
        owner.kind == "MachinePool" && owner.api_version.starts_with("cluster.x-k8s.io/")
    })
}

/// Decides what this pass does.
pub fn gate(world: &World, now: Timestamp) -> Gate {
    let _ = (world, now);
    unimplemented!("plan-pool: pool/gate.rs")
}

/// Whether what was observed allows a lost record to be rebuilt: exactly one group with the
/// ownership tags and the expected name. A failed read is not an answer and passes.
///
/// # Errors
/// Nothing is done to the cloud.
pub fn confirm_recovery(goal: &Goal, observed: &Observed) -> Result<(), Unrecoverable> {
    let _ = (goal, observed);
    unimplemented!("plan-pool: pool/gate.rs")
}
