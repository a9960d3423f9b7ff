//! `TerraformMachinePoolMachine`: one member of a pool, as an object that a Machine can point at.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::instance::InstanceState;
use crate::capi::{InfrastructureInitialization, MachineAddress};

/// Which instance it stands for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, CustomResource)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1alpha1",
    kind = "TerraformMachinePoolMachine",
    plural = "terraformmachinepoolmachines",
    namespaced,
    shortname = "tfmpm",
    category = "cluster-api",
    doc = "One member of a machine pool. The pool's controller makes it and keeps it true.",
    status = "TerraformMachinePoolMachineStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn(
        name = "Cluster",
        type_ = "string",
        description = "Cluster of the member",
        json_path = r".metadata.labels['cluster\.x-k8s\.io/cluster-name']"
    ),
    printcolumn(
        name = "Pool",
        type_ = "string",
        description = "Pool the member belongs to",
        json_path = r#".metadata.ownerReferences[?(@.kind=="TerraformMachinePool")].name"#
    ),
    printcolumn(
        name = "Machine",
        type_ = "string",
        description = "Machine that stands for the member",
        json_path = r#".metadata.ownerReferences[?(@.kind=="Machine")].name"#
    ),
    printcolumn(
        name = "ProviderID",
        type_ = "string",
        description = "Provider ID of the instance",
        json_path = ".spec.providerID",
        priority = 10
    ),
    printcolumn(
        name = "Zone",
        type_ = "string",
        description = "Failure domain the instance runs in",
        json_path = ".status.failureDomain"
    ),
    printcolumn(
        name = "State",
        type_ = "string",
        description = "State the cloud reports",
        json_path = ".status.instanceState"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        description = "Whether the instance runs",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(
        name = "UpToDate",
        type_ = "boolean",
        description = "Whether the instance is made as a new one would be",
        json_path = ".status.upToDate"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        description = "Time since creation",
        json_path = ".metadata.creationTimestamp"
    )
)]
pub struct TerraformMachinePoolMachineSpec {
    /// Provider ID of the instance, equal to the one its Node carries. It does not change.
    #[schemars(length(min = 1, max = 512))]
    #[serde(
        rename = "providerID",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub provider_id: Option<String>,
}

/// Observed state of a member; all of it can be observed again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct TerraformMachinePoolMachineStatus {
    /// Addresses of the instance; the list is left out when there are none.
    #[schemars(length(min = 1, max = 256), extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Vec<MachineAddress>>,
    /// What holds for the member, one condition of each type.
    #[schemars(schema_with = "crate::condition::list")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
    /// Failure domain the instance runs in, such as `eu-central-1a` or `2`.
    #[schemars(length(min = 1, max = 256))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
    /// What has been reached once and does not turn back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialization: Option<InfrastructureInitialization>,
    /// State the cloud reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_state: Option<InstanceState>,
    /// Whether the cloud may take the instance back at short notice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interruptible: Option<bool>,
    /// The v1beta1 form of `initialization.provisioned`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// Model the instance was made from, by a name that is found in the cloud.
    #[schemars(length(min = 1, max = 256))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Whether the instance is made as a new one would be; unset while nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to_date: Option<bool>,
}
