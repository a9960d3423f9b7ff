//! Writes to the Machine itself: its provider ID and its status; nothing that does not differ.

use jiff::Timestamp;
use remuda_api::keys::label;
use remuda_plan::machines::{
    condition::{Finding, MachineCondition, MachineReason},
    conditions::{
        ConditionFacts, Conditions, NodeState, Referenced, UpToDate, conditions as decide,
    },
    deletion::Starts,
    phase::{PhaseFacts, phase},
};
use serde_json::{Map, Value, json};

use super::{
    delete::Outcome,
    gather::{CREATED, Gathered, Look, PROVISIONED},
};
use crate::{
    conditions::{Wanted, merged},
    context::{Context, FIELD_MANAGER},
    events::{Note, Regarding},
    kinds::Kind,
    objects::{ApiError, Target},
    patch,
};

/// Strings that Kubernetes requires of `nodeInfo`; a Node may leave them out.
const NODE_INFO: [&str; 10] = [
    "architecture",
    "bootID",
    "containerRuntimeVersion",
    "kernelVersion",
    "kubeProxyVersion",
    "kubeletVersion",
    "machineID",
    "operatingSystem",
    "osImage",
    "systemUUID",
];

/// What the Machine's spec lacks: the provider ID of a provisioned instance, and the name of the
/// bootstrap Secret.
///
/// # Errors
/// A bootstrap config is done and names no Secret.
pub(super) fn spec(gathered: &Gathered) -> Result<Map<String, Value>, ApiError> {
    let mut spec = Map::new();
    let machine = &gathered.machine;
    if let Some(infra) = gathered.infra.there()
        && (infra.flag(&PROVISIONED) || gathered.was_provisioned())
        && let Some(id) = infra.text("/spec/providerID")
        && machine.spec.provider_id.as_deref() != Some(id)
    {
        spec.insert("providerID".to_owned(), Value::from(id));
    }
    if machine.spec.bootstrap.data_secret_name.is_none()
        && let Some(config) = gathered.config.as_ref().and_then(Look::there)
        && config.flag(&CREATED)
    {
        let Some(name) = config.text("/status/dataSecretName") else {
            return Err(ApiError::Refused {
                what: format!("{} {}", config.resource.kind, config.metadata.name),
                why: "it is done but names no Secret in status.dataSecretName".to_owned(),
            });
        };
        let name = json!({ "dataSecretName": name });
        spec.insert("bootstrap".to_owned(), name);
    }
    Ok(spec)
}

impl Gathered {
    fn was_provisioned(&self) -> bool {
        let initialization = self.machine.status.initialization;
        initialization.infrastructure_provisioned
    }
}

/// Deletes a pool Machine whose instance is going or gone, and says why.
///
/// # Errors
/// The delete failed.
pub(super) async fn lost(gathered: &Gathered, ctx: &Context) -> Result<(), ApiError> {
    let reference = &gathered.machine.spec.infrastructure_ref;
    let note = format!(
        "{} {} is being deleted or gone: the Machine follows it",
        reference.kind, reference.name
    );
    goes(gathered, "InfrastructureDeleted", &note, ctx).await
}

/// Deletes the Machine whose instance the cloud is about to end, so that the drain uses the time
/// that is left.
///
/// # Errors
/// The delete failed.
pub(super) async fn held(
    gathered: &Gathered,
    because: &str,
    until: Option<Timestamp>,
    ctx: &Context,
) -> Result<(), ApiError> {
    let until = until.map_or_else(String::new, |until| format!(", not before {until}"));
    let note = format!("the cloud ends the instance ({because}{until}): the Machine is drained");
    goes(gathered, "InstanceTerminating", &note, ctx).await
}

async fn goes(
    gathered: &Gathered,
    reason: &'static str,
    note: &str,
    ctx: &Context,
) -> Result<(), ApiError> {
    let metadata = &gathered.machine.metadata;
    let regarding = Regarding {
        kind: Kind::Machine,
        namespace: &metadata.namespace,
        name: &metadata.name,
        uid: &metadata.uid,
    };
    let kind = Kind::Machine.resource();
    let (namespace, uid) = (
        Some(metadata.namespace.as_str()),
        Some(metadata.uid.as_str()),
    );
    ctx.objects
        .delete(&kind, namespace, &metadata.name, uid)
        .await?;
    let note = Note {
        severity: "Warning",
        reason,
        note,
    };
    ctx.events.write(regarding, note).await;
    Ok(())
}

/// All conditions of the Machine.
pub(super) fn conditions(
    gathered: &Gathered,
    node: &NodeState,
    outcome: Option<&Outcome>,
    problem: Option<&ApiError>,
) -> Conditions {
    let machine = &gathered.machine;
    let was_there = gathered.was_provisioned() || machine.metadata.deletion_timestamp.is_some();
    let pooled = machine.metadata.labels.contains_key(label::POOL_NAME);
    let infra = gathered.infra.there();
    let at = |pointer: &str| infra.and_then(|infra| infra.object.pointer(pointer));
    let said = at("/status/upToDate").and_then(Value::as_bool);
    // A provider that shows no revision of its instances says nothing against them.
    let silent = infra.is_some() && at("/status/revision").is_none();
    let said = said.or(silent.then_some(true));
    decide(&ConditionFacts {
        deleting: outcome.map(|outcome| outcome.standing.condition.clone()),
        deleted_at: machine.metadata.deletion_timestamp,
        drain_since: outcome.and_then(|outcome| outcome.starts.drain),
        bootstrap: gathered
            .config
            .as_ref()
            .map_or(Referenced::NotNamed, |config| {
                config.referenced(&CREATED, was_there)
            }),
        infrastructure: match problem {
            // Somebody else's object: nothing it says is the Machine's.
            Some(error @ ApiError::Refused { .. }) => Referenced::Unknown(error.to_string()),
            _ => gathered.infra.referenced(&PROVISIONED, was_there),
        },
        node: node.clone(),
        node_name: machine
            .status
            .node_ref
            .as_ref()
            .map(|node| node.name.as_str()),
        provider_id: machine.spec.provider_id.as_deref(),
        up_to_date: if pooled {
            UpToDate::Pool(said)
        } else {
            UpToDate::NotOurs
        },
        live: &machine.status.conditions,
        gates: &machine.spec.readiness_gates,
        min_ready_seconds: machine.spec.min_ready_seconds.unwrap_or(0),
        now: gathered.now,
    })
}

/// Writes the status. Without `complete` the pass had an error and the observed generation stays.
///
/// # Errors
/// The write failed, or somebody else wrote in between: conditions have several writers.
pub(super) async fn status(
    gathered: &Gathered,
    node: &NodeState,
    outcome: Option<&Outcome>,
    conditions: &Conditions,
    complete: bool,
    ctx: &Context,
) -> Result<(), ApiError> {
    let live = gathered.live.get("status").cloned();
    let live = live.unwrap_or_else(|| json!({}));
    let mut status = live.clone();
    let generation = gathered.machine.metadata.generation;
    if complete && let Some(generation) = generation.filter(|generation| *generation > 0) {
        status["observedGeneration"] = Value::from(generation);
    }
    infrastructure(gathered, &mut status);
    if let NodeState::Seen(node) = node {
        status["nodeRef"] = json!({ "name": node.name });
        if let Some(info) = &node.info {
            status["nodeInfo"] = complete_info(info);
        }
    }
    if let Some(outcome) = outcome {
        starts(&mut status, &outcome.starts);
    }
    let facts = phase_facts(gathered, &status);
    let phase = phase(facts);
    if gathered.machine.status.phase.as_deref() != Some(phase) {
        status["phase"] = Value::from(phase);
        status["lastUpdated"] = Value::from(in_seconds(ctx.now()));
    }
    status["conditions"] = list(&live, &conditions.findings, generation, ctx);
    write(gathered, &live, &status, ctx).await
}

/// Writes that the Machine is paused, and nothing else.
///
/// # Errors
/// The write failed.
pub(super) async fn paused(gathered: &Gathered, ctx: &Context) -> Result<(), ApiError> {
    let live = gathered.live.get("status").cloned();
    let live = live.unwrap_or_else(|| json!({}));
    let mut status = live.clone();
    let because = "the Cluster or the Machine is paused";
    let finding = Finding::yes(MachineCondition::Paused, MachineReason::Paused, because);
    let generation = gathered.machine.metadata.generation;
    status["conditions"] = list(&live, &[finding], generation, ctx);
    write(gathered, &live, &status, ctx).await
}

/// What is copied from the infrastructure object. What was there once stays when it is gone.
fn infrastructure(gathered: &Gathered, status: &mut Value) {
    let mut provisioned = gathered.was_provisioned();
    if let Some(infra) = gathered.infra.there() {
        // It does not turn back, whatever the infrastructure says later.
        provisioned |= infra.flag(&PROVISIONED) && infra.text("/spec/providerID").is_some();
        for field in ["addresses", "failureDomain"] {
            let value = infra.object.pointer(&format!("/status/{field}"));
            match value.filter(|value| !value.is_null()) {
                Some(value) => status[field] = value.clone(),
                None => {
                    if let Some(status) = status.as_object_mut() {
                        status.remove(field);
                    }
                }
            }
        }
    }
    let bootstrap = &gathered.machine.spec.bootstrap;
    let named = bootstrap.data_secret_name.as_deref();
    let created = named.is_some_and(|name| !name.is_empty());
    let mut initialization = json!({ "infrastructureProvisioned": provisioned });
    if created
        || gathered
            .machine
            .status
            .initialization
            .bootstrap_data_secret_created
    {
        initialization["bootstrapDataSecretCreated"] = Value::Bool(true);
    }
    status["initialization"] = initialization;
}

fn phase_facts(gathered: &Gathered, status: &Value) -> PhaseFacts {
    let flag = |name: &str| status["initialization"][name] == Value::Bool(true);
    PhaseFacts {
        bootstrap_created: flag("bootstrapDataSecretCreated"),
        provisioned: flag("infrastructureProvisioned"),
        has_provider_id: gathered.machine.spec.provider_id.is_some(),
        has_node: status.get("nodeRef").is_some(),
        updating: false,
        deleting: gathered.machine.metadata.deletion_timestamp.is_some(),
    }
}

fn starts(status: &mut Value, starts: &Starts) {
    let times: Map<String, Value> = [
        ("waitForPreDrainHookStartTime", starts.pre_drain_hook),
        ("nodeDrainStartTime", starts.drain),
        ("waitForNodeVolumeDetachStartTime", starts.volumes),
        (
            "waitForPreTerminateHookStartTime",
            starts.pre_terminate_hook,
        ),
    ]
    .into_iter()
    .filter_map(|(field, at)| Some((field.to_owned(), Value::from(in_seconds(at?)))))
    .collect();
    if !times.is_empty() {
        status["deletion"] = Value::Object(times);
    }
}

fn complete_info(info: &Value) -> Value {
    let mut info = info.clone();
    for field in NODE_INFO {
        if info.get(field).is_none() {
            info[field] = Value::from("");
        }
    }
    info
}

/// Kubernetes writes times in whole seconds.
fn in_seconds(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second())
        .unwrap_or(at)
        .to_string()
}

fn list(live: &Value, findings: &[Finding], generation: Option<i64>, ctx: &Context) -> Value {
    let wanted: Vec<Wanted> = findings
        .iter()
        .map(|finding| Wanted {
            kind: finding.kind.as_str(),
            status: finding.status.as_str(),
            reason: finding.reason.clone(),
            message: finding.message.clone(),
        })
        .collect();
    merged(live.get("conditions"), &wanted, generation, ctx.now())
}

async fn write(
    gathered: &Gathered,
    live: &Value,
    wanted: &Value,
    ctx: &Context,
) -> Result<(), ApiError> {
    let Some(change) = patch::between(live, wanted) else {
        return Ok(());
    };
    let metadata = &gathered.machine.metadata;
    let resource = Kind::Machine.resource();
    let target = Target {
        resource: &resource,
        namespace: Some(&metadata.namespace),
        name: &metadata.name,
        subresource: Some("status"),
    };
    let version = metadata.resource_version.clone();
    let patch = json!({ "metadata": { "resourceVersion": version }, "status": change });
    match ctx
        .objects
        .merge_patch(&target, &patch, FIELD_MANAGER)
        .await
    {
        Ok(_) | Err(ApiError::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
