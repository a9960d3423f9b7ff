//! The pool goes, and Machines are turned off.

use remuda_plan::machines::{
    because::Because,
    pool::{Deleting, awaited, is_drained},
};

use super::fleet::{Fleet, all_called, called, id, member};

/// Proves: CAPI-109.
#[test]
fn a_deleted_pool_waits_for_every_drain_and_ends_each_instance_after_its_own() {
    let mut fleet = Fleet::of(&["a", "b"]);
    fleet.deleting = Some(Deleting::Alone);
    let going = fleet.reasons();
    assert_eq!(going.len(), 2);
    assert!(going.iter().all(|(_, why)| *why == Because::PoolDeleted));
    assert!(!is_drained(&fleet.objects));
    fleet.delete_machine("a");
    fleet.delete_machine("b");
    assert!(fleet.decide().wish.ends.is_empty());
    assert!(!is_drained(&fleet.objects));
    fleet.drained("a");
    let decision = fleet.decide();
    assert_eq!(Vec::from_iter(&decision.wish.ends), [&id("a")]);
    assert_eq!(decision.wish.capacity, 0, "nothing comes in its place");
    assert!(!is_drained(&fleet.objects), "b is not through");
    fleet.drained("b");
    assert!(is_drained(&fleet.objects));
}

#[test]
fn an_object_deleted_by_hand_does_not_open_the_way_for_the_group() {
    let mut fleet = Fleet::of(&["a"]);
    fleet.deleting = Some(Deleting::Alone);
    fleet.infra("a").metadata.deletion_timestamp = Some(super::fleet::start());
    assert!(!is_drained(&fleet.objects));
    fleet.delete_machine("a");
    assert!(!is_drained(&fleet.objects));
}

#[test]
fn an_object_without_a_machine_is_deleted_by_a_deleting_pool() {
    let mut fleet = Fleet::of(&["a", "b"]);
    fleet.without_machine("b");
    fleet.deleting = Some(Deleting::Alone);
    let decision = fleet.decide();
    assert_eq!(fleet.going(), all_called(&["a"]));
    assert_eq!(decision.object_deletions.len(), 1);
    assert_eq!(decision.object_deletions[0].name, called("b"));
}

/// Proves: CAPI-104.
#[test]
fn turning_off_makes_no_new_objects_and_waits_for_the_old() {
    let mut fleet = Fleet::of(&["b", "a"]);
    fleet.is_turning_off = true;
    fleet.wanted = Some(3);
    fleet.members.push(member("c", 0));
    let decision = fleet.decide();
    assert!(decision.writes.iter().all(|write| write.exists));
    assert!(decision.deletions.is_empty());
    let mut names = all_called(&["a", "b"]);
    names.sort();
    let waiting: Vec<String> = awaited(&fleet.objects)
        .into_iter()
        .map(|it| it.name)
        .collect();
    assert_eq!(waiting, names);
}
