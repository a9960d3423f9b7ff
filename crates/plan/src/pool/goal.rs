//! `Goal`: one operation with everything a driver needs for it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::{
    hash::hex,
    identity,
    inputs::{Inputs, UserVariables},
    machines,
    owner::owner_reference,
    read::{Depth, Freshness},
    record::Record,
    render::{self, Rendered},
    world::{CredentialSecret, World},
};
use crate::{
    driver::{Driver, PoolContext},
    limits,
    machines::group::{GroupWish, Machines},
    status::wire::Operation,
};

/// One operation with everything a driver needs. `Goal::context` borrows from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// What to do.
    pub operation: Operation,
    /// Why, in one line: `the inputs changed`.
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
    /// Node labels that no node gets: known for an apply, remembered for a refresh.
    pub dropped_node_labels: Vec<String>,
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
    /// When the operation must be done.
    pub deadline: Timestamp,
    /// Call [`super::gate::confirm_recovery`] after observing: the record is lost.
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
    /// The pool has Machines.
    pub has_machines: bool,
    /// Name of the Secret that holds the bootstrap data.
    pub bootstrap_secret: Option<String>,
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
            machines: if self.has_machines {
                Machines::On
            } else {
                Machines::Off
            },
            bootstrap_secret: self.bootstrap_secret.as_deref(),
            now_epoch_seconds: self.now.as_second(),
        }
    }

    /// The same with what the pool's Machines ask for.
    pub fn asking<'a>(&'a self, wish: Option<&'a GroupWish>) -> PoolContext<'a> {
        let context = self.context();
        PoolContext {
            machines: wish.map_or(context.machines, Machines::Asking),
            ..context
        }
    }

    /// `inputs.replicas` for [`Driver::outputs`].
    pub fn input_replicas(&self) -> Option<i64> {
        self.inputs.as_ref().map(|inputs| inputs.replicas)
    }
}

/// What makes one goal differ from another.
pub(super) struct Wish<'a> {
    pub(super) operation: Operation,
    pub(super) because: &'a str,
    pub(super) driver: Driver,
    pub(super) rendered: Option<&'a Rendered>,
    pub(super) dropped_node_labels: Vec<String>,
    pub(super) freshness: Freshness,
    pub(super) deadline_seconds: u32,
    pub(super) recovering: bool,
    pub(super) now: Timestamp,
}

/// Builds a goal; the identity has been found usable.
pub(super) fn build(world: &World, wish: Wish<'_>) -> Goal {
    let record = world.record.found();
    let pool = &world.pool.metadata;
    let owner = owner_reference(&world.pool).map(|owner| owner.name.clone());
    let reference = identity::resolve(&world.pool, world.infra_cluster.found(), record);
    let attempt = attempt(record, wish.operation);
    let started = world
        .pool
        .status
        .active_job
        .as_ref()
        .filter(|job| job.operation == wish.operation)
        .and_then(|job| job.start_time)
        .unwrap_or(wish.now);
    Goal {
        operation: wish.operation,
        because: wish.because.to_owned(),
        driver: wish.driver,
        inputs: wish.rendered.map(|it| it.inputs.clone()),
        variables: wish
            .rendered
            .map(|it| it.variables.values.clone())
            .unwrap_or_default(),
        sensitive: wish
            .rendered
            .map(|it| it.variables.sensitive.clone())
            .unwrap_or_default(),
        inputs_hash: wish.rendered.map(|it| it.hash.hash.clone()),
        dropped_node_labels: wish.dropped_node_labels,
        credentials: world.identity.secret.found().cloned().unwrap_or_default(),
        identity: reference
            .as_ref()
            .map(identity::display)
            .unwrap_or_default(),
        depth: match wish.operation {
            Operation::Refresh => Depth::Members,
            Operation::Apply
            | Operation::Destroy
            | Operation::Drift
            | Operation::Restore
            | Operation::Plan => Depth::Full,
        },
        freshness: wish.freshness,
        job: job_name(&pool.name, wish.operation, attempt),
        attempt,
        deadline: started + jiff::SignedDuration::from_secs(i64::from(wish.deadline_seconds)),
        recovering: wish.recovering,
        now: wish.now,
        namespace: pool.namespace.clone(),
        pool_name: pool.name.clone(),
        machinepool_name: owner.unwrap_or_else(|| pool.name.clone()),
        ownership: render::ownership(world),
        installation: record.map_or_else(
            || world.manager.installation.clone(),
            |record| record.installation.clone(),
        ),
        has_machines: machines::are_on(world),
        bootstrap_secret: world
            .owner
            .found()
            .and_then(|owner| owner.spec.template.spec.bootstrap.data_secret_name.clone()),
        record: record.cloned(),
    }
}

/// Number of the next run of an operation; a run that has not ended keeps its number.
pub(crate) fn attempt(record: Option<&Record>, operation: Operation) -> i64 {
    let done = record.and_then(|record| record.attempts.get(operation.as_str()));
    done.copied().unwrap_or(0) + 1
}

/// `captf-mp-<pool>-<op>-a<N>`, hashed when it grows over 57 characters.
pub fn job_name(pool: &str, operation: Operation, attempt: i64) -> String {
    let tail = format!("-{}-a{attempt}", operation.as_str());
    let full = format!("captf-mp-{pool}{tail}");
    if full.len() <= limits::JOB_NAME_CHARS {
        return full;
    }
    let digest: String = hex(&Sha256::digest(pool.as_bytes()))
        .chars()
        .take(10)
        .collect();
    let room = limits::JOB_NAME_CHARS - "captf-mp-".len() - tail.len() - digest.len() - 1;
    let head: String = pool.chars().take(room).collect();
    format!(
        "captf-mp-{}-{digest}{tail}",
        head.trim_end_matches(['-', '.'])
    )
}
