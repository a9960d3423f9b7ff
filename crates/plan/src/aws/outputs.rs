//! What the pool publishes, from one observation (AWS document 8 and 9).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    observed::{Group, Handle, Observed},
    remembered::aws_record,
};
use crate::{
    driver::PoolContext,
    error::CloudFailure,
    pool::{
        health::{self, Health, NO_MEMBERS, SCALING_IN_PROGRESS, Scene, Verdict, is_complete},
        members::{Member, MemberState},
        outputs::Outputs,
    },
};

/// The provider id of an instance, as the cloud controller manager writes it on the Node.
pub fn provider_id(zone: &str, instance_id: &str) -> String {
    format!("aws:///{zone}/{instance_id}")
}

/// A member's state, and the reason when it is not running, from the EC2 instance state. Instances
/// that are `shutting-down` or `terminated` are no members: `None`.
pub fn member_state(ec2_state: &str) -> Option<(MemberState, Option<&'static str>)> {
    match ec2_state {
        "pending" => Some((MemberState::Pending, Some("InstancePending"))),
        "running" => Some((MemberState::Running, None)),
        "stopping" | "stopped" => Some((MemberState::Stopped, Some("InstanceStopped"))),
        "shutting-down" | "terminated" => None,
        _ => Some((MemberState::Unknown, Some("UnknownState"))),
    }
}

/// Everything a pool publishes. `input_replicas` serves only where no capacity was ever seen.
///
/// # Errors
/// The failed read of the group or of the members: the previous outputs stay.
pub fn outputs(
    handle: &Handle,
    observed: &Observed,
    dropped_node_labels: &[String],
    input_replicas: Option<i64>,
    context: &PoolContext<'_>,
) -> Result<Outputs, CloudFailure> {
    let group = observed.group.needed("group")?.as_ref();
    let members = observed.members()?;
    let record = aws_record(context);
    // A group on its way out shows sizes of zero that nobody asked for: it counts as gone.
    let serving = group.filter(|group| group.status.is_none());
    let replicas = match serving {
        Some(group) => Some(group.desired_capacity),
        None => record
            .and_then(|record| record.last_desired_capacity)
            .or(input_replicas),
    };
    let mut extra: BTreeMap<String, Value> = BTreeMap::from([
        (
            "autoscaling_group_name".to_owned(),
            json!(handle.group_name),
        ),
        ("dropped_node_labels".to_owned(), json!(dropped_node_labels)),
    ]);
    let recorded = record.and_then(|record| record.template_name.as_deref());
    if let Some(id) = template_id(group, observed, recorded) {
        extra.insert("launch_template_id".to_owned(), id);
    }
    Ok(Outputs::new(
        group.map(|group| group.arn.clone()),
        replicas,
        members.clone(),
        verdict(&handle.group_name, serving, &members),
        extra,
    ))
}

/// The current template's id: the group's, else the recorded one's; `None` when nothing says, and
/// then the last published id stays.
fn template_id(
    group: Option<&Group>,
    observed: &Observed,
    recorded: Option<&str>,
) -> Option<Value> {
    if let Some(id) = group.and_then(|group| group.template_id.as_ref()) {
        return Some(json!(id));
    }
    let templates = observed.templates.known()?;
    let name = group
        .and_then(|group| group.template_name.as_deref())
        .or(recorded);
    let id = name
        .and_then(|name| templates.get(name))
        .map(|found| &found.id);
    Some(json!(id))
}

/// The health table in AWS's words.
pub fn verdict(group_name: &str, group: Option<&Group>, members: &[Member]) -> Health {
    let scene = Scene {
        desired: group.map(|group| group.desired_capacity),
        members,
        name_of: Member::instance_id,
    };
    match health::judge(scene) {
        Verdict::Gone => Health {
            state: MemberState::Terminated,
            healthy: false,
            message: Some(format!("Auto Scaling group {group_name} not found")),
            reasons: vec!["GroupNotFound".to_owned()],
        },
        Verdict::ScaledToZero => Health {
            state: MemberState::Running,
            healthy: true,
            message: Some("the group is scaled to zero".to_owned()),
            reasons: Vec::new(),
        },
        Verdict::NoMembers { desired } => Health {
            state: MemberState::Pending,
            healthy: false,
            message: Some(format!("waiting for the first of {desired} instances")),
            reasons: vec![NO_MEMBERS.to_owned()],
        },
        Verdict::Impaired {
            state,
            reasons,
            members,
            desired,
        } => Health {
            state,
            healthy: false,
            message: Some(format!(
                "{members} of {desired} instances, not all running: {}",
                reasons.join(", ")
            )),
            reasons,
        },
        Verdict::Running {
            mut reasons,
            members,
            desired,
        } => {
            let running = members - reasons.len();
            let is_complete = is_complete(members, desired);
            let healthy = is_complete && reasons.is_empty();
            if !is_complete {
                reasons.push(SCALING_IN_PROGRESS.to_owned());
            }
            Health {
                state: MemberState::Running,
                healthy,
                message: Some(format!("{running} of {desired} instances running")),
                reasons,
            }
        }
    }
}
