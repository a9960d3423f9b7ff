//! What each call does in the model.

use std::collections::BTreeSet;

use remuda_plan::aws::{
    action::{Action as Call, GroupUpdate},
    desired::GroupSpec,
    group::{CPU_METRIC, HOOK_RESULT, HOOK_TRANSITION, POLICY_TYPE},
    observed::{Group, GroupInstance, Hook, Policy, Refresh},
    roll,
};

use super::{Cloud, Versioned};

/// Lifecycle state of an instance that a hook holds.
pub(crate) const HELD: &str = "Terminating:Wait";

pub(crate) fn is_terminating(instance: &GroupInstance) -> bool {
    instance.lifecycle_state.starts_with("Terminating")
}

fn hook(heartbeat_seconds: i64) -> Hook {
    Hook {
        transition: HOOK_TRANSITION.to_owned(),
        heartbeat_seconds,
        default_result: HOOK_RESULT.to_owned(),
    }
}

/// `subnet-0aaa…` lies in `us-east-1a`.
fn zones_of(subnets: &BTreeSet<String>) -> BTreeSet<String> {
    let letters = subnets.iter().filter_map(|subnet| subnet.chars().nth(8));
    letters.map(|letter| format!("us-east-1{letter}")).collect()
}

impl Cloud {
    /// Whether the call came to its end at once, or the code with which it was refused.
    pub(crate) fn apply(&mut self, call: &Call) -> Result<bool, &'static str> {
        match call {
            Call::PutPayload(payload) => {
                self.objects.insert(
                    (payload.bucket.clone(), payload.key.clone()),
                    (payload.body.reveal().clone(), payload.tags.clone()),
                );
            }
            Call::TagPayload { bucket, key, tags } => {
                let object = self.objects.get_mut(&(bucket.clone(), key.clone()));
                object.ok_or("NoSuchKey")?.1.clone_from(tags);
            }
            Call::DeletePayload { bucket, key } => {
                self.objects.remove(&(bucket.clone(), key.clone()));
            }
            Call::CreateTemplate {
                name, data, tags, ..
            } => {
                if self.templates.contains_key(name) {
                    return Err("InvalidLaunchTemplateName.AlreadyExistsException");
                }
                self.made += 1;
                self.templates.insert(
                    name.clone(),
                    Versioned {
                        id: format!("lt-{:017x}", self.made),
                        default: 1,
                        versions: vec![data.clone()],
                        tags: tags.clone(),
                    },
                );
            }
            Call::CreateTemplateVersion { name, data, .. } => {
                let found = self.templates.get_mut(name);
                let found = found.ok_or("InvalidLaunchTemplateName.NotFoundException")?;
                found.versions.push(data.clone());
            }
            Call::SetDefaultVersion { name, version } => {
                let found = self.templates.get_mut(name);
                let found = found.ok_or("InvalidLaunchTemplateName.NotFoundException")?;
                found.default = usize::try_from(*version).expect("a version number");
                assert!(found.default <= found.versions.len(), "the version exists");
            }
            Call::TagTemplate { id, tags } => self.template_by_id(id)?.tags.extend(tags.clone()),
            Call::UntagTemplate { id, keys } => {
                self.template_by_id(id)?
                    .tags
                    .retain(|key, _| !keys.contains(key));
            }
            Call::DeleteTemplate { name } => drop(self.templates.remove(name)),
            Call::CreateGroup {
                group,
                template_name,
            } => self.create_group(group, template_name)?,
            Call::UpdateGroup(update) => self.update_group(update)?,
            Call::StartRefresh { .. } => self.start_refresh()?,
            Call::CancelRefresh { .. } => return Ok(self.cancel_refresh()),
            Call::DeleteGroup { .. } => self.delete_group()?,
            Call::EndInstance {
                instance_id,
                decrement,
                ..
            } => self.end_instance(instance_id, *decrement)?,
            Call::CompleteHook { instance_id, .. } => {
                let group = self.group.as_mut().ok_or("ValidationError")?;
                group
                    .instances
                    .retain(|i| i.instance_id != *instance_id || i.lifecycle_state != HELD);
            }
            Call::ProlongHook { .. } => {}
            Call::PutHook {
                heartbeat_seconds, ..
            } => self.hook = Some(hook(*heartbeat_seconds)),
            Call::DeleteHook { .. } => {
                self.hook = None;
                let group = self.group.as_mut().ok_or("ValidationError")?;
                group.instances.retain(|i| i.lifecycle_state != HELD);
            }
            Call::TagGroup { .. }
            | Call::UntagGroup { .. }
            | Call::SuspendProcesses { .. }
            | Call::ResumeProcesses { .. }
            | Call::PutCpuPolicy { .. }
            | Call::DeleteCpuPolicy { .. }
            | Call::UnprotectInstances { .. } => self.change_group(call)?,
        }
        Ok(true)
    }

    /// AWS ends the named instance, at the hook if there is one, and replaces it unless told not to.
    fn end_instance(&mut self, id: &str, decrement: bool) -> Result<(), &'static str> {
        let has_hook = self.hook.is_some();
        let group = self.group.as_mut().ok_or("ValidationError")?;
        let at = group.instances.iter().position(|i| i.instance_id == id);
        let at = at.ok_or("ValidationError")?;
        if is_terminating(&group.instances[at]) {
            return Ok(());
        }
        if decrement {
            if group.desired_capacity <= group.min_size {
                return Err("ValidationError");
            }
            group.desired_capacity -= 1;
        }
        self.ended.push(id.to_owned());
        if has_hook {
            HELD.clone_into(&mut group.instances[at].lifecycle_state);
        } else {
            group.instances.remove(at);
        }
        Ok(())
    }

    fn template_by_id(&mut self, id: &str) -> Result<&mut Versioned, &'static str> {
        let found = self.templates.values_mut().find(|found| found.id == id);
        found.ok_or("InvalidLaunchTemplateId.NotFound")
    }

    fn create_group(&mut self, spec: &GroupSpec, template_name: &str) -> Result<(), &'static str> {
        if self.group.is_some() {
            return Err("AlreadyExists");
        }
        let template = self.templates.get(template_name).ok_or("ValidationError")?;
        assert!(!spec.subnets.is_empty(), "a group needs a subnet");
        self.group = Some(Group {
            name: spec.name.clone(),
            arn: format!(
                "arn:aws:autoscaling:us-east-1:000000000000:autoScalingGroup:0:autoScalingGroupName/{}",
                spec.name
            ),
            min_size: spec.min_size,
            max_size: spec.max_size,
            desired_capacity: spec.desired_capacity,
            template_id: Some(template.id.clone()),
            template_name: Some(template_name.to_owned()),
            template_version: Some("$Latest".to_owned()),
            subnets: spec.subnets.clone(),
            zones: zones_of(&spec.subnets),
            capacity_rebalance: spec.capacity_rebalance,
            health_check_type: "EC2".to_owned(),
            health_check_grace_period_seconds: 300,
            new_instances_protected: false,
            tags: spec
                .tags
                .iter()
                .map(|(k, v)| (k.clone(), (v.clone(), false)))
                .collect(),
            suspended: BTreeSet::new(),
            instances: Vec::new(),
            status: None,
        });
        self.hook = spec.hook.map(|wanted| hook(wanted.heartbeat_seconds));
        self.rolled_to = Some(template_name.to_owned());
        self.tick();
        Ok(())
    }

    fn update_group(&mut self, update: &GroupUpdate) -> Result<(), &'static str> {
        let template = match &update.template_name {
            Some(name) => Some((
                name,
                self.templates
                    .get(name)
                    .ok_or("ValidationError")?
                    .id
                    .clone(),
            )),
            None => None,
        };
        let group = self.group.as_mut().ok_or("ValidationError")?;
        if let Some((name, id)) = template {
            group.template_name = Some(name.clone());
            group.template_id = Some(id);
            group.template_version = Some("$Latest".to_owned());
        }
        group.min_size = update.min_size.unwrap_or(group.min_size);
        group.max_size = update.max_size.unwrap_or(group.max_size);
        if group.min_size > group.max_size {
            return Err("ValidationError");
        }
        group.desired_capacity = update
            .desired_capacity
            .unwrap_or(group.desired_capacity)
            .clamp(group.min_size, group.max_size);
        if let Some(subnets) = &update.subnets {
            group.subnets.clone_from(subnets);
            group.zones = zones_of(subnets);
        }
        group.capacity_rebalance = update
            .capacity_rebalance
            .unwrap_or(group.capacity_rebalance);
        group.health_check_type = update
            .health_check_type
            .clone()
            .unwrap_or_else(|| group.health_check_type.clone());
        group.health_check_grace_period_seconds = update
            .health_check_grace_period_seconds
            .unwrap_or(group.health_check_grace_period_seconds);
        group.new_instances_protected = update
            .new_instances_protected
            .unwrap_or(group.new_instances_protected);
        Ok(())
    }

    fn change_group(&mut self, call: &Call) -> Result<(), &'static str> {
        let group = self.group.as_mut().ok_or("ValidationError")?;
        match call {
            Call::TagGroup { tags, .. } => group
                .tags
                .extend(tags.iter().map(|(k, v)| (k.clone(), (v.clone(), false)))),
            Call::UntagGroup { keys, .. } => group.tags.retain(|key, _| !keys.contains(key)),
            Call::SuspendProcesses { processes, .. } => group.suspended.extend(processes.clone()),
            Call::ResumeProcesses { processes, .. } => {
                group
                    .suspended
                    .retain(|process| !processes.contains(process));
            }
            Call::PutCpuPolicy { target_percent, .. } => {
                self.policy = Some(Policy {
                    policy_type: POLICY_TYPE.to_owned(),
                    metric: CPU_METRIC.to_owned(),
                    target_value: *target_percent,
                });
            }
            Call::DeleteCpuPolicy { .. } => self.policy = None,
            Call::UnprotectInstances { instance_ids, .. } => {
                for instance in &mut group.instances {
                    instance.protected &= !instance_ids.contains(&instance.instance_id);
                }
            }
            other => panic!("{other:?} does not change a group"),
        }
        Ok(())
    }

    fn start_refresh(&mut self) -> Result<(), &'static str> {
        if self.running_refresh().is_some() {
            return Err("InstanceRefreshInProgress");
        }
        let group = self.group.as_ref().ok_or("ValidationError")?;
        let refresh = Refresh {
            id: format!("refresh-{}", self.refreshes.len() + 1),
            status: "InProgress".to_owned(),
            status_reason: group.template_name.clone(),
            percentage_complete: Some(0),
        };
        self.rolled_to.clone_from(&group.template_name);
        self.refreshes.insert(0, refresh);
        Ok(())
    }

    pub(crate) fn running_refresh(&mut self) -> Option<&mut Refresh> {
        self.refreshes
            .iter_mut()
            .find(|refresh| !roll::is_terminal(&refresh.status))
    }

    /// Whether nothing had to be cancelled.
    fn cancel_refresh(&mut self) -> bool {
        match self.running_refresh() {
            Some(refresh) => {
                "Cancelling".clone_into(&mut refresh.status);
                false
            }
            None => true,
        }
    }

    fn delete_group(&mut self) -> Result<(), &'static str> {
        if let Some(group) = &mut self.group {
            if !group.instances.is_empty() {
                return Err("ResourceInUse");
            }
            group.status = Some("Delete in progress".to_owned());
        }
        Ok(())
    }
}
