//! Simulated nodes: custom data as a real image reads it, registration, the cloud controller.

use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    routing::{get, patch, post},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use remuda_sim::{
    azure::{DEMO_GROUP, DEMO_SUBSCRIPTION, DEMO_WORKER_CLIENT_ID},
    kubelet::WorkloadApis,
};
use serde_json::{Value, json};

use crate::client::{Client, demo, set_body, set_path};

/// As much of a workload cluster's API as nodes use.
#[derive(Clone, Default)]
struct Workload(Arc<Mutex<BTreeMap<String, Value>>>);

impl Workload {
    fn names(&self) -> Vec<String> {
        self.0.lock().unwrap().keys().cloned().collect()
    }

    fn node(&self, name: &str) -> Value {
        self.0
            .lock()
            .unwrap()
            .get(name)
            .cloned()
            .unwrap_or_default()
    }
}

impl WorkloadApis for Workload {
    fn for_cluster(&self, cluster_id: &str) -> Option<Router> {
        let one = get(read).patch(change).delete(remove);
        let router = Router::new()
            .route("/api/v1/nodes", post(create))
            .route("/api/v1/nodes/{name}", one)
            .route("/api/v1/nodes/{name}/status", patch(change))
            .with_state(self.clone());
        (cluster_id == DEMO_GROUP).then_some(router)
    }
}

type Reply = (StatusCode, Json<Value>);

async fn create(State(api): State<Workload>, Json(node): Json<Value>) -> Reply {
    let name = node["metadata"]["name"].as_str().unwrap().to_owned();
    let mut nodes = api.0.lock().unwrap();
    if nodes.contains_key(&name) {
        return (StatusCode::CONFLICT, Json(Value::Null));
    }
    nodes.insert(name, node.clone());
    (StatusCode::CREATED, Json(node))
}

async fn read(State(api): State<Workload>, Path(name): Path<String>) -> Reply {
    match api.0.lock().unwrap().get(&name) {
        Some(node) => (StatusCode::OK, Json(node.clone())),
        None => (StatusCode::NOT_FOUND, Json(Value::Null)),
    }
}

async fn change(
    State(api): State<Workload>,
    Path(name): Path<String>,
    Json(patch): Json<Value>,
) -> Reply {
    let mut nodes = api.0.lock().unwrap();
    let Some(node) = nodes.get_mut(&name) else {
        return (StatusCode::NOT_FOUND, Json(Value::Null));
    };
    merge(node, &patch);
    (StatusCode::OK, Json(node.clone()))
}

async fn remove(State(api): State<Workload>, Path(name): Path<String>) -> Reply {
    match api.0.lock().unwrap().remove(&name) {
        Some(node) => (StatusCode::OK, Json(node)),
        None => (StatusCode::NOT_FOUND, Json(Value::Null)),
    }
}

fn merge(target: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, value) in patch {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(name);
        } else {
            merge(&mut target[name], value);
        }
    }
}

const HELLO: &str = "#cloud-config\nruncmd: [echo hello]\n";

/// A message of the form of the Azure document, 6.2: boot hook, then payload.
fn message(identity: &str, labels: &str, payload: &str) -> String {
    let settings = json!({
        "cloud": "AzurePublicCloud", "resourceGroup": DEMO_GROUP.to_uppercase(),
        "subscriptionId": DEMO_SUBSCRIPTION, "userAssignedIdentityID": identity,
    });
    let hook = format!(
        "#!/bin/sh\nset -eu\nif [ ! -e /etc/kubernetes/azure.json ]; then\n\
         mkdir -p /etc/kubernetes\ncat >/etc/kubernetes/azure.json <<'CAPTF'\n{settings}\nCAPTF\n\
         fi\ncaptf_node_labels='{labels}'\n"
    );
    let mut lines = String::new();
    for line in STANDARD.encode(payload).as_bytes().chunks(76) {
        writeln!(lines, "{}", std::str::from_utf8(line).unwrap()).unwrap();
    }
    let text = format!(
        "Content-Type: multipart/mixed; boundary=\"==CAPTF-BOUNDARY==\"\nMIME-Version: 1.0\n\n\
         --==CAPTF-BOUNDARY==\nContent-Type: text/cloud-boothook; charset=\"us-ascii\"\n\
         MIME-Version: 1.0\nContent-Transfer-Encoding: 7bit\n\
         Content-Disposition: attachment; filename=\"captf-boothook.sh\"\n\n{hook}\n\
         --==CAPTF-BOUNDARY==\nContent-Type: text/plain; charset=\"utf-8\"\nMIME-Version: 1.0\n\
         Content-Transfer-Encoding: base64\n\
         Content-Disposition: attachment; filename=\"bootstrap\"\n\n{lines}\
         --==CAPTF-BOUNDARY==--\n"
    );
    STANDARD.encode(text)
}

async fn set_with(client: &Client, custom_data: &str, capacity: u32) {
    let mut body = set_body("workers", capacity);
    body["properties"]["virtualMachineProfile"]["osProfile"]["customData"] = custom_data.into();
    client.put(&set_path("workers"), body).await.ok();
}

#[tokio::test(start_paused = true)]
async fn a_node_joins_and_the_cloud_controller_finds_it_by_its_hostname() {
    let (client, api) = (demo().await, Workload::default());
    client.sim.run_nodes(Arc::new(api.clone()));
    let labels = "node.kubernetes.io/pool=workers,team=payments";
    set_with(&client, &message(DEMO_WORKER_CLIENT_ID, labels, HELLO), 3).await;
    client.pass(82).await;
    let early = api.node("workers000001");
    assert!(early["spec"]["providerID"].is_null());
    let taint = "node.cloudprovider.kubernetes.io/uninitialized";
    assert_eq!(early["spec"]["taints"][0]["key"], taint);
    client.pass(30).await;
    assert_eq!(
        api.names(),
        ["workers000000", "workers000001", "workers000002"]
    );
    let node = api.node("workers000001");
    let pool = format!("azure://{}", set_path("workers"));
    assert_eq!(
        node["spec"]["providerID"],
        format!("{pool}/virtualMachines/1")
    );
    assert!(node["spec"]["taints"].is_null());
    let labels = &node["metadata"]["labels"];
    assert_eq!(labels["team"], "payments");
    assert_eq!(labels["topology.kubernetes.io/zone"], "westeurope-2");
    assert_eq!(labels["topology.kubernetes.io/region"], "westeurope");
    assert_eq!(
        labels["node.kubernetes.io/instance-type"],
        "Standard_D4s_v5"
    );
    assert_eq!(node["status"]["nodeInfo"]["kubeletVersion"], "v1.34.1");
    assert_eq!(node["status"]["addresses"][0]["address"], "10.0.1.5");
    assert_eq!(client.sim.world().boot_failures(), []);
}

#[tokio::test(start_paused = true)]
async fn a_node_of_another_name_never_gets_a_provider_id() {
    let (client, api) = (demo().await, Workload::default());
    client.sim.run_nodes(Arc::new(api.clone()));
    let payload = "#cloud-config\nwrite_files:\n- path: /run/kubeadm/join.yaml\n  content: |\n    \
                   apiVersion: kubeadm.k8s.io/v1beta4\n    kind: JoinConfiguration\n    \
                   nodeRegistration: {name: mine}\n";
    set_with(&client, &message(DEMO_WORKER_CLIENT_ID, "", payload), 1).await;
    client.pass(600).await;
    let node = api.node("mine");
    assert!(node["spec"]["providerID"].is_null());
    assert!(node["spec"]["taints"][0]["key"].is_string());
    let failures = client.sim.world().boot_failures();
    assert!(
        failures[0].reason.contains("whose hostname is mine"),
        "{failures:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_hostname_told_through_jinja_is_the_node_s_name() {
    let (client, api) = (demo().await, Workload::default());
    client.sim.run_nodes(Arc::new(api.clone()));
    let payload = "## template: jinja\n#cloud-config\nwrite_files:\n\
                   - path: /run/kubeadm/join.yaml\n  content: |\n    kind: JoinConfiguration\n    \
                   nodeRegistration:\n      name: '{{ ds.meta_data[\"local_hostname\"] }}'\n";
    set_with(&client, &message(DEMO_WORKER_CLIENT_ID, "", payload), 1).await;
    client.pass(120).await;
    assert_eq!(api.names(), ["workers000000"]);
    assert!(api.node("workers000000")["spec"]["providerID"].is_string());
}

#[tokio::test(start_paused = true)]
async fn what_does_not_boot_says_why() {
    for (custom_data, why) in [
        (STANDARD.encode("#!/bin/sh\n"), "not cloud-config"),
        (
            message("00000000-0000-0000-0000-000000000000", "", HELLO),
            "names the identity",
        ),
        (
            message(DEMO_WORKER_CLIENT_ID, "", "#!/bin/sh\n"),
            "not cloud-config",
        ),
    ] {
        let (client, api) = (demo().await, Workload::default());
        client.sim.run_nodes(Arc::new(api.clone()));
        set_with(&client, &custom_data, 1).await;
        client.pass(120).await;
        let failures = client.sim.world().boot_failures();
        assert!(failures[0].reason.contains(why), "{failures:?}");
        assert_eq!(api.names(), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn ignition_joins_without_a_boot_hook() {
    let (client, api) = (demo().await, Workload::default());
    client.sim.run_nodes(Arc::new(api.clone()));
    let config = STANDARD.encode(r#"{"ignition":{"version":"3.4.0"}}"#);
    set_with(&client, &config, 1).await;
    client.pass(120).await;
    assert_eq!(api.names(), ["workers000000"]);
}

#[tokio::test(start_paused = true)]
async fn the_node_of_a_deleted_instance_is_deleted() {
    let (client, api) = (demo().await, Workload::default());
    client.sim.run_nodes(Arc::new(api.clone()));
    set_with(&client, &message(DEMO_WORKER_CLIENT_ID, "", HELLO), 2).await;
    client.pass(120).await;
    assert_eq!(api.names().len(), 2);
    let one = json!({ "instanceIds": ["0"] });
    client
        .post(&format!("{}/delete", set_path("workers")), one)
        .await
        .ok();
    client.pass(330).await;
    assert_eq!(api.names(), ["workers000001"]);
    assert_eq!(client.sim.world().scale_set("workers").unwrap().capacity, 1);
}
