//! The reference pool as Kubernetes shows it, and how a publication changes that.

use jiff::Timestamp;
use remuda_plan::{
    pool::{
        keys,
        objects::{
            ClusterObject, IdentityObject, InfraClusterObject, MachinePoolObject, PoolObject,
        },
        secret::Secret,
        world::{
            BootstrapSecret, CredentialSecret, IdentityReads, Lookup, Manager, RecordRead, World,
        },
    },
    status::{
        condition::{ConditionStatus, ConditionType, Reason},
        publication::{FinalizerChange, Publication, RecordWrite},
    },
};
use serde_json::{Value, json};

use super::demo;

pub(crate) const UID: &str = "6f6c1a52-0b3f-4b5e-9a3c-2f7d1c0e9a11";
pub(crate) const OWNER_UID: &str = "0d9a7d2e-4f4c-4b0e-8a55-6b1f3c9d2e22";

/// 2026-10-01T00:00:00Z.
pub(crate) fn start() -> Timestamp {
    Timestamp::from_second(1_790_812_800).expect("a valid time")
}

/// The reference pool: everything it waits for is there, its finalizer is stored.
pub(crate) fn world() -> World {
    World {
        pool: parse(json!({
            "metadata": {
                "name": "demo-pool-0", "namespace": "team-a", "uid": UID, "generation": 1,
                "resourceVersion": "10",
                "labels": { "cluster.x-k8s.io/cluster-name": "demo" },
                "finalizers": [keys::FINALIZER],
                "creationTimestamp": "2026-09-30T23:00:00Z",
                "ownerReferences": [{
                    "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool",
                    "name": "demo-pool-0", "uid": OWNER_UID, "controller": true,
                }],
            },
            "spec": { "source": { "image": "ghcr.io/captf-io/aws-machinepool:v0.3.0" } },
        })),
        owner: Lookup::Found(parse(json!({
            "metadata": {
                "name": "demo-pool-0", "namespace": "team-a", "uid": OWNER_UID,
                "resourceVersion": "20",
            },
            "spec": {
                "clusterName": "demo", "replicas": 3,
                "template": { "metadata": {}, "spec": {
                    "clusterName": "demo", "version": "v1.34.1",
                    "bootstrap": { "dataSecretName": "demo-pool-0-bootstrap" },
                    "infrastructureRef": {
                        "apiGroup": keys::POOL_GROUP, "kind": keys::POOL_KIND, "name": "demo-pool-0",
                    },
                } },
            },
        }))),
        cluster: Lookup::Found(parse(json!({
            "metadata": { "name": "demo", "namespace": "team-a" },
            "spec": { "infrastructureRef": {
                "apiGroup": keys::POOL_GROUP, "kind": "TerraformCluster", "name": "demo-infra",
            } },
        }))),
        infra_cluster: Lookup::Found(infra_cluster()),
        bootstrap: Lookup::Found(BootstrapSecret {
            value: Some(Secret::new(demo::DOCUMENT.to_vec())),
            format: None,
        }),
        sources: Vec::new(),
        identity: IdentityReads {
            object: Lookup::Found(parse(json!({
                "metadata": { "name": "aws" },
                "spec": {
                    "secretRef": { "name": "aws-creds", "namespace": "captf-system" },
                    "allowedNamespaces": { "list": ["team-a"] },
                },
            }))),
            secret: Lookup::Found(credentials()),
            namespace_labels: Lookup::Found([("team".to_owned(), "a".to_owned())].into()),
        },
        record: RecordRead::Missing,
        retained: Lookup::Missing,
        machines: Lookup::Missing,
        manager: Manager {
            installation: demo::INSTALLATION.to_owned(),
            version: "0.1.0".to_owned(),
            ..Manager::default()
        },
        memory: None,
    }
}

fn infra_cluster() -> InfraClusterObject {
    parse(json!({
        "metadata": { "name": "demo-infra", "namespace": "team-a" },
        "spec": { "identityRef": { "name": "aws" } },
        "status": {
            "initialization": { "provisioned": true },
            "exports": demo::exports(),
            "failureDomains": [
                { "name": "us-east-1a" }, { "name": "us-east-1b" }, { "name": "us-east-1c" },
            ],
        },
    }))
}

pub(crate) fn credentials() -> CredentialSecret {
    CredentialSecret {
        namespace: "captf-system".to_owned(),
        name: "aws-creds".to_owned(),
        resource_version: "7".to_owned(),
        keys: ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]
            .map(str::to_owned)
            .into(),
    }
}

fn parse<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("a valid object")
}

/// Changes of the reference pool, each named after the object it changes.
pub(crate) trait Edit: Sized {
    fn pool(self, edit: impl FnOnce(&mut PoolObject)) -> Self;
    fn owner(self, edit: impl FnOnce(&mut MachinePoolObject)) -> Self;
    fn cluster(self, edit: impl FnOnce(&mut ClusterObject)) -> Self;
    fn infra(self, edit: impl FnOnce(&mut InfraClusterObject)) -> Self;
    fn identity(self, edit: impl FnOnce(&mut IdentityObject)) -> Self;
    fn annotate_owner(self, pairs: &[(&str, &str)]) -> Self;
    fn bounds(self, min: &str, max: &str) -> Self {
        self.annotate_owner(&[(keys::AUTOSCALER_MIN, min), (keys::AUTOSCALER_MAX, max)])
    }
    fn bootstrap(self, document: &[u8]) -> Self;
    fn deleting(self, at: Timestamp) -> Self {
        self.pool(|pool| pool.metadata.deletion_timestamp = Some(at))
    }
}

impl Edit for World {
    fn pool(mut self, edit: impl FnOnce(&mut PoolObject)) -> Self {
        edit(&mut self.pool);
        self
    }

    fn owner(mut self, edit: impl FnOnce(&mut MachinePoolObject)) -> Self {
        let Lookup::Found(owner) = &mut self.owner else {
            panic!("there is an owner")
        };
        edit(owner);
        self
    }

    fn cluster(mut self, edit: impl FnOnce(&mut ClusterObject)) -> Self {
        let Lookup::Found(cluster) = &mut self.cluster else {
            panic!("there is a Cluster")
        };
        edit(cluster);
        self
    }

    fn infra(mut self, edit: impl FnOnce(&mut InfraClusterObject)) -> Self {
        let Lookup::Found(cluster) = &mut self.infra_cluster else {
            panic!("there is a TerraformCluster")
        };
        edit(cluster);
        self
    }

    fn identity(mut self, edit: impl FnOnce(&mut IdentityObject)) -> Self {
        let Lookup::Found(identity) = &mut self.identity.object else {
            panic!("there is an identity")
        };
        edit(identity);
        self
    }

    fn annotate_owner(self, pairs: &[(&str, &str)]) -> Self {
        self.owner(|owner| {
            for (key, value) in pairs {
                owner
                    .metadata
                    .annotations
                    .insert((*key).to_owned(), (*value).to_owned());
            }
        })
    }

    fn bootstrap(mut self, document: &[u8]) -> Self {
        self.bootstrap = Lookup::Found(BootstrapSecret {
            value: Some(Secret::new(document.to_vec())),
            format: None,
        });
        self
    }
}

/// Writes a publication into the world, as the API server would.
pub(crate) fn feed(world: &mut World, publication: &Publication) {
    if let Some(status) = &publication.status {
        world.pool.status = status.clone();
    }
    let spec = &publication.spec;
    if spec.merge_patch().is_some() {
        let generation = world.pool.metadata.generation.unwrap_or(0);
        world.pool.metadata.generation = Some(generation + 1);
    }
    if let Some(id) = &spec.provider_id {
        world.pool.spec.provider_id = Some(id.clone());
    }
    if let Some(list) = &spec.provider_id_list {
        world.pool.spec.provider_id_list.clone_from(list);
    }
    for (key, value) in &publication.metadata.annotations {
        let annotations = &mut world.pool.metadata.annotations;
        match value {
            Some(value) => drop(annotations.insert(key.clone(), value.clone())),
            None => drop(annotations.remove(key)),
        }
    }
    let finalizers = &mut world.pool.metadata.finalizers;
    match publication.metadata.finalizer {
        Some(FinalizerChange::Add) => finalizers.push(keys::FINALIZER.to_owned()),
        Some(FinalizerChange::Remove) => finalizers.retain(|it| it != keys::FINALIZER),
        None => {}
    }
    if let (Some(patch), Lookup::Found(owner)) = (&publication.owner, &mut world.owner) {
        patch_owner(owner, &patch.body);
    }
    match &publication.record {
        Some(RecordWrite::Save(record)) => {
            world.record = RecordRead::Found {
                record: record.clone(),
                retained_from: None,
                owned: true,
            };
        }
        Some(RecordWrite::Retain) => {
            if let RecordRead::Found {
                retained_from,
                owned,
                ..
            } = &mut world.record
            {
                *retained_from = Some(world.pool.metadata.uid.clone());
                *owned = false;
            }
        }
        Some(RecordWrite::Delete) => world.record = RecordRead::Missing,
        None => {}
    }
    world.memory.clone_from(&publication.memory);
}

fn patch_owner(owner: &mut MachinePoolObject, body: &Value) {
    if let Some(annotations) = body["metadata"]["annotations"].as_object() {
        for (key, value) in annotations {
            match value.as_str() {
                Some(value) => drop(
                    owner
                        .metadata
                        .annotations
                        .insert(key.clone(), value.to_owned()),
                ),
                None => drop(owner.metadata.annotations.remove(key)),
            }
        }
    }
    if let Some(replicas) = body["spec"]["replicas"].as_i64() {
        owner.spec.replicas = Some(replicas);
    }
}

/// A publication that writes nothing to Kubernetes.
pub(crate) fn writes_nothing(publication: &Publication) -> bool {
    publication.status.is_none()
        && publication.spec.merge_patch().is_none()
        && publication.metadata == remuda_plan::status::publication::MetadataWrite::default()
        && publication.owner.is_none()
        && publication.record.is_none()
        && publication.events.is_empty()
}

/// Status and reason of a condition.
pub(crate) fn condition(world: &World, kind: ConditionType) -> Option<(ConditionStatus, Reason)> {
    let condition = world.pool.status.condition(kind)?;
    Some((condition.status, condition.reason))
}

/// Message of a condition.
pub(crate) fn message(world: &World, kind: ConditionType) -> String {
    let condition = world.pool.status.condition(kind);
    condition.map(|it| it.message.clone()).unwrap_or_default()
}
