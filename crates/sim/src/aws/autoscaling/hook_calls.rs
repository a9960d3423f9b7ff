//! Calls on lifecycle hooks.

use std::time::Duration;

use super::{
    Answer,
    group::{Group, Hook, Transition},
    named, named_to_change, required,
};
use crate::{
    aws::{
        protocol::{AwsError, Params, Xml},
        state::{Name, Site, View},
    },
    clock::later,
};

/// AWS's limit of hooks a group.
const MOST_HOOKS: usize = 50;
const DEFAULT_HEARTBEAT_SECONDS: i64 = 3600;

pub(super) fn put(site: &mut Site<'_>, params: &Params) -> Answer {
    let group = named_to_change(site, params)?;
    let group = site
        .estate
        .groups
        .get_mut(&group)
        .expect("it was found by name");
    put_on(group, params)?;
    Ok(Xml::new())
}

/// The hooks that a group is created with.
pub(super) fn put_all(group: &mut Group, params: &Params) -> Result<(), AwsError> {
    for hook in params.list("LifecycleHookSpecificationList") {
        put_on(group, hook)?;
    }
    Ok(())
}

fn put_on(group: &mut Group, params: &Params) -> Result<(), AwsError> {
    let name = required(params, "LifecycleHookName")?.to_owned();
    let seconds = params
        .int("HeartbeatTimeout")?
        .unwrap_or(DEFAULT_HEARTBEAT_SECONDS);
    let seconds = u64::try_from(seconds)
        .ok()
        .filter(|s| (30..=7200).contains(s))
        .ok_or_else(|| {
            AwsError::validation("HeartbeatTimeout must be between 30 and 7200 seconds")
        })?;
    let default_continue = match params.text("DefaultResult") {
        None | Some("" | "ABANDON") => false,
        Some("CONTINUE") => true,
        Some(other) => {
            return Err(AwsError::validation(format!(
                "Invalid DefaultResult {other}"
            )));
        }
    };
    let known = group.hooks.get(&name).map(|hook| hook.transition);
    let transition = match params.text("LifecycleTransition") {
        Some(text) => Transition::from_name(text)
            .ok_or_else(|| AwsError::validation(format!("Invalid Lifecycle Transition {text}")))?,
        // An update may leave it out.
        None => known.ok_or_else(|| {
            AwsError::validation("LifecycleTransition is required for a new lifecycle hook")
        })?,
    };
    if known.is_none() && group.hooks.len() >= MOST_HOOKS {
        return Err(AwsError::new(
            "LimitExceeded",
            "Too many lifecycle hooks for the group",
        ));
    }
    let owned = |name: &str| {
        params
            .text(name)
            .filter(|t| !t.is_empty())
            .map(str::to_owned)
    };
    let hook = Hook {
        name: name.clone(),
        transition,
        heartbeat: Duration::from_secs(seconds),
        default_continue,
        target_arn: owned("NotificationTargetARN"),
        role_arn: owned("RoleARN"),
        metadata: owned("NotificationMetadata"),
    };
    group.hooks.insert(name, hook);
    Ok(())
}

pub(super) fn delete(site: &mut Site<'_>, params: &Params) -> Answer {
    let group = named_to_change(site, params)?;
    let name = required(params, "LifecycleHookName")?;
    let mut turn = site.turn(&group).expect("it was found by name");
    if turn.group.hooks.remove(name).is_none() {
        return Err(AwsError::validation(format!(
            "No Lifecycle Hook found with name {name}"
        )));
    }
    // Members that wait at it go on: AWS completes their actions.
    let waiting: Vec<Name> = turn
        .group
        .members
        .values()
        .filter(|member| member.waits.iter().any(|wait| wait.hook == name))
        .map(|member| member.id.clone())
        .collect();
    for id in waiting {
        turn.complete_hook(&id, name, true);
    }
    Ok(Xml::new())
}

pub(super) fn describe(view: View<'_>, params: &Params) -> Answer {
    let group = named(view.estate, params)?;
    let names = params.texts("LifecycleHookNames");
    let hooks = group
        .hooks
        .values()
        .filter(|hook| names.is_empty() || names.contains(&hook.name.as_str()));
    let mut xml = Xml::new();
    xml.list("LifecycleHooks", "member", hooks, |xml, hook| {
        let seconds = hook.heartbeat.as_secs();
        xml.text("LifecycleHookName", &hook.name);
        xml.text("AutoScalingGroupName", &group.name);
        xml.text("LifecycleTransition", hook.transition.name());
        xml.optional("NotificationTargetARN", hook.target_arn.as_deref());
        xml.optional("RoleARN", hook.role_arn.as_deref());
        xml.optional("NotificationMetadata", hook.metadata.as_deref());
        xml.plain("HeartbeatTimeout", seconds);
        xml.plain("GlobalTimeout", (seconds * 100).min(172_800));
        xml.text(
            "DefaultResult",
            if hook.default_continue {
                "CONTINUE"
            } else {
                "ABANDON"
            },
        );
    });
    Ok(xml)
}

pub(super) fn complete(site: &mut Site<'_>, params: &Params) -> Answer {
    let go_on = match required(params, "LifecycleActionResult")? {
        "CONTINUE" => true,
        "ABANDON" => false,
        other => {
            return Err(AwsError::validation(format!(
                "Invalid LifecycleActionResult {other}"
            )));
        }
    };
    let (group, member) = waiting(site, params)?;
    let mut turn = site.turn(&group).expect("it holds the member");
    turn.complete_hook(&member, required(params, "LifecycleHookName")?, go_on);
    Ok(Xml::new())
}

pub(super) fn heartbeat(site: &mut Site<'_>, params: &Params) -> Answer {
    let (group, member) = waiting(site, params)?;
    let now = site.fabric.now;
    let mut turn = site.turn(&group).expect("it holds the member");
    let hook = required(params, "LifecycleHookName")?;
    let span = turn
        .group
        .hooks
        .get(hook)
        .map(|hook| hook.heartbeat)
        .unwrap_or_default();
    let waits = turn.group.members.get_mut(&member).map(|m| &mut m.waits);
    for wait in waits.into_iter().flatten().filter(|wait| wait.hook == hook) {
        wait.deadline = later(now, span).min(wait.last_deadline);
    }
    turn.await_deadlines(&member);
    Ok(Xml::new())
}

/// The member that waits at the hook a call names, by its token or instance id.
fn waiting(site: &Site<'_>, params: &Params) -> Result<(Name, Name), AwsError> {
    let group = named(site.estate, params)?;
    let hook = required(params, "LifecycleHookName")?;
    let (token, id) = (
        params.text("LifecycleActionToken"),
        params.text("InstanceId"),
    );
    let found = group.members.values().find(|member| {
        member.waits.iter().any(|wait| {
            wait.hook == hook
                && (token.is_some() || id.is_some())
                && token.is_none_or(|token| token == wait.token)
                && id.is_none_or(|id| *id == *member.id)
        })
    });
    match found {
        Some(member) => Ok((group.name.clone(), member.id.clone())),
        None => Err(AwsError::validation(format!(
            "No active Lifecycle Action found with {}",
            match (token, id) {
                (_, Some(id)) => format!("instance ID {id}"),
                (Some(token), None) => format!("token {token}"),
                (None, None) => "neither a token nor an instance ID".to_owned(),
            }
        ))),
    }
}
