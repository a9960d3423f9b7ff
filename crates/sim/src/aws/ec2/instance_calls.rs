//! Calls on instances.

use super::{
    Answer,
    filter::{Filter, matches},
    instance::{Instance, InstanceState},
    instance_xml::{reservation, state},
    max_results,
};
use crate::{
    aws::{
        protocol::{AwsError, Params, Xml, page},
        state::{Compute, Name, Site, View},
    },
    clock::iso,
};

const FILTERS: &[&str] = &[
    "availability-zone",
    "architecture",
    "iam-instance-profile.arn",
    "image-id",
    "instance-id",
    "instance-lifecycle",
    "instance-state-code",
    "instance-state-name",
    "instance-type",
    "ip-address",
    "key-name",
    "launch-time",
    "private-dns-name",
    "private-ip-address",
    "subnet-id",
    "tag-key",
    "vpc-id",
];

/// About what an instance takes in an answer. A page of a thousand that grew by doubling would take
/// twice its size, and as much again while it moves.
const INSTANCE_BYTES: usize = 2_560;

pub(super) fn describe(view: View<'_>, params: &Params) -> Answer {
    let compute = &view.estate.compute;
    let ids = params.texts("InstanceId");
    let size = max_results(params, 5, 1000)?;
    if size.is_some() && !ids.is_empty() {
        return Err(AwsError::new(
            "InvalidParameterCombination",
            "The parameter instancesSet cannot be used with the parameter maxResults",
        ));
    }
    for id in &ids {
        known(compute, id)?;
    }
    let filters = Filter::all(params, FILTERS)?;
    let candidates = candidates(compute, &ids, &filters);
    let wanted = candidates.into_iter().filter(|instance| {
        filters
            .iter()
            .all(|filter| passes(compute, filter, instance))
    });
    // Without MaxResults EC2 answers with everything at once.
    let size = size.unwrap_or(usize::MAX);
    let (page, next) = page::cut(wanted, |i| &i.id, params.text("NextToken"), size)?;
    let mut xml = Xml::with_room_for(page.len() * INSTANCE_BYTES);
    xml.list("reservationSet", "item", page, |xml, instance| {
        reservation(compute, instance, xml);
    });
    xml.optional("nextToken", next.as_deref());
    Ok(xml)
}

/// Instances that can match, by id. A filter on groups, the usual one, is answered from the index.
fn candidates<'a>(compute: &'a Compute, ids: &[&str], filters: &[Filter<'_>]) -> Vec<&'a Instance> {
    if !ids.is_empty() {
        let mut chosen: Vec<&Instance> = ids
            .iter()
            .filter_map(|id| compute.instances.get(*id))
            .collect();
        chosen.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        chosen.dedup_by(|a, b| a.id == b.id);
        return chosen;
    }
    let by_group = filters
        .iter()
        .find(|filter| filter.name == "tag:aws:autoscaling:groupName")
        .and_then(Filter::names);
    let Some(groups) = by_group else {
        return compute.instances.values().collect();
    };
    let mut members: Vec<&Instance> = groups
        .filter_map(|group| compute.instances_by_group.get(group))
        .flatten()
        .filter_map(|id| compute.instances.get(id))
        .collect();
    members.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    members.dedup_by(|a, b| a.id == b.id);
    members
}

fn passes(compute: &Compute, filter: &Filter<'_>, instance: &Instance) -> bool {
    let data = instance
        .origin
        .as_ref()
        .map(|origin| &origin.version.launch);
    match filter.name {
        "availability-zone" => filter.accepts(&instance.zone),
        "architecture" => filter.accepts(&instance.architecture),
        "image-id" => filter.accepts(&instance.image_id),
        "instance-id" => filter.accepts(&instance.id),
        "instance-lifecycle" => instance.spot && filter.accepts("spot"),
        "instance-state-code" => filter.accepts(&instance.state.code().to_string()),
        "instance-state-name" => filter.accepts(instance.state.name()),
        "instance-type" => filter.accepts(&instance.instance_type),
        "ip-address" => instance
            .public_ip
            .is_some_and(|ip| filter.accepts(&ip.to_string())),
        "private-ip-address" => instance
            .private_ip
            .is_some_and(|ip| filter.accepts(&ip.to_string())),
        "private-dns-name" => filter.accepts(&instance.private_dns(&compute.region)),
        "launch-time" => filter.accepts(&iso(instance.launched)),
        "subnet-id" => filter.accepts(&instance.subnet_id),
        "vpc-id" => filter.accepts(&instance.vpc_id),
        "key-name" => data
            .and_then(|d| d.key_name.as_deref())
            .is_some_and(|k| filter.accepts(k)),
        "iam-instance-profile.arn" => data
            .and_then(|data| data.instance_profile.as_deref())
            .is_some_and(|profile| {
                let account = &compute.account;
                filter.accepts(&format!(
                    "arn:aws:iam::{account}:instance-profile/{profile}"
                ))
            }),
        "tag-key" => instance.tags.keys().any(|key| filter.accepts(key)),
        _ => filter.tag_key().is_some_and(|key| {
            if key.contains(['*', '?']) {
                return instance
                    .tags
                    .iter()
                    .any(|(have, value)| matches(key, have) && filter.accepts(value));
            }
            instance
                .tags
                .get(key)
                .is_some_and(|value| filter.accepts(value))
        }),
    }
}

pub(super) fn terminate(site: &mut Site<'_>, params: &Params) -> Answer {
    let reason = (
        "Client.UserInitiatedShutdown",
        "Client.UserInitiatedShutdown: User initiated shutdown",
    );
    change(site, params, |site, id| site.end_outside_group(id, reason))
}

pub(super) fn stop(site: &mut Site<'_>, params: &Params) -> Answer {
    change(site, params, |site, id| {
        site.estate.compute.stop(site.fabric, id);
        site.notice_health(id);
    })
}

pub(super) fn start(site: &mut Site<'_>, params: &Params) -> Answer {
    change(site, params, |site, id| {
        site.estate.compute.start(site.fabric, id);
    })
}

/// Changes the state of all instances named, or of none when one is unknown or in a wrong state.
fn change(site: &mut Site<'_>, params: &Params, apply: impl Fn(&mut Site<'_>, &Name)) -> Answer {
    let ids = params.texts("InstanceId");
    if ids.is_empty() {
        return Err(AwsError::missing("InstanceId"));
    }
    let terminating = params.text("Action") == Some("TerminateInstances");
    let mut names = Vec::with_capacity(ids.len());
    for id in ids {
        let instance = known(&site.estate.compute, id)?;
        if !terminating && instance.state.is_ending() {
            return Err(AwsError::new(
                "IncorrectInstanceState",
                format!("The instance '{id}' is not in a state from which this can be done."),
            ));
        }
        names.push(instance.id.clone());
    }
    let before: Vec<InstanceState> = names
        .iter()
        .map(|id| site.estate.compute.instances[id].state)
        .collect();
    for id in &names {
        apply(site, id);
    }
    let mut xml = Xml::new();
    let instances = &site.estate.compute.instances;
    xml.list(
        "instancesSet",
        "item",
        names.iter().zip(before),
        |xml, (id, before)| {
            xml.text("instanceId", id);
            state("currentState", instances[id].state, xml);
            state("previousState", before, xml);
        },
    );
    Ok(xml)
}

fn known<'a>(compute: &'a Compute, id: &str) -> Result<&'a Instance, AwsError> {
    let formed = id
        .strip_prefix("i-")
        .is_some_and(|hex| hex.len() >= 8 && hex.bytes().all(|b| b.is_ascii_hexdigit()));
    if !formed {
        return Err(AwsError::new(
            "InvalidInstanceID.Malformed",
            format!("Invalid id: \"{id}\""),
        ));
    }
    compute.instances.get(id).ok_or_else(|| {
        AwsError::new(
            "InvalidInstanceID.NotFound",
            format!("The instance ID '{id}' does not exist"),
        )
    })
}
