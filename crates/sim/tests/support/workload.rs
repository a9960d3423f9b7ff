//! As much of a workload cluster's API as nodes use, and groups whose instances boot.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    routing::{get, patch, post},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use remuda_sim::{aws::DEMO_BUCKET, kubelet::WorkloadApis};
use serde_json::{Value, json};

use super::Client;

pub const CLUSTER: &str = "captf-team-a-demo-1960e37c";

pub const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/// As much of a workload cluster's API as nodes use: Nodes by name, with optimistic concurrency.
#[derive(Clone, Default)]
pub struct Workload {
    pub leases: Arc<Mutex<BTreeMap<String, Value>>>,
    nodes: Arc<Mutex<BTreeMap<String, Value>>>,
    pub down: Arc<AtomicBool>,
}

type Reply = (StatusCode, Json<Value>);

impl Workload {
    fn router(&self) -> Router {
        let one = get(read).patch(change).delete(remove);
        Router::new()
            .route("/api/v1/nodes", post(create))
            .route("/api/v1/nodes/{name}", one)
            .route("/api/v1/nodes/{name}/status", patch(change))
            .route(LEASES, post(create_lease))
            .route(&format!("{LEASES}/{{name}}"), patch(renew_lease))
            .with_state(self.clone())
    }

    pub fn node(&self, name: &str) -> Option<Value> {
        self.nodes.lock().unwrap().get(name).cloned()
    }

    pub fn names(&self) -> Vec<String> {
        self.nodes.lock().unwrap().keys().cloned().collect()
    }

    pub fn ready(&self) -> usize {
        self.nodes
            .lock()
            .unwrap()
            .values()
            .filter(|node| ready(node) == "True")
            .count()
    }
}

impl WorkloadApis for Workload {
    fn for_cluster(&self, kubernetes_cluster_id: &str) -> Option<Router> {
        (kubernetes_cluster_id == CLUSTER && !self.down.load(Ordering::SeqCst))
            .then(|| self.router())
    }
}

pub fn ready(node: &Value) -> String {
    let conditions = node["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let ready = conditions
        .iter()
        .find(|condition| condition["type"] == "Ready");
    ready
        .and_then(|c| c["status"].as_str())
        .unwrap_or_default()
        .to_owned()
}

async fn create(State(api): State<Workload>, Json(mut node): Json<Value>) -> Reply {
    let name = node["metadata"]["name"].as_str().unwrap().to_owned();
    let mut nodes = api.nodes.lock().unwrap();
    if nodes.contains_key(&name) {
        return (
            StatusCode::CONFLICT,
            Json(json!({ "message": "already exists" })),
        );
    }
    node["metadata"]["uid"] = json!(format!("uid-{name}"));
    node["metadata"]["resourceVersion"] = json!("1");
    nodes.insert(name, node.clone());
    (StatusCode::CREATED, Json(node))
}

async fn read(State(api): State<Workload>, Path(name): Path<String>) -> Reply {
    match api.node(&name) {
        Some(node) => (StatusCode::OK, Json(node)),
        None => (
            StatusCode::NOT_FOUND,
            Json(json!({ "message": "not found" })),
        ),
    }
}

async fn change(State(api): State<Workload>, Path(name): Path<String>, body: String) -> Reply {
    let change: Value = serde_json::from_str(&body).unwrap();
    let mut nodes = api.nodes.lock().unwrap();
    let Some(node) = nodes.get_mut(&name) else {
        return (StatusCode::NOT_FOUND, Json(Value::Null));
    };
    let version = &change["metadata"]["resourceVersion"];
    if !version.is_null() && *version != node["metadata"]["resourceVersion"] {
        return (
            StatusCode::CONFLICT,
            Json(json!({ "message": "changed meanwhile" })),
        );
    }
    merge(node, &change);
    (StatusCode::OK, Json(node.clone()))
}

async fn remove(State(api): State<Workload>, Path(name): Path<String>) -> Reply {
    api.nodes.lock().unwrap().remove(&name);
    (StatusCode::OK, Json(Value::Null))
}

async fn create_lease(State(api): State<Workload>, Json(lease): Json<Value>) -> StatusCode {
    let name = lease["metadata"]["name"].as_str().unwrap().to_owned();
    api.leases.lock().unwrap().insert(name, lease);
    StatusCode::CREATED
}

async fn renew_lease(
    State(api): State<Workload>,
    Path(name): Path<String>,
    body: String,
) -> StatusCode {
    match api.leases.lock().unwrap().get_mut(&name) {
        Some(lease) => merge(lease, &serde_json::from_str(&body).unwrap()),
        None => return StatusCode::NOT_FOUND,
    }
    StatusCode::OK
}

fn merge(target: &mut Value, change: &Value) {
    let Some(change) = change.as_object() else {
        *target = change.clone();
        return;
    };
    for (key, value) in change {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut target[key.as_str()], value);
        }
    }
}

/// A group whose instances boot from a stub of this text.
pub async fn group_with_stub(client: &Client, size: &str, stub: &str) {
    let encoded = STANDARD.encode(stub);
    let cluster_tag = format!("kubernetes.io/cluster/{CLUSTER}");
    let more = [
        ("LaunchTemplateData.ImageId", "ami-01a00000000000864"),
        ("LaunchTemplateData.UserData", encoded.as_str()),
        (
            "LaunchTemplateData.TagSpecification.1.ResourceType",
            "instance",
        ),
        (
            "LaunchTemplateData.TagSpecification.1.Tag.1.Key",
            cluster_tag.as_str(),
        ),
        ("LaunchTemplateData.TagSpecification.1.Tag.1.Value", "owned"),
    ];
    client.create_template_with("pool-lt", &more).await.ok();
    let sizes = [("MinSize", size), ("MaxSize", size)];
    client.create_group_of("pool", "pool-lt", &sizes).await.ok();
}

pub fn stub() -> String {
    format!(
        "#cloud-boothook\n#!/bin/sh\nset -eu\nregion='us-east-1'\n\
         object='s3://{DEMO_BUCKET}/pool/demo-pool-0'\nnode_labels='team=platform,tier='\n"
    )
}

pub async fn upload(client: &Client, key: &str, body: &[u8]) {
    client
        .s3("PUT", &format!("{DEMO_BUCKET}/{key}"), &[], body)
        .await
        .ok();
}
