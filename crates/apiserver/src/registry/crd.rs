//! CustomResourceDefinitions: their defaults, their checks, their conditions, and the kind that
//! each one adds.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Registry;
use super::kind::{Behaviour, Kind, ScalePaths, Version};
use crate::metadata;
use crate::object::{at, child_mut, name, text};
use crate::schema::Structural;
use crate::status_error::Cause;
use crate::table::custom_columns;

/// Functions on a definition as a JSON value.
pub(crate) struct Definition;

impl Definition {
    /// Fills in what may be left out.
    pub(crate) fn default(crd: &mut Value) {
        let kind = text(crd, &["spec", "names", "kind"]).to_owned();
        let spec = child_mut(crd, "spec");
        spec.entry("conversion")
            .or_insert_with(|| json!({"strategy": "None"}));
        let names = spec.entry("names").or_insert_with(|| json!({}));
        for (field, value) in [
            ("singular", kind.to_lowercase()),
            ("listKind", format!("{kind}List")),
        ] {
            if text(names, &[field]).is_empty() {
                names[field] = value.into();
            }
        }
    }

    /// Everything that is wrong with a definition, or with its change.
    pub(crate) fn validate(crd: &Value, old: Option<&Value>) -> Vec<Cause> {
        let mut causes = match old {
            Some(old) => validate_change(crd, old),
            None => validate_name(crd).into_iter().collect(),
        };
        let spec = |field: &str| text(crd, &["spec", field]);
        let names = |field: &str| text(crd, &["spec", "names", field]);
        for field in ["plural", "singular", "kind", "listKind"] {
            if names(field).is_empty() {
                causes.push(Cause::required(&format!("spec.names.{field}"), ""));
            }
            // A kind is a name in capitals.
            let word = match field {
                "kind" | "listKind" => names(field).to_lowercase(),
                _ => names(field).to_owned(),
            };
            if let Some(why) = metadata::dns_word_problem(&word) {
                let value = word.into();
                causes.push(Cause::invalid(&format!("spec.names.{field}"), &value, why));
            }
        }
        if spec("group").is_empty() {
            causes.push(Cause::required("spec.group", ""));
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
        causes.extend(validate_versions(crd));
        causes
    }
}

fn versions(crd: &Value) -> &[Value] {
    let list = at(crd, &["spec", "versions"]).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

fn flag(value: &Value, field: &str) -> bool {
    value.get(field).and_then(Value::as_bool).unwrap_or(false)
}

fn validate_name(crd: &Value) -> Option<Cause> {
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

/// What an established definition may not change, and the versions it must keep.
fn validate_change(crd: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for path in [
        &["spec", "group"][..],
        &["spec", "scope"],
        &["spec", "names", "plural"],
    ] {
        let (new, old) = (text(crd, path), text(old, path));
        if new != old {
            causes.push(Cause::invalid(
                &path.join("."),
                &new.into(),
                "field is immutable",
            ));
        }
    }
    let stored = at(crd, &["status", "storedVersions"]).and_then(Value::as_array);
    for (index, stored) in stored.into_iter().flatten().enumerate() {
        if !versions(crd)
            .iter()
            .any(|version| version.get("name") == Some(stored))
        {
            let name = stored.as_str().unwrap_or_default();
            let detail = format!(
                "missing from spec.versions; {name} was previously a storage version, and must \
                 remain in spec.versions until a storage migration ensures no data remains \
                 persisted in {name} and removes {name} from status.storedVersions"
            );
            causes.push(Cause::invalid(
                &format!("status.storedVersions[{index}]"),
                stored,
                &detail,
            ));
        }
    }
    causes
}

fn validate_versions(crd: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let storage = versions(crd).iter().filter(|v| flag(v, "storage")).count();
    if storage != 1 {
        let value = at(crd, &["spec", "versions"]).cloned().unwrap_or_default();
        let detail = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid("spec.versions", &value, detail));
    }
    for (index, version) in versions(crd).iter().enumerate() {
        let path = format!("spec.versions[{index}]");
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

/// Sets the conditions, accepted names and stored versions. The names are accepted unless another
/// kind of the group has them.
pub(crate) fn establish(crd: &mut Value, registry: &Registry, now: &str) {
    let taken = taken_name(crd, registry);
    let condition = |kind: &str, status: bool, reason: &str, message: &str| {
        json!({
            "type": kind, "status": if status { "True" } else { "False" },
            "lastTransitionTime": now, "reason": reason, "message": message,
        })
    };
    let established = text_condition(crd, "Established") == "True";
    let (names, live) = match &taken {
        None => (
            condition("NamesAccepted", true, "NoConflicts", "no conflicts found"),
            condition(
                "Established",
                true,
                "InitialNamesAccepted",
                "the initial names have been accepted",
            ),
        ),
        Some(taken) => (
            condition("NamesAccepted", false, taken.reason, &taken.message),
            condition(
                "Established",
                established,
                "NotAccepted",
                "not all names are accepted",
            ),
        ),
    };
    let accepted = at(crd, &["spec", "names"]).cloned().unwrap_or_default();
    let storage = versions(crd).iter().find(|v| flag(v, "storage"));
    let storage = storage
        .map(|v| text(v, &["name"]).to_owned())
        .unwrap_or_default();
    let status = child_mut(crd, "status");
    let list = status.entry("conditions").or_insert_with(|| json!([]));
    set_condition(list, names);
    set_condition(list, live);
    if taken.is_none() {
        status.insert("acceptedNames".into(), accepted);
    } else {
        status
            .entry("acceptedNames")
            .or_insert_with(|| json!({"kind": "", "plural": ""}));
    }
    let stored = status.entry("storedVersions").or_insert_with(|| json!([]));
    if let Some(list) = stored.as_array_mut()
        && !list.iter().any(|version| *version == storage.as_str())
    {
        list.push(storage.into());
    }
}

fn text_condition<'a>(crd: &'a Value, kind: &str) -> &'a str {
    let list = at(crd, &["status", "conditions"]).and_then(Value::as_array);
    let found = list
        .into_iter()
        .flatten()
        .find(|c| text(c, &["type"]) == kind);
    found.map(|c| text(c, &["status"])).unwrap_or_default()
}

/// Replaces the condition of this type; its transition time stays when its status stays.
pub(crate) fn set_condition(list: &mut Value, mut condition: Value) {
    if !list.is_array() {
        *list = json!([]);
    }
    let Some(list) = list.as_array_mut() else {
        return;
    };
    let same = list
        .iter_mut()
        .find(|old| old.get("type") == condition.get("type"));
    match same {
        Some(old) => {
            if old.get("status") == condition.get("status")
                && let Some(since) = old.get("lastTransitionTime")
            {
                condition["lastTransitionTime"] = since.clone();
            }
            *old = condition;
        }
        None => list.push(condition),
    }
}

struct Taken {
    reason: &'static str,
    message: String,
}

fn taken_name(crd: &Value, registry: &Registry) -> Option<Taken> {
    let group = text(crd, &["spec", "group"]);
    let names = at(crd, &["spec", "names"])?;
    let own = text(names, &["plural"]);
    let others = registry
        .kinds()
        .iter()
        .filter(|k| k.group == group && k.plural != own);
    for other in others {
        for (field, reason) in [("kind", "KindConflict"), ("listKind", "ListKindConflict")] {
            let value = text(names, &[field]);
            if !value.is_empty() && (value == other.kind || value == other.list_kind) {
                return Some(Taken {
                    reason,
                    message: format!("{value:?} is already in use"),
                });
            }
        }
        let mut words = vec![text(names, &["singular"])];
        let short = names.get("shortNames").and_then(Value::as_array);
        words.extend(short.into_iter().flatten().filter_map(Value::as_str));
        let used = |word: &str| {
            word == other.singular
                || word == other.plural
                || other.short_names.iter().any(|short| short == word)
        };
        if let Some(word) = words.into_iter().find(|word| used(word)) {
            let reason = "ShortNamesConflict";
            return Some(Taken {
                reason,
                message: format!("{word:?} is already in use"),
            });
        }
    }
    None
}

/// The kind that a definition adds; `None` until it is established.
pub(super) fn kind(crd: &Value) -> Option<Kind> {
    if text_condition(crd, "Established") != "True" {
        return None;
    }
    let group = text(crd, &["spec", "group"]).to_owned();
    let names = at(crd, &["status", "acceptedNames"])?;
    let list = |field: &str| -> Vec<String> {
        let list = names.get(field).and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    let kind = text(names, &["kind"]).to_owned();
    let versions: Vec<Version> = versions(crd)
        .iter()
        .map(|v| version(&group, &kind, v))
        .collect();
    let stored = versions.iter().find(|v| v.storage)?;
    let plural = text(names, &["plural"]).to_owned();
    Some(Kind {
        stored_as: crate::object::join_api_version(&group, &stored.name),
        shelf: crate::status_error::qualified(&group, &plural).into(),
        list_kind: text(names, &["listKind"]).to_owned(),
        singular: text(names, &["singular"]).to_owned(),
        short_names: list("shortNames"),
        categories: list("categories"),
        namespaced: text(crd, &["spec", "scope"]) == "Namespaced",
        behaviour: Behaviour::Custom,
        group,
        kind,
        plural,
        versions,
    })
}

fn version(group: &str, kind: &str, version: &Value) -> Version {
    let published = at(version, &["schema", "openAPIV3Schema"]);
    let subresources = version.get("subresources");
    let columns = version
        .get("additionalPrinterColumns")
        .and_then(Value::as_array);
    let selectable = version.get("selectableFields").and_then(Value::as_array);
    let name = text(version, &["name"]).to_owned();
    let deprecation = flag(version, "deprecated").then(|| {
        let own = text(version, &["deprecationWarning"]);
        if own.is_empty() {
            format!("{group}/{name} {kind} is deprecated")
        } else {
            own.to_owned()
        }
    });
    Version {
        served: flag(version, "served"),
        storage: flag(version, "storage"),
        deprecation,
        schema: published
            .and_then(|schema| Structural::parse(schema).ok())
            .map(Arc::new),
        published: published.cloned().map(Arc::new),
        status: subresources
            .and_then(|s| s.get("status"))
            .is_some_and(|s| !s.is_null()),
        scale: subresources.and_then(|s| s.get("scale")).and_then(scale),
        columns: custom_columns(columns.map(Vec::as_slice).unwrap_or_default()).into(),
        selectable: selectable
            .into_iter()
            .flatten()
            .map(|field| {
                text(field, &["jsonPath"])
                    .trim_start_matches('.')
                    .to_owned()
            })
            .collect(),
        name,
    }
}

fn scale(scale: &Value) -> Option<ScalePaths> {
    let path = |field: &str| -> Option<Vec<String>> {
        let path = text(scale, &[field]).strip_prefix('.')?;
        Some(path.split('.').map(str::to_owned).collect())
    };
    Some(ScalePaths {
        replicas: path("specReplicasPath")?,
        status_replicas: path("statusReplicasPath")?,
        selector: path("labelSelectorPath"),
    })
}
