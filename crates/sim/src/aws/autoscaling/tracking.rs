//! Target tracking: the desired capacity follows the simulated CPU load.
//!
//! The load of a group is a demand, in percent points of one instance's CPU; its average falls as
//! instances come. Scaling out takes one period over the target, scaling in fifteen periods below
//! nine tenths of it, as AWS's alarms do it.

use super::{group::Group, turn::Turn};
use crate::aws::state::{Name, Site, events::Event};

/// Periods below the target before the group shrinks.
const IDLE_PERIODS: u32 = 15;
/// Part of the target under which the group counts as idle.
const IDLE_PART: f64 = 0.9;

impl Site<'_> {
    /// Sets the demand: `percent` is the average CPU at the present number of instances.
    pub(crate) fn set_cpu(&mut self, group: &Name, percent: f64) -> bool {
        let period = self.fabric.timing.metric_period;
        let Some(turn) = self.turn(group) else {
            return false;
        };
        let Turn {
            group,
            compute,
            fabric,
        } = turn;
        group.load = Some(percent * f64::from(group.in_service().max(1)));
        group.idle_periods = 0;
        if !group.metric_due && policy_target(group).is_some() {
            group.metric_due = true;
            fabric.after(period, Event::Metric(compute.id, group.name.clone()));
        }
        true
    }

    pub(crate) fn metric_period(&mut self, name: &Name) {
        let period = self.fabric.timing.metric_period;
        let Some(turn) = self.turn(name) else { return };
        let Turn {
            group,
            compute,
            fabric,
        } = turn;
        group.metric_due = false;
        let (Some((target, shrinks)), Some(load)) = (policy_target(group), group.load) else {
            return;
        };
        group.metric_due = true;
        fabric.after(period, Event::Metric(compute.id, name.clone()));
        if !group.runs("AlarmNotification") || group.deletion.is_some() {
            return;
        }
        let serving = group.in_service().max(1);
        let average = (load / f64::from(serving)).min(100.0);
        let needed = needed(f64::from(serving), average, target).clamp(group.min, group.max);
        let idle = average < target * IDLE_PART && needed < group.desired;
        group.idle_periods = if idle { group.idle_periods + 1 } else { 0 };
        let grow = average > target && needed > group.desired;
        let shrink = shrinks && group.idle_periods >= IDLE_PERIODS;
        if grow || shrink {
            group.desired = needed;
            group.idle_periods = 0;
            let reaction = fabric.timing.group_reaction;
            group.poke(fabric, compute.id, reaction);
        }
    }
}

/// Instances that bring the average to the target.
fn needed(serving: f64, average: f64, target: f64) -> u32 {
    let needed = (serving * average / target).ceil().clamp(0.0, 1e6);
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the value was clamped to what fits"
    )]
    let needed = needed as u32;
    needed
}

/// The target of the group's CPU policy, and whether it may shrink the group.
fn policy_target(group: &Group) -> Option<(f64, bool)> {
    group
        .policies
        .values()
        .find(|policy| {
            policy.enabled && policy.metric.as_deref() == Some("ASGAverageCPUUtilization")
        })
        .map(|policy| (policy.target, !policy.disable_scale_in))
}
