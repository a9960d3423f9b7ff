//! Joining, and leaving: the kubelet's registration, and the parts of a cloud controller manager
//! that initialise Nodes and delete those of instances that are gone.

use std::{sync::Arc, time::Duration};

use axum::Router;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{
    Nodes,
    host::{Hosts, IdentifiedBy, Machine, NodeNews, Place, Power},
    node::{UNINITIALIZED, node, place_labels, status, unknown_status},
    workload::Registered,
};

/// Pause between attempts while the API is away.
const PAUSE: Duration = Duration::from_secs(5);
/// So often a cluster's API is found missing before the cluster counts as gone. Ours.
const MOST_MISSED: u32 = 60;
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

impl<H: Hosts> Nodes<H> {
    /// What news of an instance lead to; the instance they were of.
    pub(super) async fn act(self: Arc<Self>, news: NodeNews) -> Arc<str> {
        let id = news.instance().clone();
        match news {
            NodeNews::Runs(place, _) => self.boot(place, id.clone()).await,
            NodeNews::RunsAlready(place, _) => self.go_on(place, id.clone()).await,
            NodeNews::Stops(place, _) => self.instance_stops(place, &id).await,
            NodeNews::Gone(_) => self.instance_gone(&id).await,
        }
        id
    }

    /// A machine's life from its start until its Node is Ready, and its heartbeat from then on.
    async fn boot(&self, place: Place, id: Arc<str>) {
        self.host.clock().sleep(self.host.boot_times().boot).await;
        let Some(machine) = self.host.machine(place, &id) else {
            return;
        };
        let booted = match self.host.bootstrap(&machine).await {
            Ok(booted) => booted,
            Err(why) => {
                tracing::warn!(instance = %id, %why, "a simulated node did not boot");
                return self.host.report(&id, Some(why));
            }
        };
        let registered = Registered {
            cluster_id: booted.cluster_id,
            node: booted.node,
            provider_id: machine.provider_id.clone(),
            labels: booted.labels,
        };
        self.host.keep_registered(&id, Some(registered.clone()));
        self.serve(&machine, &registered).await;
    }

    /// The life of a machine that ran before anybody looked: if its kubelet came as far as the
    /// registration, it goes on from there. It boots otherwise.
    async fn go_on(&self, place: Place, id: Arc<str>) {
        let Some(registered) = self.host.registered(&id) else {
            return self.boot(place, id).await;
        };
        if let Some(machine) = self.host.machine(place, &id) {
            self.serve(&machine, &registered).await;
        }
    }

    /// The kubelet's part: joining, however long it takes, and the heartbeat from then on.
    async fn serve(&self, machine: &Machine, registered: &Registered) {
        while self.host.runs(machine.place, &machine.id) {
            match self.join(machine, registered).await {
                Ok(()) => {
                    self.host.report(&machine.id, None);
                    self.has_joined(machine, registered);
                    return self.heartbeat(machine, registered).await;
                }
                Err(why) => self.host.report(&machine.id, Some(why)),
            }
            self.host.clock().sleep(PAUSE).await;
        }
    }

    /// The pods of the node are looked after from now on.
    fn has_joined(&self, machine: &Machine, known: &Registered) {
        let place = (machine.place, machine.id.clone());
        if self.joined.add(&known.cluster_id, &known.node, place) {
            let _ = self.met.send(known.cluster_id.clone());
        }
    }

    async fn join(&self, machine: &Machine, known: &Registered) -> Result<(), String> {
        let cluster_id = &known.cluster_id;
        let api = self
            .api(cluster_id)
            .ok_or_else(|| format!("there is no API of the cluster {cluster_id}"))?;
        if self.register(&api, machine, known).await? {
            return Ok(());
        }
        self.host.clock().sleep(self.host.boot_times().ready).await;
        let path = format!("/api/v1/nodes/{}", known.node);
        let patch = json!({ "status": status(machine, true, &self.now()) });
        let reply = self
            .send(&api, Method::PATCH, &format!("{path}/status"), Some(&patch))
            .await;
        if !reply.is_success() {
            return Err(format!("posting the node's status failed: {}", reply.why()));
        }
        self.initialise(&api, machine, known, &reply.body()).await
    }

    /// Makes the machine's Node, or finds it; whether it is Ready and initialised already.
    async fn register(
        &self,
        api: &Router,
        machine: &Machine,
        registered: &Registered,
    ) -> Result<bool, String> {
        let node = node(machine, registered, &self.now());
        let reply = self
            .send(api, Method::POST, "/api/v1/nodes", Some(&node))
            .await;
        if reply.is_success() {
            return Ok(false);
        }
        if reply.status != StatusCode::CONFLICT {
            return Err(format!("registering the node failed: {}", reply.why()));
        }
        let path = format!("/api/v1/nodes/{}", registered.node);
        let known = self.send(api, Method::GET, &path, None).await.body();
        let mine = match (provider_id(&known), machine.identified_by) {
            (Some(id), _) => id == machine.provider_id,
            // Nobody has looked at it yet: it may be this machine's own from an earlier attempt.
            (None, IdentifiedBy::CloudController) => true,
            (None, IdentifiedBy::Kubelet) => false,
        };
        if mine {
            return Ok(is_up(&known));
        }
        // A Node left over from an earlier machine with this address.
        self.send(api, Method::DELETE, &path, None).await;
        Err(format!(
            "the node name {} was taken by another machine",
            registered.node
        ))
    }

    /// The cloud controller manager looks at the node as it is now: it gets what the cloud knows of
    /// it, the taint goes, others stay.
    async fn initialise(
        &self,
        api: &Router,
        machine: &Machine,
        registered: &Registered,
        seen: &Value,
    ) -> Result<(), String> {
        let by_name = machine.identified_by == IdentifiedBy::CloudController;
        if by_name && registered.node != machine.hostname {
            return Err(format!(
                "the cloud controller manager finds no instance whose hostname is {}",
                registered.node
            ));
        }
        let Some(taints) = taints(seen).filter(|taints| taints.iter().any(is_uninitialized)) else {
            return Ok(());
        };
        let left: Vec<&Value> = taints
            .iter()
            .filter(|taint| !is_uninitialized(taint))
            .collect();
        let version = seen.pointer("/metadata/resourceVersion").cloned();
        let mut patch = json!({
            "metadata": { "resourceVersion": version },
            "spec": { "taints": if left.is_empty() { Value::Null } else { json!(left) } },
        });
        if by_name {
            patch["metadata"]["labels"] = place_labels(machine).into();
            patch["spec"]["providerID"] = machine.provider_id.as_str().into();
        }
        let path = format!("/api/v1/nodes/{}", registered.node);
        let reply = self.send(api, Method::PATCH, &path, Some(&patch)).await;
        if reply.is_success() {
            return Ok(());
        }
        Err(format!("initialising the node failed: {}", reply.why()))
    }

    async fn heartbeat(&self, machine: &Machine, registered: &Registered) {
        let Some(every) = self.options.lease_every else {
            return;
        };
        while self.host.runs(machine.place, &machine.id) {
            if let Some(api) = self.api(&registered.cluster_id) {
                self.renew_lease(&api, &registered.node).await;
            }
            self.host.clock().sleep(every).await;
        }
    }

    async fn renew_lease(&self, api: &Router, node: &str) {
        let now = self
            .host
            .clock()
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
    async fn instance_stops(&self, place: Place, id: &Arc<str>) {
        let off = self.host.power(place, id) == Some(Power::Off);
        let Some(known) = self.host.registered(id).filter(|_| off) else {
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
    async fn instance_gone(&self, id: &Arc<str>) {
        if let Some(known) = self.host.registered(id) {
            self.joined.remove(&known.cluster_id, &known.node, id);
            self.delete_node(&known).await;
            self.host.keep_registered(id, None);
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
                self.host.clock().sleep(PAUSE).await;
                continue;
            };
            let node = self.send(&api, Method::GET, &path, None).await;
            let body = node.body();
            let mine = provider_id(&body) == Some(known.provider_id.as_str());
            if node.status == StatusCode::NOT_FOUND || (node.is_success() && !mine) {
                return;
            }
            if node.is_success() {
                let uid = body.pointer("/metadata/uid").cloned();
                let options = json!({
                    "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": { "uid": uid },
                });
                let reply = self.send(&api, Method::DELETE, &path, Some(&options)).await;
                if reply.is_success() || reply.status == StatusCode::NOT_FOUND {
                    return;
                }
            }
            self.host.clock().sleep(PAUSE).await;
        }
    }

    pub(super) fn now(&self) -> String {
        self.host
            .clock()
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
