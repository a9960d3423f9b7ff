//! Members and outputs.

use jiff::{SignedDuration, Timestamp};
use remuda_plan::{
    azure::observed::Observed,
    error::FailureClass,
    pool::{
        contract,
        membership::{self, Membership, Reading},
        read::{Freshness, Read},
    },
};
use serde_json::{Value, json};

use super::{
    cloud::{Cloud, applied, failure},
    demo::{Demo, PID, SET, demo},
};

fn ids<const N: usize>(ids: [u32; N]) -> Vec<String> {
    ids.into_iter()
        .map(|id| format!("{PID}/virtualMachines/{id}"))
        .collect()
}

/// Proves: AZURE-2, AZURE-3.
#[test]
fn the_settled_pools_outputs() {
    let (cloud, demo) = applied(demo());
    let outputs = cloud.outputs(&demo);
    assert_eq!(outputs.provider_id.as_deref(), Some(PID));
    assert_eq!(outputs.provider_id_list, ids([0, 1, 2]));
    assert_eq!(outputs.replicas, Some(3));
    let first = &outputs.instances[0];
    assert_eq!(first.instance_id, "0");
    assert_eq!(first.failure_domain.as_deref(), Some("1"));
    assert_eq!(json!(first.state), json!("running"));
    assert_eq!(contract::check(&outputs), contract::Verdict::Valid);
}

/// Proves: AZURE-4.
#[test]
fn addresses_are_the_internal_one_and_the_host_name() {
    let (cloud, demo) = applied(demo());
    let outputs = cloud.outputs(&demo);
    assert_eq!(
        json!(outputs.instances[1].addresses),
        json!([
            { "type": "InternalIP", "address": "10.0.1.5" },
            { "type": "Hostname", "address": "workers-7d91b187000001" },
        ])
    );
    assert_eq!(outputs.instances[1].hostname(), "workers-7d91b187000001");
}

/// Proves: AZURE-13.
#[test]
fn members_are_listed_in_byte_order() {
    let (cloud, demo) = applied(demo().replicas(11));
    let outputs = cloud.outputs(&demo);
    let expected = ids([0, 1, 10, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(outputs.provider_id_list, expected);
}

/// Proves: AZURE-73.
#[test]
fn a_set_that_the_listing_lacks_is_pending_and_nothing_is_asked_about_it() {
    let (mut cloud, demo) = applied(demo());
    cloud.lagging.insert(SET.to_owned());
    let outputs = cloud
        .outputs_seeing(&demo, |observed: &mut Observed| {
            assert!(observed.members.is_empty());
        })
        .expect("every read succeeded");
    assert_eq!(json!(outputs.health.state), json!("pending"));
    assert_eq!(outputs.health.reasons, ["NoMembers"]);
    assert!(outputs.provider_id_list.is_empty());
    assert_eq!(outputs.replicas, Some(3), "the GET tells the capacity");
    assert_eq!(outputs.provider_id.as_deref(), Some(PID));
}

/// Proves: AZURE-74.
#[test]
fn before_its_set_is_made_a_pool_is_pending() {
    // A set of the same name in another group is not in this group's list.
    let outputs = Cloud::new().outputs(&demo());
    assert_eq!(json!(outputs.health.state), json!("pending"));
    assert_eq!(outputs.health.reasons, ["NoMembers"]);
    assert!(outputs.provider_id_list.is_empty());
    assert_eq!(outputs.replicas, None);
    assert_eq!(outputs.provider_id, None);
}

/// Proves: AZURE-110.
#[test]
fn a_set_that_is_gone_has_no_count_and_no_ids() {
    let (mut cloud, demo) = applied(demo());
    cloud.sets.clear();
    let outputs = cloud.outputs(&demo);
    assert_eq!(outputs.replicas, None, "null, never 0");
    assert_eq!(outputs.provider_id, None);
    assert!(outputs.provider_id_list.is_empty() && outputs.instances.is_empty());
    assert_eq!(json!(outputs.health.state), json!("terminated"));
    assert_eq!(outputs.health.reasons, ["ScaleSetNotFound"]);
    let expected = format!("Azure scale set {SET} not found");
    assert_eq!(outputs.health.message, Some(expected));
    for name in ["scale_set_id", "scale_set_name", "autoscale_setting_id"] {
        assert_eq!(outputs.extra[name], Value::Null, "{name}");
    }
    assert!(matches!(
        contract::check(&outputs),
        contract::Verdict::Pending(_)
    ));
    assert_eq!(membership::capacity(&outputs), None, "status keeps its 3");

    // The three ids stay until a second fresh read, 15 s later, agrees.
    let published = ids([0, 1, 2]);
    let read = |seconds: i64, before| {
        let reading = Reading {
            outputs: &outputs,
            at: Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds),
            freshness: Freshness::Fresh,
        };
        membership::decide(&published, reading, before)
    };
    let Membership::Keep(unseen) = read(0, None) else {
        panic!("one read empties no list");
    };
    assert_eq!(read(14, Some(unseen)), Membership::Keep(unseen));
    let confirmed = Membership::Publish(Vec::new());
    assert_eq!(read(15, Some(unseen)), confirmed);
}

/// Proves: AZURE-77.
#[test]
fn a_group_that_is_gone_is_a_set_that_is_gone_and_deletion_completes() {
    let (mut cloud, mut demo) = applied(demo());
    cloud.sets.clear();
    cloud.settings.clear();
    let outputs = cloud.outputs(&demo);
    assert_eq!(outputs.health.reasons, ["ScaleSetNotFound"]);
    assert!(cloud.destroy(&mut demo).is_empty(), "nothing to write");
}

/// Proves: AZURE-78.
#[test]
fn a_member_without_address_is_a_member() {
    let (cloud, demo) = applied(demo());
    let outputs = cloud.outputs_seeing(&demo, |observed| {
        let Some(Read::Known(members)) = observed.members.get_mut(SET) else {
            panic!("the members were read");
        };
        members[1]
            .member
            .addresses
            .retain(|address| address.kind == "Hostname");
    });
    let outputs = outputs.expect("every read succeeded");
    assert_eq!(outputs.provider_id_list, ids([0, 1, 2]));
    assert_eq!(outputs.instances[1].addresses.len(), 1);
    assert!(outputs.health.healthy);
}

/// Proves: AZURE-79.
#[test]
fn a_read_that_fails_gives_no_outputs() {
    let (cloud, demo) = applied(demo());
    let cause = failure(FailureClass::Throttled, "TooManyRequests");
    let members = cloud.outputs_seeing(&demo, |observed| {
        let unknown = Read::Unknown(cause.clone());
        observed.members.insert(SET.to_owned(), unknown);
    });
    assert_eq!(members, Err(cause.clone()));
    let sets = cloud.outputs_seeing(&demo, |observed| {
        observed.sets = Read::Unknown(cause.clone());
    });
    assert_eq!(sets, Err(cause));
}

/// Proves: AZURE-103.
#[test]
fn an_instance_stays_listed_until_azure_stops_listing_it() {
    let (mut cloud, demo) = applied(demo());
    let demo: Demo = demo.replicas(2);
    let held = cloud.sets.get_mut(SET).expect("the set");
    held.set.capacity = 2;
    held.instances.get_mut(&2).expect("an instance").power = Some("deallocating".to_owned());
    let outputs = cloud.outputs(&demo);
    assert_eq!(outputs.provider_id_list, ids([0, 1, 2]));
    assert!(
        outputs
            .instances
            .iter()
            .all(|member| json!(member.state) != json!("terminated"))
    );
    cloud
        .sets
        .get_mut(SET)
        .expect("the set")
        .instances
        .remove(&2);
    assert_eq!(cloud.outputs(&demo).provider_id_list, ids([0, 1]));
}

/// Proves: AZURE-117.
#[test]
fn a_members_host_name_is_the_sets_name_and_six_characters() {
    let (cloud, demo) = applied(demo());
    let outputs = cloud.outputs(&demo);
    for member in &outputs.instances {
        let suffix = member.hostname().strip_prefix(SET).expect("the set's name");
        assert_eq!(suffix.len(), 6);
    }
    let spec = demo.good().set;
    assert_eq!(json!(spec.name), outputs.extra["scale_set_name"]);
}
