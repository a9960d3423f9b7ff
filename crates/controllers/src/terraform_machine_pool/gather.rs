//! Kubernetes reads of one pass of a `TerraformMachinePool`, all of them, into a [`World`].
//!
//! Each read that fails becomes `Failed`, never `Missing`; only the pool itself must be readable.
//! What the pass may write to and Secrets are read anew by every pass: an operation always starts with
//! the current credential. At the cluster and the identity object it only glances: their watch is as
//! new as what woke the pass. So it does at the Machines of a pool that nothing leaves.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use remuda_api::keys::label;
use remuda_plan::{
    machines::{names::label_value, objects::MachineObjects},
    pool::{
        gate::owner_reference,
        identity::{self, CLUSTER_IDENTITY},
        machines,
        objects::{ClusterObject, IdentityRef, InfraClusterObject, MachinePoolObject, PoolObject},
        secret::Secret,
        world::{
            BootstrapSecret, CredentialSecret, IdentityReads, Lookup, Manager, RecordRead,
            VariableSource, World,
        },
    },
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    kinds::Kind,
    objects::{ApiError, Objects},
    record,
    watching::ObjectKey,
};

/// A pool by namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PoolKey {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
}

impl From<ObjectKey> for PoolKey {
    fn from(ObjectKey { namespace, name }: ObjectKey) -> Self {
        Self { namespace, name }
    }
}

/// What a pass knows besides the world: things no decision may depend on.
#[derive(Debug, Clone)]
pub(crate) struct Gathered {
    /// Everything that decisions depend on.
    pub world: World,
    /// The Machines are as their watch showed them: nothing is taken away on their ground.
    pub glanced: bool,
    /// The pool's status exactly as stored, to compare with.
    pub live_status: Value,
    /// `resourceVersion` of the record Secret; `None` when it does not exist.
    pub record_version: Option<String>,
    /// Values of the credential Secret.
    pub credentials: BTreeMap<String, Secret<Vec<u8>>>,
    /// The bootstrap Secret, where there is one.
    pub bootstrap: Option<ReadSecret>,
}

/// A Secret as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadSecret {
    pub namespace: String,
    pub name: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
}

/// Reads everything. `None`: the pool is gone.
///
/// # Errors
/// The pool itself could not be read.
pub(crate) async fn gather(
    key: &PoolKey,
    objects: &dyn Objects,
    manager: &Manager,
) -> Result<Option<Gathered>, ApiError> {
    let found = objects
        .get(Kind::TerraformMachinePool, &key.namespace, &key.name)
        .await?;
    let Some(live) = found else {
        return Ok(None);
    };
    let live_status = live.get("status").cloned().unwrap_or(Value::Null);
    let pool: PoolObject = parsed(live).map_err(|why| ApiError::Failed {
        what: format!("read TerraformMachinePool {}/{}", key.namespace, key.name),
        why,
    })?;
    let (record, record_version) = record::read(objects, &pool.metadata).await;
    let owner = owner(objects, &pool).await;
    let cluster = cluster(objects, &pool).await;
    let infra_cluster = infra_cluster(objects, &cluster).await;
    let named = identity::resolve(&pool, infra_cluster.found(), record.found());
    let (identity, credentials) = identity_reads(objects, named.as_ref(), &key.namespace).await;
    let (bootstrap, bootstrap_version) = bootstrap(objects, &owner).await;
    let mut world = World {
        bootstrap,
        sources: sources(objects, &pool).await,
        retained: retained(objects, &pool, &record).await,
        machines: Lookup::Missing,
        manager: manager.clone(),
        memory: None,
        owner,
        cluster,
        infra_cluster,
        identity,
        record,
        pool,
    };
    world.machines = glance_at_machines(objects, &world);
    let glanced = world.machines.found().is_some() && machines::are_at_rest(&world);
    if !glanced {
        world.machines = machine_objects(objects, &world).await;
    }
    Ok(Some(Gathered {
        world,
        glanced,
        live_status,
        record_version,
        credentials,
        bootstrap: bootstrap_version,
    }))
}

async fn owner(objects: &dyn Objects, pool: &PoolObject) -> Lookup<MachinePoolObject> {
    let Some(owner) = owner_reference(pool) else {
        return Lookup::Missing;
    };
    lookup(
        objects,
        Kind::MachinePool,
        &pool.metadata.namespace,
        &owner.name,
    )
    .await
}

/// What stands for the pool's members, as the watches show it; `Missing` also where they do not.
fn glance_at_machines(objects: &dyn Objects, world: &World) -> Lookup<MachineObjects> {
    let seen = machines::owner(world)
        .filter(|_| machines::are_worth_reading(world))
        .and_then(|owner| {
            let pool = label_value(owner.machine_pool);
            objects.glance_at_pool(owner.namespace, owner.cluster, &pool)
        });
    seen.map_or(Lookup::Missing, |seen| {
        let machines = seen.machines.iter().map(|machine| (&machine.view).into());
        Lookup::Found(MachineObjects {
            infra: seen.infra,
            machines: machines.collect(),
        })
    })
}

/// What stands for the pool's members, read. A kind that is not served has no objects. To be called
/// after the owner was read: whoever marks a Machine and then lowers the count is seen to have done
/// both.
pub(crate) async fn machine_objects(
    objects: &dyn Objects,
    world: &World,
) -> Lookup<MachineObjects> {
    if !machines::are_worth_reading(world) {
        return Lookup::Missing;
    }
    let Some(owner) = machines::owner(world) else {
        return Lookup::Missing;
    };
    let selector = owner.selector();
    let list = async |kind| objects.list(kind, owner.namespace, &selector).await;
    let infra = match list(Kind::TerraformMachinePoolMachine).await {
        Ok(infra) => infra,
        Err(ApiError::NotFound(_)) => return Lookup::Missing,
        Err(error) => return Lookup::Failed(error.to_string()),
    };
    let found = match list(Kind::Machine).await {
        Ok(found) => found,
        Err(ApiError::NotFound(_)) => Vec::new(),
        Err(error) => return Lookup::Failed(error.to_string()),
    };
    let all = infra.into_iter().map(parsed).collect::<Result<_, _>>();
    let machines = found.into_iter().map(parsed).collect::<Result<_, _>>();
    match (all, machines) {
        (Ok(infra), Ok(machines)) => Lookup::Found(MachineObjects { infra, machines }),
        (Err(why), _) | (_, Err(why)) => Lookup::Failed(why),
    }
}

async fn cluster(objects: &dyn Objects, pool: &PoolObject) -> Lookup<ClusterObject> {
    let Some(name) = pool.metadata.labels.get(label::CLUSTER_NAME) else {
        return Lookup::Missing;
    };
    let found = objects.glance(Kind::Cluster, &pool.metadata.namespace, name);
    parsed_lookup(found.await)
}

async fn infra_cluster(
    objects: &dyn Objects,
    cluster: &Lookup<ClusterObject>,
) -> Lookup<InfraClusterObject> {
    let cluster = match cluster {
        Lookup::Found(cluster) => cluster,
        Lookup::Missing => return Lookup::Missing,
        Lookup::Failed(why) => return Lookup::Failed(why.clone()),
    };
    let reference = &cluster.spec.infrastructure_ref;
    if reference.kind != "TerraformCluster" {
        return Lookup::Missing;
    }
    let namespace = &cluster.metadata.namespace;
    let found = objects.glance(Kind::TerraformCluster, namespace, &reference.name);
    parsed_lookup(found.await)
}

async fn bootstrap(
    objects: &dyn Objects,
    owner: &Lookup<MachinePoolObject>,
) -> (Lookup<BootstrapSecret>, Option<ReadSecret>) {
    let Lookup::Found(owner) = owner else {
        return (Lookup::Missing, None);
    };
    let reference = &owner.spec.template.spec.bootstrap.data_secret_name;
    let Some(name) = reference.as_deref().filter(|name| !name.is_empty()) else {
        return (Lookup::Missing, None);
    };
    let namespace = &owner.metadata.namespace;
    match read(objects, Kind::Secret, namespace, name).await {
        Lookup::Found(secret) => {
            let read = ReadSecret {
                namespace: namespace.clone(),
                name: name.to_owned(),
                resource_version: version(&secret),
            };
            match secret_data(&secret) {
                Ok(data) => (Lookup::Found(bootstrap_secret(data)), Some(read)),
                Err(why) => (Lookup::Failed(why), None),
            }
        }
        Lookup::Missing => (Lookup::Missing, None),
        Lookup::Failed(why) => (Lookup::Failed(why), None),
    }
}

fn bootstrap_secret(mut data: BTreeMap<String, Secret<Vec<u8>>>) -> BootstrapSecret {
    BootstrapSecret {
        value: data.remove("value"),
        format: data.remove("format").map(|format| format.reveal().clone()),
    }
}

/// `metadata.resourceVersion`; empty where there is none.
pub(super) fn version(object: &Value) -> String {
    let version = object.pointer("/metadata/resourceVersion");
    version
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

async fn sources(objects: &dyn Objects, pool: &PoolObject) -> Vec<Lookup<VariableSource>> {
    let mut read_ones = Vec::with_capacity(pool.spec.variables_from.len());
    for source in &pool.spec.variables_from {
        let (kind, name) = match (&source.config_map_ref, &source.secret_ref) {
            (Some(reference), _) => (Kind::ConfigMap, &reference.name),
            (None, Some(reference)) => (Kind::Secret, &reference.name),
            (None, None) => {
                read_ones.push(Lookup::Missing);
                continue;
            }
        };
        let object = read(objects, kind, &pool.metadata.namespace, name).await;
        read_ones.push(match object {
            Lookup::Found(object) => match source_data(kind, &object) {
                Ok(data) => Lookup::Found(VariableSource {
                    labels: labels(&object),
                    data,
                }),
                Err(why) => Lookup::Failed(why),
            },
            Lookup::Missing => Lookup::Missing,
            Lookup::Failed(why) => Lookup::Failed(why),
        });
    }
    read_ones
}

async fn identity_reads(
    objects: &dyn Objects,
    named: Option<&IdentityRef>,
    namespace: &str,
) -> (IdentityReads, BTreeMap<String, Secret<Vec<u8>>>) {
    let mut reads = IdentityReads::default();
    let Some(named) = named else {
        return (reads, BTreeMap::new());
    };
    if named.kind.as_deref() != Some(CLUSTER_IDENTITY) {
        let (secret, values) = credential(objects, namespace, &named.name).await;
        reads.secret = secret;
        return (reads, values);
    }
    let found = objects.glance(Kind::TerraformClusterIdentity, "", &named.name);
    reads.object = parsed_lookup(found.await);
    let asked = reads.object.found();
    if asked.is_some_and(|it| identity::asks_for_labels(it, namespace)) {
        reads.namespace_labels = match read(objects, Kind::Namespace, "", namespace).await {
            Lookup::Found(object) => Lookup::Found(labels(&object)),
            Lookup::Missing => Lookup::Missing,
            Lookup::Failed(why) => Lookup::Failed(why),
        };
    }
    let source = reads
        .object
        .found()
        .and_then(|identity| identity.spec.secret_ref.clone());
    let Some(source) = source else {
        return (reads, BTreeMap::new());
    };
    let (secret, values) = credential(objects, &source.namespace, &source.name).await;
    reads.secret = secret;
    (reads, values)
}

pub(super) async fn credential(
    objects: &dyn Objects,
    namespace: &str,
    name: &str,
) -> (Lookup<CredentialSecret>, BTreeMap<String, Secret<Vec<u8>>>) {
    let secret = match read(objects, Kind::Secret, namespace, name).await {
        Lookup::Found(secret) => secret,
        Lookup::Missing => return (Lookup::Missing, BTreeMap::new()),
        Lookup::Failed(why) => return (Lookup::Failed(why), BTreeMap::new()),
    };
    let values = match secret_data(&secret) {
        Ok(values) => values,
        Err(why) => return (Lookup::Failed(why), BTreeMap::new()),
    };
    let found = CredentialSecret {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        resource_version: version(&secret),
        keys: values.keys().cloned().collect::<BTreeSet<_>>(),
    };
    (Lookup::Found(found), values)
}

/// captf's Secrets of a deleted pool of this name. They matter only before this pool has a record.
async fn retained(
    objects: &dyn Objects,
    pool: &PoolObject,
    record: &RecordRead,
) -> Lookup<Vec<String>> {
    if !matches!(record, RecordRead::Missing) {
        return Lookup::Found(Vec::new());
    }
    let secrets = match objects
        .list(
            Kind::Secret,
            &pool.metadata.namespace,
            label::RETAINED_FROM_UID,
        )
        .await
    {
        Ok(secrets) => secrets,
        Err(error) => return Lookup::Failed(error.to_string()),
    };
    let mut names: Vec<String> = secrets
        .iter()
        .filter(|secret| is_captfs(secret, &pool.metadata.name))
        .filter_map(|secret| secret.pointer("/metadata/name").and_then(Value::as_str))
        .map(str::to_owned)
        .collect();
    names.sort_unstable();
    Lookup::Found(names)
}

fn is_captfs(secret: &Value, pool: &str) -> bool {
    let labels = labels(secret);
    let owned = labels.get(label::OWNER_NAME).map(String::as_str) == Some(pool)
        && labels.get(label::OWNER_KIND).map(String::as_str) == Some("TerraformMachinePool");
    let name = secret.pointer("/metadata/name").and_then(Value::as_str);
    labels.contains_key(label::RETAINED_FROM_UID)
        && (owned || name == Some(format!("captf-inputs-mp-{pool}").as_str()))
}

async fn lookup<T: DeserializeOwned>(
    objects: &dyn Objects,
    kind: Kind,
    namespace: &str,
    name: &str,
) -> Lookup<T> {
    parsed_lookup(objects.get(kind, namespace, name).await)
}

fn parsed_lookup<T: DeserializeOwned>(answer: Result<Option<Value>, ApiError>) -> Lookup<T> {
    match answer {
        Ok(Some(object)) => match parsed(object) {
            Ok(parsed) => Lookup::Found(parsed),
            Err(why) => Lookup::Failed(why),
        },
        Ok(None) => Lookup::Missing,
        Err(error) => Lookup::Failed(error.to_string()),
    }
}

async fn read(objects: &dyn Objects, kind: Kind, namespace: &str, name: &str) -> Lookup<Value> {
    match objects.get(kind, namespace, name).await {
        Ok(Some(object)) => Lookup::Found(object),
        Ok(None) => Lookup::Missing,
        Err(error) => Lookup::Failed(error.to_string()),
    }
}

/// An explicit `null` means the same as an absent field.
fn parsed<T: DeserializeOwned>(mut object: Value) -> Result<T, String> {
    drop_nulls(&mut object);
    serde_json::from_value(object).map_err(|error| format!("unexpected shape: {error}"))
}

/// Removes null fields of the envelope and the spec. Exports and variables keep theirs: there a
/// null is a value of its own.
pub(crate) fn drop_nulls(object: &mut Value) {
    const OPAQUE: [&str; 2] = ["exports", "variables"];
    let Value::Object(map) = object else { return };
    map.retain(|_, value| !value.is_null());
    for (key, value) in map.iter_mut() {
        if !OPAQUE.contains(&key.as_str()) {
            drop_nulls(value);
        }
    }
}

fn labels(object: &Value) -> BTreeMap<String, String> {
    let labels = object
        .pointer("/metadata/labels")
        .and_then(Value::as_object);
    labels
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect()
}

/// `data` of a Secret (and `stringData` of a manifest that no server has seen yet).
pub(crate) fn secret_data(secret: &Value) -> Result<BTreeMap<String, Secret<Vec<u8>>>, String> {
    let mut data = decoded(secret, "data")?;
    data.extend(plain(secret, "stringData"));
    Ok(data)
}

fn source_data(kind: Kind, object: &Value) -> Result<BTreeMap<String, Secret<Vec<u8>>>, String> {
    if kind == Kind::Secret {
        return secret_data(object);
    }
    let mut data = plain(object, "data");
    data.extend(decoded(object, "binaryData")?);
    Ok(data)
}

fn decoded(object: &Value, field: &str) -> Result<BTreeMap<String, Secret<Vec<u8>>>, String> {
    entries(object, field)
        .map(|(key, text)| {
            let bytes = STANDARD
                .decode(text)
                .map_err(|_| format!("the value of key {key:?} is not base64"))?;
            Ok((key.clone(), Secret::new(bytes)))
        })
        .collect()
}

fn plain(object: &Value, field: &str) -> BTreeMap<String, Secret<Vec<u8>>> {
    entries(object, field)
        .map(|(key, text)| (key.clone(), Secret::new(text.as_bytes().to_vec())))
        .collect()
}

fn entries<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = (&'a String, &'a str)> {
    object
        .get(field)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key, value.as_str()?)))
}
