//! `MachineHealthCheck` (documents 1.5, 6.5).

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::{defaults::Defaults, machine, problem::Problem, request::Request, selector};
use crate::pool::keys;

/// Seconds until a Node must be there (document 1.5).
const NODE_STARTUP_TIMEOUT_SECONDS: i64 = 600;
/// Anything shorter would replace machines that are merely booting (document 1.5).
const SHORTEST_STARTUP_SECONDS: i64 = 30;

static RANGE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\A\[([0-9]+)-([0-9]+)\]\z").expect("a constant pattern"));

pub(super) fn complete(defaults: &mut Defaults) {
    let cluster = defaults.at(&["spec", "clusterName"]).clone();
    if cluster.as_str().is_some_and(|name| !name.is_empty()) {
        defaults.set(&["metadata", "labels", keys::CLUSTER_NAME], cluster);
    }
    if !defaults.at(&["spec"]).is_object() {
        return;
    }
    let startup = ["spec", "checks", "nodeStartupTimeoutSeconds"];
    if defaults.at(&startup).is_null() {
        defaults.set(&startup, NODE_STARTUP_TIMEOUT_SECONDS.into());
    }
    let limit = [
        "spec",
        "remediation",
        "triggerIf",
        "unhealthyLessThanOrEqualTo",
    ];
    let range = ["spec", "remediation", "triggerIf", "unhealthyInRange"];
    if defaults.at(&limit).is_null() && defaults.at(&range).is_null() {
        defaults.set(&limit, "100%".into());
    }
}

pub(super) fn problems(request: &Request<'_>) -> Vec<Problem> {
    if request.leaves_spec() {
        return Vec::new();
    }
    let spec = &request.object["spec"];
    let mut problems = Vec::new();
    problems.extend(machine::moved(request));
    if selector::is_empty(&spec["selector"]) {
        problems.push(Problem::required(
            "spec.selector",
            "must not be empty: it would select every Machine of the Cluster, its control plane \
             included",
        ));
    }
    problems.extend(selector::problems("spec.selector", &spec["selector"]));
    let startup = &spec["checks"]["nodeStartupTimeoutSeconds"];
    if startup
        .as_i64()
        .is_some_and(|seconds| seconds != 0 && seconds < SHORTEST_STARTUP_SECONDS)
    {
        problems.push(Problem::invalid(
            "spec.checks.nodeStartupTimeoutSeconds",
            startup,
            format!("must be at least {SHORTEST_STARTUP_SECONDS}, or 0 to turn the check off"),
        ));
    }
    problems.extend(trigger(&spec["remediation"]["triggerIf"]));
    problems
}

fn trigger(trigger: &Value) -> Vec<Problem> {
    let path = "spec.remediation.triggerIf";
    let mut problems = Vec::new();
    let limit = &trigger["unhealthyLessThanOrEqualTo"];
    let is_limit = match limit {
        Value::Null => true,
        Value::Number(number) => number.as_u64().is_some(),
        Value::String(text) => text
            .strip_suffix('%')
            .and_then(|percent| percent.parse::<u32>().ok())
            .is_some_and(|percent| percent <= 100),
        _ => false,
    };
    if !is_limit {
        problems.push(Problem::invalid(
            format!("{path}.unhealthyLessThanOrEqualTo"),
            limit,
            "must be a number of 0 or more, or a percentage from \"0%\" to \"100%\"",
        ));
    }
    let range = &trigger["unhealthyInRange"];
    if let Some(text) = range.as_str()
        && !is_range(text)
    {
        problems.push(Problem::invalid(
            format!("{path}.unhealthyInRange"),
            range,
            "must be a range such as \"[2-5]\", the smaller number first",
        ));
    }
    problems
}

fn is_range(text: &str) -> bool {
    RANGE.captures(text).is_some_and(|numbers| {
        let number = |place: usize| {
            numbers
                .get(place)
                .and_then(|it| it.as_str().parse::<u32>().ok())
        };
        matches!((number(1), number(2)), (Some(low), Some(high)) if low <= high)
    })
}
