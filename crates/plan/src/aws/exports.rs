//! Cluster exports, schema `captf.io/aws-cluster/v1`, read tolerantly (AWS document 1).
//!
//! A field of a wrong type reads as missing; nothing panics and nothing is half used: exports are
//! complete or refused.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::pool::exports::{Schema, text};

/// The only schema this driver reads.
pub(super) const SCHEMA: Schema = Schema {
    name: "captf.io/aws-cluster/v1",
    wrong: "V-4",
    wrong_remedy: "use an AWS pool in a cluster made by the AWS cluster module",
    none: "R-1",
    incomplete: "R-2",
};

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

/// Whether a value says it follows our schema.
pub fn has_schema(value: &Value) -> bool {
    SCHEMA.is_of(value)
}

/// All fields, or the names of the missing ones in ascending byte order.
pub(super) fn complete(value: &Value) -> Result<Exports, Vec<&'static str>> {
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
