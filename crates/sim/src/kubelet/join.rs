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
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

impl Nodes {
    /// A machine's life from its start until its Node is Ready, and its heartbeat from then on.
    pub(super) async fn boot(&self, estate: EstateId, id: Arc<str>) {
        let (boot, ready) = {
            let state = self.sim.inner.lock();
            (
                state.fabric.timing.node_boot,
                state.fabric.timing.node_ready,
            )
        };
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
            cluster_id: cluster_id.clone(),
            node: machine.hostname.clone(),
            provider_id: machine.provider_id.clone(),
        };
        self.registered().insert(id.clone(), registered);
        while self.runs(estate, &id) {
            match self.join(&machine, &labels, &cluster_id, ready).await {
                Ok(()) => {
                    self.report(&id, None);
                    return self.heartbeat(estate, &machine, &cluster_id).await;
                }
                Err(why) => self.report(&id, Some(why)),
            }
            self.sim.inner.clock.sleep(PAUSE).await;
        }
    }

    async fn join(
        &self,
        machine: &Machine,
        labels: &[(String, String)],
        cluster_id: &str,
        ready: Duration,
    ) -> Result<(), String> {
        let api = self
            .api(cluster_id)
            .ok_or_else(|| format!("there is no API of the cluster {cluster_id}"))?;
        self.register(&api, machine, labels).await?;
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

    async fn register(
        &self,
        api: &Router,
        machine: &Machine,
        labels: &[(String, String)],
    ) -> Result<(), String> {
        let node = node(machine, labels, &self.now());
        let reply = self
            .send(api, Method::POST, "/api/v1/nodes", Some(&node))
            .await;
        if reply.is_success() {
            return Ok(());
        }
        if reply.status != StatusCode::CONFLICT {
            return Err(format!("registering the node failed: {}", reply.why()));
        }
        let path = format!("/api/v1/nodes/{}", machine.hostname);
        let known = self.send(api, Method::GET, &path, None).await;
        if provider_id(&known.body) == Some(machine.provider_id.as_str()) {
            return Ok(());
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
        let taints = known.body.pointer("/spec/taints").and_then(Value::as_array);
        let Some(taints) = taints.filter(|taints| taints.iter().any(is_uninitialized)) else {
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
        let ends = self.instance_state(estate, id) != Some(InstanceState::Stopping);
        let known = self.registered().get(id).cloned();
        let Some(known) = known.filter(|_| !ends) else {
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
        let Some(known) = self.registered().remove(id) else {
            return;
        };
        let path = format!("/api/v1/nodes/{}", known.node);
        loop {
            // A cluster whose API is gone for good has no Nodes left to delete.
            let Some(api) = self.api(&known.cluster_id) else {
                return;
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

    fn registered(
        &self,
    ) -> std::sync::MutexGuard<'_, std::collections::HashMap<Arc<str>, Registered>> {
        self.registered
            .lock()
            .expect("no holder of the list of nodes panics")
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

fn provider_id(node: &Value) -> Option<&str> {
    node.pointer("/spec/providerID").and_then(Value::as_str)
}
