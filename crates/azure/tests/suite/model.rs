//! Changes of the model: one PATCH with what differs, new machines only.

use serde_json::{Value, json};

use crate::harness::{
    World,
    demo::{INSTALLATION, Pool, SET},
    only,
    wire::writes,
};

/// The body of the one PATCH that a change of a settled pool makes.
async fn patch_of(change: impl FnOnce(&mut Pool)) -> (World, Pool, Value) {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle_and_boot(&mut pool).await;
    let before = world.sim.world().scale_set(SET).unwrap();
    change(&mut pool);
    let calls = world.settle(&mut pool).await;
    assert_eq!(
        writes(&calls),
        [format!("PATCH virtualMachineScaleSets/{SET}")]
    );
    let body = only(&calls, "PATCH virtualMachineScaleSets").json();
    assert!(body.get("zones").is_none());
    let after = world.sim.world().scale_set(SET).unwrap();
    let machines = |set: &remuda_sim::azure::ScaleSetInfo| -> Vec<String> {
        set.instances
            .iter()
            .map(|it| format!("{}{:?}", it.vm_id, it.power_state))
            .collect()
    };
    assert_eq!(
        machines(&before),
        machines(&after),
        "no instance was touched"
    );
    assert!(world.pass(&mut pool).await.is_settled());
    (world, pool, body)
}

/// Proves: AZURE-105.
#[tokio::test(start_paused = true)]
async fn each_variable_patches_its_own_part_and_reaches_new_machines_only() {
    let profile = "/properties/virtualMachineProfile";
    let nic = format!("{profile}/networkProfile/networkInterfaceConfigurations/0/properties");
    let changes = [
        (
            "os_disk_size_gib",
            json!(256),
            format!("{profile}/storageProfile/osDisk/diskSizeGB"),
            json!(256),
        ),
        (
            "accelerated_networking",
            json!(false),
            format!("{nic}/enableAcceleratedNetworking"),
            json!(false),
        ),
        (
            "ip_forwarding",
            json!(true),
            format!("{nic}/enableIPForwarding"),
            json!(true),
        ),
        (
            "boot_diagnostics",
            json!(false),
            format!("{profile}/diagnosticsProfile/bootDiagnostics/enabled"),
            json!(false),
        ),
    ];
    for (variable, value, pointer, sent) in changes {
        let (world, mut pool, body) = patch_of(|pool| pool.set(variable, value)).await;
        assert_eq!(body.pointer(&pointer), Some(&sent), "{variable}");
        assert!(
            body.get("sku").is_none() && body.get("tags").is_none(),
            "{variable}"
        );
        pool.inputs.replicas = 4;
        world.settle(&mut pool).await;
        world.wait(300).await;
        let set = world.sim.world().scale_set(SET).unwrap();
        let latest: Vec<bool> = set.instances.iter().map(|it| it.latest_model).collect();
        assert_eq!(latest, [false, false, false, true], "{variable}");
    }
}

/// Proves: AZURE-64.
#[tokio::test(start_paused = true)]
async fn encryption_at_host_is_one_patch() {
    let (_, _, body) = patch_of(|pool| pool.set("encryption_at_host", json!(true))).await;
    let profile = &body["properties"]["virtualMachineProfile"];
    assert_eq!(
        profile["securityProfile"],
        json!({ "encryptionAtHost": true })
    );
    let world = World::new();
    let mut pool = Pool::demo();
    pool.set("trusted_launch", json!(true));
    let calls = world.settle(&mut pool).await;
    let body = only(&calls, "PUT virtualMachineScaleSets").json();
    assert_eq!(
        body["properties"]["virtualMachineProfile"]["securityProfile"],
        json!({
            "securityType": "TrustedLaunch",
            "uefiSettings": { "secureBootEnabled": true, "vTpmEnabled": true },
        })
    );
}

/// Proves: AZURE-65.
#[tokio::test(start_paused = true)]
async fn a_new_size_carries_the_capacity_that_is_there() {
    let world = World::new();
    let mut pool = Pool::demo();
    pool.autoscale(2, 6);
    world.settle(&mut pool).await;
    assert!(world.sim.world().resize(SET, 5));
    world.wait(120).await;
    pool.set("vm_size", json!("Standard_D8s_v5"));
    let calls = world.settle(&mut pool).await;
    assert_eq!(
        writes(&calls),
        [format!("PATCH virtualMachineScaleSets/{SET}")]
    );
    let body = only(&calls, "PATCH virtualMachineScaleSets").json();
    assert_eq!(
        body["sku"],
        json!({ "name": "Standard_D8s_v5", "tier": "Standard", "capacity": 5 })
    );
}

/// Proves: AZURE-63.
#[tokio::test(start_paused = true)]
async fn a_spot_set_is_evicted_for_capacity_only() {
    let world = World::new();
    let mut pool = Pool::demo();
    pool.set("spot", json!(true));
    let calls = world.settle(&mut pool).await;
    let put = only(&calls, "PUT virtualMachineScaleSets");
    assert!(put.path.ends_with("/workers-a98e8e19"));
    let profile = put.json()["properties"]["virtualMachineProfile"].clone();
    assert_eq!(profile["priority"], "Spot");
    assert_eq!(profile["evictionPolicy"], "Delete");
    assert_eq!(profile["billingProfile"], json!({ "maxPrice": -1 }));
}

/// Proves: AZURE-18.
#[tokio::test(start_paused = true)]
async fn a_set_of_a_region_without_zones_has_none() {
    let world = World::new();
    let mut pool = Pool::demo();
    pool.inputs.captf_cluster_outputs["failure_domains"] = json!({});
    pool.inputs.captf_cluster_outputs["region"] = json!("westus");
    pool.inputs.cluster_failure_domains.clear();
    let calls = world.settle(&mut pool).await;
    let body = only(&calls, "PUT virtualMachineScaleSets").json();
    assert!(body.get("zones").is_none());
    world.wait(120).await;
    let outputs = world.refresh(&mut pool).await.unwrap();
    assert_eq!(outputs.instances.len(), 3);
    assert!(
        outputs
            .instances
            .iter()
            .all(|member| member.failure_domain.is_none())
    );
}

/// Proves: AZURE-33, AZURE-112.
#[tokio::test(start_paused = true)]
async fn capacity_is_never_drift_but_the_model_is() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle_and_boot(&mut pool).await;
    assert!(world.sim.world().resize(SET, 7));
    assert!(world.pass(&mut pool).await.is_settled());
    world.wait(600).await;
    assert_eq!(world.sim.world().scale_set(SET).unwrap().capacity, 3);
    let by_hand = json!({ "properties": { "overprovision": true } });
    assert!(world.sim.world().edit(SET, &by_hand));
    let calls = world.settle(&mut pool).await;
    assert_eq!(
        writes(&calls),
        [format!("PATCH virtualMachineScaleSets/{SET}")]
    );
    let resource = world.sim.world().scale_set(SET).unwrap().resource;
    assert_eq!(resource["properties"]["overprovision"], false);
}

/// Proves: AZURE-113.
#[tokio::test(start_paused = true)]
async fn the_set_alone_carries_the_installation_id_where_there_is_room() {
    let world = World::new();
    let mut pool = Pool::demo();
    let calls = world.settle(&mut pool).await;
    let tags = only(&calls, "PUT virtualMachineScaleSets").json()["tags"].clone();
    assert_eq!(tags["remuda.dev_installation"], INSTALLATION);
    let setting = only(&calls, "PUT autoscalesettings").json()["tags"].clone();
    assert!(setting.get("remuda.dev_installation").is_none());
    let many: serde_json::Map<String, Value> = (0..44)
        .map(|number| (format!("tag-{number}"), json!("x")))
        .collect();
    pool.set("additional_tags", Value::Object(many));
    let calls = world.settle(&mut pool).await;
    let tags = only(&calls, "PATCH virtualMachineScaleSets").json()["tags"].clone();
    assert_eq!(tags.as_object().unwrap().len(), 50);
    assert!(tags.get("remuda.dev_installation").is_none());
    assert!(world.sim.world().edit(
        SET,
        &json!({ "tags": { "remuda.dev_installation": "other" } })
    ));
    pool.record = None;
    let pass = world.pass(&mut pool).await;
    assert_eq!(pass.refused[0].code, "E-NAME-TAKEN");
    assert!(pass.writes().is_empty());
}
