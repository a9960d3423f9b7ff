//! `TerraformMachinePoolTemplate`: what a ClusterClass clones pools from.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::terraform_machine_pool::TerraformMachinePoolSpec;
use crate::capi::TemplateMetadata;

/// A template of pools; its pool spec does not change after creation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, CustomResource)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1alpha1",
    kind = "TerraformMachinePoolTemplate",
    plural = "terraformmachinepooltemplates",
    namespaced,
    shortname = "tfmpt",
    category = "cluster-api",
    doc = "What a ClusterClass clones machine pools from.",
    derive = "Default",
    derive = "PartialEq",
    printcolumn(
        name = "Image",
        type_ = "string",
        description = "Image of the module",
        json_path = ".spec.template.spec.source.image"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        description = "Time since creation",
        json_path = ".metadata.creationTimestamp"
    )
)]
pub struct TerraformMachinePoolTemplateSpec {
    /// The pool that is cloned.
    pub template: TerraformMachinePoolTemplateResource,
}

/// The part of a pool a template carries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct TerraformMachinePoolTemplateResource {
    /// Labels and annotations of the clone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// Spec of the clone.
    pub spec: TerraformMachinePoolSpec,
}
