//! The count that a pool or set gets when nobody gives one (document 3.1).

use serde_json::Value;

use super::{problem::Problem, request::Request};
use crate::pool::keys;

/// Why there is no count.
type Unreadable = Vec<Problem>;

/// The count for an object without one.
///
/// # Errors
/// Both autoscaler annotations are there and one is not a number.
pub(super) fn replicas(request: &Request<'_>) -> Result<i64, Unreadable> {
    let annotations = &request.object["metadata"]["annotations"];
    let limits = (
        annotations[keys::AUTOSCALER_MIN].as_str(),
        annotations[keys::AUTOSCALER_MAX].as_str(),
    );
    let (Some(min), Some(max)) = limits else {
        return Ok(1);
    };
    let (min, max) = match (
        read(keys::AUTOSCALER_MIN, min),
        read(keys::AUTOSCALER_MAX, max),
    ) {
        (Ok(min), Ok(max)) => (min, max),
        (min, max) => return Err([min.err(), max.err()].into_iter().flatten().collect()),
    };
    let previous = request.old.and_then(|old| old["spec"]["replicas"].as_i64());
    Ok(match previous {
        None => min,
        Some(count) if count < min => min,
        Some(count) if count > max => max,
        Some(count) => count,
    })
}

fn read(key: &str, text: &str) -> Result<i64, Problem> {
    text.parse::<i32>().map(i64::from).map_err(|_| {
        Problem::invalid(
            format!("metadata.annotations[{key}]"),
            &Value::from(text),
            "must be a whole number, or set spec.replicas",
        )
    })
}
