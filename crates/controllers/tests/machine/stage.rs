//! A world without pools: what a test makes by hand is all there is.

use std::time::Duration;

use kube::core::{ApiResource, GroupVersionKind};
use remuda_controllers::{
    kinds::Kind,
    objects::{LiveObjects, Objects, Target},
};
use remuda_testkit::{Demo, POOL, Tripwire, World, condition};
use serde_json::{Value, json};

/// Namespace of the Machines.
pub(crate) const NAMESPACE: &str = "team-a";
/// What keeps an infrastructure object while its instance is there.
const INSTANCE: &str = "test/instance";

/// A world whose controllers run, and the wire to its workload cluster.
pub(crate) struct Stage {
    pub world: World,
    pub wire: Tripwire,
}

/// Provider id of the instance of a Machine.
pub(crate) fn provider_id(name: &str) -> String {
    format!("aws:///us-east-1a/i-{name}")
}

/// A resource of the workload cluster.
pub(crate) fn resource(group: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural)
}

pub(crate) fn pods() -> ApiResource {
    resource("", "Pod", "pods")
}

fn attachments() -> ApiResource {
    resource("storage.k8s.io", "VolumeAttachment", "volumeattachments")
}

impl Stage {
    pub(crate) async fn new() -> Self {
        let world = World::new().await;
        let demo = Demo::default()
            .without("MachinePool", POOL)
            .without("TerraformMachinePool", POOL);
        world.apply(&demo).await;
        let wire = Tripwire::never();
        world.start_with(&wire);
        Self { world, wire }
    }

    /// A Machine with a running instance and a Ready Node, linked.
    pub(crate) async fn with_machine(name: &str) -> Self {
        let stage = Self::new().await;
        stage.machine(name, |_| {}).await;
        stage.node(name, |_| {}).await;
        stage.runs(name).await;
        stage
    }

    /// Makes an infrastructure object with a running instance, and its Machine.
    pub(crate) async fn machine(&self, name: &str, change: impl FnOnce(&mut Value)) {
        self.instance(name, |_| {}).await;
        self.machine_alone(name, change).await;
    }

    pub(crate) async fn instance(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let mut infra = json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1",
            "kind": "TerraformMachinePoolMachine",
            "metadata": {
                "namespace": NAMESPACE, "name": name, "finalizers": [INSTANCE],
                "labels": {
                    "cluster.x-k8s.io/cluster-name": "demo",
                    "cluster.x-k8s.io/pool-name": "by-hand",
                },
            },
            "spec": { "providerID": provider_id(name) },
            "status": {
                "initialization": { "provisioned": true },
                "failureDomain": "us-east-1a",
                "addresses": [{ "type": "InternalIP", "address": "10.0.0.4" }],
                "instanceState": "running",
                "upToDate": true,
                "conditions": [{
                    "type": "Ready", "status": "True", "reason": "Provisioned", "message": "",
                    "lastTransitionTime": "2026-10-01T08:00:00Z",
                }],
            },
        });
        change(&mut infra);
        self.world.create(&infra).await;
    }

    pub(crate) async fn machine_alone(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let mut machine = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Machine",
            "metadata": {
                "namespace": NAMESPACE, "name": name,
                "labels": {
                    "cluster.x-k8s.io/cluster-name": "demo",
                    "cluster.x-k8s.io/pool-name": "by-hand",
                },
            },
            "spec": {
                "clusterName": "demo",
                "bootstrap": { "dataSecretName": "" },
                "infrastructureRef": {
                    "apiGroup": "infrastructure.cluster.x-k8s.io",
                    "kind": "TerraformMachinePoolMachine",
                    "name": name,
                },
                "deletion": { "nodeDeletionTimeoutSeconds": 10 },
            },
        });
        change(&mut machine);
        self.world.create(&machine).await;
    }

    pub(crate) fn workload(&self) -> LiveObjects {
        self.world.workload()
    }

    /// Makes a Ready Node for the instance of a Machine, named `node-<machine>`.
    pub(crate) async fn node(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let condition = |kind: &str, status: &str| {
            json!({ "type": kind, "status": status, "message": "",
                "lastTransitionTime": "2026-10-01T08:00:00Z" })
        };
        let mut node = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": { "name": format!("node-{name}") },
            "spec": {
                "providerID": provider_id(name),
                "taints": [{ "key": "node.cluster.x-k8s.io/uninitialized", "effect": "NoSchedule" }],
            },
            "status": {
                "conditions": [
                    condition("Ready", "True"),
                    condition("MemoryPressure", "False"),
                    condition("DiskPressure", "False"),
                    condition("PIDPressure", "False"),
                ],
                "nodeInfo": { "kubeletVersion": "v1.33.2", "osImage": "Ubuntu" },
            },
        });
        change(&mut node);
        self.put(&Kind::Node.resource(), None, &node).await;
    }

    /// Creates an object of the workload cluster, with its status.
    pub(crate) async fn put(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        object: &Value,
    ) {
        let workload = self.workload();
        workload
            .create(resource, namespace, object, "test")
            .await
            .unwrap_or_else(|error| panic!("{error}"));
        if let Some(status) = object.get("status") {
            let target = Target {
                resource,
                namespace,
                name: object["metadata"]["name"].as_str().unwrap(),
                subresource: Some("status"),
            };
            let patch = json!({ "status": status });
            workload
                .merge_patch(&target, &patch, "test")
                .await
                .unwrap_or_else(|error| panic!("{error}"));
        }
    }

    /// Makes a running Pod on the Node of a Machine, in the namespace `default`.
    pub(crate) async fn pod(&self, name: &str, machine: &str, change: impl FnOnce(&mut Value)) {
        let mut pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "labels": { "app": name },
            },
            "spec": {
                "nodeName": format!("node-{machine}"),
                "terminationGracePeriodSeconds": 0,
                "containers": [{ "name": "app", "image": "app" }],
            },
            "status": {
                "phase": "Running",
                "conditions": [{ "type": "Ready", "status": "True" }],
            },
        });
        change(&mut pod);
        self.put(&pods(), Some("default"), &pod).await;
    }

    /// A budget that never allows an eviction of one Pod.
    pub(crate) async fn budget(&self, app: &str) {
        let budgets = resource("policy", "PodDisruptionBudget", "poddisruptionbudgets");
        let budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": { "name": format!("{app}-budget") },
            "spec": { "minAvailable": 1, "selector": { "matchLabels": { "app": app } } },
        });
        self.put(&budgets, Some("default"), &budget).await;
        self.world.pass(Duration::from_secs(5)).await;
    }

    /// Attaches a volume of the claim `default/<claim>` to the Node of a Machine.
    pub(crate) async fn attach(&self, machine: &str, claim: &str) {
        let volume = json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": { "name": format!("pv-{claim}") },
            "spec": {
                "capacity": { "storage": "1Gi" },
                "accessModes": ["ReadWriteOnce"],
                "csi": { "driver": "ebs.csi.aws.com", "volumeHandle": format!("vol-{claim}") },
                "claimRef": { "namespace": "default", "name": claim },
            },
        });
        self.put(
            &resource("", "PersistentVolume", "persistentvolumes"),
            None,
            &volume,
        )
        .await;
        let attachment = json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
            "metadata": { "name": format!("{machine}-{claim}") },
            "spec": {
                "attacher": "ebs.csi.aws.com",
                "nodeName": format!("node-{machine}"),
                "source": { "persistentVolumeName": format!("pv-{claim}") },
            },
            "status": { "attached": true },
        });
        self.put(&attachments(), None, &attachment).await;
    }

    /// All volumes of the Node of a Machine are detached.
    pub(crate) async fn detach(&self, machine: &str) {
        let workload = self.workload();
        for attachment in workload.list_of(&attachments(), None, "").await.unwrap() {
            let name = attachment["metadata"]["name"].as_str().unwrap();
            if name.starts_with(machine) {
                workload
                    .delete(&attachments(), None, name, None)
                    .await
                    .unwrap();
            }
        }
    }

    /// The kubelet's word on its Node.
    pub(crate) async fn node_says(&self, machine: &str, ready: &str) {
        let name = format!("node-{machine}");
        let node = self.live_node(machine).await.unwrap();
        let mut conditions = node["status"]["conditions"].clone();
        conditions[0]["status"] = json!(ready);
        let resource = Kind::Node.resource();
        let target = Target {
            resource: &resource,
            namespace: None,
            name: &name,
            subresource: Some("status"),
        };
        let patch = json!({ "status": { "conditions": conditions } });
        self.workload()
            .merge_patch(&target, &patch, "test")
            .await
            .unwrap();
    }

    pub(crate) async fn live_node(&self, machine: &str) -> Option<Value> {
        let name = format!("node-{machine}");
        self.workload().get(Kind::Node, "", &name).await.unwrap()
    }

    pub(crate) async fn has_pod(&self, name: &str) -> bool {
        let pod = self.workload().get_of(&pods(), Some("default"), name).await;
        pod.unwrap().is_some()
    }

    pub(crate) async fn delete_pod(&self, name: &str) {
        let workload = self.workload();
        workload
            .delete(&pods(), Some("default"), name, None)
            .await
            .unwrap();
    }

    /// The instance has ended: its object goes.
    pub(crate) async fn instance_ends(&self, name: &str) {
        let kind = Kind::TerraformMachinePoolMachine;
        let patch = json!({ "metadata": { "finalizers": null } });
        self.world.patch(kind, name, patch).await;
    }

    pub(crate) async fn infra(&self, name: &str) -> Option<Value> {
        self.world
            .get(Kind::TerraformMachinePoolMachine, name)
            .await
    }

    /// The infrastructure object is being deleted, or gone.
    pub(crate) async fn infra_is_going(&self, name: &str) -> bool {
        let infra = self.infra(name).await;
        infra.is_none_or(|infra| infra["metadata"].get("deletionTimestamp").is_some())
    }

    pub(crate) async fn live(&self, name: &str) -> Value {
        self.world.get(Kind::Machine, name).await.unwrap()
    }

    pub(crate) async fn delete(&self, name: &str) {
        self.world.delete(Kind::Machine, name).await;
    }

    pub(crate) async fn runs(&self, name: &str) {
        self.becomes(name, "it runs", |machine| {
            machine["status"]["phase"] == "Running" && says(machine, "Ready", "True", "Ready")
        })
        .await;
    }

    pub(crate) async fn becomes(&self, name: &str, what: &str, check: impl Fn(&Value) -> bool) {
        let what = format!("{name}: {what}");
        self.world
            .object_becomes(Kind::Machine, name, &what, check)
            .await;
    }

    /// Waits until the deletion stands at a reason.
    pub(crate) async fn stands_at(&self, name: &str, reason: &str) {
        self.becomes(name, reason, |machine| {
            says(machine, "Deleting", "True", reason)
        })
        .await;
    }

    pub(crate) async fn is_gone(&self, name: &str) {
        self.world.is_gone(Kind::Machine, name).await;
    }

    pub(crate) async fn annotate(&self, name: &str, key: &str, value: Value) {
        let patch = json!({ "metadata": { "annotations": { key: value } } });
        self.world.patch(Kind::Machine, name, patch).await;
    }

    pub(crate) async fn pass(&self, seconds: u64) {
        self.world.pass(Duration::from_secs(seconds)).await;
    }
}

/// Whether a condition has this status and reason.
pub(crate) fn says(object: &Value, kind: &str, status: &str, reason: &str) -> bool {
    condition(object, kind) == Some((status.to_owned(), reason.to_owned()))
}

/// Message of a condition.
pub(crate) fn message(object: &Value, kind: &str) -> String {
    let conditions = object["status"]["conditions"].as_array().unwrap();
    let found = conditions.iter().find(|one| one["type"] == kind).unwrap();
    found["message"].as_str().unwrap().to_owned()
}
