//! A scale set's life: made, listed, changed, deleted; its operations and its instances.

use serde_json::{Value, json};

use crate::client::{
    CLOUD_CONFIG, demo, fixed_setting, group_path, set_body, set_path, setting_path,
};
use remuda_sim::azure::{DEMO_GROUP, DEMO_SUBSCRIPTION};

#[tokio::test(start_paused = true)]
async fn a_set_is_made_in_an_operation_of_ninety_seconds() {
    let client = demo().await;
    let made = client
        .put(&set_path("workers"), set_body("workers", 3))
        .await;
    assert_eq!(made.status.as_u16(), 201);
    assert_eq!(made.body["properties"]["provisioningState"], "Creating");
    assert_eq!(made.body["sku"]["capacity"], 3);
    assert_eq!(made.header("retry-after"), "10");
    let operation = made.header("azure-asyncoperation").to_owned();
    assert!(operation.starts_with("https://management.azure.com/subscriptions/"));
    let path = operation.trim_start_matches("https://management.azure.com");
    client.pass(85).await;
    assert_eq!(client.get(path).await.ok().body["status"], "InProgress");
    client.pass(10).await;
    let done = client.get(path).await.ok();
    assert_eq!(done.body["status"], "Succeeded");
    assert_eq!(done.body["startTime"], "2026-10-01T08:00:00.000Z");
    assert_eq!(done.body["endTime"], "2026-10-01T08:01:30.000Z");
    let set = client.get(&set_path("workers")).await.ok().body;
    assert_eq!(set["properties"]["provisioningState"], "Succeeded");
    assert!(set["properties"]["virtualMachineProfile"]["osProfile"]["customData"].is_null());
}

#[tokio::test(start_paused = true)]
async fn instances_start_come_up_and_fill_the_zones() {
    let client = demo().await;
    client
        .put(&set_path("workers"), set_body("workers", 3))
        .await
        .ok();
    let powers = |powers: Vec<(String, String)>| -> Vec<String> {
        powers
            .into_iter()
            .map(|(id, power)| format!("{id} {power}"))
            .collect()
    };
    assert_eq!(
        powers(client.powers("workers").await),
        ["0 none", "1 none", "2 none"]
    );
    client.pass(21).await;
    let starting = ["0 starting", "1 starting", "2 starting"];
    assert_eq!(powers(client.powers("workers").await), starting);
    client.pass(40).await;
    let running = ["0 running", "1 running", "2 running"];
    assert_eq!(powers(client.powers("workers").await), running);
    let instances = client.instances("workers").await;
    let zones: Vec<&Value> = instances
        .iter()
        .map(|instance| &instance["zones"][0])
        .collect();
    assert_eq!(zones, ["1", "2", "3"]);
    assert_eq!(
        instances[1]["properties"]["osProfile"]["computerName"],
        "workers000001"
    );
    assert_eq!(instances[1]["name"], "workers_1");
    let nics = client
        .get(&format!("{}/networkInterfaces", set_path("workers")))
        .await
        .ok();
    let addresses: Vec<Value> = nics
        .items()
        .iter()
        .map(|nic| {
            nic["properties"]["ipConfigurations"][0]["properties"]["privateIPAddress"].clone()
        })
        .collect();
    assert_eq!(addresses, ["10.0.1.4", "10.0.1.5", "10.0.1.6"]);
    let plain = client
        .get(&format!("{}/virtualMachines", set_path("workers")))
        .await
        .ok();
    assert!(plain.items()[0]["properties"]["instanceView"].is_null());
}

#[tokio::test(start_paused = true)]
async fn a_rotation_reaches_new_instances_only() {
    let client = demo().await;
    client.settled_set("workers", 2).await;
    let image = set_body("workers", 2)["properties"]["virtualMachineProfile"]["storageProfile"]
        ["imageReference"]
        .clone();
    let rotated = "I2Nsb3VkLWNvbmZpZwpydW5jbWQ6IFtlY2hvIHJvdGF0ZWRdCg==";
    let patch = json!({ "properties": {
        "upgradePolicy": { "mode": "Manual" },
        "virtualMachineProfile": {
            "osProfile": { "customData": rotated }, "storageProfile": { "imageReference": image },
        },
    } });
    client.patch(&set_path("workers"), patch).await.ok();
    client.pass(6).await;
    let set = client.get(&set_path("workers")).await.ok().body;
    assert_eq!(set["properties"]["provisioningState"], "Succeeded");
    assert_eq!(set["sku"]["capacity"], 2);
    for instance in client.instances("workers").await {
        assert_eq!(instance["properties"]["latestModelApplied"], false);
    }
    client
        .patch(&set_path("workers"), json!({ "sku": { "capacity": 3 } }))
        .await
        .ok();
    client.pass(61).await;
    let instances = client.instances("workers").await;
    assert_eq!(instances.len(), 3);
    assert_eq!(instances[2]["properties"]["latestModelApplied"], true);
    let world = client.sim.world();
    assert_eq!(world.custom_data("workers").as_deref(), Some(rotated));
    let known = world.scale_set("workers").unwrap();
    assert_eq!(
        known.instances[2].custom_data_sha256,
        known.custom_data_sha256
    );
    assert_ne!(
        known.instances[0].custom_data_sha256,
        known.custom_data_sha256
    );
    assert!(!format!("{known:?}").contains(CLOUD_CONFIG));
}

#[tokio::test(start_paused = true)]
async fn a_scale_in_is_announced_for_five_minutes() {
    let client = demo().await;
    client.settled_set("workers", 3).await;
    client
        .patch(&set_path("workers"), json!({ "sku": { "capacity": 2 } }))
        .await
        .ok();
    client.pass(290).await;
    let instances = client.instances("workers").await;
    assert_eq!(instances.len(), 3);
    assert_eq!(instances[2]["properties"]["provisioningState"], "Deleting");
    assert_eq!(client.powers("workers").await[2].1, "running");
    client.pass(15).await;
    assert_eq!(client.powers("workers").await[2].1, "stopping");
    client.pass(10).await;
    assert_eq!(client.powers("workers").await[2].1, "deallocating");
    client.pass(10).await;
    assert_eq!(client.instances("workers").await.len(), 2);
    let set = client.get(&set_path("workers")).await.ok().body;
    assert_eq!(set["properties"]["provisioningState"], "Succeeded");
}

#[tokio::test(start_paused = true)]
async fn an_empty_set_is_deleted_within_a_minute() {
    let client = demo().await;
    client.settled_set("workers", 0).await;
    let path = set_path("workers");
    let gone = client.delete(&path).await;
    assert_eq!(gone.status.as_u16(), 202);
    let set = client.get(&path).await.ok().body;
    assert_eq!(set["properties"]["provisioningState"], "Deleting");
    client.pass(61).await;
    assert_eq!(client.get(&path).await.refused(404), "ResourceNotFound");
    assert_eq!(client.delete(&path).await.status.as_u16(), 204);
}

#[tokio::test(start_paused = true)]
async fn autoscale_holds_a_size() {
    let client = demo().await;
    client.settled_set("workers", 3).await;
    let path = setting_path("workers-autoscale");
    let made = client.put(&path, fixed_setting("workers", 5)).await;
    assert_eq!(made.status.as_u16(), 201);
    assert_eq!(
        client.get(&set_path("workers")).await.ok().body["sku"]["capacity"],
        3
    );
    client.pass(46).await;
    let set = client.get(&set_path("workers")).await.ok().body;
    assert_eq!(set["sku"]["capacity"], 5);
    assert_eq!(set["properties"]["provisioningState"], "Updating");
    client.pass(61).await;
    assert_eq!(client.powers("workers").await[4].1, "running");
    assert_eq!(client.delete(&path).await.status.as_u16(), 200);
    assert_eq!(client.delete(&path).await.status.as_u16(), 204);
}

#[tokio::test(start_paused = true)]
async fn sets_are_listed_by_group_by_subscription_and_in_the_index() {
    let client = demo().await;
    client.settled_set("workers", 0).await;
    let sets = "providers/Microsoft.Compute/virtualMachineScaleSets";
    let of_group = format!("{}/{sets}", group_path(DEMO_GROUP));
    let names = |answer: crate::client::Answer| -> Vec<Value> {
        answer
            .ok()
            .items()
            .iter()
            .map(|item| item["name"].clone())
            .collect()
    };
    assert_eq!(names(client.get(&of_group).await), ["workers"]);
    let subscription = format!("/subscriptions/{DEMO_SUBSCRIPTION}");
    assert_eq!(
        names(client.get(&format!("{subscription}/{sets}")).await),
        ["workers"]
    );
    let filter =
        "name eq 'workers' and resourceType eq 'Microsoft.Compute/virtualMachineScaleSets'";
    let index = format!("{subscription}/resources?$filter={filter}");
    assert_eq!(names(client.get(&index).await), ["workers"]);
    let none = client.get(&format!("{}/{sets}", group_path("none"))).await;
    assert_eq!(none.refused(404), "ResourceGroupNotFound");
}

#[tokio::test(start_paused = true)]
async fn the_journal_keeps_requests_without_secrets() {
    let client = demo().await;
    client.settled_set("workers", 1).await;
    let journal = client.sim.journal();
    assert_eq!(
        journal.write_names(),
        ["compute:VirtualMachineScaleSets_CreateOrUpdate"]
    );
    let call = journal.writes().remove(0);
    let sent = call.sent.unwrap();
    assert_eq!(sent.method, "PUT");
    assert_eq!(sent.path, set_path("workers"));
    assert_eq!(sent.query, "api-version=2024-11-01");
    assert!(!sent.headers.contains_key("authorization"));
    let profile = &sent.json()["properties"]["virtualMachineProfile"];
    assert_eq!(profile["osProfile"]["customData"], "[redacted]");
    assert_eq!(call.account, DEMO_SUBSCRIPTION);
}
