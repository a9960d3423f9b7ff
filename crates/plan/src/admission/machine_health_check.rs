//! `MachineHealthCheck` (documents 1.5, 6.5). That the selector is not empty and the start-up time is
//! long enough is said by the definition.

use serde_json::Value;

use super::{defaults::Defaults, machine, problem::Problem, request::Request, selector};
use crate::{
    machines::remediation::{health::NODE_STARTUP_TIMEOUT, limit::Limit},
    pool::keys,
};

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
        defaults.set(&startup, NODE_STARTUP_TIMEOUT.as_secs().into());
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
    problems.extend(selector::problems("spec.selector", &spec["selector"]));
    problems.extend(trigger(&spec["remediation"]["triggerIf"]));
    problems
}

fn trigger(trigger: &Value) -> Vec<Problem> {
    let path = "spec.remediation.triggerIf";
    let mut problems = Vec::new();
    let limit = &trigger["unhealthyLessThanOrEqualTo"];
    let readable = match Limit::parse(None, Some(limit)) {
        Limit::Percent(percent) => percent <= 100,
        Limit::Unreadable(_) => false,
        Limit::AtMost(_) | Limit::Within(..) => true,
    };
    if !readable {
        problems.push(Problem::invalid(
            format!("{path}.unhealthyLessThanOrEqualTo"),
            limit,
            "must be a number of 0 or more, or a percentage from \"0%\" to \"100%\"",
        ));
    }
    let range = &trigger["unhealthyInRange"];
    if let Some(text) = range.as_str()
        && !matches!(Limit::parse(Some(text), None), Limit::Within(low, high) if low <= high)
    {
        problems.push(Problem::invalid(
            format!("{path}.unhealthyInRange"),
            range,
            "must be a range such as \"[2-5]\", the smaller number first",
        ));
    }
    problems
}
