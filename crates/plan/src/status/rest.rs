//! When a pool rests: what the cloud shows is all that can give the next refreshes something to do.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{draft::Draft, pass::PassEnd, requeue, wire::Operation};
use crate::{
    limits,
    machines::pool::PoolDecision,
    pool::{
        read::Freshness,
        schedule,
        world::{Failures, Lookup, Memory},
    },
};

/// A pool at rest. Until something in Kubernetes wakes it, a refresh that reads the same from the
/// cloud again comes to nothing again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    /// Between two refreshes.
    pub interval: Duration,
    /// From then on a pass looks at everything: a drift check is due, or the pool was looked at as a
    /// whole [`limits::RESYNC_SECONDS`] ago.
    pub until: Timestamp,
}

impl Rest {
    /// A refresh now can be a look at the cloud alone: the next one is soon enough for a whole pass.
    pub fn lasts(&self, now: Timestamp) -> bool {
        SignedDuration::try_from(self.interval).is_ok_and(|interval| now + interval <= self.until)
    }
}

/// Whether the pool rests after this pass, if it writes nothing: a steady refresh that found nothing
/// to do, now or at a time of its own. Labels of a namespace are watched by nobody: a pool
/// whose identity asks for them is looked at as a whole.
pub(super) fn of(draft: &Draft<'_>) -> Option<Rest> {
    let goal = draft.goal()?;
    let (world, pass) = (draft.world, draft.pass);
    let looked = goal.operation == Operation::Refresh && goal.freshness == Freshness::Steady;
    let has_steps = pass
        .plan
        .as_ref()
        .is_some_and(|plan| !plan.steps.is_empty());
    let decided = pass.machines.as_deref().is_some_and(|it| !is_quiet(it));
    let findings = &pass.gate.findings;
    // What keeps a gate closed may be watched by nobody, and is asked for more often than this.
    let waits = findings.dependencies != Some(Ok(()))
        || findings.hold.is_some()
        || findings.apply_due.is_some()
        || findings.drift_waits;
    let asks_for_labels = world.identity.namespace_labels != Lookup::Missing;
    if !looked || pass.end != PassEnd::Done || has_steps || decided || waits || asks_for_labels {
        return None;
    }
    if !is_settled(&draft.memory) {
        return None;
    }
    let uid = &world.pool.metadata.uid;
    let interval = schedule::interval(findings.policies.membership_seconds, uid);
    let resync = draft.now + SignedDuration::from_secs(i64::from(limits::RESYNC_SECONDS));
    Some(Rest {
        interval: interval.unsigned_abs(),
        until: requeue::drift_due(draft).map_or(resync, |due| due.min(resync)),
    })
}

fn is_quiet(decision: &PoolDecision) -> bool {
    decision.writes.is_empty()
        && !decision.removes()
        && !decision.is_under_way
        && decision.wish.holds.is_empty()
}

/// No time runs but those of refreshes and drift checks.
fn is_settled(memory: &Memory) -> bool {
    let Memory {
        since: _,
        refreshed_at: _,
        refresh_wanted,
        nodes_changed,
        drift_checked_at: _,
        read_failures,
        unseen,
        counted_at: _,
        writes_throttled_since,
        reads_throttled_since,
        look_again_at,
        judged: _,
        operation_retry_at,
        short_since,
        machines_at,
        told: _,
    } = memory;
    !refresh_wanted
        && !nodes_changed
        && *read_failures == Failures::default()
        && unseen.is_none()
        && short_since.is_none()
        && [
            writes_throttled_since,
            reads_throttled_since,
            look_again_at,
            operation_retry_at,
            machines_at,
        ]
        .iter()
        .all(|time| time.is_none())
}
