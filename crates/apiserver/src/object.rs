//! Reading and writing the parts that every object has, on plain JSON values.

use serde_json::{Map, Value};

/// The object's metadata, or an empty map's worth of nothing.
pub(crate) fn meta(object: &Value) -> Option<&Map<String, Value>> {
    object.get("metadata").and_then(Value::as_object)
}

/// The object's metadata, made when absent. The object itself must be a JSON object.
pub(crate) fn meta_mut(object: &mut Value) -> &mut Map<String, Value> {
    child_mut(object, "metadata")
}

/// The map under `field`, made when absent or of another type.
pub(crate) fn child_mut<'a>(object: &'a mut Value, field: &str) -> &'a mut Map<String, Value> {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let map = object.as_object_mut().expect("made an object above");
    let child = map
        .entry(field)
        .or_insert_with(|| Value::Object(Map::new()));
    if !child.is_object() {
        *child = Value::Object(Map::new());
    }
    child.as_object_mut().expect("made an object above")
}

/// A text field of the metadata; absent and empty are the same.
pub(crate) fn meta_str<'a>(object: &'a Value, field: &str) -> &'a str {
    meta(object)
        .and_then(|m| m.get(field))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// `metadata.name`, empty when absent.
pub(crate) fn name(object: &Value) -> &str {
    meta_str(object, "name")
}

/// `metadata.namespace`, empty when absent.
pub(crate) fn namespace(object: &Value) -> &str {
    meta_str(object, "namespace")
}

/// `metadata.uid`, empty when absent.
pub(crate) fn uid(object: &Value) -> &str {
    meta_str(object, "uid")
}

/// The finalizers, in order.
pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    meta(object)
        .and_then(|m| m.get("finalizers"))
        .and_then(Value::as_array)
        .map(|list| list.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default()
}

/// Replaces the finalizers; an empty list removes the field.
pub(crate) fn set_finalizers(object: &mut Value, finalizers: &[String]) {
    let meta = meta_mut(object);
    if finalizers.is_empty() {
        meta.remove("finalizers");
    } else {
        meta.insert("finalizers".into(), finalizers.into());
    }
}

/// Whether deletion has begun.
pub(crate) fn is_deleting(object: &Value) -> bool {
    meta(object)
        .and_then(|m| m.get("deletionTimestamp"))
        .is_some_and(|v| !v.is_null())
}

/// A text at a path of fields, empty when absent.
pub(crate) fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// The value at a path of fields.
pub(crate) fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter()
        .try_fold(object, |value, field| value.get(field))
}

/// One owner reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) block: bool,
}

/// The owner references of an object.
pub(crate) fn owners(object: &Value) -> Vec<Owner> {
    let list = meta(object)
        .and_then(|m| m.get("ownerReferences"))
        .and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .map(|owner| Owner {
            api_version: text(owner, &["apiVersion"]).to_owned(),
            kind: text(owner, &["kind"]).to_owned(),
            name: text(owner, &["name"]).to_owned(),
            uid: text(owner, &["uid"]).to_owned(),
            block: owner
                .get("blockOwnerDeletion")
                .and_then(Value::as_bool)
                .unwrap_or(false),
        })
        .collect()
}

/// Splits `group/version`; the core group is empty.
pub(crate) fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// Joins a group and a version the way `apiVersion` is written.
pub(crate) fn join_api_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

/// A text in the data of a Secret.
pub(crate) fn secret_text(secret: &Value, key: &str) -> Option<String> {
    use base64::Engine as _;
    let encoded = at(secret, &["data", key])?.as_str()?;
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(encoded)
        .ok()?;
    String::from_utf8(bytes).ok()
}
