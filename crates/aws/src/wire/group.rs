//! Auto Scaling: SDK types to plan types and back.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_autoscaling::types;
use remuda_plan::aws::{
    desired::GroupSpec,
    group::{HOOK_RESULT, HOOK_TRANSITION},
    names::HOOK,
    observed::{self, Activity, Departure, Group, GroupInstance, Hook, Policy, Refresh},
};

/// Our scaling policy (AWS document 4.6).
pub(crate) const CPU_POLICY: &str = "captf-cpu-target-tracking";

/// Version that the group follows (AWS document 4.4).
const LATEST: &str = "$Latest";

/// Lifecycle state of an instance that a terminating hook holds.
pub(crate) const HELD: &str = "Terminating:Wait";

/// What the account of a termination begins with; the instance id follows.
const TERMINATING: &str = "Terminating EC2 instance: ";

/// Health check of AWS document 4.4.
pub(crate) const HEALTH_CHECK_TYPE: &str = "EC2";

/// Seconds; sent explicitly, since AWS's own default is 0 (AWS document 4.4).
pub(crate) const HEALTH_CHECK_GRACE_PERIOD_SECONDS: i32 = 300;

/// Reads a group. `None` for an answer without a name, which AWS never gives.
pub(crate) fn read(group: &types::AutoScalingGroup) -> Option<Group> {
    let template = group.launch_template.as_ref();
    Some(Group {
        name: group.auto_scaling_group_name.clone()?,
        arn: group.auto_scaling_group_arn.clone().unwrap_or_default(),
        min_size: i64::from(group.min_size.unwrap_or_default()),
        max_size: i64::from(group.max_size.unwrap_or_default()),
        desired_capacity: i64::from(group.desired_capacity.unwrap_or_default()),
        template_name: template.and_then(|template| template.launch_template_name.clone()),
        template_version: template.and_then(|template| template.version.clone()),
        template_id: template.and_then(|template| template.launch_template_id.clone()),
        subnets: group
            .vpc_zone_identifier
            .as_deref()
            .unwrap_or_default()
            .split(',')
            .map(str::trim)
            .filter(|subnet| !subnet.is_empty())
            .map(ToOwned::to_owned)
            .collect(),
        zones: group
            .availability_zones
            .as_deref()
            .unwrap_or_default()
            .iter()
            .cloned()
            .collect(),
        capacity_rebalance: group.capacity_rebalance.unwrap_or_default(),
        health_check_type: group.health_check_type.clone().unwrap_or_default(),
        health_check_grace_period_seconds: i64::from(
            group.health_check_grace_period.unwrap_or_default(),
        ),
        new_instances_protected: group
            .new_instances_protected_from_scale_in
            .unwrap_or_default(),
        tags: read_tags(group.tags.as_deref().unwrap_or_default()),
        suspended: group
            .suspended_processes
            .as_deref()
            .unwrap_or_default()
            .iter()
            .filter_map(|process| process.process_name.clone())
            .collect(),
        instances: group
            .instances
            .as_deref()
            .unwrap_or_default()
            .iter()
            .filter_map(read_instance)
            .collect(),
        status: group.status.clone(),
    })
}

fn read_tags(tags: &[types::TagDescription]) -> BTreeMap<String, (String, bool)> {
    tags.iter()
        .filter_map(|tag| {
            Some((
                tag.key.clone()?,
                (
                    tag.value.clone().unwrap_or_default(),
                    tag.propagate_at_launch.unwrap_or_default(),
                ),
            ))
        })
        .collect()
}

fn read_instance(instance: &types::Instance) -> Option<GroupInstance> {
    let template = instance.launch_template.as_ref();
    Some(GroupInstance {
        instance_id: instance.instance_id.clone()?,
        lifecycle_state: instance
            .lifecycle_state
            .as_ref()
            .map_or_else(String::new, |state| state.as_str().to_owned()),
        protected: instance.protected_from_scale_in.unwrap_or_default(),
        template_name: template.and_then(|template| template.launch_template_name.clone()),
        template_version: template.and_then(|template| template.version.clone()),
    })
}

/// Reads our policy out of a list.
pub(crate) fn read_cpu_policy(policies: &[types::ScalingPolicy]) -> Option<Policy> {
    let policy = policies
        .iter()
        .find(|policy| policy.policy_name.as_deref() == Some(CPU_POLICY))?;
    let tracking = policy.target_tracking_configuration.as_ref();
    Some(Policy {
        policy_type: policy.policy_type.clone().unwrap_or_default(),
        metric: tracking
            .and_then(|tracking| tracking.predefined_metric_specification.as_ref())
            .and_then(|metric| metric.predefined_metric_type.as_ref())
            .map_or_else(String::new, |metric| metric.as_str().to_owned()),
        target_value: tracking
            .and_then(|tracking| tracking.target_value)
            .unwrap_or_default(),
    })
}

/// Reads a refresh.
pub(crate) fn read_refresh(refresh: &types::InstanceRefresh) -> Option<Refresh> {
    Some(Refresh {
        id: refresh.instance_refresh_id.clone()?,
        status: refresh
            .status
            .as_ref()
            .map_or_else(String::new, |status| status.as_str().to_owned()),
        status_reason: refresh.status_reason.clone(),
        percentage_complete: refresh.percentage_complete.map(i64::from),
    })
}

/// Reads an activity when it failed and began after `since_epoch_seconds`.
pub(crate) fn read_failed_activity(
    activity: &types::Activity,
    since_epoch_seconds: i64,
) -> Option<Activity> {
    let failed = activity.status_code == Some(types::ScalingActivityStatusCode::Failed);
    let recent = activity
        .start_time
        .is_some_and(|start| start.secs() >= since_epoch_seconds);
    (failed && recent).then_some(())?;
    Some(Activity {
        id: activity.activity_id.clone()?,
        status_message: activity.status_message.clone().unwrap_or_default(),
    })
}

/// Reads our lifecycle hook out of a list.
pub(crate) fn read_hook(hooks: &[types::LifecycleHook]) -> Option<Hook> {
    let hook = hooks
        .iter()
        .find(|hook| hook.lifecycle_hook_name.as_deref() == Some(HOOK))?;
    Some(Hook {
        transition: hook.lifecycle_transition.clone().unwrap_or_default(),
        heartbeat_seconds: i64::from(hook.heartbeat_timeout.unwrap_or_default()),
        default_result: hook.default_result.clone().unwrap_or_default(),
    })
}

/// Our lifecycle hook as a group is created with it.
pub(crate) fn hook(heartbeat_seconds: i64) -> types::LifecycleHookSpecification {
    let hook = types::LifecycleHookSpecification::builder()
        .lifecycle_hook_name(HOOK)
        .lifecycle_transition(HOOK_TRANSITION)
        .heartbeat_timeout(count(heartbeat_seconds))
        .default_result(HOOK_RESULT);
    hook.build()
}

/// Reads an activity when it is the termination of an instance, with the instance's id.
pub(crate) fn read_departure(activity: &types::Activity) -> Option<(String, Departure)> {
    let description = activity.description.as_deref()?;
    let named = description.strip_prefix(TERMINATING)?;
    let id = named.split([' ', '.']).next()?.to_owned();
    Some((
        id,
        Departure {
            since: activity
                .start_time
                .as_ref()
                .and_then(|start| observed::time_of_seconds(start.secs())),
            cause: activity.cause.clone().unwrap_or_default(),
        },
    ))
}

/// The group's launch template: by name, never by id, at its latest version.
pub(crate) fn template_by_name(name: &str) -> types::LaunchTemplateSpecification {
    types::LaunchTemplateSpecification::builder()
        .launch_template_name(name)
        .version(LATEST)
        .build()
}

/// `VPCZoneIdentifier`.
pub(crate) fn subnets(subnets: &BTreeSet<String>) -> String {
    subnets
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(",")
}

/// Group tags, none propagating.
pub(crate) fn tags(group: &str, tags: &BTreeMap<String, String>) -> Vec<types::Tag> {
    tags.iter()
        .map(|(key, value)| {
            types::Tag::builder()
                .resource_id(group)
                .resource_type("auto-scaling-group")
                .key(key)
                .value(value)
                .propagate_at_launch(false)
                .build()
        })
        .collect()
}

/// `TargetTrackingConfiguration` of our policy.
pub(crate) fn cpu_tracking(target_percent: f64) -> types::TargetTrackingConfiguration {
    let metric = types::PredefinedMetricSpecification::builder()
        .predefined_metric_type(types::MetricType::AsgAverageCpuUtilization)
        .build();
    types::TargetTrackingConfiguration::builder()
        .predefined_metric_specification(metric)
        .target_value(target_percent)
        .build()
}

/// Preferences of a refresh (AWS document 4.7): a replacement first, protected and standby
/// instances left alone, no rollback.
pub(crate) fn refresh_preferences(warmup_seconds: u32) -> types::RefreshPreferences {
    types::RefreshPreferences::builder()
        .min_healthy_percentage(100)
        .max_healthy_percentage(200)
        .instance_warmup(count(i64::from(warmup_seconds)))
        .scale_in_protected_instances(types::ScaleInProtectedInstances::Ignore)
        .standby_instances(types::StandbyInstances::Ignore)
        .skip_matching(false)
        .auto_rollback(false)
        .build()
}

/// A size as AWS counts: 32 bits. Plans hold validated sizes far below the bound.
pub(crate) fn count(size: i64) -> i32 {
    i32::try_from(size.max(0)).unwrap_or(i32::MAX)
}

/// What a creation sends besides names and template, for a test to look at in one place.
pub(crate) fn bounds(group: &GroupSpec) -> (i32, i32, i32) {
    (
        count(group.min_size),
        count(group.max_size),
        count(group.desired_capacity),
    )
}
