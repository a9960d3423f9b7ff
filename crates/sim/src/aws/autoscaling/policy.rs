//! Scaling policies. Target tracking on average CPU works (see `tracking`); other policies are
//! kept and shown.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Answer, max_records, named_to_change, required};
use crate::aws::{
    protocol::{AwsError, Params, Xml, page},
    state::{Fabric, Site, View, events::Event},
};

/// A scaling policy.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Policy {
    pub(crate) name: String,
    pub(crate) arn: String,
    pub(crate) kind: String,
    pub(crate) metric: Option<String>,
    pub(crate) target: f64,
    pub(crate) disable_scale_in: bool,
    pub(crate) enabled: bool,
    /// Names and ARNs of the two alarms a target-tracking policy has.
    pub(crate) alarms: Vec<(String, String)>,
}

pub(super) fn put(site: &mut Site<'_>, params: &Params) -> Answer {
    let group_name = named_to_change(site, params)?;
    let name = required(params, "PolicyName")?.to_owned();
    let kind = params
        .text("PolicyType")
        .unwrap_or("SimpleScaling")
        .to_owned();
    let metric = params
        .text("TargetTrackingConfiguration.PredefinedMetricSpecification.PredefinedMetricType");
    let target = params.number("TargetTrackingConfiguration.TargetValue")?;
    let positive = target.is_some_and(|target| target.is_finite() && target > 0.0);
    if kind == "TargetTrackingScaling" && !positive {
        return Err(AwsError::validation("TargetValue must be greater than 0"));
    }
    let disable_scale_in = params.flag("TargetTrackingConfiguration.DisableScaleIn")?;
    let compute = &site.estate.compute;
    let (region, account) = (compute.region.clone(), compute.account.clone());
    let estate = compute.id;
    let group = site
        .estate
        .groups
        .get_mut(&group_name)
        .expect("it was found by name");
    let known = group.policies.get(&name).map(|policy| policy.arn.clone());
    let arn = known.unwrap_or_else(|| {
        format!(
            "arn:aws:autoscaling:{region}:{account}:scalingPolicy:{}:autoScalingGroupName/\
             {group_name}:policyName/{name}",
            site.fabric.new_uuid()
        )
    });
    let alarms = if kind == "TargetTrackingScaling" {
        alarms(&group_name, &format!("{region}:{account}"), site.fabric)
    } else {
        Vec::new()
    };
    let policy = Policy {
        name: name.clone(),
        arn: arn.clone(),
        kind,
        metric: metric.map(str::to_owned),
        target: target.unwrap_or_default(),
        disable_scale_in: disable_scale_in.unwrap_or(false),
        enabled: params.flag("Enabled")?.unwrap_or(true),
        alarms,
    };
    let mut xml = Xml::new();
    xml.text("PolicyARN", &arn);
    alarms_xml(&policy, &mut xml);
    group.policies.insert(name, policy);
    group.idle_periods = 0;
    if group.load.is_some() && !group.metric_due {
        group.metric_due = true;
        site.fabric.after(
            site.fabric.timing.metric_period,
            Event::Metric(estate, group_name),
        );
    }
    Ok(xml)
}

/// Names and ARNs of the alarms a target-tracking policy gets.
fn alarms(group: &str, place: &str, fabric: &mut Fabric) -> Vec<(String, String)> {
    ["AlarmHigh", "AlarmLow"]
        .map(|kind| format!("TargetTracking-{group}-{kind}-{}", fabric.new_uuid()))
        .map(|name| {
            let arn = format!("arn:aws:cloudwatch:{place}:alarm:{name}");
            (name, arn)
        })
        .to_vec()
}

pub(super) fn delete(site: &mut Site<'_>, params: &Params) -> Answer {
    let name = required(params, "PolicyName")?;
    let missing = || AwsError::validation("Policy not found");
    let group = match params.text("AutoScalingGroupName") {
        Some(group) => site
            .estate
            .groups
            .get_mut(group)
            .ok_or_else(|| super::no_group(group))?,
        None => site
            .estate
            .groups
            .values_mut()
            .find(|group| group.policies.values().any(|policy| policy.arn == name))
            .ok_or_else(missing)?,
    };
    let key = group
        .policies
        .values()
        .find(|p| p.name == name || p.arn == name);
    let key = key.map(|policy| policy.name.clone()).ok_or_else(missing)?;
    group.policies.remove(&key);
    Ok(Xml::new())
}

pub(super) fn describe(view: View<'_>, params: &Params) -> Answer {
    let size = max_records(params, 50, 100)?;
    let named = params.text("AutoScalingGroupName");
    if let Some(name) = named.filter(|name| !view.estate.groups.contains_key(*name)) {
        return Err(super::no_group(name));
    }
    let (names, types) = (params.texts("PolicyNames"), params.texts("PolicyTypes"));
    let policies: BTreeMap<String, (&str, &Policy)> = view
        .estate
        .groups
        .values()
        .filter(|group| named.is_none_or(|name| *name == *group.name))
        .flat_map(|group| group.policies.values().map(move |policy| (group, policy)))
        .filter(|(_, policy)| {
            (names.is_empty()
                || names.contains(&policy.name.as_str())
                || names.contains(&policy.arn.as_str()))
                && (types.is_empty() || types.contains(&policy.kind.as_str()))
        })
        .map(|(group, policy)| {
            (
                format!("{}\0{}", group.name, policy.name),
                (&*group.name, policy),
            )
        })
        .collect();
    let entries: Vec<(String, (&str, &Policy))> = policies.into_iter().collect();
    let (page, next) = page::cut(&entries, |entry| &entry.0, params.text("NextToken"), size)?;
    let mut xml = Xml::new();
    xml.list(
        "ScalingPolicies",
        "member",
        page,
        |xml, (_, (group, policy))| {
            policy_xml(group, policy, xml);
        },
    );
    xml.optional("NextToken", next.as_deref());
    Ok(xml)
}

fn policy_xml(group: &str, policy: &Policy, xml: &mut Xml) {
    xml.text("AutoScalingGroupName", group);
    xml.text("PolicyName", &policy.name);
    xml.text("PolicyARN", &policy.arn);
    xml.text("PolicyType", &policy.kind);
    xml.raw("<StepAdjustments/>");
    alarms_xml(policy, xml);
    if policy.kind == "TargetTrackingScaling" {
        xml.within("TargetTrackingConfiguration", |xml| {
            if let Some(metric) = &policy.metric {
                xml.within("PredefinedMetricSpecification", |xml| {
                    xml.text("PredefinedMetricType", metric);
                });
            }
            xml.plain("TargetValue", format!("{:?}", policy.target));
            xml.plain("DisableScaleIn", policy.disable_scale_in);
        });
    }
    xml.plain("Enabled", policy.enabled);
}

fn alarms_xml(policy: &Policy, xml: &mut Xml) {
    xml.list("Alarms", "member", &policy.alarms, |xml, (name, arn)| {
        xml.text("AlarmName", name);
        xml.text("AlarmARN", arn);
    });
}
