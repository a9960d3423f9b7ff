//! Who goes first when the pool has more members than are wanted.

use remuda_plan::{
    machines::{because::Because, deletion_order::Rank},
    pool::members::MemberState,
};

use super::fleet::{Fleet, all_called, called, member};

/// Proves: CAPI-43.
#[test]
fn the_marked_machine_goes_and_no_other() {
    let mut fleet = Fleet::of(&["a", "b", "c"]);
    fleet.mark("b");
    fleet.wanted = Some(2);
    assert_eq!(
        fleet.reasons(),
        [(
            called("b"),
            Because::ScaleIn {
                from: 3,
                to: 2,
                rank: Rank::Marked
            }
        )]
    );
}

/// Proves: CAPI-108.
#[test]
fn each_rank_goes_before_the_next_as_the_count_falls_one_by_one() {
    let names = [
        "plain", "old", "cordoned", "sick", "stopped", "marked", "going",
    ];
    let mut fleet = Fleet::of(&names);
    fleet.delete_machine("going");
    fleet.mark("marked");
    fleet.member("stopped").member.state = MemberState::Stopped;
    fleet.set(
        "sick",
        "HealthCheckSucceeded",
        "False",
        "NodeStartupTimeout",
    );
    fleet.cordon("cordoned");
    fleet.member("old").outdated = true;
    fleet.rollout = Some(on_delete());
    let mut gone = Vec::new();
    for wanted in (0..=6).rev() {
        fleet.wanted = Some(wanted);
        for name in fleet.going() {
            let short = names.iter().find(|it| called(it) == name).unwrap();
            fleet.delete_machine(short);
            gone.push(*short);
        }
    }
    // The one that was going already is the first of the seven: at 6 nobody else goes.
    assert_eq!(
        gone,
        ["marked", "stopped", "sick", "cordoned", "old", "plain"]
    );
}

fn on_delete() -> remuda_plan::machines::rollout::RolloutSpec {
    remuda_plan::machines::rollout::RolloutSpec {
        strategy: Some(remuda_plan::machines::rollout::Strategy::OnDelete),
        ..Default::default()
    }
}

#[test]
fn a_node_that_is_unhealthy_goes_before_a_cordoned_one() {
    let mut fleet = Fleet::of(&["a", "b"]);
    fleet.cordon("a");
    fleet.set("b", "NodeHealthy", "False", "NodeNotHealthy");
    fleet.wanted = Some(1);
    assert_eq!(fleet.going(), all_called(&["b"]));
}

/// Proves: CAPI-51.
#[test]
fn the_fullest_zone_gives_the_victim() {
    let mut fleet = Fleet::of(&[
        "a1@us-east-1a",
        "a2@us-east-1a",
        "b1@us-east-1b",
        "b2@us-east-1b",
        "b3@us-east-1b",
        "c1@us-east-1c",
        "c2@us-east-1c",
    ]);
    fleet.wanted = Some(6);
    let going = fleet.going();
    assert_eq!(going.len(), 1);
    let zone_b = all_called(&["b1@us-east-1b", "b2@us-east-1b", "b3@us-east-1b"]);
    assert!(zone_b.contains(&going[0]), "{going:?}");
}

#[test]
fn zones_are_counted_again_after_each_pick() {
    let mut fleet = Fleet::of(&[
        "a1@us-east-1a",
        "a2@us-east-1a",
        "a3@us-east-1a",
        "b1@us-east-1b",
        "b2@us-east-1b",
        "b3@us-east-1b",
    ]);
    fleet.wanted = Some(2);
    let going = fleet.going();
    let of = |zone: &[&str]| {
        let zone = all_called(zone);
        going.iter().filter(|name| zone.contains(name)).count()
    };
    assert_eq!(of(&["a1@us-east-1a", "a2@us-east-1a", "a3@us-east-1a"]), 2);
    assert_eq!(of(&["b1@us-east-1b", "b2@us-east-1b", "b3@us-east-1b"]), 2);
}

#[test]
fn within_a_zone_the_oldest_goes_and_then_the_first_by_name() {
    let mut fleet = Fleet::of(&["a", "b"]);
    fleet.join(member("c", 30));
    fleet.wanted = Some(2);
    assert_eq!(fleet.going(), all_called(&["c"]));
    let mut fleet = Fleet::of(&["a", "b"]);
    fleet.wanted = Some(1);
    let first = all_called(&["a", "b"]).into_iter().min().unwrap();
    assert_eq!(fleet.going(), [first]);
}

#[test]
fn the_order_does_not_depend_on_the_order_of_the_lists() {
    let mut fleet = Fleet::of(&["a", "b", "c", "d@us-east-1b", "e@us-east-1b"]);
    fleet.wanted = Some(2);
    let mut mirrored = fleet.clone();
    mirrored.members.reverse();
    mirrored.objects.infra.reverse();
    mirrored.objects.machines.reverse();
    assert_eq!(fleet.going(), mirrored.going());
}
