//! What the manager may do in the management cluster: the rules of its role, each with its reason.
//!
//! `remuda install` makes the ClusterRole from these; a test compares them with the requests that
//! controllers really make, in both directions.

/// When a rule is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Needed {
    /// Always.
    Always,
    /// Where Remuda runs the core controllers itself (`--core=on`).
    Core,
}

/// One rule of the manager's role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Resources, with subresources as `pods/eviction`.
    pub resources: &'static [&'static str],
    /// Verbs.
    pub verbs: &'static [&'static str],
    /// When.
    pub needed: Needed,
    /// Why.
    pub because: &'static str,
}


const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";

/// The rules, by group and resource.
pub const RULES: &[Rule] = &[
    Rule {
        group: "",
        resources: &["secrets"],
        verbs: &["get", "list", "watch", "create", "patch", "delete"],
        needed: Needed::Always,
        because: "reads bootstrap data, credentials and kubeconfigs; keeps each pool's record",
    },
    Rule {
        group: "",
        resources: &["configmaps"],
        verbs: &["get", "list", "watch"],
        needed: Needed::Always,
        because: "variables of pools come from ConfigMaps that opted in",
    },
    Rule {
        group: "",
        resources: &["namespaces"],
        verbs: &["get"],
        needed: Needed::Always,
        because: "an identity says by labels which namespaces may use it",
    },
    Rule {
        group: "events.k8s.io",
        resources: &["events"],
        verbs: &["create", "patch"],
        needed: Needed::Always,
        because: "tells what was done and what failed",
    },
    Rule {
        group: "apiextensions.k8s.io",
        resources: &["customresourcedefinitions"],
        verbs: &["get"],
        needed: Needed::Always,
        because: "contract labels say which version of a kind to read",
    },
    Rule {
        group: "coordination.k8s.io",
        resources: &["leases"],
        verbs: &["get", "create", "patch"],
        needed: Needed::Always,
        because: "one of several managers leads",
    },
    Rule {
        group: INFRASTRUCTURE,
        resources: &["terraformmachinepools"],
        verbs: &["get", "list", "watch", "patch"],
        needed: Needed::Always,
        because: "the pools: finalizer, provider ids",
    },
    Rule {
        group: INFRASTRUCTURE,
        resources: &["terraformmachinepools/status"],
        verbs: &["patch"],
        needed: Needed::Always,
        because: "what became of a pool",
    },
];

/// Rules that hold where Remuda runs the core controllers (`true`), or as a provider.
pub fn rules(core: bool) -> impl Iterator<Item = &'static Rule> {
    RULES
        .iter()
        .filter(move |rule| core || rule.needed == Needed::Always)
}
