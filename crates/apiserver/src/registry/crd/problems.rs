//! What is wrong with a definition, in the words of a genuine server. Pure.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{flag, versions};
use crate::metadata::{LABEL_1035, is_label_1035, subdomain_problem};
use crate::object::{at, name, text};
use crate::schema::Structural;
use crate::status_error::Cause;
use crate::webhook::check_client_config;

/// A definition is named after what it defines.
pub(super) fn of_name(crd: &Value) -> Option<Cause> {
    let (plural, group) = (
        text(crd, &["spec", "names", "plural"]),
        text(crd, &["spec", "group"]),
    );
    if name(crd) == format!("{plural}.{group}") {
        return None;
    }
    let detail = "must be spec.names.plural+\".\"+spec.group";
    Some(Cause::invalid("metadata.name", &name(crd).into(), detail))
}

/// Everything that is wrong with a definition, whatever it was before.
pub(super) fn of(crd: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let spec = |field: &str| text(crd, &["spec", field]);
    if spec("group").is_empty() {
        causes.push(Cause::required("spec.group", ""));
    } else if let Some(why) = subdomain_problem(spec("group")) {
        causes.push(Cause::invalid("spec.group", &spec("group").into(), &why));
    } else if !spec("group").contains('.') {
        let value = spec("group").into();
        let detail = "should be a domain with at least one dot";
        causes.push(Cause::invalid("spec.group", &value, detail));
    }
    match spec("scope") {
        "Cluster" | "Namespaced" => {}
        "" => causes.push(Cause::required("spec.scope", "")),
        other => causes.push(Cause::unsupported(
            "spec.scope",
            &other.into(),
            &["Cluster", "Namespaced"],
        )),
    }
    causes.extend(of_names(crd));
    causes.extend(of_versions(crd));
    causes.extend(of_stored_versions(crd));
    causes.extend(of_conversion(crd));
    if at(crd, &["spec", "preserveUnknownFields"]).and_then(Value::as_bool) == Some(true) {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                      spec.versions[*].schema instead";
        let field = "spec.preserveUnknownFields";
        causes.push(Cause::invalid(field, &true.into(), detail));
    }
    causes
}

fn of_names(crd: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let names = |field: &str| text(crd, &["spec", "names", field]);
    for (field, mixed) in [
        ("plural", false),
        ("singular", false),
        ("kind", true),
        ("listKind", true),
    ] {
        let (path, own) = (format!("spec.names.{field}"), names(field));
        let checked = if mixed {
            own.to_lowercase()
        } else {
            own.to_owned()
        };
        if own.is_empty() {
            causes.push(Cause::required(&path, ""));
        } else if !is_label_1035(&checked) {
            let detail = if mixed {
                format!("may have mixed case, but should otherwise match: {LABEL_1035}")
            } else {
                LABEL_1035.to_owned()
            };
            causes.push(Cause::invalid(&path, &own.into(), &detail));
        }
    }
    if !names("kind").is_empty() && names("kind") == names("listKind") {
        let detail = "kind and listKind may not be the same";
        let kind = names("listKind").into();
        causes.push(Cause::invalid("spec.names.listKind", &kind, detail));
    }
    for field in ["shortNames", "categories"] {
        let list = at(crd, &["spec", "names", field]).and_then(Value::as_array);
        for (index, own) in list.into_iter().flatten().enumerate() {
            if !own.as_str().is_some_and(is_label_1035) {
                let path = format!("spec.names.{field}[{index}]");
                causes.push(Cause::invalid(&path, own, LABEL_1035));
            }
        }
    }
    causes
}

fn of_versions(crd: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let storage = versions(crd).iter().filter(|v| flag(v, "storage")).count();
    if storage != 1 {
        let value = at(crd, &["spec", "versions"]).cloned().unwrap_or_default();
        let detail = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid("spec.versions", &value, detail));
    }
    let names: BTreeSet<&str> = versions(crd).iter().map(|v| text(v, &["name"])).collect();
    if names.len() != versions(crd).len() {
        let value = at(crd, &["spec", "versions"]).cloned().unwrap_or_default();
        let detail = "must contain unique version names";
        causes.push(Cause::invalid("spec.versions", &value, detail));
    }
    for (index, version) in versions(crd).iter().enumerate() {
        let path = format!("spec.versions[{index}]");
        let own = text(version, &["name"]);
        if !is_label_1035(own) {
            causes.push(Cause::invalid(
                &format!("{path}.name"),
                &own.into(),
                LABEL_1035,
            ));
        }
        let warning = text(version, &["deprecationWarning"]);
        if !warning.is_empty() && !flag(version, "deprecated") {
            let path = format!("{path}.deprecationWarning");
            let detail = "can only be set for deprecated versions";
            causes.push(Cause::invalid(&path, &warning.into(), detail));
        }
        let Some(schema) = at(version, &["schema", "openAPIV3Schema"]) else {
            let path = format!("{path}.schema.openAPIV3Schema");
            causes.push(Cause::required(&path, ""));
            continue;
        };
        // One schema for all versions is what Kubernetes keeps, and names, in one place.
        let shared = versions(crd)
            .iter()
            .all(|other| other.get("schema") == version.get("schema"));
        let place = if shared {
            "spec.validation.openAPIV3Schema".to_owned()
        } else {
            format!("{path}.schema.openAPIV3Schema")
        };
        if (!shared || index == 0)
            && let Err(errors) = Structural::parse_at(schema, &place)
        {
            causes.extend(errors.iter().map(Cause::from));
        }
        for (field, required) in [
            ("specReplicasPath", ".spec."),
            ("statusReplicasPath", ".status."),
        ] {
            let Some(scale) = at(version, &["subresources", "scale"]) else {
                continue;
            };
            let value = text(scale, &[field]);
            if !value.starts_with(required) {
                let path = format!("{path}.subresources.scale.{field}");
                let detail = format!("should be a json path under {required}");
                causes.push(Cause::invalid(&path, &value.into(), &detail));
            }
        }
    }
    causes
}

/// The storage version counts as stored from the start.
fn of_stored_versions(crd: &Value) -> Option<Cause> {
    let field = "status.storedVersions";
    let storage: Vec<&str> = versions(crd)
        .iter()
        .filter(|version| flag(version, "storage"))
        .map(|version| text(version, &["name"]))
        .collect();
    let stored = at(crd, &["status", "storedVersions"]).and_then(Value::as_array);
    let stored = stored.into_iter().flatten().filter_map(Value::as_str);
    let mut stored: Vec<&str> = stored.collect();
    if let Some(first) = storage.first().filter(|first| !stored.contains(first)) {
        stored.push(first);
    }
    if stored.is_empty() {
        let detail = "must have at least one stored version";
        return Some(Cause::invalid(field, &Value::Null, detail));
    }
    let last = storage.last().filter(|last| !stored.contains(last))?;
    let detail = format!("must have the storage version {last}");
    Some(Cause::invalid(field, &Value::from(stored), &detail))
}

/// What is wrong with the way between the versions.
fn of_conversion(crd: &Value) -> Vec<Cause> {
    let Some(conversion) = at(crd, &["spec", "conversion"]).filter(|c| c.is_object()) else {
        return Vec::new();
    };
    let mut causes = Vec::new();
    let path = |field: &str| format!("spec.conversion.{field}");
    let given = |field: &str| at(conversion, &["webhook", field]).filter(|value| !value.is_null());
    let review_versions = given("conversionReviewVersions").and_then(Value::as_array);
    let review_versions = review_versions.map(Vec::as_slice).unwrap_or_default();
    let strategy = text(conversion, &["strategy"]);
    match strategy {
        "None" | "Webhook" => {}
        "" => causes.push(Cause::required(&path("strategy"), "")),
        other => causes.push(Cause::unsupported(
            &path("strategy"),
            &other.into(),
            &["None", "Webhook"],
        )),
    }
    // Kubernetes names the field as an older version of the API had it.
    let config = path("webhookClientConfig");
    if strategy == "Webhook" {
        match given("clientConfig") {
            Some(given) => causes.extend(check_client_config(given, &config)),
            None => causes.push(Cause::required(
                &config,
                "required when strategy is set to Webhook",
            )),
        }
        of_review_versions(
            review_versions,
            &path("conversionReviewVersions"),
            &mut causes,
        );
    } else if !strategy.is_empty() {
        let detail = "should not be set when strategy is not set to Webhook";
        if given("clientConfig").is_some() {
            causes.push(Cause::forbidden(&config, detail));
        }
        if !review_versions.is_empty() {
            causes.push(Cause::forbidden(&path("conversionReviewVersions"), detail));
        }
    }
    causes
}

fn of_review_versions(versions: &[Value], path: &str, causes: &mut Vec<Cause>) {
    if versions.is_empty() {
        causes.push(Cause::required(path, ""));
        return;
    }
    let texts: Vec<&str> = versions.iter().filter_map(Value::as_str).collect();
    let mut seen = BTreeSet::new();
    for (index, version) in texts.iter().enumerate() {
        let at = format!("{path}[{index}]");
        if !seen.insert(*version) {
            causes.push(Cause::invalid(&at, &(*version).into(), "duplicate version"));
        } else if !is_label_1035(version) {
            causes.push(Cause::invalid(&at, &(*version).into(), LABEL_1035));
        }
    }
    if !texts
        .iter()
        .any(|version| ["v1", "v1beta1"].contains(version))
    {
        let detail = "must include at least one of v1, v1beta1";
        causes.push(Cause::invalid(path, &Value::from(texts), detail));
    }
}
