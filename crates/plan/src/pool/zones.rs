//! Zones of a pool: requested, inherited and known ones (captf document FD-1 to FD-4).
//!
//! A pool that asks for no zones keeps those of its first apply for life; what the cluster gains
//! or loses later moves nobody.

use std::collections::BTreeSet;

/// Zones to record at the first apply: the cluster's failure domains, else all known zones.
pub fn defaults<'a>(
    cluster_failure_domains: &'a [String],
    known: impl IntoIterator<Item = &'a String>,
) -> BTreeSet<String> {
    if cluster_failure_domains.is_empty() {
        known.into_iter().cloned().collect()
    } else {
        cluster_failure_domains.iter().cloned().collect()
    }
}

/// Zones a pool uses: the requested ones, else the recorded ones.
pub fn used(requested: &BTreeSet<String>, recorded: &BTreeSet<String>) -> BTreeSet<String> {
    if requested.is_empty() {
        recorded.clone()
    } else {
        requested.clone()
    }
}

/// Requested zones that the cluster does not have, sorted.
pub fn unknown<'a>(
    requested: &BTreeSet<String>,
    known: impl IntoIterator<Item = &'a String>,
) -> Vec<String> {
    let known: BTreeSet<&String> = known.into_iter().collect();
    requested
        .iter()
        .filter(|zone| !known.contains(zone))
        .cloned()
        .collect()
}
