//! Anything at any time: changed inputs, changes by hand, crashes and passes in any order come to
//! the same kind of end, and no roll is ever lost or doubled.

use proptest::prelude::*;
use remuda_plan::{aws::names, pool::action::Outlook};

use super::{
    cloud::Cloud,
    demo::{Demo, GROUP, demo},
    property::{Change, Drift, change, changed, drift, drifted, ours},
};

/// Something that happens.
#[derive(Debug, Clone, Copy)]
enum Event {
    Change(Change),
    Drift(Drift),
    /// A pass that dies after so many steps.
    Crash(usize),
    /// A pass that runs to its end or to its first failure.
    Pass,
    /// Time goes by.
    Tick,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let one = prop_oneof![
        4 => change().prop_map(Event::Change),
        2 => drift()
            .prop_filter("a lost record forgets what is left behind", |drift| {
                !matches!(drift, Drift::RecordLost)
            })
            .prop_map(Event::Drift),
        3 => (1..12usize).prop_map(Event::Crash),
        3 => Just(Event::Pass),
        1 => Just(Event::Tick),
    ];
    prop::collection::vec(one, 1..16)
}

fn happen(cloud: &mut Cloud, mut demo: Demo, event: Event) -> Demo {
    match event {
        Event::Change(change) => return changed(demo, &[change]),
        Event::Drift(drift) => drifted(cloud, &mut demo, &[drift]),
        Event::Crash(after) => {
            demo.now += 60;
            let plan = cloud.plan(&demo).expect("a plan can be made");
            cloud.run(&mut demo, &plan, after);
        }
        Event::Pass => {
            cloud.pass(&mut demo);
        }
        Event::Tick => cloud.tick(),
    }
    demo
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_end_is_one_group_one_template_and_the_newest_roll(events in events()) {
        let mut cloud = Cloud::new();
        let mut demo = demo();
        for event in events {
            demo = happen(&mut cloud, demo, event);
        }
        cloud.settle(&mut demo);

        let plan = cloud.plan(&demo).expect("a plan can be made");
        prop_assert!(plan.steps.is_empty(), "{plan:?}");
        prop_assert_eq!(plan.outlook, Outlook::Settled);
        let record = demo.remembered();
        prop_assert_eq!(record.pending_roll, None);
        prop_assert_eq!(ours(&cloud), [cloud.template().0]);
        // No roll was lost: what members come from was made for the roll key of now.
        let key = demo.good().roll_key;
        let rolled_to = cloud.rolled_to.clone().unwrap_or_default();
        prop_assert!(names::is_template_for(&rolled_to, GROUP, &key), "{rolled_to} is not of {key:?}");
        prop_assert_eq!(record.roll_key, Some(key));
    }
}
