//! The record Secret `remuda-pool-<pool>`: read with its resourceVersion, written with it as a
//! precondition. Whoever finds the Secret changed by someone else starts over.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use remuda_api::keys::label;
use remuda_plan::pool::{
    objects::Metadata,
    record::{Record, secret_name},
    world::RecordRead,
};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::{
    context::FIELD_MANAGER,
    kinds::Kind,
    objects::{ApiError, LiveObjects, Objects, Target},
};

/// Key of the record in its Secret.
const RECORD_KEY: &str = "record";

/// Reads the record of a pool, and the resourceVersion of its Secret.
pub(crate) async fn read(objects: &dyn Objects, pool: &Metadata) -> (RecordRead, Option<String>) {
    let name = secret_name(&pool.name);
    let secret = match objects.get(Kind::Secret, &pool.namespace, &name).await {
        Ok(Some(secret)) => secret,
        Ok(None) => return (RecordRead::Missing, None),
        Err(error) => return (RecordRead::Failed(error.to_string()), None),
    };
    let version = secret
        .pointer("/metadata/resourceVersion")
        .and_then(Value::as_str)
        .map(str::to_owned);
    (parse(&secret, pool), version)
}

fn parse(secret: &Value, pool: &Metadata) -> RecordRead {
    let Some(text) = secret.pointer("/data/record").and_then(Value::as_str) else {
        return RecordRead::Corrupt(format!("the key {RECORD_KEY:?} is missing"));
    };
    let Ok(bytes) = STANDARD.decode(text) else {
        return RecordRead::Corrupt(format!("the key {RECORD_KEY:?} is not base64"));
    };
    let record: Record = match serde_json::from_slice(&bytes) {
        Ok(record) => record,
        // Line and column only: the record may hold variable values.
        Err(error) => {
            return RecordRead::Corrupt(format!(
                "the record does not parse at line {} column {}",
                error.line(),
                error.column()
            ));
        }
    };
    let metadata: Metadata = secret
        .get("metadata")
        .and_then(|metadata| serde::Deserialize::deserialize(metadata).ok())
        .unwrap_or_default();
    RecordRead::Found {
        record: Box::new(record),
        retained_from: metadata.labels.get(label::RETAINED_FROM_UID).cloned(),
        owned: metadata
            .owner_references
            .iter()
            .any(|owner| owner.uid == pool.uid),
    }
}

/// Writes the record of one pool during one pass.
pub(crate) struct RecordStore<'a> {
    objects: &'a LiveObjects,
    pool: &'a Metadata,
    version: Mutex<Option<String>>,
}

impl<'a> RecordStore<'a> {
    /// A store whose Secret was last seen at `version`; `None`: it does not exist.
    pub(crate) fn new(
        objects: &'a LiveObjects,
        pool: &'a Metadata,
        version: Option<String>,
    ) -> Self {
        Self {
            objects,
            pool,
            version: Mutex::new(version),
        }
    }

    /// Stores the record, owned by the pool and without the retained label.
    ///
    /// # Errors
    /// `Conflict` when the Secret changed since it was read; nothing is overwritten.
    ///
    /// # Cancellation
    /// A write that is cancelled may have happened: the next pass reads the Secret again.
    pub(crate) async fn save(&self, record: &Record) -> Result<(), ApiError> {
        let mut version = self.version.lock().await;
        let body = self.secret(record, version.as_deref())?;
        let (kind, namespace) = (Kind::Secret.resource(), Some(self.pool.namespace.as_str()));
        let written = if version.is_some() {
            self.objects
                .replace(&kind, namespace, &body, FIELD_MANAGER)
                .await?
        } else {
            self.objects
                .create(&kind, namespace, &body, FIELD_MANAGER)
                .await?
        };
        *version = written.metadata()?.resource_version;
        Ok(())
    }

    /// Leaves the record behind: no owner, labeled with the pool's UID.
    ///
    /// # Errors
    /// The write failed. A record that does not exist is success.
    pub(crate) async fn retain(&self) -> Result<(), ApiError> {
        let mut version = self.version.lock().await;
        if version.is_none() {
            return Ok(());
        }
        let patch = json!({
            "metadata": {
                "resourceVersion": *version,
                "ownerReferences": null,
                "labels": { label::RETAINED_FROM_UID: self.pool.uid },
            },
        });
        let (kind, name) = (Kind::Secret.resource(), secret_name(&self.pool.name));
        let target = Target {
            resource: &kind,
            namespace: Some(&self.pool.namespace),
            name: &name,
            subresource: None,
        };
        let written = self
            .objects
            .merge_patch(&target, &patch, FIELD_MANAGER)
            .await?;
        *version = written.metadata()?.resource_version;
        Ok(())
    }

    /// Deletes the record, if it is still the one that was read: a new pool of this name may have
    /// made its own.
    ///
    /// # Errors
    /// The write failed. A record that does not exist is success.
    pub(crate) async fn delete(&self) -> Result<(), ApiError> {
        let mut version = self.version.lock().await;
        let Some(version) = version.take() else {
            return Ok(());
        };
        let (kind, name) = (Kind::Secret.resource(), secret_name(&self.pool.name));
        let namespace = Some(self.pool.namespace.as_str());
        let deleted = self
            .objects
            .delete_version(&kind, namespace, &name, &version)
            .await;
        match deleted {
            Err(ApiError::Conflict(_)) => Ok(()),
            other => other,
        }
    }

    fn secret(&self, record: &Record, version: Option<&str>) -> Result<Value, ApiError> {
        let name = secret_name(&self.pool.name);
        let text = serde_json::to_vec(record).map_err(|error| ApiError::Failed {
            what: format!("write Secret {}/{name}", self.pool.namespace),
            why: error.to_string(),
        })?;
        let owner = Kind::TerraformMachinePool.resource();
        let labels = BTreeMap::from([(label::MANAGED, "true"), (label::MOVE, "")]);
        let mut metadata = json!({
            "name": name,
            "namespace": self.pool.namespace,
            "labels": labels,
            "ownerReferences": [{
                "apiVersion": owner.api_version,
                "kind": owner.kind,
                "name": self.pool.name,
                "uid": self.pool.uid,
                "controller": true,
                "blockOwnerDeletion": true,
            }],
        });
        if let Some(version) = version {
            metadata["resourceVersion"] = Value::from(version);
        }
        Ok(json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata,
            "type": "Opaque",
            "data": { RECORD_KEY: STANDARD.encode(text) },
        }))
    }
}
