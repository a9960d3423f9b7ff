//! When: intervals with their jitter, retries after failures, and which refresh or drift check is
//! due (captf document 2.6, 2.15, 6.1; AWS and Azure documents, 10.3). Time comes in; nothing here
//! reads it.

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use super::{
    findings::Policies,
    record::{History, Record},
    world::Memory,
};
use crate::{
    error::{CloudFailure, FailureClass},
    limits,
    status::{
        condition::{ConditionStatus, ConditionType},
        wire::PoolStatus,
    },
};

/// The part of an interval that the UID adds: 0 to 10 %, always the same for one object.
pub fn jitter(seconds: u32, uid: &str) -> SignedDuration {
    let digest = Sha256::digest(uid.as_bytes());
    let share = digest
        .iter()
        .take(4)
        .fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte));
    let most = u64::from(seconds) * 1000 * limits::JITTER_PERCENT / 100;
    let milliseconds = (most * share) >> 32;
    SignedDuration::from_millis(i64::try_from(milliseconds).unwrap_or(i64::MAX))
}

/// An interval with its jitter.
pub fn interval(seconds: u32, uid: &str) -> SignedDuration {
    SignedDuration::from_secs(i64::from(seconds)) + jitter(seconds, uid)
}

/// The wait after the n-th failure in a row: 1, 2, 4, 8, 10 minutes, and straight to 10 minutes
/// from the limit on.
pub fn retry_seconds(failed: u32, limit: u32) -> u32 {
    if failed == 0 {
        return 0;
    }
    if failed >= limit {
        return limits::RETRY_CAP_SECONDS;
    }
    let doubled = 1_u32.checked_shl(failed - 1).unwrap_or(u32::MAX);
    limits::RETRY_FIRST_SECONDS
        .saturating_mul(doubled)
        .min(limits::RETRY_CAP_SECONDS)
}

/// The wait after a failed call: the class's own interval where the cloud document gives one, else
/// the general one.
pub fn failure_seconds(failure: &CloudFailure, failed: u32, limit: u32, uid: &str) -> u32 {
    let own = match failure.class {
        FailureClass::Throttled => Some(doubling(1, failed, limits::THROTTLE_CAP_SECONDS)),
        FailureClass::Transient => Some(doubling(2, failed, limits::THROTTLE_CAP_SECONDS)),
        FailureClass::Capacity => Some(doubling(
            limits::CAPACITY_FIRST_SECONDS,
            failed,
            limits::CAPACITY_CAP_SECONDS,
        )),
        FailureClass::Constraint => Some(limits::CONSTRAINT_RETRY_SECONDS),
        FailureClass::Locked => Some(limits::LOCKED_RETRY_SECONDS),
        FailureClass::Contended => Some(
            limits::CONTENDED_FIRST_SECONDS + spread(limits::CONTENDED_SPREAD_SECONDS, uid, failed),
        ),
        FailureClass::Denied | FailureClass::Quota => Some(limits::OPERATOR_RETRY_SECONDS),
        FailureClass::NotReadyYet
            if failed.saturating_mul(limits::NOT_READY_RETRY_SECONDS)
                <= limits::NOT_READY_SECONDS =>
        {
            Some(limits::NOT_READY_RETRY_SECONDS)
        }
        FailureClass::NotReadyYet
        | FailureClass::AlreadyExists
        | FailureClass::NotFound
        | FailureClass::Rejected
        | FailureClass::NoCredentials
        | FailureClass::Bug => None,
    };
    let seconds = own.unwrap_or_else(|| retry_seconds(failed, limit));
    seconds.max(failure.retry_after_seconds.unwrap_or(0))
}

/// A wait in seconds that doubles with each failure, up to a cap.
fn doubling(first: u32, failed: u32, cap: u32) -> u32 {
    let doubled = 1_u32
        .checked_shl(failed.saturating_sub(1))
        .unwrap_or(u32::MAX);
    first.saturating_mul(doubled).min(cap)
}

/// A figure from 0 to `most`, the same for one object and try.
fn spread(most: u32, uid: &str, failed: u32) -> u32 {
    let digest = Sha256::digest(format!("{uid}/{failed}").as_bytes());
    digest
        .first()
        .map_or(0, |byte| u32::from(*byte) % (most + 1))
}

/// Everything the due times of refreshes and drift checks depend on.
#[derive(Debug, Clone, Copy)]
pub struct Timing<'a> {
    /// UID of the pool.
    pub uid: &'a str,
    /// Status as last written, or as about to be.
    pub status: &'a PoolStatus,
    /// Entries of `spec.providerIDList`, as last written or about to be.
    pub listed: usize,
    /// Record.
    pub history: &'a History,
    /// Policies.
    pub policies: &'a Policies,
    /// Memory.
    pub memory: &'a Memory,
}

impl<'a> Timing<'a> {
    /// Timing of a pool with a record.
    pub fn new(
        uid: &'a str,
        status: &'a PoolStatus,
        listed: usize,
        record: &'a Record,
        policies: &'a Policies,
        memory: &'a Memory,
    ) -> Self {
        Self {
            uid,
            status,
            listed,
            history: &record.history,
            policies,
            memory,
        }
    }

    /// Members and wish disagree (captf document, MEM-3), or Machines of an older model are being
    /// replaced.
    pub fn converging(&self) -> bool {
        let listed = i64::try_from(self.listed).unwrap_or(i64::MAX);
        self.status.pending_refreshes.is_some()
            || self.status.replicas != Some(listed)
            || self.is_rolling()
    }

    fn is_rolling(&self) -> bool {
        self.status
            .condition(ConditionType::RollingOut)
            .is_some_and(|condition| condition.status == ConditionStatus::True)
    }

    /// No refresh succeeded since the last apply (captf document, MEM-2).
    pub fn refresh_after_apply(&self) -> bool {
        self.memory.refresh_wanted
            || self.memory.refreshed_at.is_none()
                && self.history.applied_at > self.status.last_refresh
    }

    fn refreshed_at(&self) -> Option<Timestamp> {
        self.memory.refreshed_at.max(self.status.last_refresh)
    }

    /// When the next refresh is due.
    pub fn refresh_due(&self) -> Timestamp {
        let retry = self.memory.read_failures.retry_at;
        let due = if let Some(unseen) = self.memory.unseen {
            unseen.confirm_at
        } else if self.refresh_after_apply() || self.memory.nodes_changed {
            self.memory.since
        } else if let Some(read) = self.refreshed_at() {
            let mut seconds = self.policies.membership_seconds;
            if self.converging() {
                seconds = seconds.min(limits::CONVERGING_INTERVAL_SECONDS);
            }
            self.spread_after_start(read + interval(seconds, self.uid), seconds)
        } else {
            self.memory.since
        };
        retry.map_or(due, |retry| due.max(retry))
    }

    /// When the next drift check is due: one interval after the last check or successful apply.
    pub fn drift_due(&self) -> Timestamp {
        let checked = self
            .memory
            .drift_checked_at
            .max(self.status.last_drift_check)
            .max(self.history.applied_at)
            .unwrap_or(self.memory.since);
        let seconds = self.policies.drift_seconds;
        let due = self.spread_after_start(checked + interval(seconds, self.uid), seconds);
        let retry = self.memory.read_failures.retry_at;
        retry.map_or(due, |retry| due.max(retry))
    }

    /// What became due while no manager ran is spread over a tenth of its interval, so that a
    /// restart does not read every pool at once.
    fn spread_after_start(&self, due: Timestamp, seconds: u32) -> Timestamp {
        due.max(self.memory.since + jitter(seconds, self.uid))
    }

    /// Drift was found, is to be remedied and may be tried (again).
    pub fn remediation_due(&self) -> bool {
        self.policies.drift_action == super::objects::DriftAction::Remediate
            && self.history.remediations < self.policies.failed_limit.max(1)
            && self
                .status
                .condition(ConditionType::DriftDetected)
                .is_some_and(|condition| condition.status == ConditionStatus::True)
    }
}
