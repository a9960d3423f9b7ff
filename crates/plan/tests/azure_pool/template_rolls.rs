//! With pool Machines on, members made from another instance template are outdated (Cluster API
//! document 4.10): another set is made for it. With them off the set changes in place.

use remuda_plan::{
    azure::vars::Vars,
    pool::action::{Effect, Plan},
};
use serde_json::{Value, json};

use super::{
    cloud::{End, applied},
    demo::{Demo, IMAGE, SET, demo},
    ranch::{Operation, Ranch},
};

/// Another value for every variable that only new machines get.
fn changes() -> Vec<(&'static str, Value)> {
    vec![
        ("accelerated_networking", json!(false)),
        ("boot_diagnostics", json!(false)),
        ("encryption_at_host", json!(true)),
        ("image_id", json!(IMAGE.replace("{semver}", "1.30.0"))),
        ("ip_forwarding", json!(true)),
        ("os_disk_size_gib", json!(256)),
        ("vm_size", json!("Standard_D8s_v5")),
    ]
}

fn effect(plan: &Plan) -> Effect {
    let effects = plan.steps.iter().map(|step| step.effect);
    effects.max().expect("there are steps")
}

fn only_set(ranch: &Ranch) -> String {
    let sets: Vec<&String> = ranch.cloud.sets.keys().collect();
    assert_eq!(sets.len(), 1, "{sets:?}");
    sets[0].clone()
}

/// Settles, with the bounds of a roll at every moment; the one set that is left.
fn rolled(ranch: &mut Ranch) -> String {
    ranch.settle_watching(|ranch| {
        let count = ranch.staying().len();
        assert!((3..=4).contains(&count), "{count} machines");
    });
    assert!(ranch.taken().is_empty());
    assert_eq!(ranch.staying().len(), 3);
    only_set(ranch)
}

#[test]
fn every_variable_of_new_machines_rolls_where_there_are_machines_and_says_so() {
    let known: Vec<&str> = Vars::TABLE
        .iter()
        .filter(|row| row.effect == Effect::NewMachinesOnly)
        .map(|row| row.name)
        .collect();
    let tried: Vec<&str> = changes().iter().map(|(name, _)| *name).collect();
    assert_eq!(known, tried, "another value for each of them is tried");
    for (name, value) in changes() {
        let mut ranch = Ranch::new(demo()).changed(|demo| demo.var(name, value));
        ranch.decide();
        let plan = ranch.plan(Operation::Apply).expect("a plan can be made");
        assert_eq!(effect(&plan), Effect::Rolls, "{name}");
        let told: Vec<&str> = plan
            .steps
            .iter()
            .map(|step| step.because.as_str())
            .collect();
        assert!(
            told.iter().any(|because| because.starts_with(name)),
            "{name}: {told:?}"
        );
        let set = rolled(&mut ranch);
        assert_ne!(set, SET, "{name}");
        assert_eq!(ranch.demo.good().set.name, set, "its name stays");
    }
}

#[test]
fn without_machines_the_set_changes_in_place() {
    for (name, value) in changes() {
        let (mut cloud, demo) = applied(demo());
        let mut demo = demo.var(name, value);
        let plan = cloud.plan(&demo).expect("a plan can be made");
        assert_eq!(effect(&plan), Effect::NewMachinesOnly, "{name}");
        assert_eq!(cloud.settle(&mut demo), [format!("PATCH {SET}")]);
    }
}

fn larger(demo: Demo) -> Demo {
    demo.var("vm_size", json!("Standard_D8s_v5"))
}

fn first(demo: Demo) -> Demo {
    demo.var("vm_size", json!("Standard_D4s_v5"))
}

#[test]
fn back_and_forth_uses_the_sets_that_are_there() {
    let mut ranch = Ranch::new(demo()).changed(larger);
    let larger_set = ranch.demo.good().set.name;
    // Halfway: both have instances.
    while ranch
        .cloud
        .sets
        .get(&larger_set)
        .map_or(0, |held| held.instances.len())
        < 2
    {
        ranch.pass(Operation::Apply, usize::MAX);
        ranch.cloud.tick();
    }
    let mut ranch = ranch.changed(first);
    ranch.settle();
    assert_eq!(only_set(&ranch), SET);
    let kept = ranch.cloud.set(SET).instances.contains_key(&2);
    assert!(kept, "it was never rolled");
    assert!(ranch.taken().is_empty());
    // All the way, and on to a third one, and to another version.
    let mut ranch = ranch.changed(larger);
    assert_eq!(rolled(&mut ranch), larger_set);
    let mut ranch = ranch.changed(|demo| demo.var("os_disk_size_gib", json!(256)));
    let third = rolled(&mut ranch);
    assert_ne!(third, larger_set);
    let mut ranch = ranch.changed(|demo| demo.version("v1.34.2"));
    let fourth = rolled(&mut ranch);
    assert_ne!(fourth, third);
    assert!(ranch.demo.remembered().retiring_keys.is_empty());
}

#[test]
fn another_bootstrap_secret_rolls_and_other_content_does_not() {
    let mut ranch = Ranch::new(demo()).changed(|demo| demo.bootstrap(super::demo::ROTATED));
    assert_eq!(rolled(&mut ranch), SET);
    ranch.demo.bootstrap_secret = "another".to_owned();
    assert_ne!(rolled(&mut ranch), SET);
}

#[test]
fn machines_that_are_turned_on_and_a_record_from_before_roll_nothing() {
    let (cloud, demo) = applied(larger(demo()));
    let mut ranch = Ranch {
        cloud,
        demo,
        surge: 1,
        unavailable: 0,
        ends: std::collections::BTreeSet::new(),
    };
    ranch.demo.machines_off = false;
    assert_eq!(rolled(&mut ranch), SET);
    let key = ranch
        .demo
        .remembered()
        .current
        .expect("one serves")
        .key
        .expect("known");
    assert!(key.template.is_some(), "known from now on");
    let mut ranch = ranch.changed(first);
    let second = rolled(&mut ranch);
    assert_ne!(second, SET);
    // Off again: the set stays, and changes in place.
    ranch.demo.machines_off = true;
    ranch.demo.wish = None;
    let mut demo = larger(ranch.demo);
    let calls = ranch.cloud.settle(&mut demo);
    assert!(
        calls
            .iter()
            .all(|call| !call.starts_with("PUT workers") || call.ends_with("autoscale")),
        "{calls:?}"
    );
    assert!(ranch.cloud.sets.contains_key(&second), "{calls:?}");
}

#[test]
fn a_crash_after_any_step_of_such_a_roll_changes_nothing_at_the_end() {
    let mut crashes = 0;
    for pass in 0..16 {
        for crash_after in 0..5 {
            let mut ranch = Ranch::new(demo()).changed(larger);
            let wanted = ranch.demo.good().set.name;
            for _ in 0..pass {
                ranch.pass(Operation::Apply, usize::MAX);
                ranch.cloud.tick();
            }
            let (_, end) = ranch.pass(Operation::Apply, crash_after);
            crashes += usize::from(end == End::Crashed);
            assert_eq!(
                rolled(&mut ranch),
                wanted,
                "pass {pass}, step {crash_after}"
            );
        }
    }
    assert!(crashes > 15, "{crashes} crashes");
}
