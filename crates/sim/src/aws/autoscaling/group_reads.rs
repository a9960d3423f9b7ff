//! DescribeAutoScalingGroups and DescribeAutoScalingInstances.

use super::{
    Answer,
    group::{Group, Member},
    max_records,
};
use crate::{
    aws::{
        protocol::{AwsError, Params, Xml, page},
        state::{Estate, View},
    },
    clock::iso,
};

/// Groups on a page when the caller does not say, and at most.
const PAGE: usize = 50;
const LARGEST_PAGE: i64 = 100;
/// Names one call may ask for.
const MOST_NAMES: usize = 100;

pub(super) fn groups(view: View<'_>, params: &Params) -> Answer {
    let size = max_records(params, PAGE, LARGEST_PAGE)?;
    let mut names = params.texts("AutoScalingGroupNames");
    if names.len() > MOST_NAMES {
        return Err(AwsError::validation(format!(
            "The number of names cannot be greater than {MOST_NAMES}"
        )));
    }
    let filters = filters(params)?;
    let with_instances = params.flag("IncludeInstances")?.unwrap_or(true);
    let groups = &view.estate.groups;
    let wanted: Vec<&Group> = if names.is_empty() {
        groups
            .values()
            .filter(|group| passes(group, &filters))
            .collect()
    } else {
        names.sort_unstable();
        names.dedup();
        let named = names.iter().filter_map(|name| groups.get(*name));
        named.filter(|group| passes(group, &filters)).collect()
    };
    let (page, next) = page::cut(wanted, |g| &g.name, params.text("NextToken"), size)?;
    let mut xml = Xml::new();
    xml.list("AutoScalingGroups", "member", page, |xml, group| {
        group_xml(view.estate, group, with_instances, xml);
    });
    xml.optional("NextToken", next.as_deref());
    Ok(xml)
}

pub(super) fn instances(view: View<'_>, params: &Params) -> Answer {
    let ids = params.texts("InstanceIds");
    let size = max_records(params, PAGE, 50)?;
    let mut members: Vec<(&Group, &Member)> = view
        .estate
        .groups
        .values()
        .flat_map(|group| group.members.values().map(move |member| (group, member)))
        .filter(|(_, member)| ids.is_empty() || ids.contains(&&*member.id))
        .collect();
    members.sort_unstable_by(|a, b| a.1.id.cmp(&b.1.id));
    let (page, next) = page::cut(&members, |(_, m)| &m.id, params.text("NextToken"), size)?;
    let mut xml = Xml::new();
    xml.list(
        "AutoScalingInstances",
        "member",
        page,
        |xml, (group, member)| {
            xml.text("AutoScalingGroupName", &group.name);
            member_xml(member, xml);
        },
    );
    xml.optional("NextToken", next.as_deref());
    Ok(xml)
}

/// Filters of Auto Scaling: `tag-key`, `tag-value`, `tag:<key>`; no wildcards.
fn filters(params: &Params) -> Result<Vec<(&str, Vec<&str>)>, AwsError> {
    params
        .list("Filters")
        .into_iter()
        .map(|node| {
            let name = super::required(node, "Name")?;
            if name.starts_with("tag:") || ["tag-key", "tag-value"].contains(&name) {
                Ok((name, node.texts("Values")))
            } else {
                Err(AwsError::validation(format!(
                    "Filter type {name} is not correct."
                )))
            }
        })
        .collect()
}

fn passes(group: &Group, filters: &[(&str, Vec<&str>)]) -> bool {
    filters.iter().all(|(name, values)| match *name {
        "tag-key" => group.tags.keys().any(|key| values.contains(&key.as_str())),
        "tag-value" => group
            .tags
            .values()
            .any(|tag| values.contains(&tag.value.as_str())),
        _ => name
            .strip_prefix("tag:")
            .and_then(|key| group.tags.get(key))
            .is_some_and(|tag| values.contains(&tag.value.as_str())),
    })
}

fn group_xml(estate: &Estate, group: &Group, with_instances: bool, xml: &mut Xml) {
    xml.text("AutoScalingGroupName", &group.name);
    xml.text("AutoScalingGroupARN", &group.arn);
    xml.within("LaunchTemplate", |xml| {
        xml.text("LaunchTemplateId", &group.template.id);
        xml.text("LaunchTemplateName", &group.template.name);
        xml.text("Version", &group.template.version);
    });
    xml.plain("MinSize", group.min);
    xml.plain("MaxSize", group.max);
    xml.plain("DesiredCapacity", group.desired);
    xml.plain("DefaultCooldown", group.cooldown_seconds);
    let mut zones: Vec<&str> = group
        .subnets
        .iter()
        .filter_map(|id| estate.compute.subnets.get(id))
        .map(|subnet| &*subnet.zone)
        .collect();
    zones.sort_unstable();
    zones.dedup();
    xml.list("AvailabilityZones", "member", zones, |xml, zone| {
        xml.escape(zone);
    });
    xml.raw("<LoadBalancerNames/><TargetGroupARNs/>");
    xml.text("HealthCheckType", &group.health_check_type);
    xml.plain("HealthCheckGracePeriod", group.grace_seconds);
    if with_instances {
        xml.list(
            "Instances",
            "member",
            group.members.values(),
            |xml, member| {
                member_xml(member, xml);
            },
        );
    } else {
        xml.raw("<Instances/>");
    }
    settings_xml(estate, group, xml);
}

fn settings_xml(estate: &Estate, group: &Group, xml: &mut Xml) {
    xml.text("CreatedTime", &iso(group.created));
    xml.list(
        "SuspendedProcesses",
        "member",
        &group.suspended,
        |xml, (process, since)| {
            xml.text("ProcessName", process);
            xml.text(
                "SuspensionReason",
                &format!("User suspended at {}", iso(*since)),
            );
        },
    );
    xml.text("VPCZoneIdentifier", &group.subnets.join(","));
    xml.raw("<EnabledMetrics/>");
    if group.deletion.is_some() {
        xml.raw("<Status>Delete in progress</Status>");
    }
    xml.list("Tags", "member", &group.tags, |xml, (key, tag)| {
        super::tag_calls::tag_xml(&group.name, key, tag, xml);
    });
    xml.list(
        "TerminationPolicies",
        "member",
        &group.termination_policies,
        |xml, policy| {
            xml.escape(policy);
        },
    );
    xml.plain("NewInstancesProtectedFromScaleIn", group.protect_new);
    xml.text(
        "ServiceLinkedRoleARN",
        &format!(
            "arn:aws:iam::{}:role/aws-service-role/autoscaling.amazonaws.com/\
             AWSServiceRoleForAutoScaling",
            estate.compute.account
        ),
    );
    xml.plain("CapacityRebalance", group.capacity_rebalance);
    if let Some(seconds) = group.default_warmup_seconds {
        xml.plain("DefaultInstanceWarmup", seconds);
    }
    xml.raw("<TrafficSources/>");
}

fn member_xml(member: &Member, xml: &mut Xml) {
    xml.text("InstanceId", &member.id);
    xml.text("InstanceType", &member.instance_type);
    xml.text("AvailabilityZone", &member.zone);
    xml.text("LifecycleState", member.lifecycle.name());
    xml.text(
        "HealthStatus",
        if member.healthy {
            "Healthy"
        } else {
            "Unhealthy"
        },
    );
    if let Some(template) = &member.template {
        xml.within("LaunchTemplate", |xml| {
            xml.text("LaunchTemplateId", &template.id);
            xml.text("LaunchTemplateName", &template.name);
            xml.text("Version", &template.version);
        });
    }
    xml.text("ImageId", &member.image_id);
    xml.plain("ProtectedFromScaleIn", member.protected);
}

/// Groups that an account may have in a region (Auto Scaling's published default).
const MOST_GROUPS: usize = 500;
/// Launch configurations that it may have (same place).
const MOST_CONFIGURATIONS: usize = 200;

/// `DescribeAccountLimits`. There are no launch configurations here.
#[expect(clippy::unnecessary_wraps, reason = "an action of the table may fail")]
pub(super) fn account_limits(view: View<'_>, _: &Params) -> Answer {
    let mut xml = Xml::new();
    xml.plain("MaxNumberOfAutoScalingGroups", MOST_GROUPS);
    xml.plain("MaxNumberOfLaunchConfigurations", MOST_CONFIGURATIONS);
    xml.plain("NumberOfAutoScalingGroups", view.estate.groups.len());
    xml.plain("NumberOfLaunchConfigurations", 0);
    Ok(xml)
}
