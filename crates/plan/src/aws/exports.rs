//! Cluster exports, schema `captf.io/aws-cluster/v1`, read tolerantly (AWS document 1).
//!
//! A field of a wrong type reads as missing; nothing panics and nothing is half used: exports are
//! complete or refused.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::Refusal;

/// The only schema this driver reads.
pub const SCHEMA: &str = "captf.io/aws-cluster/v1";

/// What a pool uses of its cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exports {
    /// Region of every client.
    pub region: String,
    /// Part of the ownership tag's key.
    pub kubernetes_cluster_id: String,
    /// Zone to subnet; never empty.
    pub zone_subnets: BTreeMap<String, String>,
    /// Security groups of workers; never empty.
    pub worker_security_groups: Vec<String>,
    /// Instance profile of workers, by name.
    pub worker_instance_profile: String,
    /// Bucket of staged payloads.
    pub bootstrap_bucket: String,
}

/// Which input the exports come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Cluster,
    External,
}

impl Source {
    fn input(self) -> &'static str {
        match self {
            Self::Cluster => "captf_cluster_outputs",
            Self::External => "external_cluster_exports",
        }
    }
}

/// Whether a value says it follows our schema.
pub fn has_schema(value: &Value) -> bool {
    value.get("schema").and_then(Value::as_str) == Some(SCHEMA)
}

/// Whether the cluster is externally managed: its outputs are `{}` or null.
pub fn is_externally_managed(cluster_outputs: &Value) -> bool {
    match cluster_outputs {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
    }
}

/// Checks the schema of `captf_cluster_outputs`.
///
/// # Errors
/// `V-4` when the cluster runs another module.
pub fn check_schema(cluster_outputs: &Value) -> Result<(), Refusal> {
    if is_externally_managed(cluster_outputs) || has_schema(cluster_outputs) {
        return Ok(());
    }
    let found = match cluster_outputs.get("schema") {
        Some(Value::String(schema)) => format!("schema `{schema}`"),
        Some(_) | None => "no schema".to_owned(),
    };
    Err(Refusal::new(
        "V-4",
        "captf_cluster_outputs",
        format!(
            "has {found}, expected `{SCHEMA}`: the cluster runs another module or an incompatible version of it"
        ),
    )
    .with_remedy("use an AWS pool in a cluster made by the AWS cluster module"))
}

/// The exports a pool uses. `external` is the variable `external_cluster_exports`; it counts only
/// for an externally managed cluster.
///
/// # Errors
/// `R-1` when there are none, `R-2` listing what is missing.
pub fn read(cluster_outputs: &Value, external: Option<&Value>) -> Result<Exports, Refusal> {
    let (source, value) = if is_externally_managed(cluster_outputs) {
        let external = external.ok_or_else(|| {
            Refusal::new(
                "R-1",
                "external_cluster_exports",
                "the cluster is externally managed and exports nothing",
            )
            .with_remedy("set the variable external_cluster_exports to the cluster's exports")
        })?;
        (Source::External, external)
    } else {
        (Source::Cluster, cluster_outputs)
    };
    complete(value).map_err(|missing| {
        let input = source.input();
        Refusal::new(
            "R-2",
            input,
            format!("the cluster's exports lack {}", missing.join(", ")),
        )
        .with_remedy(format!("{input} must hold them"))
    })
}

/// All fields, or the names of the missing ones in ascending byte order.
fn complete(value: &Value) -> Result<Exports, Vec<&'static str>> {
    let bucket = text(value.get("bootstrap_bucket"));
    let zones = zone_subnets(value.get("failure_domains"));
    let profile = text(value.pointer("/instance_profiles/worker"));
    let cluster_id = text(value.get("kubernetes_cluster_id"));
    let region = text(value.get("region"));
    let schema = has_schema(value).then_some(());
    let groups = texts(value.pointer("/security_group_ids/worker"));

    let missing: Vec<&'static str> = [
        ("bootstrap_bucket", bucket.is_none()),
        ("failure_domains", zones.is_none()),
        ("instance_profiles.worker", profile.is_none()),
        ("kubernetes_cluster_id", cluster_id.is_none()),
        ("region", region.is_none()),
        ("schema", schema.is_none()),
        ("security_group_ids.worker", groups.is_none()),
    ]
    .into_iter()
    .filter_map(|(name, is_missing)| is_missing.then_some(name))
    .collect();

    match (bucket, zones, profile, cluster_id, region, schema, groups) {
        (
            Some(bucket),
            Some(zones),
            Some(profile),
            Some(id),
            Some(region),
            Some(()),
            Some(groups),
        ) => Ok(Exports {
            region,
            kubernetes_cluster_id: id,
            zone_subnets: zones,
            worker_security_groups: groups,
            worker_instance_profile: profile,
            bootstrap_bucket: bucket,
        }),
        _ => Err(missing),
    }
}

/// A scalar as text; null, absent, empty and compound values are missing.
fn text(value: Option<&Value>) -> Option<String> {
    let text = match value? {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// A list of texts, none of them missing; an empty list is missing.
fn texts(value: Option<&Value>) -> Option<Vec<String>> {
    let items = value?.as_array()?;
    let texts: Option<Vec<String>> = items.iter().map(|item| text(Some(item))).collect();
    texts.filter(|texts| !texts.is_empty())
}

/// Zone to subnet; one bad entry makes the whole map missing.
fn zone_subnets(value: Option<&Value>) -> Option<BTreeMap<String, String>> {
    let zones = value?.as_object()?;
    let subnets: Option<BTreeMap<String, String>> = zones
        .iter()
        .map(|(zone, entry)| Some((zone.clone(), text(entry.get("subnet_id"))?)))
        .collect();
    subnets.filter(|subnets| !subnets.is_empty())
}
