//! Custom resource definitions made from the types.
//!
//! The derived schemas say nearly everything; [`schema`] walks them and adds what a derive cannot
//! say. Definitions come out sorted by name, with the labels a packaged provider carries.

mod schema;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use crate::capi::{Cluster, Machine, MachineDrainRule, MachineHealthCheck, MachinePool};
use crate::captf::{
    TerraformCluster, TerraformClusterIdentity, TerraformMachinePool, TerraformMachinePoolMachine,
    TerraformMachinePoolTemplate,
};
use crate::keys::label;

/// Every definition Remuda serves, sorted by name.
pub fn crds() -> Vec<CustomResourceDefinition> {
    let mut crds = vec![
        finish(Cluster::crd(), &[CORE_CONTRACT]),
        finish(Machine::crd(), &[CORE_CONTRACT]),
        finish(MachineDrainRule::crd(), &[CORE_CONTRACT]),
        finish(MachineHealthCheck::crd(), &[CORE_CONTRACT]),
        finish(MachinePool::crd(), &[CORE_CONTRACT]),
        finish(TerraformCluster::crd(), &[CONTRACT]),
        finish(
            TerraformClusterIdentity::crd(),
            &[CONTRACT, (label::MOVE_HIERARCHY, "")],
        ),
        finish(TerraformMachinePool::crd(), &[CONTRACT]),
        finish(TerraformMachinePoolMachine::crd(), &[CONTRACT]),
        finish(TerraformMachinePoolTemplate::crd(), &[CONTRACT]),
    ];
    crds.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    crds
}

/// [`crds`] as one YAML text; each document starts with `---`.
pub fn crd_yaml() -> String {
    crds().iter().map(document).collect()
}

/// Cluster API looks for this label to learn which version fulfils its v1beta2 contract.
const CONTRACT: (&str, &str) = (label::CONTRACT_V1BETA2, "v1alpha1");

/// The same for Cluster API's own kinds.
const CORE_CONTRACT: (&str, &str) = (label::CONTRACT_V1BETA2, "v1beta2");

fn document(crd: &CustomResourceDefinition) -> String {
    // serde_json first: it brings the fields into the order of their names, and the document
    // into the JSON data model that Kubernetes reads.
    let mut value = serde_json::to_value(crd).expect("a definition is made of JSON types only");
    write_whole_numbers(&mut value);
    let yaml = serde_saphyr::to_string(&value).expect("JSON can be written as YAML");
    format!("---\n{yaml}")
}

/// Bounds are floating-point numbers in the Rust types; a server prints `1`, not `1.0`.
fn write_whole_numbers(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(write_whole_numbers),
        Value::Array(items) => items.iter_mut().for_each(write_whole_numbers),
        Value::Number(number) => {
            let whole = number.as_f64().filter(|number| number.fract() == 0.0);
            let text = whole.map(|number| format!("{number:.0}"));
            if let Some(whole) = text.and_then(|text| text.parse::<i64>().ok()) {
                *value = Value::from(whole);
            }
        }
        _ => {}
    }
}

fn finish(mut crd: CustomResourceDefinition, labels: &[(&str, &str)]) -> CustomResourceDefinition {
    if !labels.is_empty() {
        let labels = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        crd.metadata.labels = Some(labels.collect());
    }
    crd.spec.names.list_kind = Some(format!("{}List", crd.spec.names.kind));
    for version in &mut crd.spec.versions {
        if let Some(root) = version
            .schema
            .as_mut()
            .and_then(|schema| schema.open_api_v3_schema.as_mut())
        {
            schema::complete(root);
        }
    }
    crd
}

/// Schema of a field that takes any JSON.
pub(crate) fn any_json(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "x-kubernetes-preserve-unknown-fields": true })
}

/// Schema of a field that takes a count or a percentage.
pub(crate) fn int_or_string(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "x-kubernetes-int-or-string": true })
}

/// Leaves the description of an enum to the field that uses it, which says what absence means.
pub(crate) fn describe_by_field(schema: &mut Schema) {
    schema.remove("description");
}
