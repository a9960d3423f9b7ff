//! Tag sets and their merge order (AWS document 3.2).

use std::collections::BTreeMap;

/// Key of the installation tag, on the group alone.
pub const INSTALLATION: &str = "remuda.dev/installation";

/// Prefix of the cluster ownership tag's key.
pub const CLUSTER_PREFIX: &str = "kubernetes.io/cluster/";

/// Prefix of the contract's tags.
pub const CAPTF_PREFIX: &str = "captf.io/";

/// Keys of the contract's tags that say whose a resource is.
pub const OWNERSHIP: [&str; 4] = [
    "captf.io/cluster",
    "captf.io/namespace",
    "captf.io/kind",
    "captf.io/name",
];

/// Every tag set of one pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagSets {
    /// The template object and network interfaces.
    pub base: BTreeMap<String, String>,
    /// The group: the base set and the installation id.
    pub group: BTreeMap<String, String>,
    /// Instances and volumes: the base set and `Name`.
    pub instance: BTreeMap<String, String>,
}

/// Merges user tags, the cluster's ownership tag and the contract's tags; later wins.
pub fn sets(
    additional: &BTreeMap<String, String>,
    kubernetes_cluster_id: &str,
    captf: &BTreeMap<String, String>,
    machinepool_name: &str,
    installation: &str,
) -> TagSets {
    let mut base = additional.clone();
    base.insert(
        format!("{CLUSTER_PREFIX}{kubernetes_cluster_id}"),
        "owned".to_owned(),
    );
    base.extend(captf.iter().map(|(k, v)| (k.clone(), v.clone())));

    let mut group = base.clone();
    group.insert(INSTALLATION.to_owned(), installation.to_owned());
    let mut instance = base.clone();
    instance.insert("Name".to_owned(), machinepool_name.to_owned());
    TagSets {
        base,
        group,
        instance,
    }
}
