//! Pages, lists that lag, operations in all their forms, groups, and budgets.

use std::time::Duration;

use remuda_sim::{
    Effect, Fault,
    azure::{DEMO_GROUP, DEMO_REGION, DEMO_SUBSCRIPTION, OperationHeaders},
};
use serde_json::{Value, json};

use crate::client::{
    ARM, Answer, Client, demo, fixed_setting, group_path, set_body, set_path, setting_path,
};

const SETS: &str = "providers/Microsoft.Compute/virtualMachineScaleSets";

/// All items behind a path, and how many pages they came in.
async fn all_pages(client: &Client, path: &str) -> (Vec<Value>, usize) {
    let mut items = Vec::new();
    let mut next = path.to_owned();
    for pages in 1.. {
        let answer = client.get(&next).await.ok();
        items.extend(answer.items());
        match answer.body["nextLink"].as_str() {
            Some(link) => link.strip_prefix(ARM).unwrap().clone_into(&mut next),
            None => return (items, pages),
        }
    }
    unreachable!("pages end")
}

async fn listed(client: &Client) -> usize {
    let path = format!("{}/{SETS}", group_path(DEMO_GROUP));
    client.get(&path).await.ok().items().len()
}

#[tokio::test(start_paused = true)]
async fn long_lists_come_in_pages_that_keep_their_query() {
    let client = demo().await;
    client.settled_set("workers", 250).await;
    let path = format!(
        "{}/virtualMachines?$expand=instanceView",
        set_path("workers")
    );
    let (instances, pages) = all_pages(&client, &path).await;
    assert_eq!((instances.len(), pages), (250, 3));
    let last = &instances[249]["properties"];
    assert_eq!(
        last["instanceView"]["statuses"][1]["code"],
        "PowerState/running"
    );
    let nics = format!("{}/networkInterfaces", set_path("workers"));
    assert_eq!(all_pages(&client, &nics).await.1, 3);
    client
        .sim
        .world()
        .set_behaviour(|behaviour| behaviour.page_size = 7);
    assert_eq!(all_pages(&client, &path).await.1, 36);
    let bad = format!("{path}&$skiptoken=forged");
    assert_eq!(client.get(&bad).await.refused(400), "InvalidSkipToken");
}

#[tokio::test(start_paused = true)]
async fn links_lead_to_the_host_that_was_asked() {
    let client = demo().await;
    client.settled_set("workers", 2).await;
    client
        .sim
        .world()
        .set_behaviour(|behaviour| behaviour.page_size = 1);
    let path = format!(
        "{}/virtualMachines?api-version=2024-11-01",
        set_path("workers")
    );
    let ask = |scheme: Option<&str>| {
        let mut request = http::Request::get(&path)
            .header("host", "127.0.0.1:4567")
            .header("authorization", format!("Bearer {}", client.token));
        if let Some(scheme) = scheme {
            request = request.header("x-forwarded-proto", scheme);
        }
        client.send(request.body(axum::body::Body::empty()).unwrap())
    };
    let plain = ask(None).await.ok();
    assert!(
        plain.body["nextLink"]
            .as_str()
            .unwrap()
            .starts_with("http://127.0.0.1:4567/")
    );
    let secure = ask(Some("https")).await.ok();
    assert!(
        secure.body["nextLink"]
            .as_str()
            .unwrap()
            .starts_with("https://127.0.0.1:4567/")
    );
}

#[tokio::test(start_paused = true)]
async fn lists_may_lag_behind_creation_and_deletion() {
    let client = demo().await;
    let world = client.sim.world();
    world.set_timing(|timing| {
        timing.list_lag = Duration::from_secs(200);
        timing.index_lag = Duration::from_mins(5);
    });
    client.settled_set("workers", 0).await;
    assert_eq!(listed(&client).await, 0);
    client.get(&set_path("workers")).await.ok();
    client.pass(110).await;
    assert_eq!(listed(&client).await, 1);
    let index = format!("/subscriptions/{DEMO_SUBSCRIPTION}/resources?$filter=name eq 'workers'");
    assert_eq!(client.get(&index).await.ok().items().len(), 0);
    client.pass(100).await;
    assert_eq!(client.get(&index).await.ok().items().len(), 1);
    client.delete(&set_path("workers")).await.ok();
    client.pass(100).await;
    assert_eq!(client.get(&set_path("workers")).await.status.as_u16(), 404);
    assert_eq!(listed(&client).await, 1);
    client.pass(200).await;
    assert_eq!(listed(&client).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_scripted_stale_read_shows_the_past() {
    let client = demo().await;
    client.settled_set("workers", 1).await;
    client.pass(60).await;
    let stale = Fault::new(Effect::StaleRead(Duration::from_secs(30)));
    client
        .sim
        .faults()
        .script(stale.on("compute", "VirtualMachineScaleSets_Get"));
    client
        .patch(&set_path("workers"), json!({ "tags": { "new": "1" } }))
        .await
        .ok();
    client.pass(10).await;
    let past = client.get(&set_path("workers")).await.ok().body;
    assert!(past["tags"]["new"].is_null());
    client.pass(30).await;
    assert_eq!(
        client.get(&set_path("workers")).await.ok().body["tags"]["new"],
        "1"
    );
}

#[tokio::test(start_paused = true)]
async fn operations_are_followed_by_either_header_or_by_the_resource() {
    let client = demo().await;
    let world = client.sim.world();
    let made = client.put(&set_path("a"), set_body("a", 0)).await.ok();
    let monitor = made.header("location").trim_start_matches(ARM).to_owned();
    let waiting = client.get(&monitor).await;
    assert_eq!(waiting.status.as_u16(), 202);
    assert_eq!(waiting.header("retry-after"), "10");
    client.pass(91).await;
    assert_eq!(client.get(&monitor).await.status.as_u16(), 200);
    for (style, has) in [
        (OperationHeaders::AsyncOnly, (true, false)),
        (OperationHeaders::LocationOnly, (false, true)),
        (OperationHeaders::Neither, (false, false)),
    ] {
        world.set_behaviour(|behaviour| behaviour.operation_headers = style);
        let answer = client
            .patch(&set_path("a"), json!({ "tags": {} }))
            .await
            .ok();
        let found = (
            !answer.header("azure-asyncoperation").is_empty(),
            !answer.header("location").is_empty(),
        );
        assert_eq!(found, has);
        client.pass(6).await;
    }
    world.forget_operations();
    assert_eq!(client.get(&monitor).await.refused(404), "NotFound");
    let set = client.get(&set_path("a")).await.ok().body;
    assert_eq!(set["properties"]["provisioningState"], "Succeeded");
}

#[tokio::test(start_paused = true)]
async fn an_operation_made_to_fail_shows_its_error() {
    let client = demo().await;
    let made = client
        .put(&set_path("workers"), set_body("workers", 0))
        .await
        .ok();
    let operation = made.header("azure-asyncoperation").trim_start_matches(ARM);
    client
        .sim
        .world()
        .fail_operations("workers", "ImageNotFound", "gone");
    let failed = client.get(operation).await.ok().body;
    assert_eq!(failed["status"], "Failed");
    assert_eq!(failed["error"]["code"], "ImageNotFound");
    let set = client.get(&set_path("workers")).await.ok().body;
    assert_eq!(set["properties"]["provisioningState"], "Failed");
}

#[tokio::test(start_paused = true)]
async fn a_deletion_waits_for_the_announced_instances() {
    let client = demo().await;
    client.settled_set("workers", 1).await;
    client.delete(&set_path("workers")).await.ok();
    client.pass(310).await;
    assert_eq!(client.powers("workers").await[0].1, "deallocating");
    client.pass(20).await;
    assert_eq!(client.instances("workers").await.len(), 0);
    client.pass(31).await;
    assert_eq!(client.get(&set_path("workers")).await.status.as_u16(), 404);
}

#[tokio::test(start_paused = true)]
async fn an_interface_comes_with_the_power_state_and_may_leave_first() {
    let client = demo().await;
    client
        .put(&set_path("workers"), set_body("workers", 2))
        .await
        .ok();
    let path = format!("{}/networkInterfaces", set_path("workers"));
    let count = async |client: &Client| client.get(&path).await.ok().items().len();
    assert_eq!(count(&client).await, 0);
    client.pass(91).await;
    assert_eq!(count(&client).await, 2);
    let one = format!(
        "{}/virtualMachines/1/networkInterfaces",
        set_path("workers")
    );
    let nic = client.get(&one).await.ok().items().remove(0);
    let id = format!(
        "{}/virtualMachines/1/networkInterfaces/primary",
        set_path("workers")
    );
    assert_eq!(nic["id"], id);
    client
        .sim
        .world()
        .set_behaviour(|behaviour| behaviour.nic_leaves_first = true);
    client
        .post(
            &format!("{}/delete", set_path("workers")),
            json!({ "instanceIds": ["1"] }),
        )
        .await
        .ok();
    client.pass(305).await;
    assert_eq!(client.instances("workers").await.len(), 2);
    assert_eq!(count(&client).await, 1);
}

#[tokio::test(start_paused = true)]
async fn instance_ids_are_new_unless_told_otherwise() {
    let client = demo().await;
    client.settled_set("workers", 2).await;
    let world = client.sim.world();
    world.operate("workers", 0, "vanish");
    world.resize("workers", 2);
    let ids =
        |powers: Vec<(String, String)>| powers.into_iter().map(|(id, _)| id).collect::<Vec<_>>();
    assert_eq!(ids(client.powers("workers").await), ["1", "2"]);
    world.set_behaviour(|behaviour| behaviour.reuse_instance_ids = true);
    world.resize("workers", 3);
    assert_eq!(ids(client.powers("workers").await), ["0", "1", "2"]);
}

#[tokio::test(start_paused = true)]
async fn a_group_takes_everything_in_it_along() {
    let client = demo().await;
    let path = group_path("other");
    let made = client
        .put(&path, json!({ "location": DEMO_REGION, "tags": {} }))
        .await;
    assert_eq!(made.status.as_u16(), 201);
    let again = client.put(&path, json!({ "location": DEMO_REGION })).await;
    assert_eq!(again.status.as_u16(), 200);
    let set = format!("{path}/{SETS}/workers");
    client.put(&set, set_body("workers", 1)).await.ok();
    client.pass(91).await;
    let deletion = client.delete(&path).await;
    assert_eq!(deletion.status.as_u16(), 202);
    let monitor = deletion.header("location").trim_start_matches(ARM);
    assert_eq!(client.get(monitor).await.status.as_u16(), 202);
    let late = client
        .put(&format!("{path}/{SETS}/more"), set_body("more", 0))
        .await;
    assert_eq!(late.refused(409), "ResourceGroupBeingDeleted");
    client.pass(400).await;
    assert_eq!(client.get(monitor).await.status.as_u16(), 200);
    assert_eq!(client.get(&set).await.refused(404), "ResourceGroupNotFound");
    assert_eq!(
        client.get(&path).await.refused(404),
        "ResourceGroupNotFound"
    );
}

#[tokio::test(start_paused = true)]
async fn a_setting_outlives_its_set() {
    let client = demo().await;
    client.settled_set("workers", 1).await;
    client
        .put(&setting_path("s"), fixed_setting("workers", 1))
        .await
        .ok();
    assert!(client.sim.world().delete_set("workers"));
    client.pass(100).await;
    client.get(&setting_path("s")).await.ok();
    let of_group = format!(
        "{}/providers/Microsoft.Insights/autoscalesettings",
        group_path(DEMO_GROUP)
    );
    assert_eq!(client.get(&of_group).await.ok().items().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn budgets_refill_with_time() {
    let client = demo().await;
    client.settled_set("workers", 0).await;
    let world = client.sim.world();
    assert!(world.throttle("PatchVMScaleSet", 4.0, 2.0));
    assert!(!world.throttle("NoSuchPolicy", 1.0, 1.0));
    let patch = async |client: &Client| -> Answer {
        client
            .patch(&set_path("workers"), json!({ "tags": {} }))
            .await
    };
    let first = patch(&client).await.ok();
    assert_eq!(
        first.header("x-ms-ratelimit-remaining-resource"),
        "Microsoft.Compute/PatchVMScaleSet;1"
    );
    client.pass(6).await;
    patch(&client).await.ok();
    client.pass(6).await;
    let slow = patch(&client).await;
    assert_eq!(slow.refused(429), "OperationNotAllowed");
    let wait: u64 = slow.header("retry-after").parse().unwrap();
    assert!((1..15).contains(&wait), "{wait}");
    client.pass(wait).await;
    patch(&client).await.ok();
    // Other sets and other policies have their own.
    client.get(&set_path("workers")).await.ok();
    world.end_throttling();
    world.throttle_like_azure();
    let read = client.get(&set_path("workers")).await.ok();
    assert_eq!(
        read.header("x-ms-ratelimit-remaining-subscription-reads"),
        "249"
    );
    let left = read.header("x-ms-ratelimit-remaining-resource");
    assert_eq!(
        left,
        "Microsoft.Compute/LowCostGetVMScaleSet;35,Microsoft.Compute/LowCostGetVMScaleSet;2399"
    );
    for _ in 0..35 {
        client.get(&set_path("workers")).await.ok();
    }
    assert_eq!(client.get(&set_path("workers")).await.status.as_u16(), 429);
}

#[tokio::test]
async fn a_listener_serves_plain_connections() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let client = demo().await;
    client
        .sim
        .world()
        .set_behaviour(|behaviour| behaviour.page_size = 1);
    for name in ["a", "b"] {
        client.put(&set_path(name), set_body(name, 0)).await.ok();
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(axum::serve(listener, client.sim.router()).into_future());
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = format!(
        "GET {}/{SETS}?api-version=2024-11-01 HTTP/1.1\r\nHost: {address}\r\n\
         Authorization: Bearer {}\r\nConnection: close\r\n\r\n",
        group_path(DEMO_GROUP),
        client.token
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    server.abort();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains(&format!("\"nextLink\":\"http://{address}/subscriptions/")));
}

#[tokio::test(start_paused = true)]
async fn user_data_is_shown_to_those_who_ask() {
    let client = demo().await;
    let mut body = set_body("workers", 0);
    body["properties"]["virtualMachineProfile"]["userData"] = "dXNlcg==".into();
    let made = client.put(&set_path("workers"), body).await.ok();
    let of = |set: Value| set["properties"]["virtualMachineProfile"]["userData"].clone();
    assert_eq!(of(made.body), Value::Null);
    let path = format!("{}?$expand=userData", set_path("workers"));
    assert_eq!(of(client.get(&path).await.ok().body), "dXNlcg==");
}
