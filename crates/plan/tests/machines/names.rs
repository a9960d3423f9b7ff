//! Names of objects and values of labels.

use remuda_plan::machines::names::{label_value, member_name, scaler_key};

use super::fleet::{Fleet, OWNER, id};

/// Proves: CAPI-11.
#[test]
fn a_pool_name_of_80_characters_is_hashed_the_same_way_in_labels_and_look_ups() {
    let long = "a".repeat(80);
    // 32-bit FNV-1a of 80 times "a", big endian, as base64url: computed apart from this code.
    assert_eq!(label_value(&long), "hash_UUPm1Q_z");
    let mut fleet = Fleet::of(&[]);
    fleet.wanted = Some(1);
    fleet.members.push(super::fleet::member("a", 1));
    let owner = remuda_plan::machines::surface::Owner {
        machine_pool: &long,
        ..OWNER
    };
    assert_eq!(
        owner.selector(),
        "cluster.x-k8s.io/cluster-name=demo,cluster.x-k8s.io/pool-name=hash_UUPm1Q_z"
    );
}

#[test]
fn a_name_that_is_a_label_value_stays() {
    let longest = "p".repeat(63);
    for name in ["demo-pool-0", "a.b", longest.as_str()] {
        assert_eq!(label_value(name), name);
    }
    assert!(label_value("ends-with-").starts_with("hash_"));
}

#[test]
fn objects_are_named_by_pool_and_instance_in_63_characters() {
    let one = member_name("demo-pool-0", &id("a"));
    assert!(one.starts_with("demo-pool-0-"), "{one}");
    assert_eq!(one, member_name("demo-pool-0", &id("a")));
    assert_ne!(one, member_name("demo-pool-0", &id("b")));
    let long = member_name(&format!("{}.x", "p".repeat(90)), &id("a"));
    assert!(long.len() <= 63 && !long.contains('.'), "{long}");
    // Azure's ids come in different letter cases.
    assert_eq!(
        member_name("np", "azure:///subscriptions/S/resourceGroups/G/x/0"),
        member_name("np", "azure:///subscriptions/s/resourceGroups/g/x/0"),
    );
}

#[test]
fn a_name_cut_in_front_of_a_dash_has_one_dash() {
    let pool = format!("{}-tail", "p".repeat(51));
    let name = member_name(&pool, &id("a"));
    assert!(!name.contains("--"), "{name}");
}

#[test]
fn an_autoscaler_knows_an_instance_by_its_last_part_and_a_scale_set_member_by_all_of_it() {
    assert_eq!(scaler_key("aws:///us-east-1a/i-0A"), "i-0a");
    let member = |set: &str| {
        format!(
            "azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/\
             virtualMachineScaleSets/{set}/virtualMachines/0"
        )
    };
    assert_ne!(scaler_key(&member("one")), scaler_key(&member("two")));
}

/// Proves: CAPI-56.
#[test]
fn an_id_that_another_pool_has_registered_is_told_and_not_published() {
    let mut fleet = Fleet::of(&["a"]);
    let mut clashing = super::fleet::member("b", 1);
    clashing.member.provider_id = "aws:///us-east-1b/i-a".to_owned();
    fleet.members = vec![clashing.clone()];
    fleet.objects = remuda_plan::machines::objects::MachineObjects::default();
    fleet.published.clear();
    fleet.taken = [("i-a".to_owned(), "other".to_owned())].into();
    let decision = fleet.decide();
    assert_eq!(decision.clashes[&clashing.member.provider_id], "other");
    assert!(decision.writes.is_empty(), "{:?}", decision.writes);
    let outputs = decision.published(outputs(vec![clashing.member.clone()]));
    assert!(outputs.provider_id_list.is_empty());
    assert!(outputs.instances.is_empty());
    // The pool that registered it first keeps it.
    fleet.published = vec![clashing.member.provider_id.clone()];
    let decision = fleet.decide();
    assert!(decision.clashes.is_empty());
    assert_eq!(decision.writes.len(), 1);
}

fn outputs(
    members: Vec<remuda_plan::pool::members::Member>,
) -> remuda_plan::pool::outputs::Outputs {
    remuda_plan::pool::outputs::Outputs::new(
        Some("group".to_owned()),
        Some(1),
        members,
        remuda_plan::pool::health::Health {
            healthy: true,
            state: remuda_plan::pool::members::MemberState::Running,
            message: None,
            reasons: Vec::new(),
        },
        std::collections::BTreeMap::new(),
    )
}
