//! One turn of a group: it looks at itself and acts, the way AWS's own loop does.
//!
//! Launches come first and terminations after, so a replacement exists before what it replaces
//! goes. Each turn says when the next one is needed; nothing polls.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{
    group::{Group, Member, Replace, count},
    refresh::Protected,
};
use crate::{
    aws::{
        ec2::instance::InstanceState,
        state::{Compute, Fabric, Name, Site},
    },
    clock::{iso, later},
};

/// The group, what it runs on, and the rest of the world.
pub(crate) struct Turn<'a> {
    pub(crate) group: &'a mut Group,
    pub(crate) compute: &'a mut Compute,
    pub(crate) fabric: &'a mut Fabric,
}

impl Site<'_> {
    /// A group's turn; `None` when the group is gone.
    pub(crate) fn turn(&mut self, group: &str) -> Option<Turn<'_>> {
        let group = self.estate.groups.get_mut(group)?;
        Some(Turn {
            group,
            compute: &mut self.estate.compute,
            fabric: self.fabric,
        })
    }

    pub(crate) fn group_work(&mut self, name: &Name) {
        let now = self.fabric.now;
        let Some(mut turn) = self.turn(name) else {
            return;
        };
        if turn.group.take_due_turn(now) && turn.run() {
            self.estate.groups.remove(name);
        }
    }
}

impl Turn<'_> {
    /// Acts; whether the group's deletion is complete.
    fn run(&mut self) -> bool {
        if self.group.deletion.is_some() {
            return self.delete();
        }
        let refreshing = self.group.active_refresh().is_some();
        let health = self.replace_unhealthy();
        self.mark_misplaced();
        let refresh = self.refresh();
        let retry = self.launch_missing();
        let warmth = self.retire_replaced();
        self.scale_in();
        // A step above may have been the last one of the refresh.
        let refresh_after = self.refresh().or(refresh);
        let next = [health, refresh_after, retry, warmth]
            .into_iter()
            .flatten()
            .min();
        if let Some(at) = next.filter(|at| *at > self.fabric.now) {
            self.group.poke_at(self.fabric, self.compute.id, at);
        }
        if refreshing && self.group.active_refresh().is_none() {
            // What waited for the end of the refresh, like balancing zones, may go on.
            let reaction = self.fabric.timing.group_reaction;
            self.group.poke(self.fabric, self.compute.id, reaction);
        }
        false
    }

    fn delete(&mut self) -> bool {
        let now = self.fabric.now;
        let members: Vec<Name> = self.group.members.keys().cloned().collect();
        for id in &members {
            self.terminate(id, "The group is being deleted.", false);
        }
        if !self.group.members.is_empty() {
            return false;
        }
        let span = self.fabric.timing.group_deletion;
        let Some(deletion) = &mut self.group.deletion else {
            return false;
        };
        let ends = *deletion.ends.get_or_insert_with(|| later(now, span));
        if ends > now {
            self.group.poke_at(self.fabric, self.compute.id, ends);
        }
        ends <= now
    }

    /// Ends members whose instance ended or stopped long enough ago; when the next one is due.
    fn replace_unhealthy(&mut self) -> Option<Timestamp> {
        let runs = |process| self.group.runs(process);
        if !(runs("HealthCheck") && runs("ReplaceUnhealthy") && runs("Terminate")) {
            return None;
        }
        let span = self.fabric.timing.health_check;
        let now = self.fabric.now;
        let unwell: Vec<(Name, Timestamp)> = self
            .group
            .members
            .values()
            .filter(|member| member.counts())
            .filter_map(|member| Some((member.id.clone(), later(member.unwell_since?, span))))
            .collect();
        let mut next: Option<Timestamp> = None;
        for (id, due) in unwell {
            if due > now {
                next = Some(next.map_or(due, |next| next.min(due)));
                continue;
            }
            if let Some(member) = self.group.members.get_mut(&id) {
                member.healthy = false;
            }
            let cause = format!(
                "At {} an instance was taken out of service in response to an EC2 health check \
                 indicating it has been terminated or stopped.",
                iso(now)
            );
            self.terminate(&id, &cause, true);
        }
        next
    }

    /// Marks members whose zone left the group, and one of a zone that has too many.
    fn mark_misplaced(&mut self) {
        let zones = self.zones();
        for member in self
            .group
            .members
            .values_mut()
            .filter(|member| member.counts())
        {
            if zones.iter().any(|(zone, _)| *zone == member.zone) {
                member
                    .replace
                    .take_if(|reason| *reason == Replace::ZoneLeft);
            } else if member.replace.is_none() {
                member.replace = Some(Replace::ZoneLeft);
            }
        }
        if self.group.runs("AZRebalance") {
            self.mark_unbalanced(&zones);
        }
    }

    /// AWS balances zones only while nothing else is going on in the group.
    fn mark_unbalanced(&mut self, zones: &[(Name, Vec<Name>)]) {
        let quiet = self.group.active_refresh().is_none()
            && self.group.active() == self.group.desired
            && self
                .group
                .members
                .values()
                .all(|m| m.serves() && m.replace.is_none());
        let in_zone = |zone: &Name| count(self.group.members.values().filter(|m| m.zone == *zone));
        let fewest = zones.iter().map(|(zone, _)| in_zone(zone)).min();
        let fullest = zones.iter().map(|(zone, _)| (in_zone(zone), zone)).max();
        let (Some(fewest), Some((most, zone)), true) = (fewest, fullest, quiet) else {
            return;
        };
        if most >= fewest + 2 {
            let oldest = self
                .group
                .members
                .values_mut()
                .filter(|member| member.zone == *zone && !member.protected)
                .min_by_key(|member| (member.launched, member.id.clone()));
            if let Some(member) = oldest {
                member.replace = Some(Replace::Rebalance);
            }
        }
    }

    /// Members the group wants at this moment: the desired capacity, and replacements for marked
    /// members as far as the surge goes.
    pub(super) fn wanted(&self) -> u32 {
        let desired = self.group.desired;
        let marked = count(self.marked());
        let surge = match self.group.refresh_in_progress() {
            Some(refresh) => refresh.surge(desired),
            None => (desired / 10).max(1),
        };
        desired + marked.min(surge)
    }

    /// Members that are to be replaced and may be.
    pub(super) fn marked(&self) -> impl Iterator<Item = &Member> {
        let shielded = self
            .group
            .refresh_in_progress()
            .is_some_and(|refresh| refresh.preferences.protected != Protected::Refresh);
        self.group.members.values().filter(move |member| {
            member.counts() && member.replace.is_some() && !(member.protected && shielded)
        })
    }

    /// Ends marked members whose replacements serve; when more replacements will be warm.
    fn retire_replaced(&mut self) -> Option<Timestamp> {
        let now = self.fabric.now;
        if count(self.marked()) == 0 && self.group.active_refresh().is_none() {
            return None;
        }
        let warm: Vec<Timestamp> = self
            .group
            .members
            .values()
            .filter(|member| member.serves())
            .filter_map(|member| self.warm_at(member))
            .collect();
        let healthy = count(warm.iter().filter(|at| **at <= now));
        let next = warm.into_iter().filter(|at| *at > now).min();
        if !self.group.runs("Terminate") {
            return next;
        }
        let floor = match self.group.refresh_in_progress() {
            Some(refresh) => refresh.floor(self.group.desired),
            None => self.group.desired,
        };
        let mut marked: Vec<(Timestamp, Name, Replace)> = self
            .marked()
            .filter_map(|member| Some((member.launched, member.id.clone(), member.replace?)))
            .collect();
        marked.sort_unstable_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        let room = healthy.saturating_sub(floor) as usize;
        for (_, id, replace) in marked.into_iter().take(room) {
            let active = self.group.active();
            let cause = match replace {
                Replace::Refresh => "an instance refresh.".to_owned(),
                Replace::AtRisk => "an EC2 instance rebalance recommendation.".to_owned(),
                Replace::ZoneLeft | Replace::Rebalance => format!(
                    "a difference between desired and actual capacity, shrinking the capacity from \
                     {active} to {}.",
                    active - 1
                ),
            };
            let cause = format!(
                "At {} an instance was taken out of service in response to {cause}",
                iso(now)
            );
            self.terminate(&id, &cause, true);
        }
        next
    }

    /// Ends members beyond the wanted number.
    fn scale_in(&mut self) {
        if !self.group.runs("Terminate") {
            return;
        }
        let now = self.fabric.now;
        while self.group.active() > self.wanted() {
            let Some(victim) = self.victim() else { return };
            let active = self.group.active();
            let cause = format!(
                "At {} an instance was taken out of service in response to a difference between \
                 desired and actual capacity, shrinking the capacity from {active} to {}.",
                iso(now),
                active - 1
            );
            self.terminate(&victim, &cause, true);
        }
    }

    /// AWS's choice at scale-in: marked members first, then by the group's termination policy.
    /// The default one takes the fullest zone, then the oldest template, then the oldest member.
    fn victim(&self) -> Option<Name> {
        let mut in_zone: BTreeMap<&Name, u32> = BTreeMap::new();
        for member in self.group.members.values().filter(|m| m.counts()) {
            *in_zone.entry(&member.zone).or_default() += 1;
        }
        let policy = self
            .group
            .termination_policies
            .first()
            .map_or("Default", String::as_str);
        let rank = |member: &Member| {
            let age = member.launched.as_millisecond();
            let fullness = u32::MAX - in_zone[&member.zone];
            let current = member
                .template
                .as_ref()
                .is_some_and(|t| t.id == self.group.template.id);
            match policy {
                "OldestInstance" => (0, false, 0, age),
                "NewestInstance" => (0, false, 0, -age),
                _ => (fullness, current, member.version, age),
            }
        };
        self.group
            .members
            .values()
            .filter(|member| member.counts() && !member.protected)
            .min_by_key(|m| (m.replace.is_none(), rank(m), m.id.clone()))
            .map(|member| member.id.clone())
    }

    /// The group's zones in order with their subnets.
    pub(super) fn zones(&self) -> Vec<(Name, Vec<Name>)> {
        let mut zones: Vec<(Name, Vec<Name>)> = Vec::new();
        for id in &self.group.subnets {
            let Some(subnet) = self.compute.subnets.get(id) else {
                continue;
            };
            match zones.iter_mut().find(|(zone, _)| *zone == subnet.zone) {
                Some((_, subnets)) => subnets.push(id.clone()),
                None => zones.push((subnet.zone.clone(), vec![id.clone()])),
            }
        }
        zones.sort_unstable();
        zones
    }

    /// Whether an instance still runs or may run again.
    pub(super) fn instance_lives(&self, id: &Name) -> bool {
        let instance = self.compute.instances.get(id);
        instance.is_some_and(|i| !i.state.is_ending() && i.state != InstanceState::Stopped)
    }
}
