//! What apply answers when another manager owns a field, and its other refusals.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use super::managed_fields::{Manager, Operation};
use crate::schema::field_error::quote;

/// Why a configuration wasn't applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyError {
    /// Other managers own fields that the configuration changes: answer 409 `Conflict`.
    Conflict(Vec<Conflict>),
    /// The configuration isn't an object that can be applied: answer 400 `BadRequest`.
    BadRequest(String),
    /// The configuration doesn't fit the schema: answer 500, as Kubernetes does.
    Untyped(String),
}

/// One field that another manager owns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conflict {
    /// The owner in words, for example `"kubectl-edit" using apps/v1`.
    pub manager: String,
    /// The field, for example `.spec.replicas`.
    pub field: String,
}

impl Conflict {
    /// The message of a `Status` cause of type `FieldManagerConflict`.
    pub fn message(&self) -> String {
        format!("conflict with {}", self.manager)
    }
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict(conflicts) => f.write_str(&sentence(conflicts)),
            Self::BadRequest(message) | Self::Untyped(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for ApplyError {}

fn sentence(conflicts: &[Conflict]) -> String {
    if let [only] = conflicts {
        return format!(
            "Apply failed with 1 conflict: {}: {}",
            only.message(),
            only.field
        );
    }
    let mut by_manager: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for conflict in conflicts {
        by_manager
            .entry(&conflict.manager)
            .or_default()
            .push(&conflict.field);
    }
    let mut lines = Vec::new();
    for (manager, fields) in by_manager {
        lines.push(format!("conflicts with {manager}:"));
        lines.extend(fields.into_iter().map(|field| format!("- {field}")));
    }
    format!(
        "Apply failed with {} conflicts: {}",
        conflicts.len(),
        lines.join("\n")
    )
}

/// A manager in words.
pub(super) fn describe(manager: &Manager) -> String {
    let mut out = quote(&manager.name);
    if !manager.subresource.is_empty() {
        let _ = write!(out, " with subresource {}", quote(&manager.subresource));
    }
    if manager.operation == Operation::Update {
        let _ = write!(out, " using {}", manager.api_version);
    }
    out
}
