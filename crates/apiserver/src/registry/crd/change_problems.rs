//! What an established definition may not change, and the versions that it must keep. Pure.

use serde_json::Value;

use super::names::text_condition;
use super::versions;
use crate::object::{at, text};
use crate::status_error::Cause;

/// Everything that is wrong with a change.
pub(super) fn of(crd: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    // Names that nobody uses yet may still be corrected.
    let established = text_condition(old, "Established") == "True";
    let fixed: [(&[&str], bool); 4] = [
        (&["spec", "group"], true),
        (&["spec", "scope"], established),
        (&["spec", "names", "plural"], true),
        (&["spec", "names", "kind"], established),
    ];
    for (path, fixed) in fixed {
        let (new, old) = (text(crd, path), text(old, path));
        if fixed && new != old {
            causes.push(Cause::invalid(
                &path.join("."),
                &new.into(),
                "field is immutable",
            ));
        }
    }
    let stored = at(crd, &["status", "storedVersions"]).and_then(Value::as_array);
    for (index, stored) in stored.into_iter().flatten().enumerate() {
        if !versions(crd)
            .iter()
            .any(|version| version.get("name") == Some(stored))
        {
            let name = stored.as_str().unwrap_or_default();
            let detail = format!(
                "missing from spec.versions; {name} was previously a storage version, and must \
                 remain in spec.versions until a storage migration ensures no data remains \
                 persisted in {name} and removes {name} from status.storedVersions"
            );
            causes.push(Cause::invalid(
                &format!("status.storedVersions[{index}]"),
                stored,
                &detail,
            ));
        }
    }
    causes
}
