//! A scale set and how it is written.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Instance, Model};
use crate::{
    azure::{
        protocol::id,
        state::{Name, Subscription, Thing, events::SetRef},
    },
    clock::iso,
};

/// State of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Provisioning {
    /// Being made.
    Creating,
    /// Being changed.
    Updating,
    /// Being deleted.
    Deleting,
    /// As it should be.
    Succeeded,
    /// The last operation failed.
    Failed,
}

impl Provisioning {
    /// ARM's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Creating => "Creating",
            Self::Updating => "Updating",
            Self::Deleting => "Deleting",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
        }
    }
}

/// A scale set.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ScaleSet {
    /// As it was given.
    pub(crate) name: Name,
    /// The group's name, as it was given.
    pub(crate) group: Name,
    pub(crate) at: SetRef,
    pub(crate) serial: u64,
    /// The resource as people wrote it, without capacity and secrets.
    pub(crate) document: Value,
    pub(crate) capacity: u32,
    pub(crate) unique_id: String,
    pub(crate) created: Timestamp,
    pub(crate) etag: u64,
    pub(crate) provisioning: Provisioning,
    /// Operations under way, oldest first.
    pub(crate) operations: Vec<Name>,
    /// Versions of the model that instances have, and the latest.
    pub(crate) models: BTreeMap<u64, Model>,
    pub(crate) instances: BTreeMap<u32, Instance>,
    pub(crate) next_instance: u32,
    /// Counts the changes of what its guests are told.
    pub(crate) incarnation: u64,
    /// Average CPU of an instance since a moment, oldest first; nothing when it cannot be read.
    pub(crate) cpu: Vec<(Timestamp, f64)>,
    /// Instances that were given a CPU of their own.
    pub(crate) cpu_of: BTreeMap<u32, f64>,
}

impl ScaleSet {
    /// Version of the latest model.
    pub(crate) fn latest(&self) -> u64 {
        self.models.keys().next_back().copied().unwrap_or(0)
    }

    /// The model new instances are made of.
    pub(crate) fn model(&self) -> &Model {
        self.models
            .values()
            .next_back()
            .expect("a scale set has a model")
    }

    /// The model an instance was made of.
    pub(crate) fn model_of(&self, instance: &Instance) -> &Model {
        self.models
            .get(&instance.model)
            .unwrap_or_else(|| self.model())
    }

    /// Makes `model` the latest.
    pub(crate) fn put_model(&mut self, model: Model) {
        let version = self.latest() + 1;
        self.models.insert(version, model);
        self.drop_unused_models();
    }

    /// Forgets models that no instance has any longer.
    pub(crate) fn drop_unused_models(&mut self) {
        let latest = self.latest();
        let used: std::collections::BTreeSet<u64> =
            self.instances.values().map(|i| i.model).collect();
        self.models
            .retain(|version, _| *version == latest || used.contains(version));
    }

    pub(crate) fn location(&self) -> &str {
        self.document["location"].as_str().unwrap_or_default()
    }

    /// Its zones; none for a regional set.
    pub(crate) fn zones(&self) -> Vec<Name> {
        texts(&self.document["zones"])
    }

    pub(crate) fn id(&self, subscription: &str) -> String {
        id::resource(subscription, &self.group, id::SCALE_SETS, &self.name)
    }

    /// Instances that are not being deleted.
    pub(crate) fn live(&self) -> impl Iterator<Item = &Instance> {
        self.instances
            .values()
            .filter(|instance| instance.provisioning != Provisioning::Deleting)
    }

    /// The resource as ARM shows it.
    pub(crate) fn render(&self, subscription: &Subscription) -> Value {
        let mut shown = self.document.clone();
        shown["name"] = (*self.name).into();
        shown["id"] = self.id(&subscription.id).into();
        shown["type"] = id::SCALE_SETS.into();
        shown["etag"] = format!("\"{}\"", self.etag).into();
        shown["sku"]["capacity"] = self.capacity.into();
        shown["properties"]["provisioningState"] = self.provisioning.name().into();
        shown["properties"]["uniqueId"] = self.unique_id.as_str().into();
        shown["properties"]["timeCreated"] = iso(self.created).into();
        shown["properties"]["virtualMachineProfile"]["timeCreated"] = iso(self.created).into();
        render_identities(&mut shown, subscription);
        shown
    }
}

/// Fills in what ARM knows of the identities a set names.
fn render_identities(shown: &mut Value, subscription: &Subscription) {
    let named = shown
        .pointer_mut("/identity/userAssignedIdentities")
        .and_then(Value::as_object_mut);
    for (identity, known) in named.into_iter().flatten() {
        if let Some(Thing::Identity {
            client_id,
            principal_id,
        }) = subscription.things.get(&id::key(identity))
        {
            *known = json!({ "clientId": client_id, "principalId": principal_id });
        }
    }
}

/// The texts in a list.
pub(crate) fn texts(list: &Value) -> Vec<Name> {
    let texts = list.as_array().into_iter().flatten();
    texts.filter_map(Value::as_str).map(Into::into).collect()
}
