//! Writes what a pass decided to Kubernetes, in the publication's order, and only what differs.
//!
//! Order: record, metadata that an operation needs, owner, spec, status, events, metadata that
//! goes and with it the finalizer. A failed write ends the publication; the next pass computes it
//! again. Only a record that is no longer needed goes after the finalizer: a deleting pool without
//! its record could not tell that its destroy is done. What a crash leaves there, garbage
//! collection takes, since the pool owns it.

use remuda_api::keys::finalizer;
use remuda_plan::{
    pool::{gate::owner_reference, objects::Metadata},
    status::{
        event::{Event, Severity},
        publication::{FinalizerChange, MetadataWrite, Publication, RecordWrite},
    },
};
use serde_json::{Map, Value, json};

use crate::{
    context::{Context, FIELD_MANAGER},
    events::{Note, Regarding},
    kinds::Kind,
    objects::{ApiError, Target},
    patch,
    record::RecordStore,
    terraform_machine_pool::Gathered,
};

/// Field manager of `MachinePool.spec.replicas` and of the claim on it.
const REPLICAS_MANAGER: &str = "remuda-replicas";

/// Writes a publication.
///
/// # Errors
/// The first write that failed; a pool that is gone meanwhile is success.
///
/// # Cancellation
/// Dropping it between two writes is what a crash would leave; the next pass goes on from there.
pub(crate) async fn publish(
    gathered: &Gathered,
    records: &RecordStore<'_>,
    publication: &Publication,
    ctx: &Context,
) -> Result<(), ApiError> {
    let mut pool = Pool::new(&gathered.world.pool.metadata, ctx);
    let record = publication.record.as_ref();
    if let Some(RecordWrite::Save(record)) = record {
        records.save(record).await?;
    }
    if let Some(patch) = pool.added(&publication.metadata) {
        pool.write(None, &patch).await?;
    }
    if let Some(owner) = &publication.owner {
        write_owner(gathered, &owner.body, ctx).await?;
    }
    if let Some(spec) = publication.spec.merge_patch() {
        pool.write(None, &spec).await?;
    }
    if let Some(status) = &publication.status {
        let wanted = serde_json::to_value(status).unwrap_or(Value::Null);
        if let Some(change) = patch::between(&gathered.live_status, &wanted) {
            pool.write(Some("status"), &json!({ "status": change }))
                .await?;
        }
    }
    write_events(pool.metadata, &publication.events, ctx).await;
    if record == Some(&RecordWrite::Retain) {
        records.retain().await?;
    }
    if let Some(patch) = pool.removed(&publication.metadata) {
        pool.write(None, &patch).await?;
    }
    if record == Some(&RecordWrite::Delete) {
        records.delete().await?;
    }
    Ok(())
}

/// The pool while a publication is written.
struct Pool<'a> {
    metadata: &'a Metadata,
    ctx: &'a Context,
    /// As the newest answer shows them: the list can only be replaced as a whole, and somebody
    /// else's finalizer must not get lost.
    finalizers: Vec<String>,
    resource_version: Option<String>,
}

impl<'a> Pool<'a> {
    fn new(metadata: &'a Metadata, ctx: &'a Context) -> Self {
        Self {
            metadata,
            ctx,
            finalizers: metadata.finalizers.clone(),
            resource_version: metadata.resource_version.clone(),
        }
    }

    /// Metadata that must be stored before an operation: the finalizer, annotations that are set.
    fn added(&self, wanted: &MetadataWrite) -> Option<Value> {
        let set: Map<String, Value> = wanted
            .annotations
            .iter()
            .filter_map(|(key, value)| Some((key.clone(), Value::from(value.clone()?))))
            .collect();
        let finalizers = (wanted.finalizer == Some(FinalizerChange::Add)).then(|| {
            let mut all = self.finalizers.clone();
            all.push(finalizer::TERRAFORM_MACHINE_POOL.to_owned());
            all
        });
        self.metadata_patch(set, finalizers)
    }

    /// Metadata that goes when everything else is written.
    fn removed(&self, wanted: &MetadataWrite) -> Option<Value> {
        let unset: Map<String, Value> = wanted
            .annotations
            .iter()
            .filter(|(_, value)| value.is_none())
            .map(|(key, _)| (key.clone(), Value::Null))
            .collect();
        let finalizers = (wanted.finalizer == Some(FinalizerChange::Remove)).then(|| {
            let others = self
                .finalizers
                .iter()
                .filter(|name| *name != finalizer::TERRAFORM_MACHINE_POOL);
            others.cloned().collect()
        });
        self.metadata_patch(unset, finalizers)
    }

    fn metadata_patch(
        &self,
        annotations: Map<String, Value>,
        finalizers: Option<Vec<String>>,
    ) -> Option<Value> {
        if annotations.is_empty() && finalizers.is_none() {
            return None;
        }
        let mut metadata = Map::new();
        if !annotations.is_empty() {
            metadata.insert("annotations".to_owned(), Value::Object(annotations));
        }
        if let Some(finalizers) = finalizers {
            metadata.insert("finalizers".to_owned(), Value::from(finalizers));
            metadata.insert(
                "resourceVersion".to_owned(),
                Value::from(self.resource_version.clone()),
            );
        }
        Some(json!({ "metadata": metadata }))
    }

    /// Patches the pool. One that is gone needs nothing any more.
    async fn write(
        &mut self,
        subresource: Option<&'static str>,
        patch: &Value,
    ) -> Result<(), ApiError> {
        let resource = Kind::TerraformMachinePool.resource();
        let target = Target {
            resource: &resource,
            namespace: Some(&self.metadata.namespace),
            name: &self.metadata.name,
            subresource,
        };
        match self
            .ctx
            .objects
            .merge_patch(&target, patch, FIELD_MANAGER)
            .await
        {
            Ok(written) => {
                self.saw(written.metadata()?);
                Ok(())
            }
            Err(ApiError::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn saw(&mut self, written: Metadata) {
        self.finalizers = written.finalizers;
        self.resource_version = written.resource_version;
    }
}

/// Patches the owning MachinePool; the body carries its resourceVersion.
async fn write_owner(gathered: &Gathered, body: &Value, ctx: &Context) -> Result<(), ApiError> {
    let pool = &gathered.world.pool;
    let Some(owner) = owner_reference(pool) else {
        return Ok(());
    };
    let resource = Kind::MachinePool.resource();
    let target = Target {
        resource: &resource,
        namespace: Some(&pool.metadata.namespace),
        name: &owner.name,
        subresource: None,
    };
    ctx.objects
        .merge_patch(&target, body, REPLICAS_MANAGER)
        .await?;
    Ok(())
}

async fn write_events(pool: &Metadata, events: &[Event], ctx: &Context) {
    let regarding = Regarding {
        kind: Kind::TerraformMachinePool,
        namespace: &pool.namespace,
        name: &pool.name,
        uid: &pool.uid,
    };
    for event in events {
        let reason = event.reason.to_string();
        let note = Note {
            severity: match event.severity {
                Severity::Normal => "Normal",
                Severity::Warning => "Warning",
            },
            reason: &reason,
            note: &event.note,
        };
        ctx.events.write(regarding, note).await;
    }
}
