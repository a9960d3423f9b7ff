//! Autoscale: what it does at a look at a setting (azure-machinepool.md, 14.5).

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::setting::{Activity, Plan, Rule};
use crate::{
    azure::{
        compute::{Provisioning, ScaleSet, resize_set},
        protocol::id,
        state::{
            Name, Site, State, View,
            events::{Event, SetRef},
        },
    },
    clock::later,
    kubelet::Place,
};

/// Entries of the activity log that are kept.
const KEPT: usize = 50;

/// What a look comes to.
struct Decision {
    goal: u32,
    /// A rule, not a bound, wants it: its cooldown counts.
    by_rule: bool,
}

impl State {
    /// Looks at a setting, and looks again after the pause. A look that changes nothing is no
    /// change of the world.
    pub(crate) fn autoscale(&mut self, place: Place, group: &Name, name: &Name, serial: u64) {
        let known = self.subscriptions[place].setting(group, name);
        if known.is_none_or(|setting| setting.serial != serial) {
            return;
        }
        self.autoscale_now(place, group, name);
        let look = Event::Autoscale {
            place,
            group: group.clone(),
            setting: name.clone(),
            serial,
        };
        let pause = self.fabric.timing.autoscale;
        self.fabric.after(pause, look);
    }

    /// Does what a setting asks for now.
    pub(crate) fn autoscale_now(&mut self, place: Place, group: &Name, name: &Name) {
        if let Some((at, decision)) = self.view(place).decision(group, name) {
            self.site(place).scale(group, name, &at, &decision);
        }
    }
}

impl View<'_> {
    /// The set a setting works on and what it wants of it; `None` when there is nothing to do.
    fn decision(self, group: &Name, name: &Name) -> Option<(SetRef, Decision)> {
        let setting = self.subscription.setting(group, name)?;
        let plan = &setting.plan;
        let in_group = id::part(&plan.target, "resourceGroups")?;
        let set = id::part(&plan.target, "virtualMachineScaleSets")?;
        let set = self.subscription.scale_set(in_group, set).ok()?;
        let idle = !self.is_worked_on(set) && set.provisioning != Provisioning::Deleting;
        if !plan.enabled || !idle {
            return None;
        }
        let decision = decide(plan, set, setting.acted, self.fabric.now)?;
        Some((set.at.clone(), decision))
    }
}

impl Site<'_> {
    /// Carries a decision out, and writes down what came of it.
    fn scale(&mut self, group: &Name, name: &Name, at: &SetRef, decision: &Decision) {
        let now = self.fabric.now;
        let Some(set) = self.subscription.look(at) else {
            return;
        };
        let before = set.capacity;
        let failure = match self.check_quota(set, set.model(), decision.goal) {
            Err(error) => Some(error),
            Ok(()) => resize_set(self, at, decision.goal),
        };
        let failed = failure.is_some();
        let entry = Activity {
            at: now,
            from: before,
            to: decision.goal,
            failure: failure.map(|error| format!("{}: {}", error.code, error.message)),
        };
        let held = self.subscription.groups.get_mut(group);
        if let Some(setting) = held.and_then(|group| group.settings.get_mut(name)) {
            if !failed || decision.by_rule {
                setting.acted = Some(now);
            }
            setting.activities.push(entry);
            if setting.activities.len() > KEPT {
                setting.activities.remove(0);
            }
        }
    }
}

/// The capacity a plan wants of a set; `None` when it is right as it is.
fn decide(
    plan: &Plan,
    set: &ScaleSet,
    acted: Option<Timestamp>,
    now: Timestamp,
) -> Option<Decision> {
    let capacity = set.capacity;
    let bounded = capacity.clamp(plan.minimum, plan.maximum);
    if bounded != capacity {
        return Some(Decision {
            goal: bounded,
            by_rule: false,
        });
    }
    if plan.minimum == plan.maximum || plan.rules.is_empty() {
        return None;
    }
    let cpu = |rule: &Rule| set.average_cpu(rule.window, now);
    if plan.rules.iter().any(|rule| cpu(rule).is_none()) {
        let raise = capacity < plan.default;
        return raise.then_some(Decision {
            goal: plan.default,
            by_rule: false,
        });
    }
    let is_true = |rule: &&Rule| cpu(rule).is_some_and(|cpu| rule.is_true(cpu));
    let cooled = |rule: &Rule| acted.is_none_or(|acted| later(acted, rule.cooldown) <= now);
    let goal = |rule: &Rule| rule.goal(capacity).clamp(plan.minimum, plan.maximum);
    let mut outs = plan.rules.iter().filter(|rule| rule.increases);
    if let Some(rule) = outs.clone().find(is_true) {
        let goal = goal(rule);
        return (cooled(rule) && goal > capacity).then_some(Decision {
            goal,
            by_rule: true,
        });
    }
    let ins: Vec<&Rule> = plan.rules.iter().filter(|rule| !rule.increases).collect();
    let rule = ins.first().filter(|_| ins.iter().all(is_true))?;
    let goal = goal(rule);
    // It would flap: with fewer instances the CPU of each is where a scale-out begins.
    let flaps = outs.any(|out| {
        let cpu = cpu(out).unwrap_or_default();
        goal == 0 || out.is_true(cpu * f64::from(capacity) / f64::from(goal))
    });
    (cooled(rule) && goal < capacity && !flaps).then_some(Decision {
        goal,
        by_rule: true,
    })
}

impl ScaleSet {
    /// Average CPU of its running instances over a window; `None` when it cannot be read.
    fn average_cpu(&self, window: Duration, now: Timestamp) -> Option<f64> {
        let began = now - SignedDuration::try_from(window).ok()?;
        let whole = self.series_average(began, now);
        let running: Vec<u32> = self.live().map(|instance| instance.number).collect();
        let own: Vec<f64> = running
            .iter()
            .filter_map(|number| self.cpu_of.get(number).copied().or(whole))
            .collect();
        if own.is_empty() {
            return None;
        }
        let count = f64::from(u32::try_from(own.len()).ok()?);
        Some(own.iter().sum::<f64>() / count)
    }

    /// Average of the set's series between two moments, as far as it is known.
    fn series_average(&self, began: Timestamp, now: Timestamp) -> Option<f64> {
        let (mut weighted, mut seconds) = (0.0, 0.0);
        let ends = self.cpu.iter().skip(1).map(|(at, _)| *at);
        for ((from, percent), to) in self.cpu.iter().zip(ends.chain([now])) {
            let span = to.min(now).duration_since((*from).max(began));
            let span = span.as_secs_f64().max(0.0);
            weighted += percent * span;
            seconds += span;
        }
        if seconds > 0.0 {
            return Some(weighted / seconds);
        }
        self.cpu.last().map(|(_, percent)| *percent)
    }
}
