//! The Auto Scaling group, and what hangs on it: tags, suspended processes, the CPU policy.

use std::collections::{BTreeMap, BTreeSet};

use remuda_cloud::{Applied, CloudError, answer::gone_already};
use remuda_plan::aws::{action::GroupUpdate, desired::GroupSpec};

use crate::{calls, observe::Region, wire::group};

impl Region {
    pub(super) async fn create_group(
        &self,
        spec: &GroupSpec,
        template_name: &str,
    ) -> Result<Applied, CloudError> {
        let (min, max, desired) = group::bounds(spec);
        let tags = group::tags(&spec.name, &spec.tags);
        let hooks = spec
            .hook
            .map(|hook| vec![group::hook(hook.heartbeat_seconds)]);
        self.clients
            .call(&calls::CREATE_GROUP, &spec.name, || {
                self.clients
                    .autoscaling
                    .create_auto_scaling_group()
                    .auto_scaling_group_name(&spec.name)
                    .min_size(min)
                    .max_size(max)
                    .desired_capacity(desired)
                    .launch_template(group::template_by_name(template_name))
                    .vpc_zone_identifier(group::subnets(&spec.subnets))
                    .capacity_rebalance(spec.capacity_rebalance)
                    .health_check_type(group::HEALTH_CHECK_TYPE)
                    .health_check_grace_period(group::HEALTH_CHECK_GRACE_PERIOD_SECONDS)
                    .new_instances_protected_from_scale_in(false)
                    .set_tags(Some(tags.clone()))
                    .set_lifecycle_hook_specification_list(hooks.clone())
                    .send()
            })
            .await?;
        Ok(Applied::Done)
    }

    pub(super) async fn update_group(&self, update: &GroupUpdate) -> Result<Applied, CloudError> {
        let size = |size: Option<i64>| size.map(group::count);
        self.clients
            .call(&calls::UPDATE_GROUP, &update.group, || {
                self.clients
                    .autoscaling
                    .update_auto_scaling_group()
                    .auto_scaling_group_name(&update.group)
                    .set_min_size(size(update.min_size))
                    .set_max_size(size(update.max_size))
                    .set_desired_capacity(size(update.desired_capacity))
                    .set_launch_template(
                        update.template_name.as_deref().map(group::template_by_name),
                    )
                    .set_vpc_zone_identifier(update.subnets.as_ref().map(group::subnets))
                    .set_capacity_rebalance(update.capacity_rebalance)
                    .set_health_check_type(update.health_check_type.clone())
                    .set_health_check_grace_period(size(update.health_check_grace_period_seconds))
                    .set_new_instances_protected_from_scale_in(update.new_instances_protected)
                    .send()
            })
            .await?;
        Ok(Applied::Done)
    }

    pub(super) async fn delete_group(&self, name: &str) -> Result<Applied, CloudError> {
        let sent = self
            .clients
            .call(&calls::DELETE_GROUP, name, || {
                self.clients
                    .autoscaling
                    .delete_auto_scaling_group()
                    .auto_scaling_group_name(name)
                    .force_delete(false)
                    .send()
            })
            .await;
        gone_already(sent.map(|_| Applied::Done))
    }

    pub(super) async fn tag_group(
        &self,
        name: &str,
        tags: &BTreeMap<String, String>,
    ) -> Result<Applied, CloudError> {
        let tags = group::tags(name, tags);
        self.clients
            .call(&calls::TAG_GROUP, name, || {
                self.clients
                    .autoscaling
                    .create_or_update_tags()
                    .set_tags(Some(tags.clone()))
                    .send()
            })
            .await?;
        Ok(Applied::Done)
    }

    /// A tag is named without a value, and so goes whatever its value is.
    pub(super) async fn untag_group(
        &self,
        name: &str,
        keys: &BTreeSet<String>,
    ) -> Result<Applied, CloudError> {
        let named = keys
            .iter()
            .map(|key| (key.clone(), String::new()))
            .collect();
        let mut tags = group::tags(name, &named);
        for tag in &mut tags {
            tag.value = None;
        }
        self.clients
            .call(&calls::UNTAG_GROUP, name, || {
                self.clients
                    .autoscaling
                    .delete_tags()
                    .set_tags(Some(tags.clone()))
                    .send()
            })
            .await?;
        Ok(Applied::Done)
    }

    pub(super) async fn suspend_processes(
        &self,
        name: &str,
        processes: &BTreeSet<String>,
    ) -> Result<Applied, CloudError> {
        self.clients
            .call(&calls::SUSPEND_PROCESSES, name, || {
                self.clients
                    .autoscaling
                    .suspend_processes()
                    .auto_scaling_group_name(name)
                    .set_scaling_processes(Some(processes.iter().cloned().collect()))
                    .send()
            })
            .await?;
        Ok(Applied::Done)
    }

    pub(super) async fn resume_processes(
        &self,
        name: &str,
        processes: &BTreeSet<String>,
    ) -> Result<Applied, CloudError> {
        self.clients
            .call(&calls::RESUME_PROCESSES, name, || {
                self.clients
                    .autoscaling
                    .resume_processes()
                    .auto_scaling_group_name(name)
                    .set_scaling_processes(Some(processes.iter().cloned().collect()))
                    .send()
            })
            .await?;
        Ok(Applied::Done)
    }

    pub(super) async fn put_cpu_policy(
        &self,
        name: &str,
        target_percent: f64,
    ) -> Result<Applied, CloudError> {
        let tracking = group::cpu_tracking(target_percent);
        self.clients
            .call(&calls::PUT_POLICY, name, || {
                self.clients
                    .autoscaling
                    .put_scaling_policy()
                    .auto_scaling_group_name(name)
                    .policy_name(group::CPU_POLICY)
                    .policy_type("TargetTrackingScaling")
                    .target_tracking_configuration(tracking.clone())
                    .send()
            })
            .await?;
        Ok(Applied::Done)
    }

    pub(super) async fn delete_cpu_policy(&self, name: &str) -> Result<Applied, CloudError> {
        let sent = self
            .clients
            .call(&calls::DELETE_POLICY, name, || {
                self.clients
                    .autoscaling
                    .delete_policy()
                    .auto_scaling_group_name(name)
                    .policy_name(group::CPU_POLICY)
                    .send()
            })
            .await;
        gone_already(sent.map(|_| Applied::Done))
    }
}
