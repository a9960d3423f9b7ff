//! What a pass reads of a pool's Machines: one for each infrastructure machine that its provider
//! shows (cluster-api document, section 4.3). Where the watches show them, and nothing is to be taken
//! away, it only glances.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, PoisonError},
};

use kube::core::{ApiResource, GroupVersionKind};
use remuda_api::keys::label;
use remuda_plan::{
    machines::{names::label_value, pool_machine::InfraMachine, view::MachineView},
    pool::objects::Metadata,
};
use serde_json::Value;

use super::{
    machines::{Surface, digest},
    objects::MachinePool,
};
use crate::{
    adopt::Referenced,
    contract,
    kinds::Kind,
    objects::{ApiError, LiveObjects, Objects},
    pool_members::SeenMachine,
    watching::ObjectKey,
};

/// What was read of a pool with Machines.
pub(super) struct Read {
    /// The provider's objects, one a member.
    pub infra: Vec<InfraMachine>,
    /// Their resource.
    pub resource: ApiResource,
    /// Machines by name: the pool's, and those that have a name of ours.
    pub machines: BTreeMap<String, Stored>,
    /// They are as their watch showed them.
    pub glanced: bool,
}

/// A Machine as stored.
pub(super) struct Stored {
    /// The whole object; `None` where the watch told enough.
    pub raw: Option<Value>,
    /// What is looked at.
    pub seen: SeenMachine,
}

/// Digests of a Machine as it is and as it should be.
pub(super) type Prints = (u64, u64);

/// What was found to be applied already: for each Machine of a pool a digest of what it was and one
/// of what was wanted. As long as both are the same nobody has to look at who manages which field.
#[derive(Default)]
pub(crate) struct Applied(Mutex<HashMap<ObjectKey, HashMap<String, Prints>>>);

impl Applied {
    pub(super) fn of(&self, pool: &Metadata) -> HashMap<String, Prints> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&key(pool)).cloned().unwrap_or_default()
    }

    pub(super) fn set(&self, pool: &Metadata, applied: HashMap<String, Prints>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(key(pool), applied);
    }

    /// A Machine was applied; `answer` is what came of it, with its managers.
    pub(super) fn note(&self, pool: &Metadata, wanted: &Value, answer: &Value) {
        let Some(seen) = SeenMachine::of(answer) else {
            return;
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let applied = all.entry(key(pool)).or_default();
        applied.insert(seen.view.metadata.name, (seen.applied, digest(wanted)));
    }

    /// The pool is gone.
    pub(super) fn forget(&self, pool: &Metadata) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&key(pool));
    }
}

fn key(pool: &Metadata) -> ObjectKey {
    ObjectKey::new(pool.namespace.clone(), pool.name.clone())
}

impl Read {
    /// Provider IDs of the members that have an object.
    pub(super) fn provider_ids(&self) -> impl Iterator<Item = &String> {
        let infra = self.infra.iter();
        infra.filter_map(|infra| infra.spec.provider_id.as_ref())
    }
}

/// Reads the infrastructure machines and Machines of a pool; `None`: its provider publishes no kind
/// of them.
///
/// # Errors
/// A read failed: nothing is known.
pub(super) async fn read(
    objects: &LiveObjects,
    pool: &MachinePool,
    infra: Option<&Referenced>,
    may_glance: bool,
) -> Result<Option<Read>, ApiError> {
    let Some((infra, kind)) = infra.and_then(|infra| Some((infra, kind(infra)?))) else {
        return Ok(None);
    };
    let namespace = &pool.metadata.namespace;
    // The kind lives where its pool's does (cluster-api document 2.4).
    let of = &infra.resource;
    let resource = ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk(&of.group, &of.version, kind),
        &contract::plural(kind),
    );
    if may_glance && resource == Kind::TerraformMachinePoolMachine.resource() {
        let cluster = &pool.spec.cluster_name;
        let label = label_value(&pool.metadata.name);
        if let Some(seen) = objects.glance_at_pool(namespace, cluster, &label) {
            let read = Read {
                infra: seen.infra.iter().map(Into::into).collect(),
                resource,
                machines: seen.machines.into_iter().map(Stored::seen).collect(),
                glanced: true,
            };
            return read.with_absent(objects, namespace).await.map(Some);
        }
    }
    let selector = selector(pool);
    let list = objects
        .list_of(&resource, Some(namespace), &selector)
        .await?;
    let infra: Vec<InfraMachine> = list
        .into_iter()
        .map(serde_json::from_value)
        .collect::<Result<_, _>>()
        .map_err(|error| ApiError::Failed {
            what: format!("read the {kind} objects of {}", pool.metadata.name),
            why: format!("unexpected shape: {error}"),
        })?;
    let read = Read {
        infra,
        resource,
        machines: list_machines(objects, pool).await?,
        glanced: false,
    };
    read.with_absent(objects, namespace).await.map(Some)
}

impl Read {
    /// Looks for Machines that were not found by their labels: these may have been taken off, or the
    /// name may be somebody else's.
    async fn with_absent(
        mut self,
        objects: &LiveObjects,
        namespace: &str,
    ) -> Result<Self, ApiError> {
        for name in self.infra.iter().map(|infra| &infra.metadata.name) {
            if self.machines.contains_key(name) {
                continue;
            }
            if let Some(raw) = machine(objects, namespace, name).await? {
                self.machines.insert(name.clone(), Stored::of(raw));
            }
        }
        Ok(self)
    }

    /// Reads Machines that were only glanced at where that does not tell whether they are as they
    /// should be.
    pub(super) async fn completed(
        mut self,
        surfacing: &Surface<'_>,
        objects: &LiveObjects,
    ) -> Result<Self, ApiError> {
        let known = surfacing.applied.of(&surfacing.pool.metadata);
        let template = surfacing.template(&self);
        let mut unsure = Vec::new();
        for (infra, stored) in self.members() {
            let prints = || surfacing.prints(&template, infra, stored);
            if stored.raw.is_none() && known.get(&infra.metadata.name) != Some(&prints()) {
                unsure.push(infra.metadata.name.clone());
            }
        }
        for name in unsure {
            match machine(objects, &surfacing.pool.metadata.namespace, &name).await? {
                Some(raw) => self.machines.insert(name, Stored::of(raw)),
                None => self.machines.remove(&name),
            };
        }
        Ok(self)
    }

    /// Infrastructure machines that have a Machine, with it.
    fn members(&self) -> impl Iterator<Item = (&InfraMachine, &Stored)> {
        let infra = self.infra.iter();
        infra.filter_map(|infra| Some((infra, self.machines.get(&infra.metadata.name)?)))
    }
}

/// A Machine with its managers: whether a field has to be applied again depends on who manages it.
async fn machine(
    objects: &LiveObjects,
    namespace: &str,
    name: &str,
) -> Result<Option<Value>, ApiError> {
    let objects = objects.keeping_managers();
    objects.get(Kind::Machine, namespace, name).await
}

/// The Machines with the pool's labels, by name.
pub(super) async fn list_machines(
    objects: &LiveObjects,
    pool: &MachinePool,
) -> Result<BTreeMap<String, Stored>, ApiError> {
    let list = objects
        .keeping_managers()
        .list(Kind::Machine, &pool.metadata.namespace, &selector(pool))
        .await?;
    let stored = list.into_iter().map(Stored::of);
    Ok(stored
        .map(|stored| (stored.view().metadata.name.clone(), stored))
        .collect())
}

impl Stored {
    fn of(raw: Value) -> Self {
        Self {
            seen: SeenMachine::of(&raw).unwrap_or_default(),
            raw: Some(raw),
        }
    }

    fn seen(seen: SeenMachine) -> (String, Self) {
        let name = seen.view.metadata.name.clone();
        (name, Self { raw: None, seen })
    }

    /// What is decided on.
    pub(super) fn view(&self) -> &MachineView {
        &self.seen.view
    }
}

fn kind(infra: &Referenced) -> Option<&str> {
    infra
        .object
        .pointer("/status/infrastructureMachineKind")
        .and_then(Value::as_str)
        .filter(|kind| !kind.is_empty())
}

fn selector(pool: &MachinePool) -> String {
    format!(
        "{}={},{}={}",
        label::CLUSTER_NAME,
        pool.spec.cluster_name,
        label::POOL_NAME,
        label_value(&pool.metadata.name)
    )
}
