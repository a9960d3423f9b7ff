//! A pool is made, left alone, fed with new tokens, resized.

use base64::{Engine, engine::general_purpose::STANDARD};
use remuda_plan::pool::members::MemberState;
use remuda_sim::azure::{DEMO_GROUP, DEMO_SUBSCRIPTION, DEMO_WORKER_IDENTITY, DEMO_WORKER_SUBNET};
use serde_json::json;

use crate::harness::{
    World,
    demo::{PID, Pool, ROTATED, SET},
    only,
    wire::{names, writes},
};

/// Proves: AZURE-1, AZURE-6, AZURE-7, AZURE-8, AZURE-9, AZURE-101.
#[tokio::test(start_paused = true)]
async fn a_first_apply_puts_the_set_of_the_document() {
    let world = World::new();
    let mut pool = Pool::demo();
    let calls = world.settle(&mut pool).await;
    assert_eq!(
        writes(&calls),
        [
            format!("PUT virtualMachineScaleSets/{SET}"),
            format!("PUT autoscalesettings/{SET}-autoscale"),
        ]
    );
    let put = only(&calls, "PUT virtualMachineScaleSets");
    assert_eq!(put.headers["if-none-match"], "*");
    let body = put.json();
    let at = |pointer: &str| body.pointer(pointer).cloned().unwrap_or_default();
    assert_eq!(at("/zones"), json!(["1", "2", "3"]));
    assert_eq!(
        at("/sku"),
        json!({ "name": "Standard_D4s_v5", "tier": "Standard", "capacity": 3 })
    );
    assert_eq!(
        at("/identity"),
        json!({ "type": "UserAssigned", "userAssignedIdentities": { DEMO_WORKER_IDENTITY: {} } })
    );
    let properties = &body["properties"];
    assert_eq!(properties["orchestrationMode"], "Uniform");
    assert_eq!(properties["upgradePolicy"], json!({ "mode": "Manual" }));
    assert_eq!(properties["overprovision"], false);
    assert_eq!(properties["singlePlacementGroup"], false);
    let profile = &properties["virtualMachineProfile"];
    assert_eq!(profile["osProfile"]["computerNamePrefix"], SET);
    assert_eq!(profile["osProfile"]["allowExtensionOperations"], false);
    assert_eq!(
        profile["osProfile"]["linuxConfiguration"]["disablePasswordAuthentication"],
        true
    );
    assert_eq!(profile["storageProfile"]["osDisk"]["osType"], "Linux");
    let image = profile["storageProfile"]["imageReference"]
        .as_object()
        .unwrap();
    assert_eq!(
        image.keys().collect::<Vec<_>>(),
        ["communityGalleryImageId"]
    );
    assert!(
        image["communityGalleryImageId"]
            .as_str()
            .unwrap()
            .ends_with("/versions/1.34.1")
    );
    let nic = &profile["networkProfile"]["networkInterfaceConfigurations"][0];
    assert_eq!(nic["name"], "primary");
    let group = |suffix: &str| {
        let network = format!(
            "/subscriptions/{DEMO_SUBSCRIPTION}/resourceGroups/{DEMO_GROUP}/providers/Microsoft.Network"
        );
        format!("{network}/{suffix}")
    };
    assert_eq!(
        nic["properties"]["networkSecurityGroup"]["id"],
        group(&format!("networkSecurityGroups/{DEMO_GROUP}-worker-nsg"))
    );
    let address = &nic["properties"]["ipConfigurations"][0]["properties"];
    assert_eq!(address["subnet"]["id"], DEMO_WORKER_SUBNET);
    assert_eq!(
        address["applicationSecurityGroups"],
        json!([{ "id": group(&format!("applicationSecurityGroups/{DEMO_GROUP}-worker-asg")) }])
    );
    assert_eq!(
        profile["scheduledEventsProfile"]["terminateNotificationProfile"],
        json!({ "enable": true, "notBeforeTimeout": "PT5M" })
    );
    let text = body.to_string();
    for absent in [
        "userData",
        "loadBalancer",
        "control_plane",
        "\"extensions\"",
    ] {
        assert!(!text.contains(absent), "{absent}");
    }
    let set = world.sim.world().scale_set(SET).unwrap();
    assert_eq!((set.capacity, set.group.as_str()), (3, DEMO_GROUP));
    assert_eq!(world.sim.world().scale_sets().len(), 1);
}

/// Proves: AZURE-2, AZURE-3, AZURE-4, AZURE-5, AZURE-10, AZURE-117.
#[tokio::test(start_paused = true)]
async fn members_are_published_as_the_nodes_name_themselves() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle_and_boot(&mut pool).await;
    let outputs = pool.outputs();
    assert_eq!(outputs.provider_id.as_deref(), Some(PID));
    let expected: Vec<String> = (0..3)
        .map(|id| format!("{PID}/virtualMachines/{id}"))
        .collect();
    assert_eq!(outputs.provider_id_list, expected);
    assert_eq!(outputs.replicas, Some(3));
    assert_eq!(outputs.instances[0].instance_id, "0");
    assert_eq!(outputs.instances[0].failure_domain.as_deref(), Some("1"));
    assert_eq!(outputs.instances[0].state, MemberState::Running);
    let set = world.sim.world().scale_set(SET).unwrap();
    for (member, instance) in outputs.instances.iter().zip(&set.instances) {
        let kinds: Vec<&str> = member.addresses.iter().map(|it| it.kind.as_str()).collect();
        assert_eq!(kinds, ["InternalIP", "Hostname"]);
        let ip = instance.private_ip.unwrap().to_string();
        assert_eq!(member.addresses[0].address, ip);
        assert_eq!(member.addresses[1].address, instance.computer_name);
        assert_eq!(instance.computer_name.len(), SET.len() + 6);
    }
    assert_eq!(
        outputs.instances[1].addresses[1].address,
        format!("{SET}000001")
    );
    let health = &outputs.health;
    assert!(health.healthy && health.reasons.is_empty() && health.message.is_none());
    let id = |kind: &str| {
        json!(format!(
            "/subscriptions/{DEMO_SUBSCRIPTION}/resourceGroups/{DEMO_GROUP}/providers/{kind}"
        ))
    };
    assert_eq!(
        outputs.extra["scale_set_id"],
        id(&format!("Microsoft.Compute/virtualMachineScaleSets/{SET}"))
    );
    assert_eq!(
        outputs.extra["autoscale_setting_id"],
        id(&format!(
            "Microsoft.Insights/autoscalesettings/{SET}-autoscale"
        ))
    );
}

/// Proves: AZURE-11, AZURE-102.
#[tokio::test(start_paused = true)]
async fn a_settled_pool_writes_nothing() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle_and_boot(&mut pool).await;
    let before = pool.outputs().clone();
    let pass = world.pass(&mut pool).await;
    assert!(pass.is_settled(), "{:?}", pass.steps);
    pool.inputs.captf_object.name = "another".to_owned();
    let mut other = pool.clone();
    "demo-2".clone_into(&mut other.inputs.captf_cluster.name);
    other.inputs.captf_object.name = "workers".to_owned();
    assert!(world.pass(&mut other).await.is_settled());
    assert_eq!(other.outputs(), &before);
}

/// Proves: AZURE-36, AZURE-51.
#[tokio::test(start_paused = true)]
async fn a_rotated_token_is_one_patch_of_the_model_and_touches_no_instance() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle_and_boot(&mut pool).await;
    let before = world.sim.world().scale_set(SET).unwrap();
    pool.bootstrap(ROTATED);
    let calls = world.settle(&mut pool).await;
    assert_eq!(
        writes(&calls),
        [format!("PATCH virtualMachineScaleSets/{SET}")]
    );
    let body = only(&calls, "PATCH virtualMachineScaleSets").json();
    assert_eq!(
        body.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["properties"]
    );
    let sent = body.pointer("/properties/virtualMachineProfile/osProfile/customData");
    let message = STANDARD.decode(sent.unwrap().as_str().unwrap()).unwrap();
    assert!(String::from_utf8(message).unwrap().contains(ROTATED));
    let after = world.sim.world().scale_set(SET).unwrap();
    assert_ne!(after.custom_data_sha256, before.custom_data_sha256);
    for (old, new) in before.instances.iter().zip(&after.instances) {
        assert_eq!((&old.vm_id, old.power_state), (&new.vm_id, new.power_state));
        assert!(!new.latest_model);
    }
    let shown = format!("{:?}", pool.record);
    assert!(!shown.contains(sent.unwrap().as_str().unwrap()) && !shown.contains(ROTATED));
}

/// Proves: AZURE-37.
#[tokio::test(start_paused = true)]
async fn a_hundred_rotations_are_a_hundred_patches() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle(&mut pool).await;
    let mut calls = Vec::new();
    for round in 0..100 {
        pool.bootstrap(&STANDARD.encode(format!("#cloud-config\n# {round}\n")));
        calls.extend(world.settle(&mut pool).await);
    }
    assert_eq!(
        writes(&calls),
        vec![format!("PATCH virtualMachineScaleSets/{SET}"); 100]
    );
    for patch in calls.iter().filter(|call| call.is_write()) {
        let body = patch.json();
        assert!(body.get("sku").is_none() && body.get("zones").is_none());
    }
}

/// Proves: AZURE-19, AZURE-20, AZURE-23.
#[tokio::test(start_paused = true)]
async fn changed_tags_are_one_patch_and_one_put() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle(&mut pool).await;
    pool.set("additional_tags", json!({ "costCenter": "1234" }));
    let calls = world.settle(&mut pool).await;
    assert_eq!(
        writes(&calls),
        [
            format!("PATCH virtualMachineScaleSets/{SET}"),
            format!("PUT autoscalesettings/{SET}-autoscale"),
        ]
    );
    let sent = only(&calls, "PATCH virtualMachineScaleSets").json()["tags"].clone();
    let set = world.sim.world().scale_set(SET).unwrap();
    assert_eq!(set.tags, sent);
    let setting = world
        .sim
        .world()
        .setting(&format!("{SET}-autoscale"))
        .unwrap();
    for tags in [&sent, &setting.resource["tags"]] {
        assert_eq!(tags["captf.io_cluster"], "demo");
        assert_eq!(tags["captf.io_kind"], "TerraformMachinePool");
        assert_eq!(tags["captf.io_name"], "workers");
        assert_eq!(tags["captf.io_template"], "");
        assert_eq!(tags["costCenter"], "1234");
    }
}

/// Proves: AZURE-24, AZURE-25, AZURE-116.
#[tokio::test(start_paused = true)]
async fn a_new_count_is_one_put_and_autoscale_does_the_rest() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle_and_boot(&mut pool).await;
    pool.inputs.replicas = 5;
    let pass = world.pass(&mut pool).await;
    assert_eq!(
        pass.writes(),
        [format!("PUT autoscalesettings/{SET}-autoscale")]
    );
    let profile = pass.call("PUT autoscalesettings").json()["properties"]["profiles"][0].clone();
    assert_eq!(
        profile["capacity"],
        json!({ "minimum": "5", "maximum": "5", "default": "5" })
    );
    assert_eq!(profile["rules"], json!([]));
    assert_eq!(pool.outputs().replicas, Some(3));
    let started = tokio::time::Instant::now();
    while pool.outputs().replicas != Some(5) {
        world.refresh(&mut pool).await.unwrap();
        assert!(
            started.elapsed().as_secs() <= 120,
            "Autoscale takes a minute"
        );
        let health = &pool.outputs().health;
        if pool.outputs().replicas == Some(5) && pool.outputs().instances.len() == 3 {
            assert!(!health.healthy);
            assert_eq!(health.reasons, ["ScalingInProgress"]);
        }
    }
    world.wait(180).await;
    world.refresh(&mut pool).await.unwrap();
    assert_eq!(pool.outputs().instances.len(), 5);
    assert!(pool.outputs().health.healthy);
}

/// Proves: AZURE-26, AZURE-27, AZURE-28.
#[tokio::test(start_paused = true)]
async fn autoscaling_puts_two_rules_and_leaves_the_set_alone() {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle(&mut pool).await;
    pool.autoscale(2, 6);
    pool.inputs.replicas = 4;
    pool.set("autoscaling_scale_out_cpu_percent", json!(60));
    pool.set("autoscaling_scale_in_cpu_percent", json!(20));
    let calls = world.settle(&mut pool).await;
    assert_eq!(
        writes(&calls),
        [format!("PUT autoscalesettings/{SET}-autoscale")]
    );
    let body = only(&calls, "PUT autoscalesettings").json();
    let set_id = &body["properties"]["targetResourceUri"];
    let profile = &body["properties"]["profiles"][0];
    assert_eq!(
        profile["capacity"],
        json!({ "minimum": "2", "maximum": "6", "default": "2" })
    );
    let rules = profile["rules"].as_array().unwrap();
    let expected = [
        ("LessThan", 20, "Decrease", "PT10M"),
        ("GreaterThan", 60, "Increase", "PT5M"),
    ];
    assert_eq!(rules.len(), 2);
    for (rule, (operator, threshold, direction, cooldown)) in rules.iter().zip(expected) {
        let trigger = &rule["metricTrigger"];
        assert_eq!(trigger["metricName"], "Percentage CPU");
        assert_eq!(&trigger["metricResourceUri"], set_id);
        assert_eq!(
            (&trigger["timeWindow"], &trigger["timeGrain"]),
            (&json!("PT10M"), &json!("PT1M"))
        );
        assert_eq!(trigger["operator"], operator);
        assert_eq!(trigger["threshold"], threshold);
        assert_eq!(rule["scaleAction"]["direction"], direction);
        assert_eq!(rule["scaleAction"]["cooldown"], cooldown);
    }
    pool.inputs.replicas = 5;
    assert!(world.pass(&mut pool).await.is_settled());
}

/// Proves: AZURE-109.
#[tokio::test(start_paused = true)]
async fn requests_go_to_the_public_cloud_with_their_headers() {
    let world = World::new();
    let mut pool = Pool::demo();
    let calls = world.settle(&mut pool).await;
    for call in &calls {
        if call.name == "POST token" {
            assert_eq!(call.origin, "https://login.microsoftonline.com");
            continue;
        }
        assert_eq!(call.origin, "https://management.azure.com");
        assert!(
            call.headers["authorization"]
                .to_str()
                .unwrap()
                .starts_with("Bearer ")
        );
        assert_eq!(call.headers["accept"], "application/json");
        assert!(
            call.headers["user-agent"]
                .to_str()
                .unwrap()
                .starts_with("remuda/")
        );
        assert_eq!(call.headers["x-ms-client-request-id"].len(), 36);
        assert_eq!(
            call.headers.contains_key("content-type"),
            !call.body.is_empty()
        );
    }
    let tokens = names(&calls)
        .into_iter()
        .filter(|name| *name == "POST token");
    assert_eq!(tokens.count(), 1, "one token serves all calls");
}
