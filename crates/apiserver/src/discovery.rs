//! What clients ask first: versions, groups, resources, schemas.
//!
//! In: a registry. Out: documents. A group or version without resources is never named: kubectl
//! would not cache the answer.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::handlers::REVIEWS;
use crate::object::join_api_version;
use crate::openapi::{KindSchema, document};
use crate::registry::{Behaviour, Registry, Served};
use crate::request::accept::Discovery;

/// The Kubernetes release whose API this server speaks.
const MAJOR: &str = "1";
const MINOR: &str = "33";

const ALL_VERBS: [&str; 8] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];
/// The order in which a genuine server lists the verbs of custom kinds.
const CUSTOM_VERBS: [&str; 8] = [
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];
const PART_VERBS: [&str; 3] = ["get", "patch", "update"];

/// `/version`
pub(crate) fn version() -> Value {
    json!({
        "major": MAJOR, "minor": MINOR,
        "gitVersion": format!("v{MAJOR}.{MINOR}.0+remuda.{}", env!("CARGO_PKG_VERSION")),
        "gitCommit": "", "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "", "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

/// `/`
pub(crate) fn paths(registry: &Registry) -> Value {
    let mut paths: BTreeSet<String> = ["/api", "/api/v1", "/apis", "/healthz", "/livez"]
        .into_iter()
        .chain(["/openapi/v3", "/readyz", "/version"])
        .map(str::to_owned)
        .collect();
    for (group, versions) in all_groups(registry) {
        if group.is_empty() {
            continue;
        }
        paths.insert(format!("/apis/{group}"));
        paths.extend(
            versions
                .iter()
                .map(|version| format!("/apis/{group}/{version}")),
        );
    }
    json!({"paths": paths})
}

/// `/api`
pub(crate) fn core_versions() -> Value {
    json!({
        "kind": "APIVersions", "versions": ["v1"],
        "serverAddressByClientCIDRs": [],
    })
}

/// The groups of the registry and those of the reviews.
fn all_groups(registry: &Registry) -> Vec<(String, Vec<String>)> {
    let mut groups = registry.groups();
    for (group, _, _, _) in REVIEWS {
        if !groups.iter().any(|(known, _)| known == group) {
            groups.push((group.to_owned(), vec!["v1".to_owned()]));
        }
    }
    groups
}

fn group_value(group: &str, versions: &[String]) -> Value {
    let named = |version: &String| json!({"groupVersion": join_api_version(group, version), "version": version});
    json!({
        "name": group,
        "versions": versions.iter().map(named).collect::<Vec<_>>(),
        "preferredVersion": versions.first().map(named),
    })
}

/// `/apis`
pub(crate) fn groups(registry: &Registry) -> Value {
    let groups: Vec<Value> = all_groups(registry)
        .iter()
        .filter(|(group, _)| !group.is_empty())
        .map(|(group, versions)| group_value(group, versions))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/GROUP`
pub(crate) fn group(registry: &Registry, group: &str) -> Option<Value> {
    let groups = all_groups(registry);
    let (_, versions) = groups
        .iter()
        .find(|(name, _)| name == group && !name.is_empty())?;
    let mut value = group_value(group, versions);
    value["kind"] = "APIGroup".into();
    value["apiVersion"] = "v1".into();
    Some(value)
}

/// A path below an object, the kind it speaks, and its verbs.
struct Part {
    name: &'static str,
    kind: (String, String, String),
    verbs: &'static [&'static str],
}

fn verbs(served: &Served) -> Vec<&'static str> {
    let all = if served.kind.is_custom() {
        CUSTOM_VERBS
    } else {
        ALL_VERBS
    };
    let serves = |verb: &&str| *verb != "deletecollection" || served.kind.empties_at_once();
    all.into_iter().filter(serves).collect()
}

fn parts(served: &Served) -> Vec<Part> {
    let kind = &served.kind;
    let own = || {
        (
            kind.group.clone(),
            served.version().name.clone(),
            kind.kind.clone(),
        )
    };
    let mut parts = Vec::new();
    if kind.behaviour == Behaviour::Namespace {
        parts.push(Part {
            name: "finalize",
            kind: own(),
            verbs: &["update"],
        });
    }
    if kind.behaviour == Behaviour::CertificateSigningRequest {
        parts.push(Part {
            name: "approval",
            kind: own(),
            verbs: &PART_VERBS,
        });
    }
    if kind.behaviour == Behaviour::Pod {
        parts.push(Part {
            name: "binding",
            kind: (String::new(), "v1".to_owned(), "Binding".to_owned()),
            verbs: &["create"],
        });
        let kind = ("policy".to_owned(), "v1".to_owned(), "Eviction".to_owned());
        parts.push(Part {
            name: "eviction",
            kind,
            verbs: &["create"],
        });
    }
    if kind.behaviour == Behaviour::ServiceAccount {
        let group = "authentication.k8s.io".to_owned();
        parts.push(Part {
            name: "token",
            kind: (group, "v1".to_owned(), "TokenRequest".to_owned()),
            verbs: &["create"],
        });
    }
    if served.version().status {
        parts.push(Part {
            name: "status",
            kind: own(),
            verbs: &PART_VERBS,
        });
    }
    if served.version().scale.is_some() {
        let kind = (
            "autoscaling".to_owned(),
            "v1".to_owned(),
            "Scale".to_owned(),
        );
        parts.push(Part {
            name: "scale",
            kind,
            verbs: &PART_VERBS,
        });
    }
    parts
}

/// `/api/v1`, `/apis/GROUP/VERSION`
pub(crate) fn resources(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let mut resources = Vec::new();
    for served in registry.served_at(group, version) {
        let kind = &served.kind;
        let mut resource = json!({
            "name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced,
            "kind": kind.kind, "verbs": verbs(&served), "storageVersionHash": hash(&[&kind.shelf]),
        });
        if !kind.short_names.is_empty() {
            resource["shortNames"] = json!(kind.short_names);
        }
        if !kind.categories.is_empty() {
            resource["categories"] = json!(kind.categories);
        }
        resources.push(resource);
        for part in parts(&served) {
            let (group, version, spoken) = &part.kind;
            let mut resource = json!({
                "name": format!("{}/{}", kind.plural, part.name), "singularName": "",
                "namespaced": kind.namespaced, "kind": spoken, "verbs": part.verbs,
            });
            if *group != kind.group {
                resource["group"] = group.as_str().into();
                resource["version"] = version.as_str().into();
            }
            resources.push(resource);
        }
    }
    for (_, plural, kind, review) in REVIEWS
        .iter()
        .filter(|(of, ..)| *of == group && version == "v1")
    {
        resources.push(json!({
            "name": plural, "singularName": kind.to_ascii_lowercase(),
            "namespaced": review.namespaced(),
            "kind": kind, "verbs": ["create"],
        }));
    }
    if resources.is_empty() {
        return None;
    }
    Some(json!({
        "kind": "APIResourceList", "apiVersion": "v1",
        "groupVersion": join_api_version(group, version), "resources": resources,
    }))
}

/// `/api` and `/apis` in one document each, with their resources.
pub(crate) fn aggregated(registry: &Registry, core: bool, shape: Discovery) -> Value {
    let items: Vec<Value> = all_groups(registry)
        .iter()
        .filter(|(group, _)| group.is_empty() == core)
        .map(|(group, versions)| {
            let versions: Vec<Value> = versions
                .iter()
                .map(|version| {
                    json!({
                        "version": version, "freshness": "Current",
                        "resources": aggregated_resources(registry, group, version),
                    })
                })
                .collect();
            let meta = if group.is_empty() {
                json!({"creationTimestamp": null})
            } else {
                json!({"name": group, "creationTimestamp": null})
            };
            json!({"metadata": meta, "versions": versions})
        })
        .collect();
    let version = match shape {
        Discovery::AggregatedV2Beta1 => "v2beta1",
        _ => "v2",
    };
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {}, "items": items,
    })
}

fn aggregated_resources(registry: &Registry, group: &str, version: &str) -> Vec<Value> {
    let spoken = |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
    let scope = |namespaced: bool| if namespaced { "Namespaced" } else { "Cluster" };
    let mut resources: Vec<Value> = registry
        .served_at(group, version)
        .iter()
        .map(|served| {
            let kind = &served.kind;
            let mut resource = json!({
                "resource": kind.plural, "responseKind": spoken(group, version, &kind.kind),
                "scope": scope(kind.namespaced), "singularResource": kind.singular,
                "verbs": verbs(served),
            });
            if !kind.short_names.is_empty() {
                resource["shortNames"] = json!(kind.short_names);
            }
            if !kind.categories.is_empty() {
                resource["categories"] = json!(kind.categories);
            }
            let parts: Vec<Value> = parts(served)
                .iter()
                .map(|part| {
                    let (group, version, kind) = &part.kind;
                    json!({
                        "subresource": part.name, "responseKind": spoken(group, version, kind),
                        "verbs": part.verbs,
                    })
                })
                .collect();
            if !parts.is_empty() {
                resource["subresources"] = parts.into();
            }
            resource
        })
        .collect();
    for (_, plural, kind, review) in REVIEWS
        .iter()
        .filter(|(of, ..)| *of == group && version == "v1")
    {
        resources.push(json!({
            "resource": plural, "responseKind": spoken(group, version, kind),
            "scope": scope(review.namespaced()),
            "singularResource": kind.to_ascii_lowercase(), "verbs": ["create"],
        }));
    }
    resources
}

fn hash(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.as_bytes());
        digest.update([0]);
    }
    let mut digits = format!("{:X}", digest.finalize());
    digits.truncate(32);
    digits
}

/// `/openapi/v3`
pub(crate) fn openapi_index(registry: &Registry) -> Value {
    let mut paths = serde_json::Map::new();
    for (group, versions) in registry.groups() {
        for version in versions {
            let path = if group.is_empty() {
                format!("api/{version}")
            } else {
                format!("apis/{group}/{version}")
            };
            let hash = document_hash(registry, &group, &version);
            let url = format!("/openapi/v3/{path}?hash={hash}");
            paths.insert(path, json!({"serverRelativeURL": url}));
        }
    }
    json!({"paths": paths})
}

/// `/openapi/v2`
pub(crate) fn openapi_v2(registry: &Registry) -> Value {
    let groups = registry.groups().into_iter();
    let all = groups.flat_map(|(group, versions)| {
        versions
            .into_iter()
            .filter_map(move |version| openapi(registry, &group, &version))
    });
    crate::openapi::v2::document(all)
}

/// `/openapi/v3/apis/GROUP/VERSION`
pub(crate) fn openapi(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let served = registry.served_at(group, version);
    if served.is_empty() {
        return None;
    }
    let parts: Vec<Vec<Part>> = served.iter().map(parts).collect();
    let kinds: Vec<KindSchema<'_>> = served
        .iter()
        .zip(&parts)
        .map(|(served, parts)| KindSchema {
            kind: &served.kind.kind,
            list_kind: &served.kind.list_kind,
            plural: &served.kind.plural,
            namespaced: served.kind.namespaced,
            verbs: verbs(served),
            subresources: parts.iter().map(|part| part.name).collect(),
            custom: served.version().published.as_deref(),
        })
        .collect();
    Some(document(group, version, &kinds))
}

/// Changes when the document does: built-in schemas change only with the release.
fn document_hash(registry: &Registry, group: &str, version: &str) -> String {
    let mut texts = vec![env!("CARGO_PKG_VERSION").to_owned()];
    for served in registry.served_at(group, version) {
        texts.push(served.kind.kind.clone());
        texts.extend(parts(&served).iter().map(|part| part.name.to_owned()));
        texts.extend(served.version().published.as_deref().map(Value::to_string));
    }
    hash(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}
