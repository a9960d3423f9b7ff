//! CustomResourceDefinitions: their defaults, and the kind that each one adds.
//!
//! | file | duty |
//! | --- | --- |
//! | `problems`, `change_problems` | what is wrong with a definition, or with its change |
//! | `names` | which names are accepted, which versions were stored |

mod change_problems;
mod names;
mod problems;

pub(crate) use names::{establish, set_condition};

use std::sync::Arc;

use serde_json::{Value, json};

use super::kind::{Behaviour, Kind, ScalePaths, Version};
use crate::conversion::ConversionHook;
use crate::object::{at, child_mut, is_deleting, text};
use crate::schema::Structural;
use crate::status_error::Cause;
use crate::table::custom_columns;
use crate::webhook::Endpoint;
use names::text_condition;

/// Functions on a definition as a JSON value.
pub(crate) struct Definition;

impl Definition {
    /// Fills in what may be left out.
    pub(crate) fn default(crd: &mut Value) {
        let kind = text(crd, &["spec", "names", "kind"]).to_owned();
        let spec = child_mut(crd, "spec");
        spec.entry("conversion")
            .or_insert_with(|| json!({"strategy": "None"}));
        let service = spec
            .get_mut("conversion")
            .and_then(|conversion| conversion.get_mut("webhook")?.get_mut("clientConfig"))
            .and_then(|config| config.get_mut("service")?.as_object_mut());
        if let Some(service) = service {
            service.entry("port").or_insert_with(|| json!(443));
        }
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
            Some(old) => change_problems::of(crd, old),
            None => problems::of_name(crd).into_iter().collect(),
        };
        causes.extend(problems::of(crd));
        causes
    }
}

pub(super) fn versions(crd: &Value) -> &[Value] {
    let list = at(crd, &["spec", "versions"]).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn flag(value: &Value, field: &str) -> bool {
    value.get(field).and_then(Value::as_bool).unwrap_or(false)
}

/// The kind that a definition adds; `None` until it is established.
///
/// `revision` is that of the definition, `former` the kind that it added before.
pub(super) fn kind(crd: &Value, revision: u64, former: Option<&Kind>) -> Option<Kind> {
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
        .map(|v| {
            let version = version(&group, &kind, v);
            let same = former.and_then(|kind| same_schema(kind, &version));
            Version {
                since: same.unwrap_or(revision),
                ..version
            }
        })
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
        conversion: conversion(crd),
        ending: is_deleting(crd),
        group,
        kind,
        plural,
        versions,
    })
}

/// Since when a version has had the schema that it has.
fn same_schema(former: &Kind, version: &Version) -> Option<u64> {
    let former = former.versions.iter().find(|v| v.name == version.name)?;
    (former.published == version.published).then_some(former.since)
}

fn conversion(crd: &Value) -> Option<ConversionHook> {
    let conversion = at(crd, &["spec", "conversion"])?;
    if text(conversion, &["strategy"]) != "Webhook" {
        return None;
    }
    let webhook = conversion.get("webhook")?;
    let versions = webhook
        .get("conversionReviewVersions")
        .and_then(Value::as_array);
    Some(ConversionHook {
        endpoint: Endpoint::of(webhook.get("clientConfig")?),
        review_version: versions.into_iter().flatten().find_map(|version| {
            let known = ["v1", "v1beta1"];
            known.into_iter().find(|known| version == known)
        }),
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
        since: 0,
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
