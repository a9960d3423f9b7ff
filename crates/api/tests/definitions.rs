//! The definitions as a whole: their names, columns and labels, and the YAML they become.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests fail loudly, as tests do"
)]

use std::fmt::Write;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use remuda_api::captf::{TerraformMachinePool, TerraformMachinePoolSpec};
use remuda_api::{crd_yaml, crds};
use serde_json::json;

#[test]
fn names_columns_and_labels() {
    let mut summary = String::new();
    for crd in crds() {
        let (spec, names) = (&crd.spec, &crd.spec.names);
        let metadata = &crd.metadata;
        writeln!(summary, "{}", metadata.name.as_deref().unwrap()).unwrap();
        writeln!(
            summary,
            "  {} {} in {:?}",
            spec.scope, names.kind, names.categories
        )
        .unwrap();
        writeln!(summary, "  short names {:?}", names.short_names).unwrap();
        writeln!(summary, "  labels {:?}", metadata.labels).unwrap();
        for version in &spec.versions {
            let subresources = serde_json::to_string(&version.subresources).unwrap();
            writeln!(summary, "  {} {subresources}", version.name).unwrap();
            for column in version.additional_printer_columns.iter().flatten() {
                let priority = column.priority.unwrap_or(0);
                let (name, path) = (&column.name, &column.json_path);
                writeln!(summary, "    {name} ({}, {priority}) {path}", column.type_).unwrap();
            }
        }
    }
    insta::assert_snapshot!(summary);
}

#[test]
fn sorted_by_name() {
    let names: Vec<_> = crds()
        .into_iter()
        .map(|crd| crd.metadata.name.unwrap())
        .collect();
    assert!(names.is_sorted() && names.len() == 10, "{names:?}");
}

#[test]
fn yaml_documents_are_the_definitions() {
    let yaml = crd_yaml();
    assert!(yaml.starts_with("---\n"));
    let documents: Vec<_> = yaml["---\n".len()..].split("\n---\n").collect();
    let crds = crds();
    assert_eq!(documents.len(), crds.len());
    for (document, crd) in documents.iter().zip(crds) {
        let read: CustomResourceDefinition = serde_saphyr::from_str(document).unwrap();
        assert_eq!(read, crd);
        assert!(
            !document.contains("minimum: 1.0"),
            "bounds are written as servers print them"
        );
        let name = crd.metadata.name.unwrap();
        let metadata = document.split_once("\nmetadata:\n").unwrap().1;
        let metadata: Vec<_> = metadata
            .lines()
            .take_while(|line| line.starts_with("  "))
            .collect();
        assert!(
            metadata.contains(&format!("  name: {name}").as_str()),
            "{metadata:?}"
        );
    }
}

/// Kubernetes refuses a definition that says more about `metadata`.
#[test]
fn metadata_is_an_object_and_nothing_else() {
    for crd in crds() {
        let crd = serde_json::to_value(crd).unwrap();
        let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        assert_eq!(
            schema["properties"]["metadata"],
            json!({ "type": "object" })
        );
    }
}

#[test]
fn captf_definitions_default_nothing() {
    for crd in crds()
        .iter()
        .filter(|crd| crd.spec.group == "infrastructure.cluster.x-k8s.io")
    {
        let text = serde_json::to_string(crd).unwrap();
        assert!(!text.contains(r#""default":"#), "{}", crd.spec.names.kind);
    }
}

#[test]
fn new_objects_carry_no_label_of_their_definition() {
    let pool = TerraformMachinePool::new("demo", TerraformMachinePoolSpec::default());
    assert_eq!(pool.metadata.labels, None);
}

#[test]
fn enum_fields_keep_their_own_description() {
    let crds = serde_json::to_value(crds()).unwrap();
    let pool = crds
        .as_array()
        .unwrap()
        .iter()
        .find(|crd| crd["spec"]["names"]["kind"] == "TerraformMachinePool")
        .unwrap();
    let schema = &pool["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let description = |path| {
        schema.pointer(path).unwrap()["description"]
            .as_str()
            .unwrap()
    };
    let policy = description("/properties/spec/properties/deletionPolicy");
    assert!(
        policy.ends_with("unset takes the cluster's policy."),
        "{policy}"
    );
    let operation = description("/properties/status/properties/activeJob/properties/operation");
    assert_eq!(operation, "What it does.");
}
