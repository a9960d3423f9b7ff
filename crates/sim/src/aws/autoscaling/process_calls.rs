//! Suspending and resuming a group's processes.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, de::Error};

use super::{Answer, group::Group, named_to_change};
use crate::aws::{
    protocol::{AwsError, Params, Xml},
    state::Site,
};

/// The processes of a group.
const PROCESSES: [&str; 9] = [
    "AZRebalance",
    "AddToLoadBalancer",
    "AlarmNotification",
    "HealthCheck",
    "InstanceRefresh",
    "Launch",
    "ReplaceUnhealthy",
    "ScheduledActions",
    "Terminate",
];

pub(super) fn suspend(site: &mut Site<'_>, params: &Params) -> Answer {
    let now = site.fabric.now;
    change(site, params, |group, process| {
        group.suspended.entry(process).or_insert(now);
    })
}

pub(super) fn resume(site: &mut Site<'_>, params: &Params) -> Answer {
    change(site, params, |group, process| {
        group.suspended.remove(process);
    })
}

/// Reads suspended processes by the names they are known by here.
pub(super) fn known<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<&'static str, Timestamp>, D::Error> {
    let saved = BTreeMap::<String, Timestamp>::deserialize(deserializer)?;
    saved
        .into_iter()
        .map(|(name, since)| {
            let process = PROCESSES.iter().find(|known| **known == name);
            let process = process.ok_or_else(|| D::Error::custom("an unknown process"))?;
            Ok((*process, since))
        })
        .collect()
}

fn change(
    site: &mut Site<'_>,
    params: &Params,
    apply: impl Fn(&mut Group, &'static str),
) -> Answer {
    let name = named_to_change(site, params)?;
    let mut processes = Vec::new();
    for wanted in params.texts("ScalingProcesses") {
        match PROCESSES.iter().find(|known| **known == wanted) {
            Some(process) => processes.push(*process),
            None => {
                return Err(AwsError::validation(format!(
                    "{wanted} is not a valid process name"
                )));
            }
        }
    }
    if processes.is_empty() {
        processes.extend(PROCESSES);
    }
    let estate = site.estate.compute.id;
    let group = site
        .estate
        .groups
        .get_mut(&name)
        .expect("it was found by name");
    for process in processes {
        apply(group, process);
    }
    group.poke(site.fabric, estate, Duration::ZERO);
    Ok(Xml::new())
}
