//! Writes to the MachinePool itself: what core copies into its spec, and its status; nothing that
//! does not differ.

use serde_json::{Map, Value, json};

use super::{
    conditions::{ConditionType, Finding, Reason},
    facts::Bootstrap,
    gather::Gathered,
    status::Verdict,
};
use crate::{
    conditions::{Wanted, merged},
    context::{Context, FIELD_MANAGER},
    kinds::Kind,
    objects::{ApiError, Target},
    patch,
};

/// Writes `spec.providerIDList`, and the name of the bootstrap config's Secret.
pub(super) async fn spec(
    gathered: &Gathered,
    verdict: &Verdict,
    ctx: &Context,
) -> Result<(), ApiError> {
    let mut spec = Map::new();
    if let Some(ids) = &verdict.provider_ids {
        spec.insert("providerIDList".to_owned(), Value::from(ids.clone()));
    }
    let named = gathered
        .pool
        .spec
        .template
        .spec
        .bootstrap
        .data_secret_name
        .as_ref();
    if let Bootstrap::ConfigReady(name) = &gathered.facts.bootstrap
        && named != Some(name)
    {
        let bootstrap = json!({ "spec": { "bootstrap": { "dataSecretName": name } } });
        spec.insert("template".to_owned(), bootstrap);
    }
    if spec.is_empty() {
        return Ok(());
    }
    write(gathered, None, &json!({ "spec": spec }), ctx).await
}

/// Writes the status. Without `complete` the pass had an error and the observed generation stays.
pub(super) async fn status(
    gathered: &Gathered,
    verdict: &Verdict,
    complete: bool,
    ctx: &Context,
) -> Result<(), ApiError> {
    let live = gathered
        .live
        .get("status")
        .cloned()
        .unwrap_or_else(|| json!({}));
    let mut status = live.clone();
    let generation = gathered.pool.metadata.generation;
    if complete && let Some(generation) = generation.filter(|generation| *generation > 0) {
        status["observedGeneration"] = Value::from(generation);
    }
    status["initialization"] = json!({
        "infrastructureProvisioned": verdict.provisioned,
        "bootstrapDataSecretCreated": verdict.bootstrap_created,
    });
    status["phase"] = Value::from(verdict.phase);
    counters(&mut status, verdict);
    let mut findings = verdict.conditions.clone();
    findings.push(Finding::no(ConditionType::Paused, Reason::NotPaused, ""));
    status["conditions"] = conditions(&live, &findings, generation, ctx);
    write_status(gathered, &live, &status, ctx).await
}

/// Writes that the pool is paused, and nothing else.
pub(super) async fn paused(gathered: &Gathered, ctx: &Context) -> Result<(), ApiError> {
    let live = gathered
        .live
        .get("status")
        .cloned()
        .unwrap_or_else(|| json!({}));
    let mut status = live.clone();
    let because = "the Cluster or the MachinePool is paused";
    let findings = [Finding::yes(ConditionType::Paused, Reason::Paused, because)];
    status["conditions"] = conditions(&live, &findings, gathered.pool.metadata.generation, ctx);
    write_status(gathered, &live, &status, ctx).await
}

fn counters(status: &mut Value, verdict: &Verdict) {
    let counters = &verdict.counters;
    for (field, value) in [
        ("replicas", counters.replicas),
        ("readyReplicas", counters.ready),
        ("availableReplicas", counters.available),
        ("upToDateReplicas", counters.up_to_date),
    ] {
        if let Some(value) = value {
            status[field] = Value::from(value);
        }
    }
    let references: Vec<Value> = counters
        .node_refs
        .iter()
        .map(|node| {
            json!({ "apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid })
        })
        .collect();
    set_list(status, "nodeRefs", references);
    let versions = counters
        .versions
        .iter()
        .map(|(version, replicas)| json!({ "version": version, "replicas": replicas }))
        .collect();
    set_list(status, "versions", versions);
}

/// An empty list is absent.
fn set_list(status: &mut Value, field: &str, list: Vec<Value>) {
    if !list.is_empty() {
        status[field] = Value::Array(list);
    } else if let Some(status) = status.as_object_mut() {
        status.remove(field);
    }
}

fn conditions(live: &Value, findings: &[Finding], generation: Option<i64>, ctx: &Context) -> Value {
    let wanted: Vec<Wanted> = findings
        .iter()
        .map(|finding| Wanted {
            kind: finding.kind.as_str(),
            status: finding.status,
            reason: finding.reason.clone(),
            message: finding.message.clone(),
        })
        .collect();
    merged(live.get("conditions"), &wanted, generation, ctx.now())
}

async fn write_status(
    gathered: &Gathered,
    live: &Value,
    wanted: &Value,
    ctx: &Context,
) -> Result<(), ApiError> {
    match patch::between(live, wanted) {
        Some(change) => write(gathered, Some("status"), &json!({ "status": change }), ctx).await,
        None => Ok(()),
    }
}

async fn write(
    gathered: &Gathered,
    subresource: Option<&'static str>,
    patch: &Value,
    ctx: &Context,
) -> Result<(), ApiError> {
    let metadata = &gathered.pool.metadata;
    let resource = Kind::MachinePool.resource();
    let target = Target {
        resource: &resource,
        namespace: Some(&metadata.namespace),
        name: &metadata.name,
        subresource,
    };
    ctx.objects
        .merge_patch(&target, patch, FIELD_MANAGER)
        .await?;
    Ok(())
}
