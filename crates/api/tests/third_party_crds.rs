//! Our definitions against the third parties' own: every field there is here, at the same path,
//! with the same type and validation. What differs on purpose is in [`DIFFERENCES`], with why.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests fail loudly, and say so when they skip"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

/// One intended difference: definition, path in the schema, keyword.
struct Difference {
    crd: &'static str,
    path: &'static str,
    keyword: &'static str,
}

const fn differs(crd: &'static str, path: &'static str, keyword: &'static str) -> Difference {
    Difference { crd, path, keyword }
}

/// Stands for every captf kind with the field.
const ANY: &str = "*";

/// Where we differ on purpose. An entry nothing needs fails the test.
const DIFFERENCES: &[Difference] = &[
    // Newer captf sources let an identity be a Secret of the object's own namespace.
    differs(ANY, "identityRef.kind", "extra property"),
    // Newer captf sources name the resources a failure concerns.
    differs(ANY, "lastRun.error.resources", "extra property"),
    // Newer captf sources cap a cluster's concurrent operations.
    differs("terraformclusters", "spec.maxActiveJobs", "extra property"),
    // Pool Machines: Cluster API reads the member kind from here.
    differs(
        "terraformmachinepools",
        "status.infrastructureMachineKind",
        "extra property",
    ),
    // Pool Machines: how members of an older model are replaced.
    differs(ANY, "spec.rollout", "extra property"),
    // No schema of ours defaults anything: an absent name stays absent, and so does `optional`.
    differs(ANY, "valueFrom.configMapKeyRef.name", "default"),
    differs(ANY, "valueFrom.secretKeyRef.name", "default"),
    differs(ANY, "valueFrom.fileKeyRef.optional", "default"),
    differs(ANY, "imagePullSecrets[].name", "default"),
    // Newer captf sources give these kinds a short name.
    differs("terraformclusters", "names", "shortNames"),
    differs("terraformmachinepooltemplates", "names", "shortNames"),
];

/// Where our definitions of Cluster API's own kinds differ on purpose.
const CORE_DIFFERENCES: &[Difference] = &[
    // Every object has metadata: requiring it refuses nothing.
    differs("machinedrainrules", "", "required"),
    // Upstream's webhook refuses these; here the definition does, with or without a webhook.
    differs(
        "machinehealthchecks",
        "spec.checks",
        "x-kubernetes-validations",
    ),
    differs(
        "machinehealthchecks",
        "spec.selector",
        "x-kubernetes-validations",
    ),
];

#[test]
fn captf_definitions_are_matched() {
    check_folder(
        "captf",
        "v1alpha1",
        &[
            "infrastructure.cluster.x-k8s.io_terraformclusteridentities",
            "infrastructure.cluster.x-k8s.io_terraformclusters",
            "infrastructure.cluster.x-k8s.io_terraformmachinepools",
            "infrastructure.cluster.x-k8s.io_terraformmachinepooltemplates",
        ],
        DIFFERENCES,
    );
}

#[test]
fn cluster_api_definitions_are_matched() {
    check_folder(
        "cluster-api",
        "v1beta2",
        &[
            "cluster.x-k8s.io_clusters",
            "cluster.x-k8s.io_machinedrainrules",
            "cluster.x-k8s.io_machinehealthchecks",
            "cluster.x-k8s.io_machinepools",
            "cluster.x-k8s.io_machines",
        ],
        CORE_DIFFERENCES,
    );
}

fn check_folder(project: &str, version: &str, files: &[&str], allowed: &[Difference]) {
    let Some(folder) = data(project) else {
        println!("SKIP: no definitions of {project} beside the workspace");
        return;
    };
    let ours = remuda_api::crds();
    let mut unused: BTreeSet<usize> = (0..allowed.len()).collect();
    let mut unexpected = Vec::new();
    for file in files {
        let path = folder.join(format!("{file}.yaml"));
        let text = std::fs::read_to_string(&path).unwrap();
        let theirs: Value = serde_saphyr::from_str(&text).unwrap();
        let name = theirs["metadata"]["name"].as_str().unwrap();
        let ours = ours
            .iter()
            .find(|crd| crd.metadata.name.as_deref() == Some(name))
            .unwrap_or_else(|| panic!("{name} is not among ours"));
        let ours = serde_json::to_value(ours).unwrap();
        let mut found = Findings {
            crd: name.split('.').next().unwrap(),
            list: Vec::new(),
        };
        found.definition(&theirs, &ours, version);
        for finding in found.list {
            let entry = allowed.iter().position(|entry| finding.is(entry));
            match entry {
                Some(entry) => drop(unused.remove(&entry)),
                None => unexpected.push(finding.to_string()),
            }
        }
    }
    assert!(
        unexpected.is_empty(),
        "{} differences:\n{}",
        unexpected.len(),
        unexpected.join("\n")
    );
    let unused: Vec<_> = unused.iter().map(|entry| allowed[*entry].path).collect();
    assert!(
        unused.is_empty(),
        "entries of DIFFERENCES that nothing needs: {unused:?}"
    );
}

fn data(project: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data")
        .join(project)
        .join("crds");
    folder.is_dir().then_some(folder)
}

/// One difference that was found.
struct Finding {
    crd: String,
    path: String,
    keyword: String,
    detail: String,
}

impl Finding {
    fn is(&self, entry: &Difference) -> bool {
        (entry.crd == ANY || entry.crd == self.crd)
            && self.keyword == entry.keyword
            && self
                .path
                .strip_suffix(entry.path)
                .is_some_and(|before| before.is_empty() || before.ends_with('.'))
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} {}: {}: {}",
            self.crd, self.path, self.keyword, self.detail
        )
    }
}

struct Findings<'a> {
    crd: &'a str,
    list: Vec<Finding>,
}

impl Findings<'_> {
    fn push(&mut self, path: &str, keyword: &str, detail: String) {
        self.list.push(Finding {
            crd: self.crd.to_owned(),
            path: path.to_owned(),
            keyword: keyword.to_owned(),
            detail,
        });
    }

    fn equal(&mut self, path: &str, keyword: &str, theirs: &Value, ours: &Value) {
        if normal(keyword, theirs) != normal(keyword, ours) {
            self.push(path, keyword, format!("theirs {theirs}, ours {ours}"));
        }
    }

    fn definition(&mut self, theirs: &Value, ours: &Value, version: &str) {
        for keyword in ["group", "scope"] {
            self.equal(
                "spec",
                keyword,
                &theirs["spec"][keyword],
                &ours["spec"][keyword],
            );
        }
        for keyword in [
            "kind",
            "listKind",
            "plural",
            "singular",
            "shortNames",
            "categories",
        ] {
            let (theirs, ours) = (&theirs["spec"]["names"], &ours["spec"]["names"]);
            self.equal("names", keyword, &theirs[keyword], &ours[keyword]);
        }
        let theirs = version_of(theirs, version);
        let ours = version_of(ours, version);
        for keyword in ["served", "storage"] {
            self.equal("version", keyword, &theirs[keyword], &ours[keyword]);
        }
        self.equal(
            "version",
            "subresources",
            &without_empty(&theirs["subresources"]),
            &without_empty(&ours["subresources"]),
        );
        self.equal(
            "version",
            "additionalPrinterColumns",
            &columns(&theirs["additionalPrinterColumns"]),
            &columns(&ours["additionalPrinterColumns"]),
        );
        self.schema(
            "",
            &theirs["schema"]["openAPIV3Schema"],
            &ours["schema"]["openAPIV3Schema"],
        );
    }

    fn schema(&mut self, path: &str, theirs: &Value, ours: &Value) {
        let (theirs, ours) = (theirs.as_object().unwrap(), ours.as_object().unwrap());
        let keywords: BTreeSet<_> = theirs.keys().chain(ours.keys()).collect();
        for keyword in keywords {
            let (their, our) = (
                theirs.get(keyword).unwrap_or(&Value::Null),
                ours.get(keyword).unwrap_or(&Value::Null),
            );
            match keyword.as_str() {
                "description" => {}
                "properties" => self.properties(path, their, our),
                "items" if their.is_object() && our.is_object() => {
                    self.schema(&format!("{path}[]"), their, our);
                }
                "additionalProperties" if their.is_object() && our.is_object() => {
                    self.schema(&format!("{path}{{}}"), their, our);
                }
                _ => self.equal(path, keyword, their, our),
            }
        }
    }

    fn properties(&mut self, path: &str, theirs: &Value, ours: &Value) {
        let none = Map::new();
        let theirs = theirs.as_object().unwrap_or(&none);
        let ours = ours.as_object().unwrap_or(&none);
        let below = |name: &str| {
            if path.is_empty() {
                name.to_owned()
            } else {
                format!("{path}.{name}")
            }
        };
        for (name, their) in theirs {
            match ours.get(name) {
                Some(our) => self.schema(&below(name), their, our),
                None => self.push(&below(name), "missing property", String::new()),
            }
        }
        for name in ours.keys().filter(|name| !theirs.contains_key(*name)) {
            self.push(&below(name), "extra property", String::new());
        }
    }
}

fn version_of<'a>(crd: &'a Value, name: &str) -> &'a Value {
    let versions = crd["spec"]["versions"].as_array().unwrap();
    versions
        .iter()
        .find(|version| version["name"] == name)
        .unwrap()
}

/// The form in which two values of a keyword are compared.
fn normal(keyword: &str, value: &Value) -> Value {
    match (keyword, value) {
        ("minimum" | "maximum", value) => json!(value.as_f64()),
        // Order has no meaning in these.
        ("required" | "enum" | "x-kubernetes-validations" | "anyOf", Value::Array(list)) => {
            let mut list: Vec<_> = list.iter().map(Value::to_string).collect();
            list.sort();
            json!(list)
        }
        // An explicit false is what an absent one means.
        ("nullable" | "uniqueItems", Value::Bool(false)) => Value::Null,
        _ => value.clone(),
    }
}

/// Columns without their descriptions.
fn columns(columns: &Value) -> Value {
    let mut columns = columns.clone();
    for column in columns.as_array_mut().unwrap() {
        column.as_object_mut().unwrap().remove("description");
    }
    columns
}

fn without_empty(value: &Value) -> Value {
    match value {
        Value::Object(map) if map.is_empty() => Value::Null,
        _ => value.clone(),
    }
}
