//! Simulated EC2 Auto Scaling: groups that keep their size, refreshes, policies, hooks.
//!
//! In: parameters of a call, and the estate of the caller. Out: the body of the answer, or Auto
//! Scaling's refusal. What a group does by itself is in `turn`, `launching`, `refresh`,
//! `lifecycle` and `tracking`; everything else is calls.

pub(crate) mod activity;
pub(crate) mod group;
mod group_calls;
mod group_reads;
mod hook_calls;
mod launching;
mod lifecycle;
mod member_calls;
pub(crate) mod policy;
mod process_calls;
pub(crate) mod refresh;
mod refresh_calls;
mod tag_calls;
mod tracking;
pub(crate) mod turn;

use self::group::Group;
use super::{
    protocol::{AwsError, Params, Xml},
    service::Handler,
    state::{Estate, Name, Site},
};

/// What a call is answered with.
pub(crate) type Answer = Result<Xml, AwsError>;

/// The handler of an action.
pub(crate) fn handler(action: &str) -> Option<Handler> {
    use Handler::{Read, Write};
    Some(match action {
        "CreateAutoScalingGroup" => Write(group_calls::create),
        "UpdateAutoScalingGroup" => Write(group_calls::update),
        "DeleteAutoScalingGroup" => Write(group_calls::delete),
        "DescribeAccountLimits" => Read(group_reads::account_limits),
        "SetDesiredCapacity" => Write(group_calls::set_desired),
        "DescribeAutoScalingGroups" => Read(group_reads::groups),
        "DescribeAutoScalingInstances" => Read(group_reads::instances),
        "SuspendProcesses" => Write(process_calls::suspend),
        "ResumeProcesses" => Write(process_calls::resume),
        "CreateOrUpdateTags" => Write(tag_calls::create_or_update),
        "DeleteTags" => Write(tag_calls::delete),
        "DescribeTags" => Read(tag_calls::describe),
        "PutScalingPolicy" => Write(policy::put),
        "DeletePolicy" => Write(policy::delete),
        "DescribePolicies" => Read(policy::describe),
        "StartInstanceRefresh" => Write(refresh_calls::start),
        "CancelInstanceRefresh" => Write(refresh_calls::cancel),
        "DescribeInstanceRefreshes" => Read(refresh_calls::describe),
        "DescribeScalingActivities" => Read(activity::describe),
        "TerminateInstanceInAutoScalingGroup" => Write(member_calls::terminate),
        "SetInstanceProtection" => Write(member_calls::protect),
        "DetachInstances" => Write(member_calls::detach),
        "SetInstanceHealth" => Write(member_calls::set_health),
        "PutLifecycleHook" => Write(hook_calls::put),
        "DeleteLifecycleHook" => Write(hook_calls::delete),
        "DescribeLifecycleHooks" => Read(hook_calls::describe),
        "CompleteLifecycleAction" => Write(hook_calls::complete),
        "RecordLifecycleActionHeartbeat" => Write(hook_calls::heartbeat),
        _ => return None,
    })
}

/// Auto Scaling's refusal of a group that is not there.
pub(crate) fn no_group(name: &str) -> AwsError {
    AwsError::validation(format!(
        "AutoScalingGroup name not found - AutoScalingGroup {name} not found"
    ))
}

/// The group a call names.
pub(crate) fn named<'a>(estate: &'a Estate, params: &Params) -> Result<&'a Group, AwsError> {
    let name = required(params, "AutoScalingGroupName")?;
    estate.groups.get(name).ok_or_else(|| no_group(name))
}

/// The name of the group a call is to change: one that exists and is not being deleted.
pub(crate) fn named_to_change(site: &Site<'_>, params: &Params) -> Result<Name, AwsError> {
    let group = named(site.estate, params)?;
    if group.deletion.is_some() {
        return Err(AwsError::new(
            "ScalingActivityInProgress",
            format!("AutoScalingGroup {} is pending delete", group.name),
        ));
    }
    Ok(group.name.clone())
}

/// A required parameter, in Auto Scaling's words when it is missing.
pub(crate) fn required<'a>(params: &'a Params, name: &str) -> Result<&'a str, AwsError> {
    params.text(name).filter(|text| !text.is_empty()).ok_or_else(|| {
        let mut field = name.to_owned();
        field[..1].make_ascii_lowercase();
        AwsError::validation(format!(
            "1 validation error detected: Value null at '{field}' failed to satisfy constraint: \
             Member must not be null"
        ))
    })
}

/// `MaxRecords` within its bounds, or the default.
pub(crate) fn max_records(params: &Params, default: usize, most: i64) -> Result<usize, AwsError> {
    match params.int("MaxRecords")? {
        None => Ok(default),
        Some(size) if (1..=most).contains(&size) => Ok(usize::try_from(size).unwrap_or(default)),
        Some(size) => Err(AwsError::validation(format!(
            "1 validation error detected: Value '{size}' at 'maxRecords' failed to satisfy \
             constraint: Member must have value between 1 and {most}"
        ))),
    }
}
