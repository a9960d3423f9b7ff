//! The launching part of a turn: from which template, into which zone, and what a failure means.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;

use super::{
    activity::ActivityStatus,
    group::{Lifecycle, Member, Replace, Retry, TemplateRef, count},
    turn::Turn,
};
use crate::{
    aws::{
        ec2::{
            instance::Origin,
            launch::{Launch, LaunchFailure, launch_tags},
        },
        state::Name,
    },
    clock::{iso, later},
};

/// What the instances of one turn share.
struct Kit {
    origin: Origin,
    tags: Arc<BTreeMap<String, String>>,
}

impl Turn<'_> {
    /// Launches what is missing; when to try again after a failure.
    pub(super) fn launch_missing(&mut self) -> Option<Timestamp> {
        let now = self.fabric.now;
        let missing = self.wanted().saturating_sub(self.group.active());
        if missing == 0 || !self.group.runs("Launch") {
            return None;
        }
        if let Some(retry) = self.group.retry.as_ref().filter(|retry| retry.at > now) {
            return Some(retry.at);
        }
        let mut kit = None;
        for _ in 0..missing {
            match self.launch_one(&mut kit) {
                Ok(()) => self.group.retry = None,
                Err(failure) => return Some(self.launch_failed(&failure)),
            }
        }
        None
    }

    fn launch_one(&mut self, kit: &mut Option<Kit>) -> Result<(), LaunchFailure> {
        let Kit { origin, tags } = match kit {
            Some(kit) => kit,
            None => kit.insert(self.kit()?),
        };
        let mut failure = LaunchFailure {
            code: "ValidationError".into(),
            message: "The group has no subnet.".into(),
        };
        for subnet in self.subnets_by_need() {
            let launch = Launch {
                group: &self.group.name,
                origin,
                subnet: &subnet,
                tags: tags.clone(),
            };
            match self.compute.launch(self.fabric, launch) {
                Ok(id) => {
                    self.admit(&id, origin);
                    return Ok(());
                }
                Err(why) if why.is_of_the_zone() => failure = why,
                Err(why) => return Err(why),
            }
        }
        Err(failure)
    }

    /// What all launches of a turn have in common.
    fn kit(&self) -> Result<Kit, LaunchFailure> {
        let origin = self.origin()?;
        let propagated = self
            .group
            .tags
            .iter()
            .filter(|(_, tag)| tag.propagate)
            .map(|(key, tag)| (key.clone(), tag.value.clone()));
        let tags = launch_tags(&origin.version, &origin, &self.group.name, propagated);
        let tags = Arc::new(tags);
        Ok(Kit { origin, tags })
    }

    /// The template version the group launches from.
    fn origin(&self) -> Result<Origin, LaunchFailure> {
        let named = &self.group.template;
        let version = self
            .compute
            .template(&named.id)
            .and_then(|t| t.version(&named.version));
        match version {
            Some(version) => Ok(Origin {
                template_id: named.id.clone(),
                template_name: named.name.clone(),
                version: version.clone(),
            }),
            None => Err(LaunchFailure {
                code: "InvalidLaunchTemplateId.NotFound".into(),
                message: format!(
                    "The specified launch template, with template ID {}, does not exist.",
                    named.id
                ),
            }),
        }
    }

    /// Number of the version the group launches from.
    pub(super) fn current_version(&self) -> Option<u64> {
        self.origin().ok().map(|origin| origin.version.number)
    }

    fn admit(&mut self, id: &Name, origin: &Origin) {
        let now = self.fabric.now;
        let instance = &self.compute.instances[id];
        let active = self.group.active();
        let cause = format!(
            "At {} an instance was started in response to a difference between desired and actual \
             capacity, increasing the capacity from {active} to {}.",
            iso(now),
            active + 1
        );
        let activity = self.group.activities.begin(
            self.fabric.new_uuid(),
            format!("Launching a new EC2 instance: {id}"),
            cause,
            now,
        );
        let template = TemplateRef {
            id: origin.template_id.clone(),
            name: origin.template_name.clone(),
            version: origin.version.number.to_string(),
        };
        let member = Member {
            id: id.clone(),
            zone: instance.zone.clone(),
            instance_type: instance.instance_type.clone(),
            image_id: instance.image_id.clone(),
            template: Some(template),
            version: origin.version.number,
            launched: now,
            lifecycle: Lifecycle::Pending,
            healthy: true,
            unwell_since: None,
            protected: self.group.protect_new,
            in_service_since: None,
            waits: Vec::new(),
            replace: None,
            activity,
        };
        self.group.members.insert(id.clone(), member);
    }

    /// Records a failed launch and doubles the pause; when to try again.
    fn launch_failed(&mut self, failure: &LaunchFailure) -> Timestamp {
        let now = self.fabric.now;
        let prefix = if failure.code.starts_with("Client.") || failure.code.starts_with("Server.") {
            format!("{}: ", failure.code)
        } else {
            String::new()
        };
        let message = format!("{prefix}{} Launching EC2 instance failed.", failure.message);
        let active = self.group.active();
        let number = self.group.activities.begin(
            self.fabric.new_uuid(),
            format!("Launching a new EC2 instance.  Status Reason: {message}"),
            format!(
                "At {} an instance was started in response to a difference between desired and \
                 actual capacity, increasing the capacity from {active} to {}.",
                iso(now),
                active + 1
            ),
            now,
        );
        self.group
            .activities
            .end(number, ActivityStatus::Failed, Some(message), now);
        let timing = &self.fabric.timing;
        let pause = match &self.group.retry {
            Some(retry) => (retry.pause * 2).min(timing.launch_retry_longest),
            None => timing.launch_retry,
        };
        let at = later(now, pause);
        self.group.retry = Some(Retry { at, pause });
        at
    }

    /// Subnets to launch into, those of the emptiest zone first. Marked members do not count:
    /// their places are being given up. A launch that only balances zones has no other choice
    /// than the emptiest.
    fn subnets_by_need(&self) -> Vec<Name> {
        let occupied = |zone: &Name| {
            let staying = |m: &&Member| m.counts() && m.replace.is_none() && m.zone == *zone;
            count(self.group.members.values().filter(staying))
        };
        let mut zones: Vec<(u32, Vec<Name>)> = self
            .zones()
            .into_iter()
            .map(|(zone, subnets)| (occupied(&zone), subnets))
            .collect();
        zones.sort_by_key(|(members, _)| *members);
        let balances = self.group.active() >= self.group.desired
            && self.marked().all(|m| m.replace == Some(Replace::Rebalance));
        let fewest = zones.first().map_or(0, |(members, _)| *members);
        zones.retain(|(members, _)| !balances || *members == fewest);
        zones.into_iter().flat_map(|(_, subnets)| subnets).collect()
    }
}
