//! Which operation is due, in the order of captf document 2.15: apply (no state, inputs changed,
//! retry, drift to remedy), then refresh, then drift check.

use jiff::{SignedDuration, Timestamp};

use super::{
    findings::{ApplyReason, Findings, Hold, StateFinding},
    gate::{self, Next},
    goal::{self, Wish},
    keys, machines,
    read::Freshness,
    record::Record,
    render::Rendered,
    schedule::Timing,
    world::{Memory, World},
};
use crate::{driver::Driver, limits, status::wire::Operation};

/// Chooses the operation of this pass; identity and record have been found usable.
pub(super) fn choose(
    world: &World,
    now: Timestamp,
    findings: &mut Findings,
    driver: Driver,
    rendered: Option<&Rendered>,
) -> Next {
    let memory = gate::memory(world, now);
    let record = world.record.found();
    if let Some(rendered) = rendered {
        findings.apply_due = apply_due(world, record, rendered, findings, &memory);
        if let Some(reason) = findings.apply_due {
            match startable(world, now, findings, driver, rendered, &memory) {
                Ok(dropped) => {
                    return apply(world, now, findings, driver, rendered, reason, dropped);
                }
                Err(hold) => findings.hold = Some(hold),
            }
        }
    }
    look(world, now, findings, driver, rendered, &memory)
}

/// Why an apply is due, if it is.
fn apply_due(
    world: &World,
    record: Option<&Record>,
    rendered: &Rendered,
    findings: &Findings,
    memory: &Memory,
) -> Option<ApplyReason> {
    let Some(record) = record else {
        return Some(if findings.state == Some(StateFinding::Lost) {
            ApplyReason::Recovery
        } else {
            ApplyReason::NoState
        });
    };
    match &record.inputs_hash {
        None => return Some(ApplyReason::NoState),
        Some(hash) if *hash != rendered.hash.hash => return Some(ApplyReason::InputsChanged),
        Some(_) => {}
    }
    if record.history.apply_is_owed() {
        return Some(ApplyReason::Retry);
    }
    timing(world, record, findings, memory)
        .remediation_due()
        .then_some(ApplyReason::DriftRemediation)
}

fn timing<'a>(
    world: &'a World,
    record: &'a Record,
    findings: &'a Findings,
    memory: &'a Memory,
) -> Timing<'a> {
    Timing::new(
        &world.pool.metadata.uid,
        &world.pool.status,
        world.pool.spec.provider_id_list.len(),
        record,
        &findings.policies,
        memory,
    )
}

/// Whether the due apply may start now; gives the node labels that its nodes will lack. Refusals
/// that need no look at the cloud end here, before anything is written anywhere.
fn startable(
    world: &World,
    now: Timestamp,
    findings: &Findings,
    driver: Driver,
    rendered: &Rendered,
    memory: &Memory,
) -> Result<Vec<String>, Hold> {
    if rendered.hash.bytes > limits::INPUTS_BYTES {
        return Err(Hold::InputsTooLarge {
            bytes: rendered.hash.bytes,
        });
    }
    let wish = wish(now, Operation::Apply, driver, Some(rendered), findings);
    let probe = goal::build(world, wish);
    let desired = driver
        .desired(
            &rendered.inputs,
            &rendered.variables.values,
            &probe.context(),
        )
        .map_err(Hold::Refused)?;
    let inputs = Some(rendered.hash.hash.as_str());
    can_begin(world, now, findings, Operation::Apply, inputs, memory)?;
    Ok(desired.dropped_node_labels().to_vec())
}

/// Waits that concern every operation that writes: deadline, another look, backoff, the cluster.
/// `inputs` is the hash of what it would apply.
pub(super) fn can_begin(
    world: &World,
    now: Timestamp,
    findings: &Findings,
    operation: Operation,
    inputs: Option<&str>,
    memory: &Memory,
) -> Result<(), Hold> {
    let status = &world.pool.status;
    if let Some(job) = &status.active_job
        && job.operation == operation
        && let Some(started) = job.start_time
    {
        let deadline = SignedDuration::from_secs(i64::from(findings.policies.deadline_seconds));
        if started + deadline <= now {
            return Err(Hold::DeadlineExceeded(operation));
        }
    }
    if let Some(until) = memory.look_again_at.filter(|until| *until > now) {
        return Err(Hold::LookAgain { until });
    }
    let tries = world.record.found().map(|record| match operation {
        Operation::Destroy => &record.history.destroy,
        Operation::Apply
        | Operation::Drift
        | Operation::Refresh
        | Operation::Restore
        | Operation::Plan => &record.history.apply,
    });
    // A wait for what other inputs had asked for is no wait for these.
    let is_over = |blamed: &String| inputs.is_some_and(|inputs| inputs != blamed);
    let retry = tries
        .filter(|tries| !tries.blames.as_ref().is_some_and(is_over))
        .and_then(|tries| tries.retry_at)
        .max(memory.operation_retry_at);
    if let Some(until) = retry.filter(|until| *until > now) {
        return Err(Hold::Backoff { until });
    }
    let cluster_job = world
        .infra_cluster
        .found()
        .and_then(|cluster| cluster.status.active_job.as_ref());
    if let Some(job) = cluster_job
        && matches!(job.operation.as_str(), "apply" | "destroy" | "restore")
        && status.active_job.is_none()
    {
        return Err(Hold::ClusterOperation(job.operation.clone()));
    }
    Ok(())
}

fn apply(
    world: &World,
    now: Timestamp,
    findings: &Findings,
    driver: Driver,
    rendered: &Rendered,
    reason: ApplyReason,
    dropped_node_labels: Vec<String>,
) -> Next {
    if !blocks_move(world) || !announced(world, reason) {
        return Next::Prepare(Operation::Apply);
    }
    Next::Go(Box::new(goal::build(
        world,
        Wish {
            because: reason.because(),
            dropped_node_labels,
            recovering: reason == ApplyReason::Recovery,
            ..wish(now, Operation::Apply, driver, Some(rendered), findings)
        },
    )))
}

/// The record says that an apply began. Without a hash one is due anyway, and what a remediation
/// leaves undone is drift again.
fn announced(world: &World, reason: ApplyReason) -> bool {
    reason == ApplyReason::DriftRemediation
        || world
            .record
            .found()
            .is_none_or(|record| record.inputs_hash.is_none() || record.history.apply_unfinished)
}

/// The annotation that keeps `clusterctl move` away is stored.
pub(super) fn blocks_move(world: &World) -> bool {
    world
        .pool
        .metadata
        .annotations
        .contains_key(keys::BLOCK_MOVE)
}

pub(super) fn wish<'a>(
    now: Timestamp,
    operation: Operation,
    driver: Driver,
    rendered: Option<&'a Rendered>,
    findings: &Findings,
) -> Wish<'a> {
    Wish {
        operation,
        because: "",
        driver,
        rendered,
        dropped_node_labels: Vec::new(),
        freshness: Freshness::Fresh,
        deadline_seconds: findings.policies.deadline_seconds,
        recovering: false,
        now,
    }
}

/// The pool's Machines want the group to be looked at, and reads do not back off.
fn needs_attention(world: &World, now: Timestamp, memory: &Memory) -> bool {
    let backs_off = memory.read_failures.retry_at.is_some_and(|at| at > now);
    let is_due = memory.machines_at.is_some_and(|at| at <= now);
    !backs_off && (is_due || machines::want_attention(world))
}

/// Refresh or drift check of a pool that has applied.
fn look(
    world: &World,
    now: Timestamp,
    findings: &mut Findings,
    driver: Driver,
    rendered: Option<&Rendered>,
    memory: &Memory,
) -> Next {
    let Some(record) = world.record.found().filter(|record| record.applied) else {
        return Next::Rest;
    };
    let timing = timing(world, record, findings, memory);
    let dropped = record.history.dropped_node_labels.clone();
    let attended = needs_attention(world, now, memory);
    if attended || timing.refresh_due() <= now {
        let (because, freshness) = if attended {
            ("Machines come or go", Freshness::Fresh)
        } else if memory.unseen.is_some() {
            ("no member was seen; read again", Freshness::Fresh)
        } else if timing.refresh_after_apply() {
            ("after an apply", Freshness::Converging)
        } else if memory.nodes_changed {
            ("Nodes came or went", Freshness::Changed)
        } else if timing.converging() {
            ("members and desired count differ", Freshness::Converging)
        } else {
            ("membership refresh", Freshness::Steady)
        };
        let wish = wish(now, Operation::Refresh, driver, rendered, findings);
        return Next::Go(Box::new(goal::build(
            world,
            Wish {
                because,
                freshness,
                dropped_node_labels: dropped,
                ..wish
            },
        )));
    }
    if findings.apply_due.is_some() || timing.drift_due() > now {
        return Next::Rest;
    }
    if rendered.is_none() {
        findings.drift_waits = true;
        return Next::Rest;
    }
    let wish = wish(now, Operation::Drift, driver, rendered, findings);
    Next::Go(Box::new(goal::build(
        world,
        Wish {
            because: "drift check",
            freshness: Freshness::Converging,
            dropped_node_labels: dropped,
            ..wish
        },
    )))
}
