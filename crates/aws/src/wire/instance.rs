//! Instances to members (AWS document 8).

use std::collections::BTreeMap;

use remuda_plan::{
    aws::observed::{self, Instance},
    pool::members::{Address, Member, MemberState},
};

use super::{filter, push, read_tags};
use crate::{ec2::Parameters, xml::Node};

/// Auto Scaling's own tag on every instance of a group.
pub(crate) const GROUP_TAG: &str = "aws:autoscaling:groupName";

/// States of instances that are not gone. One that is `shutting-down` is no member any more, but
/// its Machine waits for its end.
const STATES: [&str; 5] = ["pending", "running", "stopping", "stopped", "shutting-down"];

/// `DescribeInstances` for the instances of up to 200 groups.
pub(crate) fn describe(groups: &[&str], next_token: Option<&str>) -> Parameters {
    let mut parameters = Parameters::new();
    filter(
        &mut parameters,
        1,
        &format!("tag:{GROUP_TAG}"),
        groups.iter().copied(),
    );
    filter(&mut parameters, 2, "instance-state-name", STATES);
    push(&mut parameters, "MaxResults", 1000);
    if let Some(token) = next_token {
        push(&mut parameters, "NextToken", token);
    }
    parameters
}

/// Instances of one page by group name. One without a zone or a group is none of ours.
pub(crate) fn instances(page: Node<'_>) -> Vec<(String, Instance)> {
    page.items("reservationSet")
        .flat_map(|reservation| reservation.items("instancesSet"))
        .filter_map(|instance| {
            let mut tags: BTreeMap<String, String> = read_tags(instance);
            Some((tags.remove(GROUP_TAG)?, read(instance)?))
        })
        .collect()
}

fn read(instance: Node<'_>) -> Option<Instance> {
    let instance_id = instance.text_at(&["instanceId"])?.to_owned();
    let zone = instance
        .text_at(&["placement", "availabilityZone"])?
        .to_owned();
    let (state, reason) = match instance.text_at(&["instanceState", "name"]) {
        // The filter did not ask for it; an instance may have changed since it was matched.
        Some("terminated") => return None,
        Some("shutting-down") => (MemberState::Terminated, None),
        Some("pending") => (MemberState::Pending, Some("InstancePending")),
        Some("running") => (MemberState::Running, None),
        Some("stopping" | "stopped") => (MemberState::Stopped, Some("InstanceStopped")),
        _ => (MemberState::Unknown, Some("UnknownState")),
    };
    let member = Member {
        provider_id: format!("aws:///{zone}/{instance_id}"),
        instance_id,
        addresses: instance
            .text_at(&["privateIpAddress"])
            .map(|address| Address {
                kind: "InternalIP".to_owned(),
                address: address.to_owned(),
            })
            .into_iter()
            .collect(),
        failure_domain: Some(zone),
        state,
        reason: reason.map(ToOwned::to_owned),
    };
    Some(Instance {
        ending: state == MemberState::Terminated,
        interruptible: instance.text_at(&["instanceLifecycle"]) == Some("spot"),
        launched_at: instance.text_at(&["launchTime"]).and_then(observed::time),
        member,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml::Document;

    fn page(instances: &str) -> Document {
        Document::parse(
            format!(
                "<R><reservationSet><item><instancesSet>{instances}</instancesSet></item>\
                 </reservationSet></R>"
            )
            .as_bytes(),
        )
        .expect("a page")
    }

    fn instance(id: &str, state: &str, address: &str) -> String {
        format!(
            "<item><instanceId>{id}</instanceId><instanceState><name>{state}</name></instanceState>\
             <placement><availabilityZone>us-east-1a</availabilityZone></placement>{address}\
             <tagSet><item><key>aws:autoscaling:groupName</key><value>g</value></item></tagSet></item>"
        )
    }

    #[test]
    fn states_map_to_the_contracts_words() {
        let states: Vec<(MemberState, Option<String>)> = instances(
            page(
                &[
                    "pending",
                    "running",
                    "stopping",
                    "stopped",
                    "shutting-down",
                    "terminated",
                    "odd",
                ]
                .map(|state| instance("i-1", state, ""))
                .concat(),
            )
            .root(),
        )
        .into_iter()
        .map(|(_, found)| (found.member.state, found.member.reason))
        .collect();
        let reason = |text: &str| Some(text.to_owned());
        assert_eq!(
            states,
            [
                (MemberState::Pending, reason("InstancePending")),
                (MemberState::Running, None),
                (MemberState::Stopped, reason("InstanceStopped")),
                (MemberState::Stopped, reason("InstanceStopped")),
                (MemberState::Terminated, None),
                (MemberState::Unknown, reason("UnknownState")),
            ]
        );
    }

    #[test]
    fn a_member_without_an_address_keeps_its_place() {
        let text = instance("i-1", "running", "")
            + &instance(
                "i-2",
                "running",
                "<privateIpAddress>10.0.1.12</privateIpAddress>",
            );
        let found = instances(page(&text).root());
        assert_eq!(found[0].0, "g");
        assert_eq!(found[0].1.member.provider_id, "aws:///us-east-1a/i-1");
        assert!(found[0].1.member.addresses.is_empty());
        assert_eq!(found[1].1.member.addresses[0].address, "10.0.1.12");
    }

    #[test]
    fn an_instance_tells_its_market_and_its_age_and_whether_it_ends() {
        let extra = "<instanceLifecycle>spot</instanceLifecycle>\
                     <launchTime>2026-11-30T10:00:00.000Z</launchTime>";
        let text = instance("i-1", "shutting-down", extra) + &instance("i-2", "running", "");
        let found = instances(page(&text).root());
        let (first, second) = (&found[0].1, &found[1].1);
        assert!(first.ending && first.interruptible);
        assert_eq!(first.launched_at, observed::time("2026-11-30T10:00:00Z"));
        assert!(first.launched_at.is_some());
        assert!(!second.ending && !second.interruptible && second.launched_at.is_none());
    }
}
