//! `MachinePool` (document 3.1).

use serde_json::Value;

use super::{
    autoscaled,
    defaults::Defaults,
    gates::{Gate, Gates},
    machine, metadata,
    problem::Problem,
    request::{Operation, Request},
    taints, version,
};
use crate::pool::keys;

pub(super) fn complete(request: &Request<'_>, defaults: &mut Defaults) {
    let cluster = defaults.at(&["spec", "clusterName"]).clone();
    if cluster.as_str().is_some_and(|name| !name.is_empty()) {
        defaults.set(&["metadata", "labels", keys::CLUSTER_NAME], cluster);
    }
    if defaults.at(&["spec", "replicas"]).is_null()
        && let Ok(replicas) = autoscaled::replicas(request)
    {
        defaults.set(&["spec", "replicas"], replicas.into());
    }
    machine::complete_spec(defaults, &["spec", "template", "spec"]);
}

pub(super) fn problems(request: &Request<'_>, gates: &Gates) -> Vec<Problem> {
    let mut problems = Vec::new();
    let is_new = request.operation == Operation::Create;
    if is_new && !gates.is_on(Gate::MachinePool) {
        problems.push(Problem::forbidden("spec", Gate::MachinePool.remedy()));
    }
    if request.leaves_spec() {
        return problems;
    }
    let spec = &request.object["spec"];
    problems.extend(counts(request));
    problems.extend(cluster(request));
    let machine = &spec["template"]["spec"];
    let path = "spec.template.spec";
    if !machine::has_bootstrap(machine) {
        problems.push(Problem::required(
            format!("{path}.bootstrap"),
            "set configRef, or dataSecretName where the Secret is made by other means",
        ));
    }
    problems.extend(version::problem(
        &format!("{path}.version"),
        &machine["version"],
    ));
    problems.extend(taints::problems(
        &format!("{path}.taints"),
        &machine["taints"],
        false,
        gates,
    ));
    problems.extend(metadata::problems(
        "spec.template.metadata",
        &spec["template"]["metadata"],
    ));
    problems
}

fn counts(request: &Request<'_>) -> Vec<Problem> {
    match request.object["spec"]["replicas"].as_i64() {
        None => autoscaled::replicas(request).err().unwrap_or_default(),
        Some(count) if count < 0 => vec![Problem::invalid(
            "spec.replicas",
            &Value::from(count),
            "must be 0 or more",
        )],
        Some(_) => Vec::new(),
    }
}

fn cluster(request: &Request<'_>) -> Vec<Problem> {
    let spec = &request.object["spec"];
    let (own, inner) = (
        &spec["clusterName"],
        &spec["template"]["spec"]["clusterName"],
    );
    let mut problems = Vec::new();
    problems.extend(machine::moved(request));
    if own != inner {
        problems.push(Problem::invalid(
            "spec.template.spec.clusterName",
            inner,
            format!("must be the same as spec.clusterName, {own}"),
        ));
    }
    problems
}
