//! Labels and annotations that will be copied to other objects.

use serde_json::Value;

use super::problem::Problem;
use crate::pool::labels;

/// Bytes of all annotations of an object, keys included (Kubernetes' own limit).
const ANNOTATION_BYTES: usize = 256 * 1024;

/// What is wrong with the labels and annotations of a template.
pub(super) fn problems(path: &str, metadata: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    for part in ["labels", "annotations"] {
        let Some(pairs) = metadata[part].as_object() else {
            continue;
        };
        for (key, value) in pairs {
            // Annotation values are free text; their keys follow the rule of labels.
            let judged = if part == "labels" {
                value.as_str().unwrap_or_default()
            } else {
                ""
            };
            if !labels::is_valid(key, judged) {
                problems.push(Problem::invalid(
                    format!("{path}.{part}[{key}]"),
                    &Value::from(judged),
                    labels::RULE,
                ));
            }
        }
    }
    let bytes: usize = metadata["annotations"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| key.len() + value.as_str().unwrap_or_default().len())
        .sum();
    if bytes > ANNOTATION_BYTES {
        problems.push(Problem::hidden(
            format!("{path}.annotations"),
            format!("must be at most {ANNOTATION_BYTES} bytes together, and is {bytes}"),
        ));
    }
    problems
}
