//! Volumes that must leave a Node before its instance goes (Cluster API document, 5.5).

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;

use super::{pod::text, progress::seconds, view::named};

/// A VolumeAttachment of the Node that says it is attached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attachment {
    /// Its own name.
    pub name: String,
    /// The PersistentVolume it attaches.
    pub volume: Option<String>,
}

impl Attachment {
    /// Reads a VolumeAttachment's JSON; `None`: it concerns another Node, or is not attached.
    pub fn read(object: &Value, node: &str) -> Option<Self> {
        let attached = object.pointer("/status/attached").and_then(Value::as_bool);
        let here = text(object, "/spec/nodeName") == node;
        (here && attached == Some(true)).then(|| Self {
            name: text(object, "/metadata/name"),
            volume: object
                .pointer("/spec/source/persistentVolumeName")
                .and_then(Value::as_str)
                .map(str::to_owned),
        })
    }
}

/// A PersistentVolume.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Volume {
    /// Its name.
    pub name: String,
    /// How a Node's status names it, when a CSI driver serves it.
    pub node_name: Option<String>,
    /// Namespace and name of the claim it is bound to.
    pub claim: Option<(String, String)>,
}

impl Volume {
    /// Reads a PersistentVolume's JSON.
    pub fn read(object: &Value) -> Self {
        let csi = object.pointer("/spec/csi");
        let claim = object.pointer("/spec/claimRef");
        Self {
            name: text(object, "/metadata/name"),
            node_name: csi.map(|csi| {
                let (driver, handle) = (text(csi, "/driver"), text(csi, "/volumeHandle"));
                format!("kubernetes.io/csi/{driver}^{handle}")
            }),
            claim: claim.map(|claim| (text(claim, "/namespace"), text(claim, "/name"))),
        }
    }
}

/// What the wait looks at.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// Names in the Node's `status.volumesAttached`.
    pub on_node: &'a [String],
    /// Attachments of the Node.
    pub attachments: &'a [Attachment],
    /// All PersistentVolumes.
    pub volumes: &'a [Volume],
    /// Claims of Pods that stay, as (namespace, name).
    pub kept_claims: &'a [(String, String)],
    /// When the wait began.
    pub since: Timestamp,
}

/// What is waited for, in words; `None`: nothing.
///
/// # Errors
/// An attachment names no volume: what it holds is not known.
pub fn waiting(scene: &Scene<'_>) -> Result<Option<String>, String> {
    let by_node_name: BTreeMap<&str, &Volume> = scene
        .volumes
        .iter()
        .filter_map(|volume| Some((volume.node_name.as_deref()?, volume)))
        .collect();
    let by_name: BTreeMap<&str, &Volume> = scene
        .volumes
        .iter()
        .map(|volume| (volume.name.as_str(), volume))
        .collect();
    let (mut attached, mut unknown_names, mut unknown_volumes) =
        (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
    for name in scene.on_node {
        match by_node_name.get(name.as_str()) {
            Some(volume) => drop(attached.insert(volume.name.as_str(), *volume)),
            None => drop(unknown_names.insert(name.as_str())),
        }
    }
    for attachment in scene.attachments {
        let Some(name) = attachment.volume.as_deref() else {
            let name = &attachment.name;
            return Err(format!("VolumeAttachment {name} names no PersistentVolume"));
        };
        match by_name.get(name) {
            Some(volume) => drop(attached.insert(volume.name.as_str(), *volume)),
            None => drop(unknown_volumes.insert(name)),
        }
    }
    let (mut claims, mut unclaimed) = (BTreeSet::new(), BTreeSet::new());
    for volume in attached.values() {
        match &volume.claim {
            None => drop(unclaimed.insert(volume.name.as_str())),
            Some(claim) if scene.kept_claims.contains(claim) => {}
            Some((namespace, name)) => drop(claims.insert(format!("{namespace}/{name}"))),
        }
    }
    let claims = claims.iter().map(String::as_str).collect();
    let parts: Vec<String> = [
        ("PersistentVolumeClaims", claims),
        ("PersistentVolumes without a claim", unclaimed),
        (
            "volumes of the Node without a PersistentVolume",
            unknown_names,
        ),
        ("PersistentVolumes that do not exist", unknown_volumes),
    ]
    .into_iter()
    .filter_map(|(what, names): (_, BTreeSet<&str>)| {
        (!names.is_empty()).then(|| format!("{what}: {}", named(names)))
    })
    .collect();
    Ok((!parts.is_empty()).then(|| {
        let since = seconds(scene.since);
        format!(
            "Waiting for volumes to be detached since {since}\n* {}",
            parts.join("\n* ")
        )
    }))
}
