//! Reading scale sets.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};

use super::{Provisioning, ScaleSet, instance_reads::statuses};
use crate::{
    azure::{
        protocol::{Answer, ArmError},
        service::ArmRequest,
        state::{Ghost, Group, View},
    },
    clock::{iso, later},
};

/// `GET` of a scale set.
pub(crate) fn get_set(view: View<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let set = view
        .subscription
        .scale_set(request.group(), request.name())?;
    let mut shown = set.render(view.subscription);
    let asks = request.query("$expand");
    if asks.is_some_and(|expand| expand.eq_ignore_ascii_case("userData"))
        && let Some(data) = &set.model().secrets.user_data
    {
        shown["properties"]["virtualMachineProfile"]["userData"] = data.0.as_str().into();
    }
    Ok(Answer::ok(shown))
}

/// `GET` of the sets of a group.
pub(crate) fn list_sets_of_group(view: View<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let group = view.subscription.group(request.group())?;
    let sets = listed(view, group, view.fabric.timing.list_lag);
    let page = request.page(view);
    Ok(Answer::ok(page.of(sets, |set| set.render(view))))
}

/// `GET` of the sets of a subscription.
#[allow(clippy::unnecessary_wraps, reason = "all handlers have one shape")]
pub(crate) fn list_sets(view: View<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let groups = view.subscription.groups.values();
    let sets = groups
        .flat_map(|group| listed(view, group, view.fabric.timing.list_lag))
        .collect();
    let page = request.page(view);
    Ok(Answer::ok(
        page.of(sets, |set: Listed<'_>| set.render(view)),
    ))
}

/// A set in a list.
#[derive(Clone, Copy)]
pub(crate) enum Listed<'a> {
    /// It is there.
    Present(&'a ScaleSet),
    /// It is gone, and the list does not show that yet.
    Gone(&'a Ghost),
}

impl Listed<'_> {
    pub(crate) fn render(self, view: View<'_>) -> Value {
        match self {
            Self::Present(set) => set.render(view.subscription),
            Self::Gone(ghost) => ghost.rendered.clone(),
        }
    }
}

/// The sets of a group as a list shows them that is late by `lag`.
pub(crate) fn listed<'a>(view: View<'_>, group: &'a Group, lag: Duration) -> Vec<Listed<'a>> {
    let now = view.fabric.now;
    let known = group
        .sets
        .iter()
        .filter(|(_, set)| later(set.created, lag) <= now)
        .map(|(key, set)| (key, Listed::Present(set)));
    let gone = group
        .ghosts
        .iter()
        .filter(|ghost| later(ghost.gone, lag) > now)
        .map(|ghost| (&ghost.key, Listed::Gone(ghost)));
    let all: BTreeMap<_, _> = gone.chain(known).collect();
    all.into_values().collect()
}

/// `GET` of a scale set's instance view.
pub(crate) fn set_view(view: View<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let set = view
        .subscription
        .scale_set(request.group(), request.name())?;
    Ok(Answer::ok(summary(set, &iso(view.fabric.now))))
}

fn summary(set: &ScaleSet, now: &str) -> Value {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for instance in set.instances.values() {
        for status in statuses(instance, now) {
            let code = status["code"].as_str().unwrap_or_default();
            *counts.entry(code.to_owned()).or_default() += 1;
        }
    }
    let counts: Vec<Value> = counts
        .into_iter()
        .map(|(code, count)| json!({ "code": code, "count": count }))
        .collect();
    let state = set.provisioning;
    let level = if state == Provisioning::Failed {
        "Error"
    } else {
        "Info"
    };
    json!({
        "virtualMachine": { "statusesSummary": counts },
        "statuses": [{
            "code": format!("ProvisioningState/{}", state.name().to_ascii_lowercase()),
            "level": level,
            "displayStatus": format!("Provisioning {}", state.name().to_ascii_lowercase()),
            "time": now,
        }],
    })
}
