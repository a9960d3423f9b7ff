//! The question to a conversion webhook, and what is made of its answer. Pure.

use serde_json::{Map, Value, json};

use crate::metadata::{label_key_problems, label_value_problem};
use crate::object::{self, text};

/// The review that asks for `objects` at another version.
pub(super) fn review(version: &str, uid: &str, wanted: &str, objects: &[Value]) -> Value {
    let objects: Vec<Value> = objects.iter().map(unstamped).collect();
    json!({
        "kind": "ConversionReview",
        "apiVersion": format!("apiextensions.k8s.io/{version}"),
        "request": {"uid": uid, "desiredAPIVersion": wanted, "objects": objects},
    })
}

/// A stored object knows no revision.
fn unstamped(object: &Value) -> Value {
    let mut object = object.clone();
    object::meta_mut(&mut object).remove("resourceVersion");
    object
}

/// The converted objects, with the metadata that they had: a webhook may change labels and
/// annotations only.
///
/// # Errors
/// What is wrong with the answer, in the words of a genuine server.
pub(super) fn converted(
    version: &str,
    uid: &str,
    wanted: &str,
    originals: &[Value],
    answer: &Value,
) -> Result<Vec<Value>, String> {
    let about = originals.first().map(kind_of).unwrap_or_default();
    let failed = |why: String| format!("conversion webhook for {about} failed: {why}");
    check_answer(version, uid, answer).map_err(failed)?;
    let found = object::at(answer, &["response", "convertedObjects"]).and_then(Value::as_array);
    let found = found.map(Vec::as_slice).unwrap_or_default();
    if found.len() != originals.len() {
        return Err(format!(
            "conversion webhook for {about} returned {} objects, expected {}",
            found.len(),
            originals.len()
        ));
    }
    let many = originals.len() > 1;
    let pairs = originals.iter().zip(found).enumerate();
    let objects = pairs.map(|(index, (original, found))| {
        check_shape(found)?;
        let wrong = |what: &str, why: String| {
            let place = match what {
                "type" => format!("returned invalid object at index {index}"),
                what => format!("returned invalid {what}"),
            };
            let place = match (many, what) {
                (false, _) => place,
                (true, "metadata") => {
                    format!("returned invalid metadata in object at index {index}")
                }
                (true, _) => format!("returned invalid converted object at index {index}"),
            };
            format!("conversion webhook for {about} {place}: {why}")
        };
        check_type(wanted, original, found).map_err(|why| wrong("type", why))?;
        check_identity(original, found).map_err(|why| wrong("object", why))?;
        restore(original, found).map_err(|why| wrong("metadata", why))
    });
    objects.collect()
}

/// `example.com/v1, Kind=Widget`
pub(super) fn kind_of(object: &Value) -> String {
    let (api_version, kind) = (text(object, &["apiVersion"]), text(object, &["kind"]));
    format!("{api_version}, Kind={kind}")
}

fn check_answer(version: &str, uid: &str, answer: &Value) -> Result<(), String> {
    let (given, kind) = (text(answer, &["apiVersion"]), text(answer, &["kind"]));
    let own = format!("apiextensions.k8s.io/{version}");
    let incomplete = given.is_empty() || kind.is_empty();
    if !incomplete && (given != own || kind != "ConversionReview") {
        return Err(match given.strip_prefix("apiextensions.k8s.io/") {
            Some(other @ ("v1" | "v1beta1")) if kind == "ConversionReview" => format!(
                "converting ({other}.ConversionReview) to ({version}.ConversionReview): unknown \
                 conversion"
            ),
            _ => format!(
                "no kind {kind:?} is registered for version {given:?} in scheme \
                 \"pkg/util/webhook/client.go:71\""
            ),
        });
    }
    let response = answer
        .get("response")
        .filter(|response| !response.is_null());
    let response = response.ok_or("no response provided")?;
    if version == "v1" {
        if incomplete {
            let given = if given.is_empty() { "/" } else { given };
            return Err(format!(
                "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got \
                 {given}, Kind={kind}"
            ));
        }
        let given = text(response, &["uid"]);
        if given != uid {
            return Err(format!("expected response.uid={uid:?}, got {given:?}"));
        }
    }
    match (
        text(response, &["result", "status"]),
        text(response, &["result", "message"]),
    ) {
        ("Success", _) => Ok(()),
        (status, "") => Err(format!(
            "response.result.status was '{status}', not 'Success'"
        )),
        (_, message) => Err(message.to_owned()),
    }
}

fn check_shape(found: &Value) -> Result<(), String> {
    if !found.is_object() {
        let given = go_type(found, "number");
        return Err(format!(
            "json: cannot unmarshal {given} into Go value of type map[string]interface {{}}"
        ));
    }
    if text(found, &["kind"]).is_empty() {
        return Err(format!("Object 'Kind' is missing in '{found}'"));
    }
    Ok(())
}

fn check_type(wanted: &str, original: &Value, found: &Value) -> Result<(), String> {
    let given = text(found, &["apiVersion"]);
    if given != wanted {
        return Err(format!(
            "invalid groupVersion (expected {wanted}, received {given})"
        ));
    }
    let (expected, given) = (text(original, &["kind"]), text(found, &["kind"]));
    if given != expected {
        return Err(format!(
            "invalid kind (expected {expected}, received {given})"
        ));
    }
    Ok(())
}

fn check_identity(original: &Value, found: &Value) -> Result<(), String> {
    for (field, shown) in [("name", "name"), ("namespace", "namespace"), ("uid", "UID")] {
        let (expected, given) = (
            object::meta_str(original, field),
            object::meta_str(found, field),
        );
        if expected != given {
            return Err(format!("must have the same {shown}: {expected} != {given}"));
        }
    }
    Ok(())
}

/// The converted object with the metadata of the original, but for labels and annotations.
fn restore(original: &Value, found: &Value) -> Result<Value, String> {
    let given = match found.get("metadata") {
        None => return Err("missing metadata in converted object".to_owned()),
        Some(Value::Object(given)) => given,
        Some(other) => {
            let given = go_type(other, "int64");
            return Err(format!(
                "invalid metadata of type {given} in converted object"
            ));
        }
    };
    let mut out = found.clone();
    let mut meta = object::meta(original).cloned().unwrap_or_default();
    for field in ["labels", "annotations"] {
        match texts(given, field)? {
            Some(texts) => meta.insert(field.to_owned(), Value::Object(texts.clone())),
            None => meta.remove(field),
        };
    }
    check_texts(&meta)?;
    out["metadata"] = Value::Object(meta);
    Ok(out)
}

fn texts<'a>(
    meta: &'a Map<String, Value>,
    field: &str,
) -> Result<Option<&'a Map<String, Value>>, String> {
    let map = match meta.get(field) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(map)) => map,
        Some(other) => {
            let given = go_type(other, "int64");
            return Err(format!(
                "invalid metadata.{field} of type {given} in converted object"
            ));
        }
    };
    for (key, value) in map {
        if !value.is_string() {
            let given = go_type(value, "int64");
            return Err(format!(
                "metadata.{field}[{key}] must be a string, but is {given} in converted object"
            ));
        }
    }
    Ok(Some(map))
}

/// Whether labels and annotations may be stored as they are.
fn check_texts(meta: &Map<String, Value>) -> Result<(), String> {
    let mut problems = Vec::new();
    let of = |field: &str| {
        meta.get(field)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
    };
    for (key, value) in of("labels") {
        for why in label_key_problems(key) {
            problems.push(format!("metadata.labels: Invalid value: {key:?}: {why}"));
        }
        if let Some(why) = value.as_str().and_then(label_value_problem) {
            problems.push(format!("metadata.labels: Invalid value: {value}: {why}"));
        }
    }
    for (key, _) in of("annotations") {
        for why in label_key_problems(&key.to_lowercase()) {
            problems.push(format!(
                "metadata.annotation: Invalid value: {key:?}: {why}"
            ));
        }
    }
    match problems.as_slice() {
        [] => Ok(()),
        [only] => Err(only.clone()),
        several => Err(format!("[{}]", several.join(", "))),
    }
}

/// The name that Go has for the type of a value; `number` is what it calls numbers here.
fn go_type(value: &Value, number: &'static str) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(n) if n.is_f64() && number != "number" => "float64",
        Value::Number(_) => number,
        Value::String(_) => "string",
        Value::Array(_) if number == "number" => "array",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widget(version: &str, name: &str) -> Value {
        json!({"apiVersion": format!("a.b/{version}"), "kind": "W",
               "metadata": {"name": name, "uid": "u", "generation": 3, "labels": {"a": "b"}}})
    }

    fn answer(objects: &[Value]) -> Value {
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response":
            {"uid": "u", "result": {"status": "Success"}, "convertedObjects": objects}})
    }

    #[test]
    fn only_labels_and_annotations_are_taken_over() {
        let mut new = widget("v2", "x");
        new["metadata"] = json!({"name": "x", "uid": "u", "generation": 9, "finalizers": ["f/f"],
                                 "annotations": {"c": "d"}});
        let out = converted("v1", "u", "a.b/v2", &[widget("v1", "x")], &answer(&[new])).unwrap();
        let meta = json!({"name": "x", "uid": "u", "generation": 3, "annotations": {"c": "d"}});
        assert_eq!(out[0]["metadata"], meta);
    }

    #[test]
    fn objects_come_back_in_order() {
        let originals = [widget("v1", "x"), widget("v1", "y")];
        let swapped = answer(&[widget("v2", "y"), widget("v2", "x")]);
        let why = converted("v1", "u", "a.b/v2", &originals, &swapped).unwrap_err();
        let expected = "conversion webhook for a.b/v1, Kind=W returned invalid converted object at \
                        index 0: must have the same name: x != y";
        assert_eq!(why, expected);
        let good = answer(&[widget("v2", "x"), widget("v2", "y")]);
        assert!(converted("v1", "u", "a.b/v2", &originals, &good).is_ok());
    }
}
