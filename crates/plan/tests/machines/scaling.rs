//! The count: raised, lowered, and what every loss of a member does to it.

use remuda_plan::{
    machines::{because::Because, group::Leaving, names::instance_key},
    pool::keys,
};
use serde_json::Value;

use super::fleet::{Fleet, all_called, called, id, member};

/// Proves: CAPI-38.
#[test]
fn a_member_gets_an_object_with_labels_owner_and_finalizer() {
    let mut fleet = Fleet::of(&["a", "b"]);
    fleet.wanted = Some(3);
    fleet.members.push(member("c", 0));
    let decision = fleet.decide();
    let created: Vec<_> = decision.writes.iter().filter(|it| !it.exists).collect();
    assert_eq!(created.len(), 1);
    assert_eq!(created[0].name, called("c"));
    let body = created[0].body.as_ref().unwrap();
    let metadata = &body["metadata"];
    assert_eq!(metadata["labels"][keys::CLUSTER_NAME], "demo");
    assert_eq!(metadata["labels"][keys::POOL_NAME], "demo-pool-0");
    assert_eq!(metadata["finalizers"][0], keys::MEMBER_FINALIZER);
    let owner = &metadata["ownerReferences"][0];
    assert_eq!(owner["kind"], keys::POOL_KIND);
    assert_eq!(owner["uid"], "pool-uid");
    // The place of the controller is the Machine's.
    assert_eq!(owner["controller"], Value::Null);
    assert_eq!(body["spec"]["providerID"], id("c"));
}

#[test]
fn an_instance_that_is_ending_gets_no_object() {
    let mut fleet = Fleet::of(&["a"]);
    fleet.members.push(member("b", 0));
    fleet.leave("b", Leaving::Ending);
    let decision = fleet.decide();
    assert!(decision.writes.iter().all(|write| write.exists));
}

/// Proves: CAPI-45.
#[test]
fn a_machine_that_goes_already_counts_over_ten_passes() {
    let mut fleet = Fleet::of(&["a", "b", "c", "d", "e"]);
    fleet.delete_machine("a");
    fleet.wanted = Some(3);
    let mut deleted = Vec::new();
    for _ in 0..10 {
        for name in fleet.going() {
            let short = ["a", "b", "c", "d", "e"]
                .into_iter()
                .find(|it| called(it) == name)
                .unwrap();
            fleet.delete_machine(short);
            deleted.push(name);
        }
    }
    assert_eq!(deleted.len(), 1);
    assert!(!deleted.contains(&called("a")));
}

/// Proves: CAPI-46.
#[test]
fn fewer_replicas_delete_a_machine_and_touch_neither_object_nor_instance() {
    let mut fleet = Fleet::of(&["a", "b", "c"]);
    fleet.wanted = Some(2);
    let decision = fleet.decide();
    assert_eq!(decision.deletions.len(), 1);
    assert!(decision.object_deletions.is_empty());
    assert!(decision.releases.is_empty());
    assert!(decision.wish.ends.is_empty());
    // While it drains, nothing more happens.
    fleet.mark("a");
    fleet.delete_machine("a");
    let decision = fleet.decide();
    assert!(!decision.removes(), "{decision:?}");
    // Its drain is over: exactly its instance ends.
    fleet.drained("a");
    let decision = fleet.decide();
    assert_eq!(Vec::from_iter(&decision.wish.ends), [&id("a")]);
    assert!(decision.releases.is_empty());
    assert_eq!(decision.wish.capacity, 2);
    // It is gone: its object may go.
    fleet.vanish("a");
    let decision = fleet.decide();
    assert_eq!(decision.releases.len(), 1);
    assert_eq!(decision.releases[0].name, called("a"));
    assert!(decision.wish.ends.is_empty());
}

/// Proves: CAPI-47.
#[test]
fn a_victim_without_a_machine_waits_and_nobody_goes_in_its_place() {
    let mut fleet = Fleet::of(&["a", "b"]);
    fleet.join(member("c", 50));
    fleet.without_machine("c");
    fleet.wanted = Some(2);
    let decision = fleet.decide();
    assert!(!decision.removes(), "{decision:?}");
    assert!(decision.is_under_way);
    // Once it has one, it goes.
    let mut fleet = Fleet::of(&["a", "b"]);
    fleet.join(member("c", 50));
    fleet.wanted = Some(2);
    assert_eq!(fleet.going(), all_called(&["c"]));
}

/// Proves: CAPI-98.
#[test]
fn a_deleted_machine_names_its_instance_and_the_group_is_never_asked_for_less() {
    let mut fleet = Fleet::of(&["a", "b", "c"]);
    fleet.delete_machine("b");
    assert_eq!(fleet.decide().wish.capacity, 3);
    fleet.drained("b");
    let decision = fleet.decide();
    assert_eq!(Vec::from_iter(&decision.wish.ends), [&id("b")]);
    assert_eq!(decision.wish.capacity, 3);
    assert!(decision.deletions.is_empty());
}

/// Proves: CAPI-100.
#[test]
fn a_deletion_and_a_lower_count_in_either_order_take_one_instance() {
    // Deleted first, lowered while it drains.
    let mut fleet = Fleet::of(&["a", "b", "c"]);
    fleet.delete_machine("a");
    fleet.wanted = Some(2);
    let decision = fleet.decide();
    assert!(decision.deletions.is_empty());
    assert_eq!(decision.wish.capacity, 2);
    fleet.drained("a");
    let decision = fleet.decide();
    assert_eq!(Vec::from_iter(&decision.wish.ends), [&id("a")]);
    assert_eq!(decision.wish.capacity, 2);
    // Marked and lowered: the same one.
    let mut fleet = Fleet::of(&["a", "b", "c"]);
    fleet.mark("a");
    fleet.wanted = Some(2);
    assert_eq!(fleet.going(), all_called(&["a"]));
    fleet.delete_machine("a");
    assert!(fleet.going().is_empty());
}

/// Proves: CAPI-48.
#[test]
fn an_instance_that_is_gone_takes_its_machine_and_gets_no_second_object() {
    let mut fleet = Fleet::of(&["a", "b", "c"]);
    fleet.vanish("b");
    let decision = fleet.decide();
    assert_eq!(fleet.reasons(), [(called("b"), Because::InstanceGone)]);
    assert!(decision.writes.iter().all(|write| write.exists));
    assert_eq!(decision.wish.capacity, 3);
    // One that is on its way out, too, although the cloud still shows it.
    let mut fleet = Fleet::of(&["a", "b", "c"]);
    fleet.leave("b", Leaving::Ending);
    assert_eq!(fleet.going(), all_called(&["b"]));
    // The Machine is through: the object of the instance goes, and no other comes.
    let mut fleet = Fleet::of(&["a", "b", "c"]);
    fleet.vanish("b");
    fleet.delete_machine("b");
    fleet.drained("b");
    let decision = fleet.decide();
    assert_eq!(decision.releases.len(), 1);
    assert!(decision.writes.iter().all(|write| write.exists));
}

#[test]
fn no_member_at_all_is_believed_only_when_it_is_certain() {
    let mut fleet = Fleet::of(&["a", "b"]);
    fleet.vanish("a");
    fleet.vanish("b");
    let decision = fleet.decide();
    assert!(!decision.removes(), "{decision:?}");
    assert!(decision.writes.is_empty());
    fleet.is_empty_certain = true;
    assert_eq!(fleet.going().len(), 2);
}

/// Proves: CAPI-49.
#[test]
fn an_object_deleted_by_hand_takes_its_machine_and_waits_for_its_drain() {
    let mut fleet = Fleet::of(&["a", "b"]);
    fleet.infra("a").metadata.deletion_timestamp = Some(super::fleet::start());
    let decision = fleet.decide();
    assert_eq!(fleet.reasons(), [(called("a"), Because::ObjectDeleted)]);
    assert!(decision.wish.ends.is_empty(), "undrained");
    fleet.delete_machine("a");
    assert!(fleet.decide().wish.ends.is_empty(), "undrained");
    fleet.set("a", "Deleting", "True", "WaitingForInfrastructureDeletion");
    assert_eq!(Vec::from_iter(&fleet.decide().wish.ends), [&id("a")]);
    // A Machine whose object is gone altogether does not dangle.
    let mut fleet = Fleet::of(&["a", "b"]);
    let name = called("a");
    fleet
        .objects
        .infra
        .retain(|infra| infra.metadata.name != name);
    assert_eq!(fleet.reasons(), [(name, Because::ObjectMissing)]);
}

#[test]
fn what_the_cloud_holds_is_drained_at_once_and_stays_published() {
    let mut fleet = Fleet::of(&["a", "b", "c"]);
    fleet.leave(
        "a",
        Leaving::Held {
            because: "spot interruption".to_owned(),
            until: None,
        },
    );
    let decision = fleet.decide();
    assert_eq!(fleet.going(), all_called(&["a"]));
    assert_eq!(Vec::from_iter(&decision.wish.holds), [&id("a")]);
    assert!(decision.wish.ends.is_empty());
    assert_eq!(decision.kept.len(), 1);
    // Drained: the hold is answered.
    fleet.delete_machine("a");
    fleet.drained("a");
    let decision = fleet.decide();
    assert_eq!(Vec::from_iter(&decision.wish.ends), [&id("a")]);
    assert!(decision.wish.holds.is_empty());
    assert!(decision.kept.is_empty());
}

#[test]
fn a_held_member_counts_as_gone_when_the_count_falls() {
    let mut fleet = Fleet::of(&["a", "b", "c"]);
    fleet.leave(
        "a",
        Leaving::Held {
            because: "scale-in".to_owned(),
            until: None,
        },
    );
    fleet.wanted = Some(2);
    assert_eq!(fleet.going(), all_called(&["a"]));
}

#[test]
fn a_count_that_is_not_ours_is_followed_and_never_corrected() {
    let mut fleet = Fleet::of(&["a", "b", "c"]);
    fleet.is_managed = true;
    fleet.wanted = Some(2);
    let decision = fleet.decide();
    assert!(!decision.removes());
    assert_eq!(decision.wish.capacity, 2);
}

#[test]
fn nobody_goes_and_nobody_comes_while_the_count_is_unknown() {
    let mut fleet = Fleet::of(&["a", "b", "c"]);
    fleet.wanted = None;
    fleet.member("a").outdated = true;
    let decision = fleet.decide();
    assert!(!decision.removes());
    assert_eq!(decision.wish.capacity, 3);
    assert_eq!(decision.wish.bounds, None);
}

/// Proves: CAPI-55.
#[test]
fn a_pool_that_opted_in_replaces_given_up_machines_one_at_a_time() {
    let mut fleet = Fleet::of(&["a", "b", "c"]);
    fleet.set("a", "OwnerRemediated", "False", "WaitingForRemediation");
    fleet.set("b", "OwnerRemediated", "False", "WaitingForRemediation");
    assert!(fleet.going().is_empty(), "the pool did not opt in");
    fleet.remediates = true;
    let going = fleet.reasons();
    assert_eq!(going.len(), 1);
    assert_eq!(going[0].1, Because::Unhealthy);
    let first = if going[0].0 == called("a") { "a" } else { "b" };
    fleet.delete_machine(first);
    assert!(fleet.going().is_empty(), "one is in flight");
}

/// Proves: CAPI-96.
#[test]
fn an_object_that_moves_away_ends_nothing() {
    let mut fleet = Fleet::of(&["a", "b"]);
    for name in ["a", "b"] {
        let moved = keys::DELETE_FOR_MOVE.to_owned();
        let infra = &mut fleet.infra(name).metadata;
        infra.annotations.insert(moved.clone(), String::new());
        infra.deletion_timestamp = Some(super::fleet::start());
        let machine = &mut fleet.machine(name).metadata;
        machine.annotations.insert(moved, String::new());
    }
    let decision = fleet.decide();
    assert!(decision.wish.ends.is_empty());
    assert!(decision.deletions.is_empty());
    assert_eq!(decision.releases.len(), 2);
    assert_eq!(decision.wish.capacity, 2);
}

#[test]
fn letter_case_does_not_make_two_of_one_instance() {
    let mut fleet = Fleet::of(&["a"]);
    fleet.member("a").member.provider_id = id("a").to_ascii_uppercase();
    assert_eq!(
        instance_key(&fleet.members[0].member.provider_id),
        instance_key(&id("a"))
    );
    let decision = fleet.decide();
    assert!(decision.writes.iter().all(|write| write.exists));
    assert!(decision.deletions.is_empty());
}
