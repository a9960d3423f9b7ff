//! Objects that kubectl applied from the client side before they met server-side apply.
//!
//! What the last-applied annotation names is kubectl's own, whoever the managed fields name: it
//! doesn't conflict with kubectl. The annotation is kept up to date while it is there.

use serde_json::{Value, json};

use super::ownership::Refused;
use super::walk::fields_of;
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

/// The conflicts that remain when what the annotation names is kubectl's own; `None` when none
/// remain.
pub(super) fn without_own_conflicts(
    conflicts: Vec<Refused>,
    live: &Value,
    schema: &Structural,
) -> Option<Vec<Refused>> {
    let Some(config) = annotation(live).and_then(|text| serde_json::from_str::<Value>(text).ok())
    else {
        return Some(conflicts);
    };
    let own = fields_of(&config, Some(schema.root()));
    // Only what the live object still holds as it was applied, or anything the annotation names.
    let mut remaining = Vec::new();
    for refused in conflicts {
        let left = refused.fields.difference(&own);
        let still = left
            .paths()
            .iter()
            .any(|path| path.to_string() == refused.conflict.field);
        if still {
            remaining.push(refused);
        }
    }
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
    let Some(annotations) = object
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
    else {
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
