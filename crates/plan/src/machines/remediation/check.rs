//! One pass of a health check over all its Machines.

use jiff::{SignedDuration, Timestamp};

use super::{
    Mark, Reason,
    health::{Checks, ClusterFacts, Health, Target, judge},
    limit::Limit,
};
use crate::machines::view::{
    EXTERNALLY_REMEDIATED, HEALTH_CHECK_SUCCEEDED, MachineView, OWNER_REMEDIATED, SKIP_REMEDIATION,
};

/// A health check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthCheck {
    /// What counts as unhealthy.
    pub checks: Checks,
    /// When something follows.
    pub limit: Limit,
    /// Something outside repairs Machines; their owner does not.
    pub external: bool,
}

/// What one pass finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Machines under the check.
    pub expected: usize,
    /// Healthy ones.
    pub healthy: usize,
    /// How many more may become unhealthy.
    pub allowed: usize,
    /// Names of the Machines under the check, sorted.
    pub targets: Vec<String>,
    /// Why nothing follows, when something is unhealthy and nothing may follow.
    pub restricted: Option<String>,
    /// Conditions to write; those that are so already are among them.
    pub marks: Vec<Mark>,
    /// Machines whose remediation is to be asked for from outside.
    pub requests: Vec<String>,
    /// Machines that are healthy: no request for them remains.
    pub recovered: Vec<String>,
    /// When time alone changes something.
    pub recheck: Option<SignedDuration>,
}

/// Whether a Machine can be under a check at all.
pub fn is_checked(machine: &MachineView) -> bool {
    let annotations = &machine.metadata.annotations;
    !annotations.contains_key(SKIP_REMEDIATION)
        && !annotations.contains_key(crate::pool::keys::PAUSED)
}

/// Judges every Machine and decides what is written.
pub fn check(
    targets: &[Target],
    check: &HealthCheck,
    cluster: &ClusterFacts,
    now: Timestamp,
) -> Report {
    let judged: Vec<(&Target, Health)> = targets
        .iter()
        .map(|target| (target, judge(target, &check.checks, cluster, now)))
        .collect();
    let healthy = judged
        .iter()
        .filter(|(_, health)| *health == Health::Healthy)
        .count();
    let expected = targets.len();
    // Machines that start or grow worse count against the limit, too.
    let others = expected - healthy;
    let left = check.limit.left(expected, others);
    let mut report = Report {
        expected,
        healthy,
        allowed: left.unwrap_or(0),
        targets: names(targets),
        restricted: None,
        marks: Vec::new(),
        requests: Vec::new(),
        recovered: Vec::new(),
        recheck: None,
    };
    for (target, health) in &judged {
        report.take(&target.machine, health, left.is_some(), check.external, now);
    }
    let unhealthy = judged
        .iter()
        .any(|(_, health)| matches!(health, Health::Unhealthy(..)));
    report.restricted = (left.is_none() && unhealthy).then(|| {
        let limit = check.limit.words();
        format!("{others} of {expected} Machines are not healthy, {limit}")
    });
    report
}

fn names(targets: &[Target]) -> Vec<String> {
    let names = targets.iter().map(|target| &target.machine.metadata.name);
    let mut names: Vec<String> = names.cloned().collect();
    names.sort_unstable();
    names
}

impl Report {
    fn take(
        &mut self,
        machine: &MachineView,
        health: &Health,
        allowed: bool,
        external: bool,
        now: Timestamp,
    ) {
        let name = &machine.metadata.name;
        let mark = |condition, holds, reason, message: &str| Mark {
            machine: name.clone(),
            condition,
            holds,
            reason,
            message: message.to_owned(),
        };
        match health {
            Health::Healthy => {
                let reason = Reason::HealthCheckSucceeded;
                self.marks
                    .push(mark(HEALTH_CHECK_SUCCEEDED, true, reason, ""));
                self.recovered.push(name.clone());
            }
            Health::Pending(None) => {}
            Health::Pending(Some(due)) => self.look_at(due.duration_since(now)),
            Health::Unhealthy(reason, message) => {
                self.marks
                    .push(mark(HEALTH_CHECK_SUCCEEDED, false, *reason, message));
                if !allowed || machine.is_deleting() {
                    return;
                }
                if external {
                    self.requests.push(name.clone());
                    return;
                }
                // The owner writes how far it is; that is not overwritten.
                if machine.holds(OWNER_REMEDIATED) != Some(false) {
                    let reason = Reason::WaitingForRemediation;
                    let message = "the health check asks the Machine's owner to replace it";
                    self.marks
                        .push(mark(OWNER_REMEDIATED, false, reason, message));
                }
            }
        }
    }

    /// A second later than the time itself, so that it has passed for certain.
    fn look_at(&mut self, left: SignedDuration) {
        let left = left.max(SignedDuration::ZERO) + SignedDuration::from_secs(1);
        self.recheck = Some(self.recheck.map_or(left, |soonest| soonest.min(left)));
    }
}

/// The condition that says how external remediation stands.
pub fn external_mark(machine: &str, reason: Reason, message: &str) -> Mark {
    Mark {
        machine: machine.to_owned(),
        condition: EXTERNALLY_REMEDIATED,
        holds: false,
        reason,
        message: message.to_owned(),
    }
}
