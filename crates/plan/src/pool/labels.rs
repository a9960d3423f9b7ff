//! Node labels: syntax, and the filter of what a kubelet may set on itself (captf document LBL-1
//! to LBL-5). The syntax check is a safety boundary: boot scripts quote the labels.

use std::{collections::BTreeMap, sync::LazyLock};

use regex::Regex;

/// What a label must look like, for messages.
pub const RULE: &str = "a label key is an optional lower-case DNS subdomain of at most 253 characters and `/`, then a name; \
a name has 1 to 63 characters, starts and ends with a letter or digit and holds letters, digits, `-`, `_` and `.`; \
a value is empty or follows the rule of a name";

/// Keys with a reserved prefix that a kubelet may set on itself all the same.
const ALLOWED_KEYS: [&str; 11] = [
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];

static NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\A[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?\z").expect("a constant pattern")
});

static SUBDOMAIN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\A[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*\z")
        .expect("a constant pattern")
});

/// Whether a key and a value follow [`RULE`].
pub fn is_valid(key: &str, value: &str) -> bool {
    let name = match key.split_once('/') {
        Some((prefix, name)) => {
            if prefix.len() > 253 || !SUBDOMAIN.is_match(prefix) {
                return false;
            }
            name
        }
        None => key,
    };
    NAME.is_match(name) && (value.is_empty() || NAME.is_match(value))
}

/// Labels after the filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filtered {
    /// What the kubelet registers.
    pub kept: BTreeMap<String, String>,
    /// Keys left out, sorted.
    pub dropped: Vec<String>,
}

impl Filtered {
    /// `k=v,k2=v2`, sorted by key; empty without labels.
    pub fn label_string(&self) -> String {
        let pairs: Vec<String> = self.kept.iter().map(|(k, v)| format!("{k}={v}")).collect();
        pairs.join(",")
    }
}

/// Leaves out what NodeRestriction refuses.
pub fn filter(labels: &BTreeMap<String, String>) -> Filtered {
    let (kept, dropped): (BTreeMap<_, _>, BTreeMap<_, _>) = labels
        .iter()
        .map(|(k, v)| (k.clone(), v.clone()))
        .partition(|(key, _)| is_kept(key));
    Filtered {
        kept,
        dropped: dropped.into_keys().collect(),
    }
}

fn is_kept(key: &str) -> bool {
    let Some((prefix, _)) = key.split_once('/') else {
        return true;
    };
    let is_or_below = |domain: &str| {
        prefix == domain
            || prefix
                .strip_suffix(domain)
                .is_some_and(|sub| sub.ends_with('.'))
    };
    ALLOWED_KEYS.contains(&key)
        || !["kubernetes.io", "k8s.io"].into_iter().any(is_or_below)
        || ["kubelet.kubernetes.io", "node.kubernetes.io"]
            .into_iter()
            .any(is_or_below)
}
