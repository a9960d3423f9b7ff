//! Joining, and leaving: the kubelet's registration, and the parts of a cloud controller manager
//! that initialise Nodes and delete those of instances that are gone.

use std::{sync::Arc, time::Duration};

use axum::Router;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{
    Nodes,
    machine::Machine,
    node::{UNINITIALIZED, node, status, unknown_status},
    workload::Registered,
};
use crate::aws::{EstateId, InstanceState};

/// Pause between attempts while the API is away.
const PAUSE: Duration = Duration::from_secs(5);
/// So often a cluster's API is found missing before the cluster counts as gone. Ours.
const MOST_MISSED: u32 = 60;
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

impl Nodes {
    /// A machine's life from its start until its Node is Ready, and its heartbeat from then on.
    pub(super) async fn boot(&self, estate: EstateId, id: Arc<str>) {
        let boot = self.sim.inner.lock().fabric.timing.node_boot;
        self.sim.inner.clock.sleep(boot).await;
        let Some(machine) = self.machine(estate, &id) else {
            return;
        };
        let labels = match self.bootstrap(estate, &machine).await {
            Ok(labels) => labels,
            Err(why) => {
                tracing::warn!(instance = %id, %why, "a simulated node did not boot");
                return self.report(&id, Some(why));
            }
        };
        let Some(cluster_id) = machine.cluster_id.clone() else {
            let why = "the instance has no tag kubernetes.io/cluster/<id>".to_owned();
            return self.report(&id, Some(why));
        };
        let registered = Registered {
            cluster_id,
            node: machine.hostname.clone(),
            provider_id: machine.provider_id.clone(),
            labels,
        };
        self.keep_registered(&id, Some(registered.clone()));
        self.serve(estate, &machine, &registered).await;
    }

    /// The life of a machine that ran before anybody looked: if its kubelet came as far as the
    /// registration, it goes on from there. It boots otherwise.
    pub(super) async fn go_on(&self, estate: EstateId, id: Arc<str>) {
        let Some(registered) = self.registered(&id) else {
            return self.boot(estate, id).await;
        };
        if let Some(machine) = self.machine(estate, &id) {
            self.serve(estate, &machine, &registered).await;
        }
    }

    /// The kubelet's part: joining, however long it takes, and the heartbeat from then on.
    async fn serve(&self, estate: EstateId, machine: &Machine, registered: &Registered) {
        while self.runs(estate, &machine.id) {
            match self.join(machine, registered).await {
                Ok(()) => {
                    self.report(&machine.id, None);
                    return self
                        .heartbeat(estate, machine, &registered.cluster_id)
                        .await;
                }
                Err(why) => self.report(&machine.id, Some(why)),
            }
            self.sim.inner.clock.sleep(PAUSE).await;
        }
    }

    async fn join(&self, machine: &Machine, registered: &Registered) -> Result<(), String> {
        let cluster_id = &registered.cluster_id;
        let api = self
            .api(cluster_id)
            .ok_or_else(|| format!("there is no API of the cluster {cluster_id}"))?;
        if self.register(&api, machine, &registered.labels).await? {
            return Ok(());
        }
        let ready = self.sim.inner.lock().fabric.timing.node_ready;
        self.sim.inner.clock.sleep(ready).await;
        let path = format!("/api/v1/nodes/{}", machine.hostname);
        let patch = json!({ "status": status(machine, true, &self.now()) });
        let reply = self
            .send(&api, Method::PATCH, &format!("{path}/status"), Some(&patch))
            .await;
        if !reply.is_success() {
            return Err(format!("posting the node's status failed: {}", reply.why()));
        }
        self.initialise(&api, &path).await
    }

    /// Makes the machine's Node, or finds it; whether it is Ready and initialised already.
    async fn register(
        &self,
        api: &Router,
        machine: &Machine,
        labels: &[(String, String)],
    ) -> Result<bool, String> {
        let node = node(machine, labels, &self.now());
        let reply = self
            .send(api, Method::POST, "/api/v1/nodes", Some(&node))
            .await;
        if reply.is_success() {
            return Ok(false);
        }
        if reply.status != StatusCode::CONFLICT {
            return Err(format!("registering the node failed: {}", reply.why()));
        }
        let path = format!("/api/v1/nodes/{}", machine.hostname);
        let known = self.send(api, Method::GET, &path, None).await;
        if provider_id(&known.body) == Some(machine.provider_id.as_str()) {
            return Ok(is_up(&known.body));
        }
        // A Node left over from an earlier machine with this address.
        self.send(api, Method::DELETE, &path, None).await;
        Err(format!(
            "the node name {} was taken by another machine",
            machine.hostname
        ))
    }

    /// The cloud controller manager has looked at the node: the taint goes, others stay.
    async fn initialise(&self, api: &Router, path: &str) -> Result<(), String> {
        let known = self.send(api, Method::GET, path, None).await;
        let Some(taints) = taints(&known.body).filter(|taints| taints.iter().any(is_uninitialized))
        else {
            return Ok(());
        };
        let left: Vec<&Value> = taints
            .iter()
            .filter(|taint| !is_uninitialized(taint))
            .collect();
        let version = known.body.pointer("/metadata/resourceVersion").cloned();
        let patch = json!({
            "metadata": { "resourceVersion": version },
            "spec": { "taints": if left.is_empty() { Value::Null } else { json!(left) } },
        });
        let reply = self.send(api, Method::PATCH, path, Some(&patch)).await;
        if reply.is_success() {
            return Ok(());
        }
        Err(format!("initialising the node failed: {}", reply.why()))
    }

    async fn heartbeat(&self, estate: EstateId, machine: &Machine, cluster_id: &str) {
        let Some(every) = self.options.lease_every else {
            return;
        };
        while self.runs(estate, &machine.id) {
            if let Some(api) = self.api(cluster_id) {
                self.renew_lease(&api, &machine.hostname).await;
            }
            self.sim.inner.clock.sleep(every).await;
        }
    }

    async fn renew_lease(&self, api: &Router, node: &str) {
        let now = self
            .sim
            .inner
            .clock
            .now()
            .strftime("%Y-%m-%dT%H:%M:%S.%6fZ")
            .to_string();
        let spec = json!({
            "holderIdentity": node, "leaseDurationSeconds": 40, "renewTime": now,
        });
        let patch = json!({ "spec": spec });
        let reply = self
            .send(
                api,
                Method::PATCH,
                &format!("{LEASES}/{node}"),
                Some(&patch),
            )
            .await;
        if reply.status == StatusCode::NOT_FOUND {
            let lease = json!({
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": { "name": node, "namespace": "kube-node-lease" },
                "spec": spec,
            });
            self.send(api, Method::POST, LEASES, Some(&lease)).await;
        }
    }

    /// A stopped machine's node turns Unknown. That of one that ends is deleted soon anyway.
    pub(super) async fn instance_stops(&self, estate: EstateId, id: &Arc<str>) {
        let state = self.instance_state(estate, id);
        let stops = matches!(
            state,
            Some(InstanceState::Stopping | InstanceState::Stopped)
        );
        let Some(known) = self.registered(id).filter(|_| stops) else {
            return;
        };
        let Some(api) = self.api(&known.cluster_id) else {
            return;
        };
        let path = format!("/api/v1/nodes/{}/status", known.node);
        let patch = json!({ "status": unknown_status(&self.now()) });
        self.send(&api, Method::PATCH, &path, Some(&patch)).await;
    }

    /// The cloud controller manager deletes the Node of an instance that is gone, as soon as the
    /// API lets it.
    pub(super) async fn instance_gone(&self, id: &Arc<str>) {
        if let Some(known) = self.registered(id) {
            self.delete_node(&known).await;
            self.keep_registered(id, None);
        }
    }

    async fn delete_node(&self, known: &Registered) {
        let path = format!("/api/v1/nodes/{}", known.node);
        let mut missed = 0;
        loop {
            let Some(api) = self.api(&known.cluster_id) else {
                missed += 1;
                // A cluster whose API is gone for good has no Nodes left to delete.
                if missed == MOST_MISSED {
                    return;
                }
                self.sim.inner.clock.sleep(PAUSE).await;
                continue;
            };
            let node = self.send(&api, Method::GET, &path, None).await;
            let mine = provider_id(&node.body) == Some(known.provider_id.as_str());
            if node.status == StatusCode::NOT_FOUND || (node.is_success() && !mine) {
                return;
            }
            if node.is_success() {
                let uid = node.body.pointer("/metadata/uid").cloned();
                let options = json!({
                    "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": { "uid": uid },
                });
                let reply = self.send(&api, Method::DELETE, &path, Some(&options)).await;
                if reply.is_success() || reply.status == StatusCode::NOT_FOUND {
                    return;
                }
            }
            self.sim.inner.clock.sleep(PAUSE).await;
        }
    }

    fn now(&self) -> String {
        self.sim
            .inner
            .clock
            .now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string()
    }
}

fn is_uninitialized(taint: &Value) -> bool {
    taint.get("key").and_then(Value::as_str) == Some(UNINITIALIZED)
}

/// Whether a Node is Ready and initialised.
fn is_up(node: &Value) -> bool {
    let conditions = node.pointer("/status/conditions").and_then(Value::as_array);
    let ready = conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    ready && !taints(node).into_iter().flatten().any(is_uninitialized)
}

fn taints(node: &Value) -> Option<&Vec<Value>> {
    node.pointer("/spec/taints").and_then(Value::as_array)
}

fn provider_id(node: &Value) -> Option<&str> {
    node.pointer("/spec/providerID").and_then(Value::as_str)
}
