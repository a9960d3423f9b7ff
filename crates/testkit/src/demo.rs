//! The DEMO objects: a cluster with exports, an identity, a bootstrap Secret, a MachinePool and its
//! TerraformMachinePool, straight from `examples/demo`, so that tests run what people run.

use remuda_api::keys::annotation;
use serde_json::{Value, json};

/// Namespace of the DEMO objects in tests.
pub const NAMESPACE: &str = "team-a";
/// Name of the DEMO pool and of its MachinePool.
pub const POOL: &str = "demo-pool-0";
/// Name of the DEMO pool on Azure and of its MachinePool.
pub const AZURE_POOL: &str = "demo-azure-pool-0";

/// The manifests, in the order in which they are applied.
const MANIFESTS: [&str; 4] = [
    include_str!("../../../examples/demo/00-identity.yaml"),
    include_str!("../../../examples/demo/10-cluster.yaml"),
    include_str!("../../../examples/demo/20-machinepool.yaml"),
    include_str!("../../../examples/demo/30-terraformmachinepool.yaml"),
];

/// The manifests of the pool on Azure, in the order in which they are applied.
const AZURE_MANIFESTS: [&str; 4] = [
    include_str!("../../../examples/demo/40-azure-identity.yaml"),
    include_str!("../../../examples/demo/50-azure-cluster.yaml"),
    include_str!("../../../examples/demo/60-azure-machinepool.yaml"),
    include_str!("../../../examples/demo/70-azure-terraformmachinepool.yaml"),
];

/// Kinds that live in no namespace.
const CLUSTER_SCOPED: [&str; 2] = ["Namespace", "TerraformClusterIdentity"];

/// The DEMO objects, to be changed before they are applied.
#[derive(Debug, Clone)]
pub struct Demo {
    objects: Vec<Value>,
}

impl Default for Demo {
    fn default() -> Self {
        Self::in_namespace(NAMESPACE)
    }
}

impl Demo {
    /// The objects with a namespace filled in where the manifests leave it open.
    pub fn in_namespace(namespace: &str) -> Self {
        Self::of(&MANIFESTS, namespace)
    }

    /// The objects of the DEMO pool on Azure.
    pub fn azure() -> Self {
        let mut demo = Self::of(&AZURE_MANIFESTS, NAMESPACE);
        // The identity's namespace comes with the AWS manifests.
        demo.objects.insert(
            0,
            json!({
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": { "name": "remuda-system" },
            }),
        );
        demo
    }

    fn of(manifests: &[&str], namespace: &str) -> Self {
        let mut objects = vec![json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": { "name": namespace },
        })];
        for manifest in manifests {
            let documents: Vec<Value> =
                serde_saphyr::from_multiple(manifest).expect("the demo manifests are YAML");
            objects.extend(documents);
        }
        for object in &mut objects {
            // The demo's short drains are for people who watch; a test says what it is about.
            if let Some(spec) = object.pointer_mut("/spec/template/spec")
                && let Some(spec) = spec.as_object_mut()
            {
                spec.remove("deletion");
            }
            let kind = object["kind"].as_str().unwrap_or_default();
            if !CLUSTER_SCOPED.contains(&kind) && object["metadata"].get("namespace").is_none() {
                object["metadata"]["namespace"] = Value::from(namespace);
            }
        }
        // What most tests are about: captf's exact behaviour.
        Self { objects }.with_machines("false")
    }

    /// The pools have Machines.
    #[must_use]
    pub fn machines(self) -> Self {
        self.with_machines("true")
    }

    fn with_machines(mut self, switch: &str) -> Self {
        let pools = self.objects.iter_mut();
        for pool in pools.filter(|object| object["kind"] == "MachinePool") {
            pool["metadata"]["annotations"][annotation::POOL_MACHINES] = Value::from(switch);
        }
        self
    }

    /// Changes one object, by kind and name.
    #[must_use]
    pub fn edit(mut self, kind: &str, name: &str, change: impl FnOnce(&mut Value)) -> Self {
        let found = self
            .objects
            .iter_mut()
            .find(|object| object["kind"] == kind && object["metadata"]["name"] == name)
            .unwrap_or_else(|| panic!("the demo has no {kind} {name}"));
        change(found);
        self
    }

    /// Changes the TerraformMachinePool.
    #[must_use]
    pub fn pool(self, change: impl FnOnce(&mut Value)) -> Self {
        self.edit("TerraformMachinePool", POOL, change)
    }

    /// Changes the MachinePool.
    #[must_use]
    pub fn machine_pool(self, change: impl FnOnce(&mut Value)) -> Self {
        self.edit("MachinePool", POOL, change)
    }

    /// Leaves an object out.
    #[must_use]
    pub fn without(mut self, kind: &str, name: &str) -> Self {
        let before = self.objects.len();
        self.objects
            .retain(|object| object["kind"] != kind || object["metadata"]["name"] != name);
        assert!(self.objects.len() < before, "the demo has no {kind} {name}");
        self
    }

    /// Adds an object.
    #[must_use]
    pub fn with(mut self, object: Value) -> Self {
        self.objects.push(object);
        self
    }

    /// Adds another pool of the same cluster, a copy of the first under another name.
    #[must_use]
    pub fn second_pool(mut self, name: &str) -> Self {
        let copies: Vec<Value> = self
            .objects
            .iter()
            .filter(|object| {
                object["metadata"]["name"] == POOL
                    && ["MachinePool", "TerraformMachinePool"]
                        .contains(&object["kind"].as_str().unwrap_or_default())
            })
            .map(|object| {
                let mut copy = object.clone();
                copy["metadata"]["name"] = Value::from(name);
                if copy["kind"] == "MachinePool" {
                    copy["spec"]["template"]["spec"]["infrastructureRef"]["name"] =
                        Value::from(name);
                }
                copy
            })
            .collect();
        self.objects.extend(copies);
        self
    }

    /// The objects in the order in which they are applied.
    pub fn objects(&self) -> &[Value] {
        &self.objects
    }
}
