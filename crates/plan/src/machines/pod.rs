//! A Pod of a workload cluster, as far as the drain of its Node decides on it.

use std::{collections::BTreeMap, fmt};

use jiff::Timestamp;
use serde_json::Value;

/// A Pod by namespace and name; that is also the order in which Pods are evicted.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodName {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
}

impl fmt::Display for PodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A Pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pod {
    /// Which one.
    pub name: PodName,
    /// `metadata.uid`: an eviction must not hit a successor of the same name.
    pub uid: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// The kubelet made it from a file of its own; the API server only shows it.
    pub is_static: bool,
    /// It has ended, well or badly.
    pub finished: bool,
    /// When its grace period ends, once it is being deleted.
    pub deleted_at: Option<Timestamp>,
    /// Kind and name of what controls it.
    pub controller: Option<(String, String)>,
    /// It keeps data on the Node that goes with it.
    pub has_scratch_data: bool,
    /// Claims of volumes it uses, all of its own namespace.
    pub claims: Vec<String>,
}

impl Pod {
    /// Reads a Pod's JSON.
    pub fn read(object: &Value) -> Self {
        let text = |pointer: &str| text(object, pointer);
        let phase = text("/status/phase");
        let name = PodName {
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
        };
        let volumes = list(object, "/spec/volumes");
        Self {
            uid: text("/metadata/uid"),
            labels: strings(object, "/metadata/labels"),
            is_static: object
                .pointer("/metadata/annotations")
                .is_some_and(|annotations| {
                    annotations.get("kubernetes.io/config.mirror").is_some()
                }),
            finished: phase == "Succeeded" || phase == "Failed",
            deleted_at: text("/metadata/deletionTimestamp").parse().ok(),
            controller: list(object, "/metadata/ownerReferences")
                .iter()
                .find(|owner| owner.get("controller").and_then(Value::as_bool) == Some(true))
                .map(|owner| (self::text(owner, "/kind"), self::text(owner, "/name"))),
            has_scratch_data: volumes
                .iter()
                .any(|volume| volume.get("emptyDir").is_some()),
            claims: volumes
                .iter()
                .filter_map(|volume| claim_of(&name.name, volume))
                .collect(),
            name,
        }
    }
}

/// The claim behind a volume; that of a generic ephemeral volume is named after Pod and volume.
fn claim_of(pod: &str, volume: &Value) -> Option<String> {
    if volume.get("ephemeral").is_some() {
        return Some(format!("{pod}-{}", text(volume, "/name")));
    }
    volume
        .pointer("/persistentVolumeClaim/claimName")
        .and_then(Value::as_str)
        .map(str::to_owned)
}

pub(super) fn text(object: &Value, pointer: &str) -> String {
    let value = object.pointer(pointer).and_then(Value::as_str);
    value.unwrap_or_default().to_owned()
}

pub(super) fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    let value = object.pointer(pointer).and_then(Value::as_array);
    value.map_or(&[], Vec::as_slice)
}

pub(super) fn strings(object: &Value, pointer: &str) -> BTreeMap<String, String> {
    object
        .pointer(pointer)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect()
}
