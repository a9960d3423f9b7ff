//! Whose a set or setting is, and what happens to one that is not ours.

use remuda_plan::{
    azure::{
        names,
        observed::{ProvisioningState, Setting},
    },
    driver::{self, Driver, Traces},
    pool::action::PlanStop,
};

use super::{
    cloud::{Cloud, Held, applied, place},
    demo::{Demo, INSTALLATION, RESOURCE_GROUP, SET, SETTING, demo},
};

fn taken(cloud: &Cloud, demo: &Demo) -> String {
    let Err(PlanStop::Refused(refusals)) = cloud.plan(demo) else {
        panic!("the name is taken");
    };
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    assert_eq!(refusals[0].code, "E-NAME-TAKEN");
    refusals[0].to_string()
}

/// A group in which a set of F's name exists that F's record does not know.
pub(crate) fn found(change: impl FnOnce(&mut Held)) -> (Cloud, Demo) {
    let demo = demo();
    let mut cloud = Cloud::new();
    let mut held = Held::new(&demo.good().set, 3);
    held.fill(3);
    change(&mut held);
    cloud.sets.insert(SET.to_owned(), held);
    (cloud, demo)
}

/// Proves: AZURE-68.
#[test]
fn a_foreign_set_is_never_touched_and_ours_is_adopted() {
    let (cloud, demo) = found(|held| held.set.tags.clear());
    let text = taken(&cloud, &demo);
    assert!(
        text.contains(SET) && text.contains(RESOURCE_GROUP),
        "{text}"
    );

    // The module's set: the captf tags, and no installation id.
    let (mut cloud, mut demo) = found(|held| {
        held.set.tags.remove("remuda.dev_installation");
    });
    let before = cloud.set(SET).instances.clone();
    assert_eq!(
        cloud.settle(&mut demo),
        [format!("PATCH {SET}"), format!("PUT {SETTING}")]
    );
    assert_eq!(cloud.set(SET).instances, before);
    assert_eq!(
        cloud.set(SET).set.tags["remuda.dev_installation"],
        INSTALLATION
    );
    assert!(cloud.patches()[0].sku.is_none());
}

#[test]
fn a_set_of_ours_whose_making_failed_is_completed() {
    let (mut cloud, mut demo) = found(|held| {
        held.set.state = ProvisioningState::Failed;
        held.instances.clear();
    });
    cloud.settle(&mut demo);
    assert_eq!(cloud.set(SET).instances.len(), 3);
    assert_eq!(cloud.set(SET).set.state, ProvisioningState::Succeeded);
}

#[test]
fn another_installations_set_is_foreign_whatever_else_it_says() {
    let other = |held: &mut Held| {
        let key = "remuda.dev_installation".to_owned();
        held.set.tags.insert(key, "another".to_owned());
    };
    let (cloud, demo) = found(other);
    taken(&cloud, &demo);
    let (mut cloud, demo) = applied(super::demo::demo());
    other(cloud.sets.get_mut(SET).expect("the set"));
    taken(&cloud, &demo);
}

#[test]
fn a_recorded_set_may_have_lost_some_tags() {
    let (mut cloud, mut demo) = applied(demo());
    let tags = &mut cloud.sets.get_mut(SET).expect("the set").set.tags;
    tags.remove("remuda.dev_installation");
    tags.remove("captf.io_name");
    assert_eq!(cloud.settle(&mut demo), [format!("PATCH {SET}")]);
    assert_eq!(cloud.set(SET).set.tags, demo.good().set.tags);
}

#[test]
fn tag_names_ignore_case() {
    let (cloud, demo) = found(|held| {
        let tags = std::mem::take(&mut held.set.tags);
        held.set.tags = tags
            .into_iter()
            .map(|(k, v)| (k.to_uppercase(), v))
            .collect();
    });
    assert!(cloud.plan(&demo).is_ok());
}

#[test]
fn a_foreign_setting_of_our_name_is_never_overwritten() {
    let (mut cloud, demo) = applied(demo());
    let setting = cloud.settings.get_mut(SETTING).expect("the setting");
    setting.tags.clear();
    setting.target = names::set_id(&place(), "something-else");
    let text = taken(&cloud, &demo);
    assert!(
        text.contains(SETTING) && text.contains("something-else"),
        "{text}"
    );
    // Without tags, on our set: edited by hand, and put back.
    let (mut cloud, mut demo) = applied(demo);
    let setting: &mut Setting = cloud.settings.get_mut(SETTING).expect("the setting");
    setting.tags.clear();
    assert_eq!(cloud.settle(&mut demo), [format!("PUT {SETTING}")]);
}

#[test]
fn a_lost_record_is_rebuilt_from_the_set_without_touching_a_machine() {
    let (mut cloud, demo) = applied(demo().replicas(4));
    let before = cloud.set(SET).instances.clone();
    let pinned = demo.remembered().pinned_zones;
    let mut demo = Demo {
        record: None,
        ..demo
    };
    // What the set holds is not known: its custom data is sent once.
    assert_eq!(cloud.settle(&mut demo), [format!("PATCH {SET}")]);
    assert_eq!(cloud.set(SET).instances, before);
    assert_eq!(demo.remembered().pinned_zones, pinned);
    assert!(cloud.settle(&mut demo).is_empty());
}

#[test]
fn a_record_lost_during_a_roll_is_rebuilt_and_the_roll_ends() {
    for passes in 1..8 {
        let (mut cloud, demo) = applied(demo());
        let mut demo = demo.version("v1.34.2");
        for _ in 0..passes {
            cloud.pass(&mut demo);
            cloud.tick();
        }
        demo.record = None;
        cloud.settle(&mut demo);
        assert_eq!(cloud.sets.keys().collect::<Vec<_>>(), ["workers-64df8f7b"]);
        assert_eq!(cloud.set("workers-64df8f7b").instances.len(), 3, "{passes}");
        assert_eq!(cloud.settings.len(), 1);
    }
}

#[test]
fn traces_of_a_pool_without_a_record() {
    let traces = |cloud: &Cloud, demo: &Demo| {
        let observed = cloud.observe(&Cloud::handle(demo));
        Driver::traces(
            &driver::Observed::Azure(Box::new(observed)),
            &demo.context(),
        )
    };
    assert_eq!(traces(&Cloud::new(), &demo()), Some(Traces::None));
    let (cloud, demo) = found(|_| {});
    assert_eq!(traces(&cloud, &demo), Some(Traces::Ours));
    let (cloud, demo) = found(|held| held.set.tags.clear());
    assert_eq!(traces(&cloud, &demo), Some(Traces::Foreign));
}
