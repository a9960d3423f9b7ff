//! Admission of pools, templates and identities (captf document 7): pure, on the objects' JSON.
//!
//! In: the new object, the old one on update. Out: every violation at once, each with its field.
//! Schema limits are the CRD's; variables of a driver are checked at reconcile. Values of variables
//! never appear.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    image, labels,
    objects::{AllowedNamespaces, PoolSpec},
    variables,
};
use crate::limits;

/// Annotation of Cluster API's server-side apply dry runs.
pub const TOPOLOGY_DRY_RUN: &str = "topology.cluster.x-k8s.io/dry-run";

/// One violation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// `spec.source.image`.
    pub field: String,
    /// What is wrong with it, and what to do.
    pub message: String,
}

impl Violation {
    fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            message: message.into(),
        }
    }
}

/// Checks a `TerraformMachinePool` on create, or on update when `old` is given. No field is
/// immutable; an update that leaves `spec` alone is always accepted, so that a pool that was
/// admitted under older rules can lose its finalizer.
pub fn pool(new: &Value, old: Option<&Value>) -> Vec<Violation> {
    let spec = &new["spec"];
    let before = old.map(|old| &old["spec"]);
    if before == Some(spec) {
        return Vec::new();
    }
    let deleting = !new["metadata"]["deletionTimestamp"].is_null();
    let jobs_changed = before.is_none_or(|before| before["jobs"] != spec["jobs"]);
    let mut violations = workspace(spec, "spec");
    if jobs_changed && !deleting {
        violations.extend(jobs(&spec["jobs"], "spec.jobs"));
    }
    violations
}

/// Checks a `TerraformMachinePoolTemplate`. `is_dry_run`: the request persists nothing.
pub fn template(new: &Value, old: Option<&Value>, is_dry_run: bool) -> Vec<Violation> {
    let inner = &new["spec"]["template"];
    let mut violations = template_metadata(&inner["metadata"]);
    let topology = !new["metadata"]["annotations"][TOPOLOGY_DRY_RUN].is_null();
    match old.map(|old| &old["spec"]["template"]["spec"]) {
        Some(before) if *before == inner["spec"] => {}
        // Cluster API asks this way whether a change would be a rotation.
        Some(_) if is_dry_run && topology => {}
        Some(_) => violations.push(Violation::new(
            "spec.template.spec",
            "is immutable: create a new template and refer to that",
        )),
        None => {
            violations.extend(workspace(&inner["spec"], "spec.template.spec"));
            violations.extend(jobs(&inner["spec"]["jobs"], "spec.template.spec.jobs"));
        }
    }
    violations
}

/// Checks a `TerraformClusterIdentity` (ADM-9). Whether the person may read the Secret is a
/// question to the API server (ADM-8).
pub fn identity(new: &Value) -> Vec<Violation> {
    let mut violations = Vec::new();
    let secret = &new["spec"]["secretRef"];
    for part in ["name", "namespace"] {
        if secret[part].as_str().is_none_or(str::is_empty) {
            violations.push(Violation::new(
                format!("spec.secretRef.{part}"),
                "must be set",
            ));
        }
    }
    let allowed = &new["spec"]["allowedNamespaces"];
    if allowed.is_null() {
        return violations;
    }
    let field = "spec.allowedNamespaces";
    if allowed["list"].is_null() && allowed["selector"].is_null() {
        violations.push(Violation::new(
            field,
            "must hold list or selector; an empty selector allows every namespace",
        ));
    }
    match AllowedNamespaces::deserialize(allowed) {
        Ok(rule) => {
            for name in rule.list.iter().filter(|name| !is_dns_label(name)) {
                violations.push(Violation::new(
                    format!("{field}.list"),
                    format!("{name:?} is not a namespace name"),
                ));
            }
            let requirements = rule.selector.iter().flat_map(|it| &it.match_expressions);
            for requirement in requirements {
                let with_values = matches!(requirement.operator.as_str(), "In" | "NotIn");
                let without = matches!(requirement.operator.as_str(), "Exists" | "DoesNotExist");
                if !(with_values && !requirement.values.is_empty()
                    || without && requirement.values.is_empty())
                {
                    violations.push(Violation::new(
                        format!("{field}.selector.matchExpressions"),
                        format!(
                            "{:?} of {:?} does not fit its values: In and NotIn need some, Exists \
                             and DoesNotExist have none",
                            requirement.operator, requirement.key
                        ),
                    ));
                }
            }
        }
        Err(error) => violations.push(Violation::new(field, error.to_string())),
    }
    violations
}

fn is_dns_label(name: &str) -> bool {
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.len() <= 63
        && name.starts_with(edge)
        && name.ends_with(edge)
        && name.chars().all(|c| edge(c) || c == '-')
}

/// Image and variables (ADM-2, ADM-3).
fn workspace(spec: &Value, path: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    let image = spec["source"]["image"].as_str().unwrap_or_default();
    if let Err(why) = image::parse(image) {
        violations.push(Violation::new(
            format!("{path}.source.image"),
            format!("{image:?} is no image reference: {why}"),
        ));
    }
    let policy = &spec["source"]["imagePullPolicy"];
    if !policy.is_null() && !matches!(policy.as_str(), Some("IfNotPresent" | "Always" | "Never")) {
        violations.push(Violation::new(
            format!("{path}.source.imagePullPolicy"),
            "must be IfNotPresent, Always or Never",
        ));
    }
    let inline = &spec["variables"];
    if !inline.is_null() && !inline.is_object() {
        violations.push(Violation::new(
            format!("{path}.variables"),
            "must be a JSON object",
        ));
    }
    let typed = PoolSpec {
        variables: inline.as_object().cloned(),
        variables_from: Vec::deserialize(&spec["variablesFrom"]).unwrap_or_default(),
        ..PoolSpec::default()
    };
    violations.extend(
        variables::admission_problems(&typed)
            .into_iter()
            .map(|it| Violation::new(format!("{path}.{}", it.field), it.message)),
    );
    violations
}

/// Deadline and hardening (ADM-4, ADM-5).
fn jobs(jobs: &Value, path: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    let deadline = jobs["activeDeadlineSeconds"].as_i64();
    let lock = jobs["lockTimeoutSeconds"].as_i64();
    let effective = (
        lock.unwrap_or(i64::from(limits::LOCK_TIMEOUT_SECONDS)),
        deadline.unwrap_or(i64::from(limits::OPERATION_DEADLINE_SECONDS)),
    );
    if (deadline.is_some() || lock.is_some()) && effective.0 >= effective.1 {
        violations.push(Violation::new(
            path,
            format!(
                "lockTimeoutSeconds ({}) must be less than activeDeadlineSeconds ({})",
                effective.0, effective.1
            ),
        ));
    }
    for context in ["securityContext", "podSecurityContext"] {
        let Some(fields) = jobs[context].as_object() else {
            continue;
        };
        for weakness in weaknesses(fields) {
            violations.push(Violation::new(
                format!("{path}.{context}.{weakness}"),
                "would weaken the hardening of the operation; remove it",
            ));
        }
    }
    violations
}

/// Fields of a security context that weaken it.
fn weaknesses(fields: &Map<String, Value>) -> Vec<&'static str> {
    let get = |key: &str| fields.get(key).unwrap_or(&Value::Null);
    let adds = get("capabilities")["add"].as_array();
    [
        ("privileged", *get("privileged") == true),
        (
            "allowPrivilegeEscalation",
            *get("allowPrivilegeEscalation") == true,
        ),
        (
            "capabilities.add",
            adds.is_some_and(|added| !added.is_empty()),
        ),
        (
            "readOnlyRootFilesystem",
            *get("readOnlyRootFilesystem") == false,
        ),
        ("procMount", *get("procMount") == "Unmasked"),
        ("runAsUser", *get("runAsUser") == 0),
        ("runAsNonRoot", *get("runAsNonRoot") == false),
        (
            "seccompProfile.type",
            get("seccompProfile")["type"] == "Unconfined",
        ),
        (
            "windowsOptions.hostProcess",
            get("windowsOptions")["hostProcess"] == true,
        ),
    ]
    .into_iter()
    .filter_map(|(field, is_weak)| is_weak.then_some(field))
    .collect()
}

/// Labels and annotations that are copied onto pools must be valid there.
fn template_metadata(metadata: &Value) -> Vec<Violation> {
    let mut violations = Vec::new();
    for part in ["labels", "annotations"] {
        let Some(pairs) = metadata[part].as_object() else {
            continue;
        };
        for (key, value) in pairs {
            let value = value.as_str().unwrap_or_default();
            // Annotation values are free text; their keys follow the rule of labels.
            let shown = if part == "labels" { value } else { "" };
            if !labels::is_valid(key, shown) {
                violations.push(Violation::new(
                    format!("spec.template.metadata.{part}[{key:?}]"),
                    labels::RULE,
                ));
            }
        }
    }
    violations.sort();
    violations
}
