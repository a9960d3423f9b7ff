//! Objects that kubectl applied from the client side before they met server-side apply.
//!
//! What the last-applied annotation names and the live object still holds is kubectl's own, whoever
//! the managed fields name: it doesn't conflict with kubectl. The annotation is kept up to date
//! while it is there.

use serde_json::{Value, json};

use super::field_set::FieldSet;
use super::ownership::Refused;
use super::walk::{compare, fields_of};
use crate::schema::Structural;

/// Where kubectl keeps the configuration that it applied last.
const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Most bytes of all annotations together (Kubernetes' own bound, 256 KiB).
const MAX_ANNOTATIONS: usize = 256 << 10;

fn annotation(object: &Value) -> Option<&str> {
    object
        .get("metadata")?
        .get("annotations")?
        .get(ANNOTATION)?
        .as_str()
}

/// The fields that kubectl applied before and that nobody changed since.
fn own_fields(live: &Value, schema: &Structural) -> Option<FieldSet> {
    let config: Value = serde_json::from_str(annotation(live)?).ok()?;
    let same_kind = ["apiVersion", "kind"]
        .iter()
        .all(|name| config.get(name) == live.get(name));
    if !same_kind {
        return None;
    }
    let root = Some(schema.root());
    let changed = compare(&config, live, root);
    let own = fields_of(&config, root);
    Some(
        own.difference(&changed.modified)
            .difference(&changed.added)
            .difference(&changed.removed),
    )
}

/// The conflicts that remain when kubectl's own fields don't count; `None` when none remain.
pub(super) fn without_own_conflicts(
    conflicts: Vec<Refused>,
    live: &Value,
    schema: &Structural,
) -> Option<Vec<Refused>> {
    let Some(own) = own_fields(live, schema) else {
        return Some(conflicts);
    };
    let remaining: Vec<Refused> = conflicts
        .into_iter()
        .filter(|refused| !own.covers(&refused.path))
        .collect();
    (!remaining.is_empty()).then_some(remaining)
}

/// Writes the configuration into the annotation where the live object has one.
pub(super) fn refresh(live: &Value, object: &mut Value, config: &Value) {
    if annotation(live).is_none() {
        return;
    }
    let mut config = config.clone();
    if let Some(annotations) = config
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
    {
        annotations.remove(ANNOTATION);
    }
    let text = format!("{config}\n");
    let annotations = object
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut);
    let Some(annotations) = annotations else {
        return;
    };
    let others: usize = annotations
        .iter()
        .filter(|(name, _)| *name != ANNOTATION)
        .map(|(name, value)| name.len() + value.as_str().map_or(0, str::len))
        .sum();
    if others + ANNOTATION.len() + text.len() > MAX_ANNOTATIONS {
        annotations.remove(ANNOTATION);
    } else {
        annotations.insert(ANNOTATION.to_owned(), json!(text));
    }
}
