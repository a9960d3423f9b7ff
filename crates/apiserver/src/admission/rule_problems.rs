//! What is wrong with a rule of a webhook. Pure.

use serde_json::Value;

use super::configuration::{go_list, list};
use crate::status_error::Cause;

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SCOPES: [&str; 3] = ["*", "Cluster", "Namespaced"];

/// Everything that is wrong with a rule.
pub(super) fn check_rule(rule: &Value, path: &str, causes: &mut Vec<Cause>) {
    let texts =
        |field: &str| -> Vec<&str> { list(rule, field).iter().filter_map(Value::as_str).collect() };
    let operations = texts("operations");
    let at = format!("{path}.operations");
    let go_type = "admissionregistration.OperationType";
    check_wildcard(&operations, &at, go_type, "operations", causes);
    for (index, operation) in operations.iter().enumerate() {
        if !OPERATIONS.contains(operation) {
            let at = format!("{at}[{index}]");
            causes.push(Cause::unsupported(&at, &(*operation).into(), &OPERATIONS));
        }
    }
    let groups = texts("apiGroups");
    let at = format!("{path}.apiGroups");
    check_wildcard(&groups, &at, "string", "API groups", causes);
    let versions = texts("apiVersions");
    let at = format!("{path}.apiVersions");
    check_wildcard(&versions, &at, "string", "API versions", causes);
    for (index, version) in versions.iter().enumerate() {
        if version.is_empty() {
            causes.push(Cause::required(&format!("{at}[{index}]"), ""));
        }
    }
    check_resources(&texts("resources"), &format!("{path}.resources"), causes);
    let scope = rule.get("scope").filter(|scope| !scope.is_null());
    if let Some(scope) = scope.filter(|s| s.as_str().is_none_or(|s| !SCOPES.contains(&s))) {
        causes.push(Cause::unsupported(&format!("{path}.scope"), scope, &SCOPES));
    }
}

/// A list must name something, and nothing beside everything.
fn check_wildcard(names: &[&str], path: &str, go_type: &str, what: &str, causes: &mut Vec<Cause>) {
    if names.is_empty() {
        causes.push(Cause::required(path, ""));
    } else if names.len() > 1 && names.contains(&"*") {
        let given = go_list(go_type, names);
        let message =
            format!("Invalid value: {given}: if '*' is present, must not specify other {what}");
        causes.push(Cause::new("FieldValueInvalid", path, message));
    }
}

fn check_resources(resources: &[&str], path: &str, causes: &mut Vec<Cause>) {
    if resources.is_empty() {
        causes.push(Cause::required(path, ""));
        return;
    }
    // `a/*` and `*/b` that came before.
    let (mut all_below, mut below_all): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for (index, resource) in resources.iter().enumerate() {
        let at = format!("{path}[{index}]");
        if resource.is_empty() {
            causes.push(Cause::required(&at, ""));
            continue;
        }
        let Some((of, below)) = resource.split_once('/') else {
            continue;
        };
        let mut covered = |by: String| {
            let detail = format!("if '{by}' is present, must not specify {resource}");
            causes.push(Cause::invalid(&at, &(*resource).into(), &detail));
        };
        if all_below.contains(&of) {
            covered(format!("{of}/*"));
        }
        if below_all.contains(&below) {
            covered(format!("*/{below}"));
        }
        if below == "*" {
            all_below.push(of);
        }
        if of == "*" {
            below_all.push(below);
        }
    }
    let mut beside = |why: &str| {
        let given = go_list("string", resources);
        let message = format!("Invalid value: {given}: {why}");
        causes.push(Cause::new("FieldValueInvalid", path, message));
    };
    if resources.len() > 1 && resources.contains(&"*/*") {
        beside("if '*/*' is present, must not specify other resources");
    }
    let plain = resources.iter().filter(|resource| !resource.contains('/'));
    if resources.contains(&"*") && plain.count() > 1 {
        beside("if '*' is present, must not specify other resources without subresources");
    }
}
