//! Which names of a definition are accepted, its conditions, and the versions it was stored at.

use serde_json::{Value, json};

use super::{flag, versions};
use crate::object::{at, child_mut, text};
use crate::registry::Registry;

/// Sets the conditions, accepted names and stored versions. A name is accepted unless another kind
/// of the group has it; what was accepted before stays.
pub(crate) fn establish(crd: &mut Value, registry: &Registry, now: &str) {
    let (accepted, conflict) = accept(crd, registry);
    let condition = |kind: &str, status: bool, reason: &str, message: &str| {
        json!({
            "type": kind, "status": if status { "True" } else { "False" },
            "lastTransitionTime": now, "reason": reason, "message": message,
        })
    };
    let established = text_condition(crd, "Established") == "True";
    let (names, live) = match &conflict {
        None => (
            condition("NamesAccepted", true, "NoConflicts", "no conflicts found"),
            Some(condition(
                "Established",
                true,
                "InitialNamesAccepted",
                "the initial names have been accepted",
            )),
        ),
        Some(conflict) => (
            condition("NamesAccepted", false, conflict.reason, &conflict.message),
            // What is served goes on being served under the names that it has.
            (!established).then(|| {
                let message = "not all names are accepted";
                condition("Established", false, "NotAccepted", message)
            }),
        ),
    };
    let storage = versions(crd).iter().find(|v| flag(v, "storage"));
    let storage = storage
        .map(|v| text(v, &["name"]).to_owned())
        .unwrap_or_default();
    let status = child_mut(crd, "status");
    let list = status.entry("conditions").or_insert_with(|| json!([]));
    set_condition(list, names);
    if let Some(live) = live {
        set_condition(list, live);
    }
    status.insert("acceptedNames".into(), accepted);
    let stored = status.entry("storedVersions").or_insert_with(|| json!([]));
    if let Some(list) = stored.as_array_mut()
        && !list.iter().any(|version| *version == storage.as_str())
    {
        list.push(storage.into());
    }
}

/// The status of a condition, empty when it is absent.
pub(super) fn text_condition<'a>(crd: &'a Value, kind: &str) -> &'a str {
    let list = at(crd, &["status", "conditions"]).and_then(Value::as_array);
    let found = list
        .into_iter()
        .flatten()
        .find(|c| text(c, &["type"]) == kind);
    found.map(|c| text(c, &["status"])).unwrap_or_default()
}

/// Replaces the condition of this type; its transition time stays when its status stays.
pub(crate) fn set_condition(list: &mut Value, mut condition: Value) {
    if !list.is_array() {
        *list = json!([]);
    }
    let Some(list) = list.as_array_mut() else {
        return;
    };
    let same = list
        .iter_mut()
        .find(|old| old.get("type") == condition.get("type"));
    match same {
        Some(old) => {
            if old.get("status") == condition.get("status")
                && let Some(since) = old.get("lastTransitionTime")
            {
                condition["lastTransitionTime"] = since.clone();
            }
            *old = condition;
        }
        None => list.push(condition),
    }
}

struct Conflict {
    reason: &'static str,
    message: String,
}

/// The names that the definition gets, and the last of those that it does not get.
fn accept(crd: &Value, registry: &Registry) -> (Value, Option<Conflict>) {
    let group = text(crd, &["spec", "group"]);
    let own = text(crd, &["spec", "names", "plural"]);
    let others: Vec<_> = registry
        .kinds()
        .iter()
        .filter(|kind| kind.group == group && kind.plural != own)
        .collect();
    let is_resource = |word: &str| {
        others.iter().any(|other| {
            word == other.plural
                || word == other.singular
                || other.short_names.iter().any(|short| short == word)
        })
    };
    let is_kind = |word: &str| {
        others
            .iter()
            .any(|other| word == other.kind || word == other.list_kind)
    };
    let names = at(crd, &["spec", "names"]).cloned().unwrap_or_default();
    let before = at(crd, &["status", "acceptedNames"]).cloned();
    let mut accepted = before.unwrap_or_else(|| json!({"kind": "", "plural": ""}));
    let mut conflict = None;
    let mut refuse = |reason, words: &[&str]| {
        let each: Vec<String> = words
            .iter()
            .map(|word| format!("{word:?} is already in use"))
            .collect();
        let message = match each.as_slice() {
            [only] => only.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        conflict = Some(Conflict { reason, message });
    };
    let mut take = |field: &str, taken: bool| {
        if taken {
            return false;
        }
        match names.get(field) {
            Some(value) => accepted[field] = value.clone(),
            None => {
                accepted.as_object_mut().map(|map| map.remove(field));
            }
        }
        true
    };
    for (field, reason) in [
        ("plural", "PluralConflict"),
        ("singular", "SingularConflict"),
    ] {
        let word = text(&names, &[field]);
        if !take(field, !word.is_empty() && is_resource(word)) {
            refuse(reason, &[word]);
        }
    }
    let short = names.get("shortNames").and_then(Value::as_array);
    let short = short.into_iter().flatten().filter_map(Value::as_str);
    let taken: Vec<&str> = short.filter(|word| is_resource(word)).collect();
    if !take("shortNames", !taken.is_empty()) {
        refuse("ShortNamesConflict", &taken);
    }
    for (field, reason) in [("kind", "KindConflict"), ("listKind", "ListKindConflict")] {
        let word = text(&names, &[field]);
        if !take(field, !word.is_empty() && is_kind(word)) {
            refuse(reason, &[word]);
        }
    }
    take("categories", false);
    (accepted, conflict)
}
