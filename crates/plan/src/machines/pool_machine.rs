//! Machines that a MachinePool makes of its infrastructure machines (cluster-api document 4.3).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    applied::is_applied,
    names::label_value,
    view::{MachineView, POOL_NAME},
};
use crate::pool::{keys, objects::Metadata};

/// Fields of the pool's template that every Machine follows in place.
const PROPAGATED: [&str; 4] = ["deletion", "minReadySeconds", "readinessGates", "taints"];

/// All fields of a Machine's spec that its pool may own.
pub const OWNED: [&str; 8] = [
    "bootstrap",
    "clusterName",
    "deletion",
    "infrastructureRef",
    "minReadySeconds",
    "readinessGates",
    "taints",
    "version",
];

/// Who owns the fields of a pool Machine: upstream's name, so that the core can take over.
pub const MANAGER: &str = "machinepool-controller";

/// What the Machines of one pool have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolTemplate<'a> {
    /// The MachinePool's metadata.
    pub pool: &'a Metadata,
    /// The MachinePool's API version.
    pub api_version: &'a str,
    /// Its Cluster.
    pub cluster_name: &'a str,
    /// `spec.template.metadata.labels`.
    pub labels: &'a BTreeMap<String, String>,
    /// `spec.template.metadata.annotations`.
    pub annotations: &'a BTreeMap<String, String>,
    /// `spec.template.spec`.
    pub spec: &'a Value,
    /// API group of the infrastructure machines.
    pub infra_group: &'a str,
    /// Kind of the infrastructure machines.
    pub infra_kind: &'a str,
}

/// An infrastructure machine of any provider, as far as the contract goes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct InfraMachine {
    /// Metadata.
    pub metadata: Metadata,
    /// Spec.
    pub spec: InfraMachineSpec,
    /// Status.
    pub status: InfraMachineStatus,
}

/// `spec` of an infrastructure machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct InfraMachineSpec {
    /// The instance; a broken one may have none.
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
}

/// `status` of an infrastructure machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InfraMachineStatus {
    /// The model its instance was made from, where the provider says.
    pub revision: Option<String>,
    /// Its instance is made as a new one would be, where the provider says.
    pub up_to_date: Option<bool>,
}

impl From<&super::objects::InfraMachine> for InfraMachine {
    fn from(infra: &super::objects::InfraMachine) -> Self {
        Self {
            metadata: infra.metadata.clone(),
            spec: InfraMachineSpec {
                provider_id: infra.spec.provider_id.clone(),
            },
            status: InfraMachineStatus {
                revision: infra.status.revision.clone(),
                up_to_date: infra.status.up_to_date,
            },
        }
    }
}

/// What is to be done for one infrastructure machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Surfacing {
    /// Its Machine is as it should be, or none is made of it.
    Settled,
    /// Apply this Machine.
    Apply(Value),
    /// A Machine has the name that is not the pool's: why.
    Foreign(String),
}

/// Whether the Machine is the pool's: it carries its label or its controller reference, and
/// nothing else controls it.
pub fn is_of_pool(machine: &MachineView, pool: &Metadata) -> bool {
    match machine.controller() {
        Some(owner) => owner.uid == pool.uid,
        None => machine.label(POOL_NAME) == Some(label_value(&pool.name).as_str()),
    }
}

/// Why a Machine is not the pool's; `None`: it is.
fn foreign(machine: &MachineView, pool: &Metadata) -> Option<String> {
    (!is_of_pool(machine, pool)).then(|| {
        machine.controller().map_or_else(
            || "it has no pool label".to_owned(),
            |owner| format!("it belongs to {} {}", owner.kind, owner.name),
        )
    })
}

/// Decides for one infrastructure machine. `live` is the Machine of its name, `kubelet` the version
/// that the Node of its instance runs. Without `may_create` only Machines that exist are kept true.
pub fn surface(
    template: &PoolTemplate<'_>,
    infra: &InfraMachine,
    live: Option<&Value>,
    kubelet: Option<&str>,
    may_create: bool,
) -> Surfacing {
    let Some(live) = live else {
        // An instance on its way out gets no new object.
        let surfaces = may_create && infra.metadata.deletion_timestamp.is_none();
        return if surfaces {
            Surfacing::Apply(machine(template, infra, None, kubelet))
        } else {
            Surfacing::Settled
        };
    };
    let view: MachineView = MachineView::deserialize(live).unwrap_or_default();
    if let Some(why) = foreign(&view, template.pool) {
        return Surfacing::Foreign(why);
    }
    let wanted = machine(template, infra, Some(&view), kubelet);
    if is_applied(live, &wanted, MANAGER) {
        Surfacing::Settled
    } else {
        Surfacing::Apply(wanted)
    }
}

/// The Machine as the pool wants it: every field it owns, and no other. `live` is the one that is
/// there.
pub fn machine(
    template: &PoolTemplate<'_>,
    infra: &InfraMachine,
    live: Option<&MachineView>,
    kubelet: Option<&str>,
) -> Value {
    let pool = template.pool;
    let mut labels = template.labels.clone();
    labels.insert(POOL_NAME.to_owned(), label_value(&pool.name));
    labels.insert(
        keys::CLUSTER_NAME.to_owned(),
        template.cluster_name.to_owned(),
    );
    let mut metadata = json!({
        "name": infra.metadata.name,
        "namespace": pool.namespace,
        "labels": labels,
        "ownerReferences": [{
            "apiVersion": template.api_version,
            "kind": keys::OWNER_KIND,
            "name": pool.name,
            "uid": pool.uid,
            "controller": true,
            "blockOwnerDeletion": true,
        }],
    });
    if !template.annotations.is_empty() {
        metadata["annotations"] = json!(template.annotations);
    }
    if let Some(live) = live {
        // A Machine that went in the meantime must not come back from an update.
        metadata["uid"] = Value::from(live.metadata.uid.clone());
    }
    json!({
        "apiVersion": template.api_version,
        "kind": "Machine",
        "metadata": metadata,
        "spec": spec(template, infra, live, kubelet),
    })
}

fn spec(
    template: &PoolTemplate<'_>,
    infra: &InfraMachine,
    live: Option<&MachineView>,
    kubelet: Option<&str>,
) -> Value {
    let mut spec = Map::new();
    spec.insert("clusterName".to_owned(), template.cluster_name.into());
    // Upstream's word for "bootstrapped by the pool": the empty string, not an absent field.
    spec.insert("bootstrap".to_owned(), json!({ "dataSecretName": "" }));
    spec.insert(
        "infrastructureRef".to_owned(),
        json!({
            "apiGroup": template.infra_group,
            "kind": template.infra_kind,
            "name": infra.metadata.name,
        }),
    );
    // A Node that is away for a moment takes no version back.
    let known = live.and_then(|live| live.spec.version.as_deref());
    if let Some(version) = kubelet.or(known) {
        spec.insert("version".to_owned(), version.into());
    }
    for field in PROPAGATED {
        if let Some(value) = template.spec.get(field) {
            spec.insert(field.to_owned(), value.clone());
        }
    }
    Value::Object(spec)
}
