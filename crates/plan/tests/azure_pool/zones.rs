//! Zones: requested, pinned, none.

use std::collections::BTreeSet;

use serde_json::json;

use super::{
    cloud::applied,
    demo::{Demo, SET, demo, names},
};

fn zones(demo: &Demo) -> BTreeSet<String> {
    demo.good().set.zones
}

fn of<const N: usize>(zones: [&str; N]) -> BTreeSet<String> {
    names(zones).into_iter().collect()
}

/// Proves: AZURE-59.
#[test]
fn zones_are_pinned_at_the_first_apply() {
    let unsorted = demo().with(|i| i.cluster_failure_domains = names(["3", "1", "2"]));
    let (mut cloud, demo) = applied(unsorted);
    assert_eq!(cloud.set(SET).set.zones, of(["1", "2", "3"]));
    let mut demo = demo.with(|i| i.cluster_failure_domains = names(["3", "1"]));
    assert!(cloud.settle(&mut demo).is_empty());
    assert_eq!(zones(&demo), of(["1", "2", "3"]));
    assert_eq!(demo.good().set.name, SET);
}

/// Proves: AZURE-60.
#[test]
fn requested_zones_are_used_and_the_clusters_are_pinned_all_the_same() {
    let (cloud, demo) = applied(demo().zones(["2"]));
    assert_eq!(cloud.set("workers-9723f6c7").set.zones, of(["2"]));
    assert_eq!(demo.remembered().pinned_zones, Some(of(["1", "2", "3"])));
}

/// Proves: AZURE-61.
#[test]
fn a_zone_that_the_cluster_lacks_is_refused() {
    let demo = demo().zones(["4"]);
    assert_eq!(demo.refused(), ["E-ZONES"]);
    let message = demo.refusals()[0].message.clone();
    assert_eq!(message, "asks for 4; the cluster has 1, 2, 3");
    let regional = super::demo::demo()
        .zones(["1"])
        .exports(|e| e["failure_domains"] = json!({}));
    assert_eq!(regional.refused(), ["E-ZONES"]);
    assert!(regional.refusals()[0].message.contains("no zones"));
}

/// Proves: AZURE-62.
#[test]
fn another_order_of_zones_is_the_same() {
    let (mut cloud, demo) = applied(demo().zones(["1", "3"]));
    let mut demo = demo.zones(["3", "1"]);
    assert!(cloud.settle(&mut demo).is_empty());
}

/// Proves: AZURE-18.
#[test]
fn a_region_without_zones_has_a_regional_set() {
    let regional = demo()
        .with(|inputs| inputs.cluster_failure_domains = Vec::new())
        .exports(|e| e["failure_domains"] = json!({}));
    let (cloud, demo) = applied(regional);
    assert!(cloud.set(SET).set.zones.is_empty());
    assert_eq!(demo.remembered().pinned_zones, Some(BTreeSet::new()));
    let outputs = cloud.outputs(&demo);
    assert!(
        outputs
            .instances
            .iter()
            .all(|member| member.failure_domain.is_none())
    );
}

/// Proves: AZURE-106.
#[test]
fn going_back_to_no_zones_means_the_pinned_ones() {
    let (mut cloud, demo) = applied(demo().zones(["2"]));
    let mut demo = demo
        .exports(|e| e["failure_domains"] = json!({ "1": {}, "2": {}, "3": {}, "4": {} }))
        .with(|inputs| inputs.cluster_failure_domains = names(["1", "2", "3", "4"]))
        .zones([]);
    cloud.settle(&mut demo);
    assert_eq!(cloud.sets.keys().collect::<Vec<_>>(), [SET]);
    assert_eq!(cloud.set(SET).set.zones, of(["1", "2", "3"]));
}

#[test]
fn a_pinned_zone_that_left_the_exports_is_told_and_kept() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.exports(|e| e["failure_domains"] = json!({ "1": {}, "3": {} }));
    assert_eq!(demo.good().missing_zones, of(["2"]));
    let notices = remuda_plan::azure::notices::notices(&demo.good());
    assert_eq!(notices.len(), 1);
    assert!(notices[0].message.contains("zones 2;"), "{notices:?}");
    assert!(cloud.settle(&mut demo).is_empty());
}
