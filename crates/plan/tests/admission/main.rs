//! What objects are completed with, and why they are refused. The same rules run through the API and
//! the webhooks in `crates/controllers/tests/admission.rs`.

#![allow(clippy::unwrap_used, reason = "a test reports by panicking")]

mod core;
mod facts;
mod machine_pool;
mod terraform;

use remuda_plan::admission::{Facts, Gates, Kind, Request, defaults, problems};
use serde_json::{Value, json};

/// An object without spec.
pub(crate) fn named(kind: Kind) -> Value {
    json!({
        "apiVersion": format!("{}/{}", kind.group(), kind.version()),
        "kind": kind.name(),
        "metadata": { "name": "a", "namespace": "team-a" },
    })
}

/// The fields of the problems of a request with the default gates, in order.
pub(crate) fn fields(kind: Kind, request: &Request<'_>) -> Vec<String> {
    fields_with(kind, request, &Gates::default())
}

/// The same with other gates.
pub(crate) fn fields_with(kind: Kind, request: &Request<'_>, gates: &Gates) -> Vec<String> {
    problems(kind, request, gates, &Facts::default())
        .into_iter()
        .map(|problem| problem.field)
        .collect()
}

/// A created object with its defaults.
pub(crate) fn completed(kind: Kind, object: &Value) -> Value {
    defaults(kind, &Request::create(object)).object().clone()
}
