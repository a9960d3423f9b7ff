//! `MachineDrainRule` (document 1.6).

use serde_json::Value;

use super::{problem::Problem, request::Request, selector};

pub(super) fn problems(request: &Request<'_>) -> Vec<Problem> {
    if request.leaves_spec() {
        return Vec::new();
    }
    let spec = &request.object["spec"];
    let drain = &spec["drain"];
    let mut problems = Vec::new();
    if !drain["order"].is_null() && drain["behavior"] != "Drain" {
        problems.push(Problem::forbidden(
            "spec.drain.order",
            format!(
                "only pods that are drained have an order; remove it, or set behavior Drain \
                 instead of {}",
                drain["behavior"]
            ),
        ));
    }
    for (list, fields) in [
        ("machines", ["selector", "clusterSelector"]),
        ("pods", ["selector", "namespaceSelector"]),
    ] {
        problems.extend(items(list, fields, &spec[list]));
    }
    problems
}

fn items(list: &str, fields: [&str; 2], items: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (number, item) in items.as_array().into_iter().flatten().enumerate() {
        let path = format!("spec.{list}[{number}]");
        if fields.iter().all(|field| item[*field].is_null()) {
            problems.push(Problem::required(
                path.clone(),
                format!("set {} or {}", fields[0], fields[1]),
            ));
        }
        for field in fields {
            problems.extend(selector::problems(&format!("{path}.{field}"), &item[field]));
        }
    }
    problems
}
