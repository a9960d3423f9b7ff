//! The rules of `metadata`: names, labels, annotations, owner references and finalizers, in
//! Kubernetes' words.

use serde_json::Value;

use crate::object;
use crate::registry::{Behaviour, Kind};
use crate::request::go_json::type_name;
use crate::status_error::Cause;

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
    characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
    'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric \
    characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or \
    '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and \
    must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or \
    '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const SEVERAL_SLASHES: &str = "a valid label key must consist of alphanumeric characters, '-', '_' \
    or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  \
    or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an \
    optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric \
    characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
    'MyValue',  or 'my_value',  or '12345', regex used for validation is \
    '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
/// Bytes of all annotations together.
const ANNOTATIONS: usize = 256 * 1024;

fn is_word(text: &str, inner: impl Fn(u8) -> bool, edge: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|b| edge(*b))
        && bytes.last().is_some_and(|b| edge(*b))
        && bytes.iter().all(|b| inner(*b) || edge(*b))
}

fn lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// What Kubernetes says of a text that is no DNS-1035 label.
pub(crate) const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric \
     characters or '-', start with an alphabetic character, and end with an alphanumeric character \
     (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

/// Whether a text is a DNS-1035 label.
pub(crate) fn is_label_1035(text: &str) -> bool {
    is_label(text) && text.len() <= 63 && text.starts_with(|c: char| c.is_ascii_lowercase())
}

fn is_label(text: &str) -> bool {
    is_word(text, |b| b == b'-', lower)
}

/// Why a text is no RFC 1123 subdomain.
pub(crate) fn subdomain_problem(text: &str) -> Option<String> {
    if text.len() > 253 {
        return Some("must be no more than 253 characters".into());
    }
    (!text.split('.').all(is_label)).then(|| SUBDOMAIN.into())
}

/// Why a text is no RFC 1123 label.
pub(crate) fn label_problem(text: &str) -> Option<String> {
    if text.len() > 63 {
        return Some("must be no more than 63 characters".into());
    }
    (!is_label(text)).then(|| LABEL.into())
}

/// Names that may hold anything a path segment can.
pub(crate) fn path_segment_problem(text: &str) -> Option<String> {
    if matches!(text, "." | "..") {
        return Some(format!("may not be '{text}'"));
    }
    let bad = ['/', '%']
        .into_iter()
        .find(|letter| text.contains(*letter))?;
    Some(format!("may not contain '{bad}'"))
}

/// What to say of finalizers that a write adds to an object of a custom kind.
pub(crate) fn finalizer_warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    const STANDARD: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];
    let known = old.map(object::finalizers).unwrap_or_default();
    let mut added = object::finalizers(new);
    added.retain(|finalizer| {
        !finalizer.contains('/') && !STANDARD.contains(finalizer) && !known.contains(finalizer)
    });
    let warning = |finalizer: &&str| {
        let path = if finalizer.contains('.') {
            "including a path (/) "
        } else {
            ""
        };
        format!(
            "metadata.finalizers: {finalizer:?}: prefer a domain-qualified finalizer name {path}to \
             avoid accidental conflicts with other finalizer writers"
        )
    };
    added.iter().map(warning).collect()
}

/// Everything that keeps a text from being a label key.
pub(crate) fn label_key_problems(key: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if key.matches('/').count() > 1 {
        problems.push(SEVERAL_SLASHES.into());
        return problems;
    }
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    match prefix {
        Some("") => problems.push("prefix part must be non-empty".into()),
        Some(prefix) => {
            problems.extend(subdomain_problem(prefix).map(|why| format!("prefix part {why}")));
        }
        None => {}
    }
    if name.is_empty() {
        problems.push("name part must be non-empty".into());
    } else if name.len() > 63 {
        problems.push("name part must be no more than 63 characters".into());
    }
    let inner = |b: u8| matches!(b, b'-' | b'_' | b'.');
    if !is_word(name, inner, |b| b.is_ascii_alphanumeric()) {
        problems.push(QUALIFIED.into());
    }
    problems
}

/// Why a text is no label value.
pub(crate) fn label_value_problem(value: &str) -> Option<String> {
    if value.len() > 63 {
        return Some("must be no more than 63 characters".into());
    }
    let inner = |b: u8| matches!(b, b'-' | b'_' | b'.');
    let fits = value.is_empty() || is_word(value, inner, |b| b.is_ascii_alphanumeric());
    (!fits).then(|| LABEL_VALUE.into())
}

/// Whether a text can name an object of this kind.
pub(crate) fn name_problem(kind: &Kind, name: &str) -> Option<String> {
    match kind.behaviour {
        Behaviour::Namespace => label_problem(name),
        _ if kind.group == "rbac.authorization.k8s.io" => path_segment_problem(name),
        _ => subdomain_problem(name),
    }
}

/// Why metadata cannot be read at all, in the words of Go's decoder.
pub(crate) fn decode_problem(object: &Value) -> Option<String> {
    let wrong = |value: &Value, field: &str, wanted: &str| {
        if value.is_null() {
            return None;
        }
        let found = type_name(value);
        Some(format!(
            "json: cannot unmarshal {found} into Go struct field ObjectMeta.{field} of type \
             {wanted}"
        ))
    };
    let meta = object.get("metadata").filter(|meta| !meta.is_null())?;
    if !meta.is_object() {
        let found = type_name(meta);
        return Some(format!(
            "json: cannot unmarshal {found} into Go value of type v1.ObjectMeta"
        ));
    }
    for field in [
        "name",
        "generateName",
        "namespace",
        "uid",
        "resourceVersion",
    ] {
        let Some(value) = meta.get(field).filter(|value| !value.is_string()) else {
            continue;
        };
        if let Some(problem) = wrong(value, field, "string") {
            return Some(problem);
        }
    }
    for field in ["labels", "annotations"] {
        let Some(value) = meta.get(field) else {
            continue;
        };
        let Value::Object(map) = value else {
            return wrong(value, field, "map[string]string");
        };
        if let Some(value) = map.values().find(|value| !value.is_string()) {
            return wrong(value, field, "string");
        }
    }
    let finalizers = meta.get("finalizers")?;
    match finalizers {
        Value::Array(list) => list
            .iter()
            .find(|f| !f.is_string())
            .and_then(|f| wrong(f, "finalizers", "string")),
        other => wrong(other, "finalizers", "[]string"),
    }
}

/// Everything that is wrong with the metadata of an object that is about to be stored.
pub(crate) fn validate(kind: &Kind, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let prefix = object::meta_str(object, "generateName");
    if !prefix.is_empty() {
        // A dash at the end is followed by the suffix.
        let masked = prefix.strip_suffix('-').map(|head| format!("{head}a"));
        if let Some(why) = name_problem(kind, masked.as_deref().unwrap_or(prefix)) {
            causes.push(Cause::invalid(
                "metadata.generateName",
                &prefix.into(),
                &why,
            ));
        }
    }
    let name = object::name(object);
    if name.is_empty() {
        causes.push(Cause::required(
            "metadata.name",
            "name or generateName is required",
        ));
    } else if let Some(why) = name_problem(kind, name) {
        causes.push(Cause::invalid("metadata.name", &name.into(), &why));
    }
    causes.extend(validate_maps(object));
    for finalizer in object::finalizers(object) {
        key_problems(&mut causes, "finalizers", finalizer, finalizer);
    }
    causes.extend(validate_owners(object));
    causes
}

/// What is wrong with labels and annotations.
fn validate_maps(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let map = |field: &str| object::at(object, &["metadata", field]).and_then(Value::as_object);
    for (key, value) in map("labels").into_iter().flatten() {
        key_problems(&mut causes, "labels", key, key);
        if let Some(why) = value.as_str().and_then(label_value_problem) {
            causes.push(Cause::invalid("metadata.labels", value, &why));
        }
    }
    let mut bytes = 0;
    for (key, value) in map("annotations").into_iter().flatten() {
        key_problems(&mut causes, "annotations", &key.to_ascii_lowercase(), key);
        bytes += key.len() + value.as_str().map_or(0, str::len);
    }
    if bytes > ANNOTATIONS {
        let message = format!("Too long: may not be more than {ANNOTATIONS} bytes");
        causes.push(Cause::new(
            "FieldValueTooLong",
            "metadata.annotations",
            message,
        ));
    }
    causes
}

fn key_problems(causes: &mut Vec<Cause>, field: &str, key: &str, text: &str) {
    let path = format!("metadata.{field}");
    let problems = label_key_problems(key);
    causes.extend(
        problems
            .iter()
            .map(|why| Cause::invalid(&path, &text.into(), why)),
    );
}

fn validate_owners(object: &Value) -> Vec<Cause> {
    const PATH: &str = "metadata.ownerReferences";
    let mut causes = Vec::new();
    let list = object::at(object, &["metadata", "ownerReferences"]).and_then(Value::as_array);
    let mut controllers = Vec::new();
    for owner in list.into_iter().flatten() {
        let text = |field: &str| object::text(owner, &[field]);
        let version = text("apiVersion");
        if version.is_empty() || version.matches('/').count() > 1 {
            let path = format!("{PATH}.apiVersion");
            causes.push(Cause::invalid(
                &path,
                &version.into(),
                "version must not be empty",
            ));
        }
        for field in ["kind", "name", "uid"] {
            if text(field).is_empty() {
                let path = format!("{PATH}.{field}");
                causes.push(Cause::invalid(&path, &"".into(), "must not be empty"));
            }
        }
        if (version, text("kind")) == ("v1", "Event") {
            let message = format!(
                "Invalid value: {}: /v1, Kind=Event is disallowed from being an owner",
                owner_text(owner)
            );
            causes.push(Cause::new("FieldValueInvalid", PATH, message));
        }
        if owner.get("controller").and_then(Value::as_bool) == Some(true) {
            controllers.push(format!("{}/{}", text("kind"), text("name")));
        }
    }
    if let [first, second, ..] = controllers.as_slice() {
        let all: Vec<String> = list.into_iter().flatten().map(owner_text).collect();
        let message = format!(
            "Invalid value: [{}]: Only one reference can have Controller set to true. Found \
             \"true\" in references for {first} and {second}",
            all.join(",")
        );
        causes.push(Cause::new("FieldValueInvalid", PATH, message));
    }
    causes
}

/// An owner reference as messages show it, its fields in the order of their declaration.
fn owner_text(owner: &Value) -> String {
    let fields = [
        "apiVersion",
        "kind",
        "name",
        "uid",
        "controller",
        "blockOwnerDeletion",
    ];
    let shown = fields.iter().filter_map(|field| {
        let value = owner.get(*field)?;
        Some(format!("{field:?}:{value}"))
    });
    format!("{{{}}}", shown.collect::<Vec<_>>().join(","))
}

/// What an update may not change, checked against the stored object.
pub(crate) fn validate_update(new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = validate_maps(new);
    causes.extend(validate_owners(new));
    if object::is_deleting(old) {
        let known = object::finalizers(old);
        let added: Vec<&str> = object::finalizers(new)
            .into_iter()
            .filter(|f| !known.contains(f))
            .collect();
        if !added.is_empty() {
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new \
                 finalizers []string{{{}}}",
                added
                    .iter()
                    .map(|f| format!("{f:?}"))
                    .collect::<Vec<_>>()
                    .join(", ")
            );
            causes.push(Cause::forbidden("metadata.finalizers", &detail));
        }
    }
    causes
}
