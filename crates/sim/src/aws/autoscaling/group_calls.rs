//! Calls that create, change and delete groups.

use std::time::Duration;

use super::{
    Answer,
    group::{Bounds, Creation, Deletion, Group, TemplateRef},
    hook_calls, named_to_change, required, tag_calls,
};
use crate::aws::{
    protocol::{AwsError, Params, Xml},
    state::{Compute, Fabric, Name, Site},
};

/// Largest size taken. Ours: a mistyped number must not fill the memory.
const LARGEST: u32 = 100_000;

pub(super) fn create(site: &mut Site<'_>, params: &Params) -> Answer {
    let name = required(params, "AutoScalingGroupName")?;
    if name.len() > 255 || name.contains(':') {
        return Err(AwsError::validation(
            "1 validation error detected: Value at 'autoScalingGroupName' failed to satisfy \
             constraint: Member must have length less than or equal to 255, and must not contain \
             a colon",
        ));
    }
    if site.estate.groups.contains_key(name) {
        return Err(AwsError::new(
            "AlreadyExists",
            format!(
                "AutoScalingGroup by this name already exists - A group with the name {name} \
                 already exists"
            ),
        ));
    }
    let bounds = bounds_at_creation(params)?;
    let compute = &site.estate.compute;
    let template = template(compute, site.fabric, params)?.ok_or_else(|| {
        AwsError::validation(
            "Valid requests must contain either LaunchTemplate, LaunchConfigurationName, \
             InstanceId or MixedInstancesPolicy parameter.",
        )
    })?;
    let subnets = subnets(compute, params)?.ok_or_else(|| {
        AwsError::validation("At least one Availability Zone or VPC Subnet is required.")
    })?;
    let arn = format!(
        "arn:aws:autoscaling:{}:{}:autoScalingGroup:{}:autoScalingGroupName/{name}",
        compute.region,
        compute.account,
        site.fabric.new_uuid()
    );
    let creation = Creation {
        name: name.into(),
        arn,
        bounds,
        template,
        subnets,
    };
    let mut group = Group::new(creation, site.fabric.now);
    settings(&mut group, params)?;
    hook_calls::put_all(&mut group, params)?;
    group.tags = tag_calls::tags(params, "Tags", Some(name))?;
    let estate = site.estate.compute.id;
    group.poke(site.fabric, estate, site.fabric.timing.group_reaction);
    site.estate.groups.insert(group.name.clone(), group);
    Ok(Xml::new())
}

pub(super) fn update(site: &mut Site<'_>, params: &Params) -> Answer {
    let name = named_to_change(site, params)?;
    let compute = &site.estate.compute;
    let template = template(compute, site.fabric, params)?;
    let subnets = subnets(compute, params)?;
    let group = site
        .estate
        .groups
        .get_mut(&name)
        .expect("it was found by name");
    let mut changed = group.clone();
    let bounds = bounds_at_update(group, params)?;
    changed.min = bounds.min;
    changed.max = bounds.max;
    changed.desired = bounds.desired;
    settings(&mut changed, params)?;
    if let Some(template) = template {
        changed.template = template;
    }
    if let Some(subnets) = subnets {
        changed.subnets = subnets;
    }
    // A changed group tries again at once what failed before.
    changed.retry = None;
    *group = changed;
    let estate = site.estate.compute.id;
    group.poke(site.fabric, estate, site.fabric.timing.group_reaction);
    Ok(Xml::new())
}

pub(super) fn set_desired(site: &mut Site<'_>, params: &Params) -> Answer {
    let name = named_to_change(site, params)?;
    let desired = need_size(params, "DesiredCapacity")?;
    let group = site
        .estate
        .groups
        .get_mut(&name)
        .expect("it was found by name");
    if desired < group.min {
        return Err(AwsError::validation(format!(
            "New SetDesiredCapacity value {desired} is below min value {} for the \
             AutoScalingGroup.",
            group.min
        )));
    }
    if desired > group.max {
        return Err(AwsError::validation(format!(
            "New SetDesiredCapacity value {desired} is above max value {} for the \
             AutoScalingGroup.",
            group.max
        )));
    }
    group.desired = desired;
    group.retry = None;
    let estate = site.estate.compute.id;
    group.poke(site.fabric, estate, site.fabric.timing.group_reaction);
    Ok(Xml::new())
}

pub(super) fn delete(site: &mut Site<'_>, params: &Params) -> Answer {
    let force = params.flag("ForceDelete")?.unwrap_or(false);
    let name = super::named(site.estate, params)?.name.clone();
    let group = site
        .estate
        .groups
        .get_mut(&name)
        .expect("it was found by name");
    if group.deletion.is_some() {
        return Ok(Xml::new());
    }
    if !force && !group.members.is_empty() {
        return Err(AwsError::new(
            "ResourceInUse",
            "You cannot delete an AutoScalingGroup while there are instances still in the group.",
        ));
    }
    if !force && group.activities.any_in_progress() {
        return Err(AwsError::new(
            "ScalingActivityInProgress",
            "You cannot delete an AutoScalingGroup while there are scaling activities in progress \
             for that group.",
        ));
    }
    group.deletion = Some(Deletion { ends: None });
    group.min = 0;
    group.desired = 0;
    let estate = site.estate.compute.id;
    group.poke(site.fabric, estate, Duration::ZERO);
    Ok(Xml::new())
}

fn bounds_at_creation(params: &Params) -> Result<Bounds, AwsError> {
    let min = need_size(params, "MinSize")?;
    let max = need_size(params, "MaxSize")?;
    check_order(min, max)?;
    let desired = size(params, "DesiredCapacity")?.unwrap_or(min);
    check_desired(min, max, desired)?;
    Ok(Bounds { min, max, desired })
}

/// Bounds that leave the desired capacity outside move it to the nearer one.
fn bounds_at_update(group: &Group, params: &Params) -> Result<Bounds, AwsError> {
    let min = size(params, "MinSize")?.unwrap_or(group.min);
    let max = size(params, "MaxSize")?.unwrap_or(group.max);
    check_order(min, max)?;
    let desired = match size(params, "DesiredCapacity")? {
        Some(desired) => {
            check_desired(min, max, desired)?;
            desired
        }
        None => group.desired.clamp(min, max),
    };
    Ok(Bounds { min, max, desired })
}

fn check_order(min: u32, max: u32) -> Result<(), AwsError> {
    if min <= max {
        return Ok(());
    }
    Err(AwsError::validation(format!(
        "Max bound, {max}, must be greater than or equal to min bound, {min}"
    )))
}

fn check_desired(min: u32, max: u32, desired: u32) -> Result<(), AwsError> {
    if (min..=max).contains(&desired) {
        return Ok(());
    }
    Err(AwsError::validation(format!(
        "Desired capacity:{desired} must be between the specified min size:{min} and max \
         size:{max}"
    )))
}

fn need_size(params: &Params, name: &str) -> Result<u32, AwsError> {
    let text = required(params, name)?;
    size(params, name)?.ok_or_else(|| not_a_size(name, text))
}

fn size(params: &Params, name: &str) -> Result<Option<u32>, AwsError> {
    let Some(text) = params.text(name) else {
        return Ok(None);
    };
    let size = text.parse().ok().filter(|size| *size <= LARGEST);
    size.map(Some).ok_or_else(|| not_a_size(name, text))
}

fn not_a_size(name: &str, text: &str) -> AwsError {
    AwsError::validation(format!(
        "1 validation error detected: Value '{text}' at '{name}' failed to satisfy constraint: \
         Member must be a whole number between 0 and {LARGEST}"
    ))
}

/// The template a call names, checked the way AWS does before it accepts one.
fn template(
    compute: &Compute,
    fabric: &Fabric,
    params: &Params,
) -> Result<Option<TemplateRef>, AwsError> {
    let Some(node) = params.at("LaunchTemplate") else {
        return Ok(None);
    };
    let fully_formed = |message: String| {
        AwsError::validation(format!(
            "You must use a valid fully-formed launch template. {message}"
        ))
    };
    let id = compute
        .named_template(node)
        .map_err(|error| fully_formed(error.message))?;
    let template = compute.template(&id).expect("it was found by name");
    let wanted = node.text("Version").unwrap_or("$Default");
    let version = template
        .version(wanted)
        .ok_or_else(|| fully_formed(format!("Launch template version {wanted} does not exist.")))?;
    if version.launch.instance_type.is_none() {
        return Err(fully_formed(
            "The launch template must specify an instance type.".into(),
        ));
    }
    compute
        .check(fabric, &version.launch)
        .map_err(|failure| fully_formed(failure.message))?;
    Ok(Some(TemplateRef {
        id: id.clone(),
        name: template.name.clone(),
        version: wanted.to_owned(),
    }))
}

fn subnets(compute: &Compute, params: &Params) -> Result<Option<Vec<Name>>, AwsError> {
    let Some(text) = params
        .text("VPCZoneIdentifier")
        .filter(|text| !text.is_empty())
    else {
        return Ok(None);
    };
    let mut subnets: Vec<Name> = Vec::new();
    for id in text.split(',').map(str::trim).filter(|id| !id.is_empty()) {
        let Some((id, _)) = compute.subnets.get_key_value(id) else {
            return Err(AwsError::validation(format!(
                "The subnet ID '{id}' does not exist"
            )));
        };
        if !subnets.contains(id) {
            subnets.push(id.clone());
        }
    }
    Ok(Some(subnets))
}

/// Settings that creation and update share.
fn settings(group: &mut Group, params: &Params) -> Result<(), AwsError> {
    if let Some(on) = params.flag("CapacityRebalance")? {
        group.capacity_rebalance = on;
    }
    if let Some(kind) = params.text("HealthCheckType") {
        if !kind
            .split(',')
            .all(|kind| ["EC2", "ELB", "EBS", "VPC_LATTICE"].contains(&kind))
        {
            return Err(AwsError::validation(format!(
                "Invalid health check type: {kind}"
            )));
        }
        kind.clone_into(&mut group.health_check_type);
    }
    if let Some(seconds) = params.int("HealthCheckGracePeriod")? {
        group.grace_seconds = seconds;
    }
    if let Some(on) = params.flag("NewInstancesProtectedFromScaleIn")? {
        group.protect_new = on;
    }
    if let Some(seconds) = params.int("DefaultCooldown")? {
        group.cooldown_seconds = seconds;
    }
    if let Some(seconds) = params.int("DefaultInstanceWarmup")? {
        group.default_warmup_seconds = Some(seconds).filter(|seconds| *seconds >= 0);
    }
    let policies = params.texts("TerminationPolicies");
    if !policies.is_empty() {
        group.termination_policies = policies.into_iter().map(str::to_owned).collect();
    }
    Ok(())
}
