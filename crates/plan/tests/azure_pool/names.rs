//! Names and ARM IDs.

use remuda_plan::azure::names;
use serde_json::json;

use super::{
    cloud::{applied, place},
    demo::{Demo, PID, RESOURCE_GROUP, SET, SUBSCRIPTION, demo},
};

fn name(demo: &Demo) -> String {
    demo.good().set.name
}

/// Proves: AZURE-17.
#[test]
fn every_row_of_the_name_table() {
    let rows: [(Demo, &str); 9] = [
        (demo(), "workers-7d91b187"),
        (demo().version("v1.34.2"), "workers-64df8f7b"),
        (demo().version("v1.34.2+rke2r1"), "workers-069c77e7"),
        (
            demo()
                .with(|inputs| inputs.kubernetes_version = None)
                .var("image_id", json!("/sharedGalleries/x/images/y")),
            "workers-d0756b33",
        ),
        (demo().zones(["2"]), "workers-9723f6c7"),
        (demo().zones(["3", "1"]), "workers-0a4ebb18"),
        (demo().var("spot", json!(true)), "workers-a98e8e19"),
        (
            demo().var("trusted_launch", json!(true)),
            "workers-b42f2ae5",
        ),
        (
            demo().var("os_disk_storage_account_type", json!("StandardSSD_LRS")),
            "workers-07f44a84",
        ),
    ];
    for (demo, expected) in rows {
        assert_eq!(name(&demo), expected);
    }
    assert_eq!(name(&demo().zones(["1", "3"])), "workers-0a4ebb18");
    let dashed = format!("{}-b", "a".repeat(40));
    assert_eq!(
        name(&demo().with(|inputs| inputs.machinepool_name = dashed)),
        format!("{}-4c7a68a3", "a".repeat(40)),
    );
}

/// Proves: AZURE-16.
#[test]
fn a_name_is_made_valid_and_cut_and_its_hash_covers_it_as_given() {
    let given = format!("Pool_A.One-{}", "x".repeat(40));
    let name = name(&demo().with(|inputs| inputs.machinepool_name = given));
    assert_eq!(name, format!("pool-a-one-{}-889da57d", "x".repeat(30)));
    assert_eq!(name.len(), 50);
}

#[test]
fn what_changes_in_place_keeps_the_name() {
    let same: [Demo; 6] = [
        demo().var("vm_size", json!("Standard_D8s_v5")),
        demo().var("os_disk_size_gib", json!(256)),
        demo().var("additional_tags", json!({ "a": "b" })),
        demo().labels([("team", "a")]),
        demo().replicas(9).autoscaled(1, 9),
        demo().var("image_id", json!("/sharedGalleries/x/images/y")),
    ];
    for demo in same {
        assert_eq!(name(&demo), SET);
    }
}

#[test]
fn odd_versions_are_escaped_as_the_module_escapes_them() {
    let odd = name(&demo().version("v1.34.1<&>"));
    let plain = name(&demo().version("v1.34.1"));
    assert_ne!(odd, plain);
    // SHA-256 over JSON that holds "v1.34.1\\u003c\\u0026\\u003e".
    assert_eq!(odd, "workers-2714d6c4");
}

/// Proves: AZURE-12.
#[test]
fn provider_ids_are_lower_case_but_for_the_capital_of_resource_groups() {
    let demo = demo().exports(|exports| {
        exports["subscription_id"] = json!(SUBSCRIPTION.to_uppercase());
        exports["resource_group_name"] = json!(RESOURCE_GROUP.to_uppercase());
    });
    let (cloud, demo) = applied(demo);
    let outputs = cloud.outputs(&demo);
    assert_eq!(outputs.provider_id.as_deref(), Some(PID));
    assert_eq!(
        outputs.provider_id_list[0],
        format!("{PID}/virtualMachines/0")
    );
}

/// Proves: AZURE-1, AZURE-10.
#[test]
fn the_set_its_setting_and_their_ids() {
    let (cloud, demo) = applied(demo());
    assert_eq!(cloud.sets.keys().collect::<Vec<_>>(), [SET]);
    let outputs = cloud.outputs(&demo);
    assert_eq!(outputs.extra["scale_set_name"], json!(SET));
    let group = format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/{RESOURCE_GROUP}");
    assert_eq!(
        outputs.extra["scale_set_id"],
        json!(format!(
            "{group}/providers/Microsoft.Compute/virtualMachineScaleSets/{SET}"
        )),
    );
    assert_eq!(
        outputs.extra["autoscale_setting_id"],
        json!(format!(
            "{group}/providers/Microsoft.Insights/autoscalesettings/{SET}-autoscale"
        )),
    );
    assert!(names::same_id(
        &names::set_id(&place(), SET).to_uppercase(),
        &names::set_id(&place(), SET)
    ));
}
