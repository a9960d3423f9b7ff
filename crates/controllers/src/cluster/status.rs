//! Status of a Cluster from its infrastructure cluster. Pure.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::workers::{self, Pool};
use crate::conditions::{Wanted, merged};

/// What the status is made of.
pub(super) struct ClusterFacts {
    /// `spec.paused`.
    pub paused: bool,
    /// The Cluster is being deleted.
    pub deleting: bool,
    /// `metadata.generation`.
    pub generation: Option<i64>,
    /// A control plane object is named: its own controller reports on it.
    pub has_control_plane: bool,
    /// Its machine pools.
    pub pools: Vec<Pool>,
    /// The infrastructure cluster, when it exists.
    pub infra: Option<Infra>,
    /// Time of the pass.
    pub now: Timestamp,
}

/// What an infrastructure cluster says.
pub(super) struct Infra {
    /// `status.initialization.provisioned`.
    pub provisioned: bool,
    /// `status.failureDomains`.
    pub failure_domains: Option<Value>,
}

/// The complete status to write. Without a control plane object the workload cluster counts as
/// initialized as soon as its infrastructure is there.
pub(super) fn wanted(live: &Value, facts: &ClusterFacts) -> Value {
    let mut status = live.clone();
    let provisioned = facts.infra.as_ref().is_some_and(|infra| infra.provisioned);
    let mut initialization = live
        .get("initialization")
        .cloned()
        .unwrap_or_else(|| json!({}));
    initialization["infrastructureProvisioned"] = Value::Bool(provisioned);
    if !facts.has_control_plane {
        let was = initialization
            .get("controlPlaneInitialized")
            .and_then(Value::as_bool);
        initialization["controlPlaneInitialized"] =
            Value::Bool(was.unwrap_or(false) || provisioned);
    }
    status["initialization"] = initialization;
    if let Some(domains) = facts
        .infra
        .as_ref()
        .and_then(|infra| infra.failure_domains.clone())
    {
        status["failureDomains"] = domains;
    }
    match workers::counters(&facts.pools) {
        Some(counters) => status["workers"] = counters,
        None => drop(
            status
                .as_object_mut()
                .map(|status| status.remove("workers")),
        ),
    }
    status["phase"] = Value::from(phase(facts, provisioned));
    if let Some(generation) = facts.generation.filter(|generation| *generation > 0) {
        status["observedGeneration"] = Value::from(generation);
    }
    let conditions = conditions(facts, provisioned);
    status["conditions"] = merged(
        live.get("conditions"),
        &conditions,
        facts.generation,
        facts.now,
    );
    status
}

/// A status without what changes with every machine.
pub(super) fn without_counters(status: &Value) -> Value {
    let mut status = status.clone();
    if let Some(fields) = status.as_object_mut() {
        fields.remove("workers");
    }
    status
}

fn phase(facts: &ClusterFacts, provisioned: bool) -> &'static str {
    match (&facts.infra, facts.deleting, provisioned) {
        (_, true, _) => "Deleting",
        (None, ..) => "Pending",
        (Some(_), _, false) => "Provisioning",
        (Some(_), _, true) => "Provisioned",
    }
}

fn conditions(facts: &ClusterFacts, provisioned: bool) -> Vec<Wanted> {
    let infrastructure = match &facts.infra {
        None => (
            "False",
            "ObjectDoesNotExist",
            "the infrastructure cluster does not exist",
        ),
        Some(_) if provisioned => ("True", "Ready", ""),
        Some(_) => (
            "False",
            "NotReady",
            "the infrastructure cluster is not provisioned",
        ),
    };
    let available = match (facts.deleting, provisioned) {
        (true, _) => ("False", "NotAvailable", "the Cluster is being deleted"),
        (_, true) => ("True", "Available", ""),
        (_, false) => (
            "False",
            "NotAvailable",
            "the infrastructure cluster is not provisioned",
        ),
    };
    let paused = if facts.paused {
        ("True", "Paused", "spec.paused is true")
    } else {
        ("False", "NotPaused", "")
    };
    let deleting = if facts.deleting {
        (
            "True",
            "Deleting",
            "machine pools go first, then the infrastructure cluster",
        )
    } else {
        ("False", "NotDeleting", "")
    };
    let mut all = vec![
        ("Available", available),
        ("InfrastructureReady", infrastructure),
        ("Paused", paused),
        ("Deleting", deleting),
    ];
    if !facts.has_control_plane {
        let initialized = if provisioned {
            (
                "True",
                "Initialized",
                "the control plane is managed elsewhere",
            )
        } else {
            (
                "False",
                "NotInitialized",
                "the infrastructure cluster is not provisioned",
            )
        };
        all.push(("ControlPlaneInitialized", initialized));
    }
    let mut wanted = vec![workers::available(&facts.pools)];
    wanted.extend(
        all.into_iter()
            .map(|(kind, (status, reason, message))| Wanted {
                kind: kind.to_owned(),
                status,
                reason: reason.to_owned(),
                message: message.to_owned(),
            }),
    );
    wanted
}
