//! `Cluster` and `ClusterClass`: the gate of topologies (document 7).

use super::{
    gates::{Gate, Gates},
    problem::Problem,
    request::{Operation, Request},
};

pub(super) fn problems(request: &Request<'_>, gates: &Gates) -> Vec<Problem> {
    let has = |object: &serde_json::Value| !object["spec"]["topology"].is_null();
    let had = request.old.is_some_and(has);
    if has(request.object) && !had && !gates.is_on(Gate::ClusterTopology) {
        return vec![Problem::forbidden(
            "spec.topology",
            Gate::ClusterTopology.remedy(),
        )];
    }
    Vec::new()
}

pub(super) fn class_problems(request: &Request<'_>, gates: &Gates) -> Vec<Problem> {
    if request.operation == Operation::Create && !gates.is_on(Gate::ClusterTopology) {
        return vec![Problem::forbidden("spec", Gate::ClusterTopology.remedy())];
    }
    Vec::new()
}
