//! The 14 contract inputs of the machinepool role (captf document 2.1).

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::secret::Secret;

/// Contract inputs as rendered from Kubernetes objects: always all of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inputs {
    /// Always `v1alpha1`.
    pub captf_contract: String,
    /// The owning Cluster.
    pub captf_cluster: NamespacedName,
    /// The pool itself; kind `TerraformMachinePool`.
    pub captf_object: ObjectRef,
    /// The cluster role's exports, verbatim; `{}` when null or externally managed.
    pub captf_cluster_outputs: Value,
    /// Exactly six keys (captf document 2.11).
    pub captf_tags: BTreeMap<String, String>,
    /// Name of the owning MachinePool; may differ from the pool's.
    pub machinepool_name: String,
    /// Whole, at least 0. Clamped to the bounds while autoscaling is on.
    pub replicas: i64,
    /// Padded standard base64 of the bootstrap Secret's `value`.
    pub bootstrap_data: Secret<String>,
    /// Format of the bootstrap data, as written in the Secret; `cloud-config` when absent.
    pub bootstrap_format: String,
    /// `MachinePool.spec.failureDomains`; may be empty.
    pub failure_domains: Vec<String>,
    /// Names of the cluster's failure domains; may be empty.
    pub cluster_failure_domains: Vec<String>,
    /// Verbatim, for example `v1.31.4+rke2r1`.
    pub kubernetes_version: Option<String>,
    /// Labels of the MachinePool template, verbatim.
    pub node_labels: BTreeMap<String, String>,
    /// Bounds from the owner's annotations.
    pub autoscaling: Autoscaling,
}

impl Inputs {
    /// The inputs as the contract writes them, with the bootstrap data: for the hash and for
    /// checks against the contract's schema.
    pub fn contract_json(&self) -> Secret<Value> {
        let mut value = serde_json::to_value(self)
            .expect("inputs are strings, whole numbers and string-keyed maps");
        if let Some(fields) = value.as_object_mut() {
            fields.insert(
                "bootstrap_data".to_owned(),
                Value::from(self.bootstrap_data.reveal().as_str()),
            );
        }
        Secret::new(value)
    }
}

/// Merged user variables (`variablesFrom` in order, then inline), before a driver checks them.
pub type UserVariables = Map<String, Value>;

/// A name in a namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct NamespacedName {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.namespace`.
    pub namespace: String,
}

/// A Kubernetes object by kind and name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ObjectRef {
    /// Kind, for example `TerraformMachinePool`.
    pub kind: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.namespace`.
    pub namespace: String,
}

/// Autoscaling bounds; `{false, 0, 0}` when off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Autoscaling {
    /// Both annotations exist, parse and are ordered.
    pub enabled: bool,
    /// Lower bound, 0 when off.
    pub min: i64,
    /// Upper bound, 0 when off.
    pub max: i64,
}

impl Autoscaling {
    /// Autoscaling is off.
    pub const OFF: Self = Self {
        enabled: false,
        min: 0,
        max: 0,
    };
}

/// The version without a distribution's suffix and without its `v`: `v1.35.0+rke2r2` is `1.35.0`.
pub fn stripped_version(kubernetes_version: &str) -> &str {
    let version = kubernetes_version
        .split_once('+')
        .map_or(kubernetes_version, |(version, _)| version);
    version.strip_prefix('v').unwrap_or(version)
}
