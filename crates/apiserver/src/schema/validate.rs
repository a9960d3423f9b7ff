//! Whether an object fits its schema.
//!
//! In: the object after pruning and defaulting, the stored object on updates, and the schema.
//! Out: every problem, in Kubernetes' words. On updates a part that didn't change is not checked
//! again, so that a tightened definition doesn't lock its objects (ratcheting). Rules are left out
//! while the object's shape is wrong, which is said in a last error.

use serde_json::Value;

use super::field_error::{FieldError, FieldErrorKind};
use super::structural::Structural;
use super::{embedded, lists, path::Path, rules, values};

/// Checks an object: types, bounds, formats, combinations, list types and rules.
pub fn validate(new: &Value, old: Option<&Value>, schema: &Structural) -> Vec<FieldError> {
    validate_beside(new, old, schema, false)
}

/// Checks an object of which more than its schema was checked: `blocked` tells whether something is
/// wrong that rules could stumble over.
pub fn validate_beside(
    new: &Value,
    old: Option<&Value>,
    schema: &Structural,
    blocked: bool,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if old.is_some_and(|old| old == new) && !schema.root.rules_below {
        return errors;
    }
    values::check_object(new, old, &schema.root, &mut errors);
    let blocked = blocked || errors.iter().any(blocks_rules);
    if old.is_none() {
        embedded::check(new, &schema.root, &Path::Root, &mut errors);
    }
    if schema.root.lists_below {
        check_lists(new, old, schema, &mut errors);
    }
    if blocked {
        if schema.root.rules_below {
            errors.push(FieldError::new(
                FieldErrorKind::Invalid,
                "",
                Some(Value::Null),
                "some validation rules were not checked because the object was invalid; \
                 correct the existing errors to complete validation",
            ));
        }
        return errors;
    }
    rules::evaluate(new, old, &schema.root, &mut errors);
    errors
}

/// Entries that occur twice are let through where the stored object has some already.
fn check_lists(
    new: &Value,
    old: Option<&Value>,
    schema: &Structural,
    errors: &mut Vec<FieldError>,
) {
    let before = errors.len();
    lists::check(new, &schema.root, &Path::Root, errors);
    if errors.len() == before {
        return;
    }
    let mut stored = Vec::new();
    if let Some(old) = old {
        lists::check(old, &schema.root, &Path::Root, &mut stored);
    }
    if !stored.is_empty() {
        errors.truncate(before);
    }
}

/// Whether rules could stumble over this problem.
fn blocks_rules(error: &FieldError) -> bool {
    matches!(
        error.kind,
        FieldErrorKind::NotSupported
            | FieldErrorKind::Required
            | FieldErrorKind::TooLong
            | FieldErrorKind::Duplicate
            | FieldErrorKind::TooMany
            | FieldErrorKind::TypeInvalid
    )
}
