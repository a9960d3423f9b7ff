//! Calls on members of groups.

use std::time::Duration;

use super::{
    Answer,
    activity::{ActivityStatus, activity_xml},
    group::Member,
    named_to_change, required,
    turn::Turn,
};
use crate::aws::{
    protocol::{AwsError, Params, Xml},
    state::{Name, Site},
};

/// AWS's limits of instances a call.
const MOST_PROTECTED: usize = 50;
const MOST_DETACHED: usize = 20;

pub(super) fn terminate(site: &mut Site<'_>, params: &Params) -> Answer {
    let id = required(params, "InstanceId")?;
    let decrement = params
        .flag("ShouldDecrementDesiredCapacity")?
        .ok_or_else(|| {
            required(params, "ShouldDecrementDesiredCapacity")
                .err()
                .unwrap_or_else(|| {
                    AwsError::validation("ShouldDecrementDesiredCapacity must be true or false")
                })
        })?;
    let (group, id) = group_of(site, id)?;
    let Turn {
        group,
        compute,
        fabric,
    } = site.turn(&group).expect("it holds the member");
    if group.members[&id].counts() && decrement {
        if group.desired <= group.min {
            return Err(AwsError::validation(format!(
                "Currently, desiredSize equals minSize ({}). Terminating instance without \
                 replacement will violate group's min size constraint. Either set \
                 shouldDecrementDesiredCapacity flag to false or lower group's min size.",
                group.min
            )));
        }
        group.desired -= 1;
    }
    let mut turn = Turn {
        group,
        compute,
        fabric,
    };
    let cause = format!(
        "At {} instance {id} was taken out of service in response to a user request.",
        crate::clock::iso(turn.fabric.now)
    );
    let activity = turn.group.members[&id].activity;
    turn.terminate(&id, &cause, true);
    let activity = turn
        .group
        .members
        .get(&id)
        .map_or(activity, |member| member.activity);
    turn.group
        .poke(turn.fabric, turn.compute.id, Duration::ZERO);
    let mut xml = Xml::new();
    if let Some(activity) = turn.group.activities.get(activity) {
        xml.within("Activity", |xml| activity_xml(turn.group, activity, xml));
    }
    Ok(xml)
}

pub(super) fn protect(site: &mut Site<'_>, params: &Params) -> Answer {
    let name = named_to_change(site, params)?;
    let on = params
        .flag("ProtectedFromScaleIn")?
        .ok_or_else(|| AwsError::validation("ProtectedFromScaleIn must be true or false"))?;
    let ids = params.texts("InstanceIds");
    if ids.len() > MOST_PROTECTED {
        return Err(AwsError::validation(format!(
            "1 validation error detected: Value at 'instanceIds' failed to satisfy constraint: \
             Member must have length less than or equal to {MOST_PROTECTED}"
        )));
    }
    let group = site
        .estate
        .groups
        .get_mut(&name)
        .expect("it was found by name");
    if let Some(id) = ids.iter().find(|id| !group.members.contains_key(**id)) {
        return Err(not_a_member(id, &name));
    }
    for id in ids {
        if let Some(member) = group.members.get_mut(id) {
            member.protected = on;
        }
    }
    group.poke(site.fabric, site.estate.compute.id, Duration::ZERO);
    Ok(Xml::new())
}

pub(super) fn detach(site: &mut Site<'_>, params: &Params) -> Answer {
    let name = named_to_change(site, params)?;
    let decrement = params
        .flag("ShouldDecrementDesiredCapacity")?
        .ok_or_else(|| AwsError::validation("ShouldDecrementDesiredCapacity must be given"))?;
    let ids = params.texts("InstanceIds");
    if ids.len() > MOST_DETACHED {
        return Err(AwsError::validation(format!(
            "At most {MOST_DETACHED} instances can be detached in one call"
        )));
    }
    let Turn {
        group,
        compute,
        fabric,
    } = site.turn(&name).expect("it was found by name");
    if let Some(id) = ids
        .iter()
        .find(|id| !group.members.get(**id).is_some_and(Member::counts))
    {
        return Err(not_a_member(id, &name));
    }
    let many = u32::try_from(ids.len()).unwrap_or(u32::MAX);
    if decrement && group.desired.saturating_sub(many) < group.min {
        return Err(AwsError::validation(
            "Detaching the instances would take the desired capacity below the min size",
        ));
    }
    if decrement {
        group.desired = group.desired.saturating_sub(many);
    }
    let mut turn = Turn {
        group,
        compute,
        fabric,
    };
    let numbers: Vec<u64> = ids.iter().filter_map(|id| turn.detach(id)).collect();
    let group = turn.group;
    group.poke(turn.fabric, turn.compute.id, Duration::ZERO);
    let mut xml = Xml::new();
    let activities = numbers
        .iter()
        .filter_map(|number| group.activities.get(*number));
    xml.list("Activities", "member", activities, |xml, activity| {
        activity_xml(group, activity, xml);
    });
    Ok(xml)
}

impl Turn<'_> {
    /// Lets a member go with its instance running; the number of the activity.
    fn detach(&mut self, id: &str) -> Option<u64> {
        let now = self.fabric.now;
        let member = self.group.members.remove(id)?;
        let activities = &mut self.group.activities;
        let number = activities.begin(
            self.fabric.new_uuid(),
            format!("Detaching EC2 instance: {id}"),
            "Instances were detached in response to a user request.".into(),
            now,
        );
        activities.end(member.activity, ActivityStatus::Successful, None, now);
        activities.end(number, ActivityStatus::Successful, None, now);
        if let Some(instance) = self.compute.instances.get_mut(id) {
            instance.group = None;
            let mut tags = (*instance.tags).clone();
            tags.remove("aws:autoscaling:groupName");
            instance.tags = tags.into();
        }
        let members = self.compute.instances_by_group.get_mut(&self.group.name);
        if let Some(members) = members {
            members.remove(id);
        }
        Some(number)
    }
}

pub(super) fn set_health(site: &mut Site<'_>, params: &Params) -> Answer {
    let id = required(params, "InstanceId")?;
    let healthy = match required(params, "HealthStatus")? {
        "Healthy" => true,
        "Unhealthy" => false,
        other => {
            return Err(AwsError::validation(format!(
                "{other} is not a health status"
            )));
        }
    };
    let (group, id) = group_of(site, id)?;
    if healthy {
        let turn = site.turn(&group).expect("it holds the member");
        if let Some(member) = turn.group.members.get_mut(&id) {
            member.healthy = true;
            member.unwell_since = None;
        }
    } else {
        site.member_unwell(&group, &id);
    }
    Ok(Xml::new())
}

/// The group an instance is a member of.
fn group_of(site: &Site<'_>, id: &str) -> Result<(Name, Name), AwsError> {
    let instance = site.estate.compute.instances.get(id);
    let group = instance.and_then(|instance| instance.group.as_ref());
    group
        .and_then(|name| site.estate.groups.get(name))
        .and_then(|group| {
            group
                .members
                .get(id)
                .map(|m| (group.name.clone(), m.id.clone()))
        })
        .ok_or_else(|| {
            AwsError::validation(format!(
                "Instance Id not found - No managed instance found for instance ID {id}"
            ))
        })
}

fn not_a_member(id: &str, group: &str) -> AwsError {
    AwsError::validation(format!(
        "The instance {id} is not part of Auto Scaling group {group}."
    ))
}
