//! Updates of the set's model.

use remuda_plan::{azure::action::SetPatch, pool::action::Effect};
use serde_json::{Value, json};

use super::{
    cloud::{Cloud, applied},
    demo::{Demo, SET, demo},
};

/// The one PATCH that a changed variable leads to.
fn patched(name: &str, value: Value) -> (Cloud, Demo, SetPatch) {
    let (mut cloud, demo) = applied(demo());
    let before = cloud.set(SET).instances.clone();
    let mut demo = demo.var(name, value);
    assert_eq!(cloud.settle(&mut demo), [format!("PATCH {SET}")], "{name}");
    assert_eq!(cloud.set(SET).instances, before, "no instance is touched");
    let patch = cloud.patches().pop().expect("a patch");
    (cloud, demo, patch)
}

/// What a patch holds besides the image, which is always sent.
fn parts(patch: &SetPatch) -> Vec<&'static str> {
    let rows = [
        ("custom_data", patch.custom_data.is_some()),
        ("os_disk", patch.os_disk.is_some()),
        ("network", patch.network.is_some()),
        ("sku", patch.sku.is_some()),
        ("ssh", patch.ssh.is_some()),
        ("boot_diagnostics", patch.boot_diagnostics.is_some()),
        ("encryption_at_host", patch.encryption_at_host.is_some()),
        ("tags", patch.tags.is_some()),
        ("identity", patch.identity_id.is_some()),
        ("constants", patch.constants),
    ];
    let there = rows.into_iter().filter(|(_, is_there)| *is_there);
    there.map(|(name, _)| name).collect()
}

/// Proves: AZURE-105.
#[test]
fn each_change_is_one_patch_of_its_part_and_reaches_new_instances_only() {
    let rows = [
        ("os_disk_size_gib", json!(256), "os_disk"),
        ("accelerated_networking", json!(false), "network"),
        ("ip_forwarding", json!(true), "network"),
        ("boot_diagnostics", json!(false), "boot_diagnostics"),
        (
            "image_id",
            json!("/sharedGalleries/x/images/y/versions/2"),
            "os_disk",
        ),
    ];
    for (name, value, part) in rows {
        let (cloud, demo, patch) = patched(name, value);
        assert_eq!(parts(&patch), [part], "{name}");
        let wanted = demo.good().set.model;
        assert_eq!(cloud.set(SET).set.model, wanted, "{name}");
        assert_eq!(patch.image, wanted.image, "{name}");
    }
}

/// Proves: AZURE-64.
#[test]
fn encryption_at_host_is_one_patch_and_trusted_launch_a_generation() {
    let (_, _, patch) = patched("encryption_at_host", json!(true));
    assert_eq!(parts(&patch), ["encryption_at_host"]);
    let trusted = demo().var("trusted_launch", json!(true)).good();
    assert!(trusted.set.model.trusted_launch);
    assert_ne!(trusted.set.name, SET);
}

/// Proves: AZURE-65.
#[test]
fn another_size_is_one_patch_with_the_capacity_as_it_was_read() {
    let (mut cloud, demo) = applied(demo().autoscaled(2, 9));
    cloud.sets.get_mut(SET).expect("the set").fill(7);
    let mut demo = demo.var("vm_size", json!("Standard_D8s_v5"));
    assert_eq!(cloud.settle(&mut demo), [format!("PATCH {SET}")]);
    let sku = cloud.patches()[0].sku.clone().expect("a size");
    assert_eq!((sku.vm_size.as_str(), sku.capacity), ("Standard_D8s_v5", 7));
    assert_eq!(cloud.set(SET).set.capacity, 7);
}

#[test]
fn several_changes_are_one_patch() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo
        .var("vm_size", json!("Standard_D8s_v5"))
        .var("os_disk_size_gib", json!(256))
        .bootstrap(super::demo::ROTATED)
        .exports(|e| e["admin_ssh_public_key"] = json!("ssh-rsa other"));
    assert_eq!(cloud.settle(&mut demo), [format!("PATCH {SET}")]);
    assert_eq!(
        parts(&cloud.patches()[0]),
        ["custom_data", "os_disk", "sku", "ssh"]
    );
}

#[test]
fn an_identity_that_changes_takes_the_old_one_off() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.exports(|e| e["worker"]["identity_id"] = json!("/identities/new"));
    cloud.settle(&mut demo);
    let patch = cloud.patches().pop().expect("a patch");
    assert_eq!(patch.identity_id.as_deref(), Some("/identities/new"));
    assert_eq!(patch.removed_identity_ids, [super::demo::identity_id()]);
}

#[test]
fn tags_alone_concern_no_machine() {
    let (cloud, demo) = applied(demo());
    let effect = |demo: &Demo| {
        let plan = cloud.plan(demo).expect("a plan can be made");
        let step = plan
            .steps
            .iter()
            .find(|step| step.object == format!("scale_set/{SET}"));
        step.expect("a patch").effect
    };
    let tags = demo.clone().var("additional_tags", json!({ "a": "b" }));
    assert_eq!(effect(&tags), Effect::None);
    let data = demo.bootstrap(super::demo::ROTATED);
    assert_eq!(effect(&data), Effect::NewMachinesOnly);
}

/// Proves: AZURE-63.
#[test]
fn spot_is_a_generation_of_its_own() {
    let (cloud, demo) = applied(demo().var("spot", json!(true)));
    let name = demo.good().set.name;
    assert_eq!(name, "workers-a98e8e19");
    assert!(cloud.set(&name).set.model.spot);
}
