//! `Machine`, and what a pool's template shares with it (documents 4.3, 4.7, 5.6).

use serde_json::Value;

use super::{
    defaults::Defaults, facts::Facts, gates::Gates, problem::Problem, request::Request, taints,
    version,
};
use crate::pool::keys;

/// Seconds that the deletion of a Node is tried unless someone says otherwise (document 1.3).
const NODE_DELETION_TIMEOUT_SECONDS: i64 = 10;

pub(super) fn complete(defaults: &mut Defaults) {
    let cluster = defaults.at(&["spec", "clusterName"]).clone();
    if cluster.as_str().is_some_and(|name| !name.is_empty()) {
        defaults.set(&["metadata", "labels", keys::CLUSTER_NAME], cluster);
    }
    complete_spec(defaults, &["spec"]);
}

/// Completes the spec of a Machine, which stands at `path`.
pub(super) fn complete_spec(defaults: &mut Defaults, path: &[&str]) {
    if !defaults.at(path).is_object() {
        return;
    }
    let below = |more: &[&'static str]| -> Vec<String> {
        let more = more.iter().map(|part| (*part).to_owned());
        path.iter()
            .map(|part| (*part).to_owned())
            .chain(more)
            .collect()
    };
    let timeout = below(&["deletion", "nodeDeletionTimeoutSeconds"]);
    let timeout: Vec<&str> = timeout.iter().map(String::as_str).collect();
    if defaults.at(&timeout).is_null() {
        defaults.set(&timeout, NODE_DELETION_TIMEOUT_SECONDS.into());
    }
    let version = below(&["version"]);
    let version: Vec<&str> = version.iter().map(String::as_str).collect();
    if let Some(completed) = version::completed(defaults.at(&version)) {
        defaults.set(&version, completed.into());
    }
}

pub(super) fn problems(request: &Request<'_>, gates: &Gates) -> Vec<Problem> {
    if request.leaves_spec() {
        return Vec::new();
    }
    let machine = request.object;
    let spec = &machine["spec"];
    let mut problems = Vec::new();
    problems.extend(moved(request));
    if !has_bootstrap(spec) && !is_of_pool(machine) {
        problems.push(Problem::required(
            "spec.bootstrap",
            "set configRef or dataSecretName; only Machines of a MachinePool have neither",
        ));
    }
    problems.extend(version::problem("spec.version", &spec["version"]));
    let control_plane = !machine["metadata"]["labels"][keys::CONTROL_PLANE].is_null();
    problems.extend(taints::problems(
        "spec.taints",
        &spec["taints"],
        control_plane,
        gates,
    ));
    problems
}

/// An object stays with its Cluster.
pub(super) fn moved(request: &Request<'_>) -> Option<Problem> {
    let before = &request.old?["spec"]["clusterName"];
    let now = &request.object["spec"]["clusterName"];
    (before != now).then(|| {
        Problem::invalid(
            "spec.clusterName",
            now,
            format!("must stay {before}: an object can't move to another Cluster; make a new one"),
        )
    })
}

/// Whether bootstrap data is promised. The empty name of a Secret is none: it only marks Machines of
/// pools.
pub(super) fn has_bootstrap(spec: &Value) -> bool {
    let bootstrap = &spec["bootstrap"];
    let secret = bootstrap["dataSecretName"].as_str();
    bootstrap["configRef"].is_object() || secret.is_some_and(|name| !name.is_empty())
}

/// Whether a Machine belongs to a pool, by its label or its owner.
pub(super) fn is_of_pool(machine: &Value) -> bool {
    let metadata = &machine["metadata"];
    let owners = metadata["ownerReferences"].as_array();
    !metadata["labels"][keys::POOL_NAME].is_null()
        || owners.into_iter().flatten().any(|owner| {
            let version = owner["apiVersion"].as_str().unwrap_or_default();
            owner["kind"] == keys::OWNER_KIND && version.starts_with(keys::OWNER_GROUP_PREFIX)
        })
}

/// The reason why a Machine, or the infrastructure of one, can't be deleted alone, if it says so
/// itself.
pub fn not_deletable(object: &Value) -> Option<&str> {
    object["metadata"]["annotations"][keys::NOT_DELETABLE].as_str()
}

/// A Machine that its provider can't end alone goes with its pool or its Cluster only (document
/// 4.7): refusing is better than a deletion that is not carried out.
pub(super) fn deletion(request: &Request<'_>, facts: &Facts) -> Vec<Problem> {
    let field = format!("metadata.annotations[{}]", keys::NOT_DELETABLE);
    let own = not_deletable(request.subject());
    match (own, &facts.machine) {
        (None, None) => Vec::new(),
        (_, Some(Err(why))) => vec![Problem::forbidden(
            "metadata",
            format!("whether its provider can end this one machine is unknown: {why}; try again"),
        )],
        (_, Some(Ok(machine))) if machine.goes_with_its_pool => Vec::new(),
        (own, machine) => {
            let of_infra = machine.as_ref().and_then(|it| it.as_ref().ok());
            let reason = own.or(of_infra.and_then(|it| it.not_deletable.as_deref()));
            reason.map_or_else(Vec::new, |reason| {
                let remedy = format!(
                    "its provider can't end this one machine ({reason}); lower the replicas of \
                     its MachinePool, or delete the MachinePool"
                );
                vec![Problem::forbidden(field, remedy)]
            })
        }
    }
}
