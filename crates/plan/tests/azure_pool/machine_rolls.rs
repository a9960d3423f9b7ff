//! Rolls with pool Machines on: the new set grows as the old one's instances are drained and ended
//! one by one; whatever happens, Azure takes none.

use proptest::prelude::*;
use remuda_plan::{azure::action::Action as Call, pool::action::Outlook};

use super::{
    cloud::End,
    demo::{PID, SET, SETTING, demo},
    ranch::{Operation, Ranch},
};

const NEW: &str = "workers-64df8f7b";
const NEW_SETTING: &str = "workers-64df8f7b-autoscale";

fn rolling() -> Ranch {
    Ranch::new(demo()).changed(|demo| demo.version("v1.34.2"))
}

/// Members per set, those that leave included.
fn machines(ranch: &Ranch) -> usize {
    ranch
        .cloud
        .sets
        .values()
        .flat_map(|held| held.instances.values())
        .filter(|instance| !instance.is_deleting)
        .count()
}

#[test]
fn the_old_sets_instances_are_ended_one_by_one() {
    let mut ranch = rolling();
    let calls = ranch.settle_watching(|ranch| {
        let count = machines(ranch);
        assert!((3..=4).contains(&count), "{count} machines");
        let outputs = ranch.cloud.outputs(&ranch.demo);
        assert_eq!(outputs.replicas, Some(3), "a surge is nobody's wish");
    });
    let expected = [
        format!("PUT {NEW}"),
        format!("DELETE {SETTING}"),
        format!("PUT {NEW_SETTING}"),
        format!("SIZE {NEW} 0 -> 1"),
        format!("END {SET} 0"),
        format!("SIZE {NEW} 1 -> 2"),
        format!("END {SET} 1"),
        format!("SIZE {NEW} 2 -> 3"),
        format!("END {SET} 2"),
        format!("DELETE {SET}"),
    ];
    let put = format!("PUT {NEW_SETTING}");
    let without_bounds: Vec<&String> = calls
        .iter()
        .enumerate()
        .filter(|(index, call)| **call != put || *index < 3)
        .map(|(_, call)| call)
        .collect();
    assert_eq!(without_bounds, expected.iter().collect::<Vec<_>>());
    let created = ranch.cloud.journal.iter().find_map(|call| match call {
        Call::CreateSet { capacity, .. } => Some(*capacity),
        _ => None,
    });
    assert_eq!(created, Some(0), "the old set holds the count");
    assert_eq!(ranch.cloud.sets.keys().collect::<Vec<_>>(), [NEW]);
    assert_eq!(ranch.staying().len(), 3);
    assert!(ranch.taken().is_empty());
    assert!(ranch.demo.remembered().retiring.is_empty());
    let profile = ranch.cloud.settings[NEW_SETTING].profile.clone();
    assert_eq!(profile.expect("our profile").minimum, 3);
}

/// Proves: AZURE-111.
#[test]
fn both_generations_are_published_while_they_hold_machines() {
    let mut ranch = rolling();
    let mut seen_both = 0;
    ranch.settle_watching(|ranch| {
        let outputs = ranch.cloud.outputs(&ranch.demo);
        let all: Vec<String> = ranch
            .cloud
            .sets
            .iter()
            .flat_map(|(set, held)| {
                let pool = PID.replace(SET, set);
                let ids = held.instances.keys();
                ids.map(move |id| format!("{pool}/virtualMachines/{id}"))
            })
            .collect();
        assert_eq!(outputs.provider_id_list, all);
        let sets = [NEW, SET].map(|set| all.iter().any(|id| id.contains(set)));
        seen_both += usize::from(sets == [true, true]);
    });
    assert!(seen_both > 3, "{seen_both}");
}

#[test]
fn members_are_outdated_once_the_new_set_serves() {
    let mut ranch = rolling();
    ranch.pass(Operation::Apply, usize::MAX);
    assert!(ranch.members().iter().all(|it| !it.outdated), "it is made");
    ranch.cloud.tick();
    ranch.pass(Operation::Apply, usize::MAX);
    assert!(ranch.members().iter().all(|it| it.outdated));
    assert!(!ranch.cloud.settings.contains_key(SETTING), "or it refills");
}

#[test]
fn without_surge_a_machine_goes_before_its_successor_comes() {
    let mut ranch = rolling();
    (ranch.surge, ranch.unavailable) = (0, 1);
    let mut fewest = usize::MAX;
    ranch.settle_watching(|ranch| {
        fewest = fewest.min(machines(ranch));
        assert!(machines(ranch) <= 3);
        let replicas = ranch.cloud.outputs(&ranch.demo).replicas;
        assert_eq!(replicas, Some(3), "one that is missing is no smaller wish");
    });
    assert_eq!(fewest, 3, "its successor is asked for in the same pass");
    assert_eq!(ranch.cloud.sets.keys().collect::<Vec<_>>(), [NEW]);
    assert!(ranch.taken().is_empty());
}

#[test]
fn plain_refreshes_bring_a_roll_to_its_end() {
    let mut ranch = rolling();
    while ranch
        .demo
        .remembered()
        .current
        .expect("one serves")
        .set_name
        == SET
    {
        ranch.pass(Operation::Apply, usize::MAX);
        ranch.cloud.tick();
    }
    for _ in 0..20 {
        ranch.pass(Operation::Refresh, usize::MAX);
        ranch.cloud.tick();
    }
    assert_eq!(ranch.cloud.sets.keys().collect::<Vec<_>>(), [NEW]);
    assert_eq!(ranch.staying().len(), 3);
    assert!(ranch.taken().is_empty());
    ranch.settle();
    assert!(ranch.demo.remembered().retiring.is_empty());
}

#[test]
fn new_machines_that_do_not_come_stop_the_roll() {
    let mut ranch = rolling();
    ranch.cloud.has_no_room = true;
    for _ in 0..10 {
        ranch.pass(Operation::Apply, usize::MAX);
        ranch.cloud.tick();
    }
    assert_eq!(ranch.cloud.set(SET).instances.len(), 3);
    let ended = ranch
        .cloud
        .calls
        .iter()
        .filter(|call| call.starts_with("END"));
    assert_eq!(ended.count(), 0);
    ranch.cloud.has_no_room = false;
    ranch.settle();
    assert_eq!(ranch.cloud.sets.keys().collect::<Vec<_>>(), [NEW]);
    assert!(ranch.taken().is_empty());
}

#[test]
fn a_third_generation_takes_over_from_two() {
    let mut ranch = rolling();
    while ranch
        .cloud
        .sets
        .get(NEW)
        .map_or(0, |held| held.instances.len())
        < 2
    {
        ranch.pass(Operation::Apply, usize::MAX);
        ranch.cloud.tick();
    }
    let mut ranch = ranch.changed(|demo| demo.version("v1.34.3"));
    let newest = ranch.demo.good().set.name;
    ranch.settle_watching(|ranch| assert!((3..=4).contains(&machines(ranch))));
    assert_eq!(ranch.cloud.sets.keys().collect::<Vec<_>>(), [&newest]);
    assert_eq!(ranch.staying().len(), 3);
    assert!(ranch.taken().is_empty());
}

#[test]
fn turning_back_halfway_keeps_what_is_left_of_the_old_set() {
    let mut ranch = rolling();
    while ranch
        .cloud
        .sets
        .get(NEW)
        .map_or(0, |held| held.instances.len())
        < 2
    {
        ranch.pass(Operation::Apply, usize::MAX);
        ranch.cloud.tick();
    }
    let mut ranch = ranch.changed(|demo| demo.version("v1.34.1"));
    ranch.settle_watching(|ranch| assert!((3..=5).contains(&machines(ranch))));
    assert_eq!(ranch.cloud.sets.keys().collect::<Vec<_>>(), [SET]);
    assert!(
        ranch.cloud.set(SET).instances.contains_key(&2),
        "never rolled"
    );
    assert_eq!(ranch.staying().len(), 3);
    assert!(ranch.taken().is_empty());
}

#[test]
fn a_count_that_changes_while_it_rolls_is_heeded() {
    for replicas in [1, 6] {
        let mut ranch = rolling();
        while ranch
            .cloud
            .sets
            .get(NEW)
            .map_or(0, |held| held.instances.len())
            < 1
        {
            ranch.pass(Operation::Apply, usize::MAX);
            ranch.cloud.tick();
        }
        let mut ranch = ranch.changed(|demo| demo.replicas(replicas));
        ranch.settle();
        assert_eq!(ranch.cloud.sets.keys().collect::<Vec<_>>(), [NEW]);
        let wanted = usize::try_from(replicas).expect("small");
        assert_eq!(ranch.staying().len(), wanted);
        assert_eq!(ranch.cloud.outputs(&ranch.demo).replicas, Some(replicas));
        assert!(ranch.taken().is_empty());
    }
}

#[test]
fn an_autoscaled_pool_keeps_its_count_over_a_roll() {
    let mut ranch = Ranch::new(demo().replicas(4).autoscaled(2, 6));
    ranch = ranch.changed(|demo| demo.version("v1.34.2"));
    ranch.settle_watching(|ranch| {
        assert_eq!(ranch.cloud.outputs(&ranch.demo).replicas, Some(4));
    });
    assert_eq!(ranch.staying().len(), 4);
    assert!(ranch.taken().is_empty());
}

/// Whatever step the process dies after.
#[test]
fn a_crash_after_any_step_changes_nothing_at_the_end() {
    let mut crashes = 0;
    for pass in 0..30 {
        for crash_after in 0..6 {
            let mut ranch = rolling();
            for _ in 0..pass {
                ranch.pass(Operation::Apply, usize::MAX);
                ranch.cloud.tick();
            }
            let (_, end) = ranch.pass(Operation::Apply, crash_after);
            crashes += usize::from(end == End::Crashed);
            ranch.settle_watching(|ranch| assert!((3..=4).contains(&machines(ranch))));
            assert_eq!(
                ranch.cloud.sets.keys().collect::<Vec<_>>(),
                [NEW],
                "pass {pass}, step {crash_after}"
            );
            assert_eq!(ranch.staying().len(), 3);
            assert_eq!(
                ranch.cloud.settings.keys().collect::<Vec<_>>(),
                [NEW_SETTING]
            );
            assert!(ranch.taken().is_empty());
            assert!(ranch.demo.remembered().retiring.is_empty());
        }
    }
    assert!(crashes > 40, "{crashes} crashes");
}

/// Something that happens to a pool.
#[derive(Debug, Clone)]
enum Event {
    Replicas(u8),
    Version(u8),
    Delete(u8),
    Crash(u8),
    Full(bool),
    Refreshed,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        (0..6u8).prop_map(Event::Replicas),
        (0..3u8).prop_map(Event::Version),
        (0..6u8).prop_map(Event::Delete),
        (0..6u8).prop_map(Event::Crash),
        any::<bool>().prop_map(Event::Full),
        Just(Event::Refreshed),
    ];
    prop::collection::vec(event, 1..24)
}

proptest! {
    #[test]
    fn azure_never_takes_an_instance_and_the_wish_is_reached(events in events()) {
        let mut ranch = Ranch::new(demo());
        for event in events {
            match event {
                Event::Replicas(replicas) => ranch.demo.inputs.replicas = i64::from(replicas),
                Event::Version(patch) => {
                    ranch = ranch.changed(|demo| demo.version(&format!("v1.34.{patch}")));
                }
                Event::Delete(index) => {
                    let staying = ranch.staying();
                    if let Some(id) = staying.get(usize::from(index)) {
                        ranch.delete(&id.clone());
                    }
                }
                Event::Crash(after) => {
                    ranch.pass(Operation::Apply, usize::from(after));
                }
                Event::Full(full) => ranch.cloud.has_no_room = full,
                Event::Refreshed => {
                    ranch.pass(Operation::Refresh, usize::MAX);
                }
            }
            let (_, end) = ranch.pass(Operation::Apply, usize::MAX);
            prop_assert!(!matches!(end, End::Refused(_)), "{end:?}");
            ranch.cloud.tick();
            prop_assert_eq!(ranch.taken(), Vec::<String>::new());
        }
        ranch.cloud.has_no_room = false;
        ranch.settle();
        prop_assert_eq!(ranch.taken(), Vec::<String>::new());
        let wanted = ranch.demo.good().set.name;
        prop_assert_eq!(ranch.cloud.sets.keys().collect::<Vec<_>>(), vec![&wanted]);
        let replicas = usize::try_from(ranch.demo.inputs.replicas).expect("small");
        prop_assert_eq!(ranch.staying().len(), replicas);
        let plan = ranch.plan(Operation::Apply).expect("a plan can be made");
        prop_assert_eq!(plan.outlook, Outlook::Settled);
    }
}
