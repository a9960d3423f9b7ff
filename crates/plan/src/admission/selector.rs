//! Label selectors.

use serde_json::Value;

use super::problem::Problem;
use crate::pool::labels;

/// What is wrong with a selector.
pub(super) fn problems(path: &str, selector: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        if !labels::is_valid(key, value.as_str().unwrap_or_default()) {
            let field = format!("{path}.matchLabels[{key}]");
            problems.push(Problem::invalid(field, value, labels::RULE));
        }
    }
    let expressions = selector["matchExpressions"].as_array();
    for (number, expression) in expressions.into_iter().flatten().enumerate() {
        let field = |name: &str| format!("{path}.matchExpressions[{number}].{name}");
        let key = expression["key"].as_str().unwrap_or_default();
        if !labels::is_valid(key, "") {
            problems.push(Problem::invalid(
                field("key"),
                &expression["key"],
                labels::RULE,
            ));
        }
        let values = expression["values"].as_array().map_or(0, Vec::len);
        match expression["operator"].as_str().unwrap_or_default() {
            "In" | "NotIn" if values == 0 => problems.push(Problem::required(
                field("values"),
                "In and NotIn need at least one value",
            )),
            "Exists" | "DoesNotExist" if values > 0 => problems.push(Problem::forbidden(
                field("values"),
                "Exists and DoesNotExist take no values",
            )),
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => problems.push(Problem::invalid(
                field("operator"),
                &expression["operator"],
                "must be In, NotIn, Exists or DoesNotExist",
            )),
        }
    }
    problems
}
