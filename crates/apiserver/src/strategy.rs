//! What built-in kinds do beyond being stored: their defaults, and what may not change.

mod pod;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::access::escalation::Granting;
use crate::access::objects;
use crate::admission;
use crate::object::{at, child_mut, is_deleting, meta_mut, name, text};
use crate::registry::{Behaviour, Definition, Kind, ScalePaths};
use crate::request::Caller;
use crate::schema::printed::{go_type, plain};
use crate::status_error::Cause;
use crate::{secret, signing_request};

/// The type of Secrets that carry a ServiceAccount's token.
pub(crate) const TOKEN_TYPE: &str = "kubernetes.io/service-account-token";
/// The annotation of such a Secret that names the account.
pub(crate) const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";

/// Completes an object that is about to be made.
pub(crate) fn prepare_create(kind: &Kind, object: &mut Value, caller: &Caller) {
    if let Some(granting) = Granting::of(&kind.group, &kind.plural) {
        objects::complete(granting, object);
    }
    match kind.behaviour {
        Behaviour::Namespace => {
            let own = name(object).to_owned();
            let labels = meta_mut(object)
                .entry("labels")
                .or_insert_with(|| json!({}));
            labels["kubernetes.io/metadata.name"] = own.into();
            child_mut(object, "spec").insert("finalizers".into(), json!(["kubernetes"]));
            object["status"] = json!({"phase": "Active"});
        }
        Behaviour::Secret => {
            fold_string_data(object);
            default_text(object, "type", "Opaque");
        }
        Behaviour::Pod => {
            drop_field(object, "status");
            pod::prepare(object);
        }
        Behaviour::CustomResourceDefinition => {
            drop_field(object, "status");
            Definition::default(object);
        }
        Behaviour::CertificateSigningRequest => {
            drop_field(object, "status");
            let spec = child_mut(object, "spec");
            for (field, value) in [
                ("username", json!(caller.name)),
                ("uid", json!(caller.uid)),
                ("groups", json!(caller.groups)),
                ("extra", json!(caller.extra)),
            ] {
                if value.as_str().is_some_and(str::is_empty) || value == json!({}) {
                    spec.remove(field);
                } else {
                    spec.insert(field.into(), value);
                }
            }
        }
        Behaviour::PodDisruptionBudget => drop_field(object, "status"),
        Behaviour::Plain => {
            begin_status(kind, object);
            complete_replicas(kind, object);
        }
        Behaviour::WebhookConfiguration => admission::complete(kind, object),
        Behaviour::Custom
        | Behaviour::ConfigMap
        | Behaviour::Event
        | Behaviour::Lease
        | Behaviour::ServiceAccount
        | Behaviour::Node => {}
    }
}

/// Adds to an object that is about to be made what nobody owns.
pub(crate) fn admit(kind: &Kind, object: &mut Value) {
    if kind.behaviour == Behaviour::Pod {
        pod::admit(object);
    }
}

/// Completes the new state of an object that exists.
pub(crate) fn prepare_update(kind: &Kind, object: &mut Value, old: &Value) {
    if let Some(granting) = Granting::of(&kind.group, &kind.plural) {
        objects::complete(granting, object);
    }
    match kind.behaviour {
        Behaviour::Namespace => {
            let finalizers = at(old, &["spec", "finalizers"]).cloned();
            let spec = child_mut(object, "spec");
            match finalizers {
                Some(finalizers) => spec.insert("finalizers".into(), finalizers),
                None => spec.remove("finalizers"),
            };
        }
        Behaviour::Secret => {
            fold_string_data(object);
            let kind = text(old, &["type"]).to_owned();
            default_text(object, "type", &kind);
        }
        Behaviour::Pod => pod::prepare(object),
        Behaviour::Plain => complete_replicas(kind, object),
        Behaviour::CustomResourceDefinition => Definition::default(object),
        Behaviour::WebhookConfiguration => admission::complete(kind, object),
        Behaviour::CertificateSigningRequest => {
            if let Some(spec) = old.get("spec") {
                object["spec"] = spec.clone();
            }
        }
        _ => {}
    }
}

/// Everything that is wrong with an object of a built-in kind, beyond its schema.
pub(crate) fn validate(kind: &Kind, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    if let Some(granting) = Granting::of(&kind.group, &kind.plural) {
        causes.extend(objects::validate(granting, object, old));
    }
    match kind.behaviour {
        Behaviour::Secret => {
            let account = ["metadata", "annotations", ACCOUNT_NAME];
            if text(object, &["type"]) == TOKEN_TYPE && text(object, &account).is_empty() {
                let path = format!("metadata.annotations[{ACCOUNT_NAME}]");
                causes.push(Cause::required(&path, ""));
            }
            if let Some(old) = old
                && text(old, &["type"]) != text(object, &["type"])
            {
                let value = text(object, &["type"]).into();
                causes.push(Cause::invalid("type", &value, "field is immutable"));
            }
            causes.extend(check_keys(object, &["data"]));
            causes.extend(secret::missing_keys(object));
            causes.extend(old.and_then(|old| immutable(object, old, &["data"])));
        }
        Behaviour::Pod => causes.extend(pod::validate(object, old)),
        Behaviour::Namespace => causes.extend(check_phase(object)),
        Behaviour::ConfigMap => {
            causes.extend(check_keys(object, &["data", "binaryData"]));
            causes.extend(check_repeated(object));
            causes.extend(old.and_then(|old| immutable(object, old, &["data", "binaryData"])));
        }
        Behaviour::CustomResourceDefinition => causes.extend(Definition::validate(object, old)),
        Behaviour::CertificateSigningRequest if old.is_none() => {
            causes.extend(signing_request::validate(object));
        }
        Behaviour::WebhookConfiguration => causes.extend(admission::validate(kind, object)),
        Behaviour::Lease => {
            for (field, least, why) in [
                ("leaseDurationSeconds", 1, "must be greater than 0"),
                ("leaseTransitions", 0, "must be greater than or equal to 0"),
            ] {
                let value = at(object, &["spec", field]).and_then(Value::as_i64);
                if let Some(value) = value.filter(|value| *value < least) {
                    let path = format!("spec.{field}");
                    causes.push(Cause::invalid(&path, &value.into(), why));
                }
            }
        }
        _ => {}
    }
    causes
}

/// What is wrong with the numbers that the scale subresource shows.
pub(crate) fn validate_scale(object: &Value, paths: &ScalePaths) -> Vec<Cause> {
    let mut causes = Vec::new();
    for path in [&paths.replicas, &paths.status_replicas] {
        let field = format!(".{}", path.join("."));
        match number_at(object, path) {
            Ok(Some(number)) if number < 0 => {
                let why = "should be a non-negative integer";
                causes.push(Cause::invalid(&field, &number.into(), why));
            }
            Ok(_) => {}
            Err(why) => causes.push(Cause::invalid(&field, &0.into(), &why)),
        }
    }
    causes
}

/// The number at a path, if there is one.
fn number_at(object: &Value, path: &[String]) -> Result<Option<i64>, String> {
    let mut value = object;
    for (depth, field) in path.iter().enumerate() {
        let Some(map) = value.as_object() else {
            let at = path.get(..depth).unwrap_or_default().join(".");
            return Err(wrong_type(&at, value, "map[string]interface{}"));
        };
        match map.get(field) {
            Some(below) => value = below,
            None => return Ok(None),
        }
    }
    match value.as_i64() {
        Some(number) => Ok(Some(number)),
        None => Err(wrong_type(&path.join("."), value, "int64")),
    }
}

fn wrong_type(at: &str, value: &Value, wanted: &str) -> String {
    let (shown, given) = (plain(value), go_type(value));
    format!(".{at} accessor error: {shown} is of the type {given}, expected {wanted}")
}

/// What is wrong with the keys of a data map.
fn check_keys(object: &Value, fields: &[&str]) -> Vec<Cause> {
    let mut causes = Vec::new();
    for field in fields {
        for key in object
            .get(*field)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|e| e.0)
        {
            let letter = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
            let why = if key.len() > 253 {
                "must be no more than 253 characters"
            } else if key.is_empty() || !key.bytes().all(letter) {
                "a valid config key must consist of alphanumeric characters, '-', '_' or '.' \
                 (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is \
                 '[-._a-zA-Z0-9]+')"
            } else if key == "." {
                "must not be '.'"
            } else if key == ".." {
                "must not be '..'"
            } else if key.starts_with("..") {
                "must not start with '..'"
            } else {
                continue;
            };
            causes.push(Cause::invalid(
                &format!("{field}[{key}]"),
                &key.as_str().into(),
                why,
            ));
        }
    }
    causes
}

/// Keys that hold both a text and bytes.
fn check_repeated(object: &Value) -> Vec<Cause> {
    let bytes = object.get("binaryData").and_then(Value::as_object);
    let keys = bytes.into_iter().flatten().map(|(key, _)| key);
    let repeated = keys.filter(|key| at(object, &["data", key.as_str()]).is_some());
    let why = "duplicate of key present in binaryData";
    repeated
        .map(|key| Cause::invalid(&format!("data[{key}]"), &key.as_str().into(), why))
        .collect()
}

/// A namespace ends only when it is deleted.
fn check_phase(object: &Value) -> Option<Cause> {
    let phase = at(object, &["status", "phase"])?;
    if is_deleting(object) || matches!(phase.as_str(), Some("Active" | "")) {
        return None;
    }
    let why = "may only be 'Active' if `deletionTimestamp` is empty";
    Some(Cause::invalid("status.Phase", phase, why))
}

fn immutable(object: &Value, old: &Value, fields: &[&str]) -> Option<Cause> {
    if old.get("immutable").and_then(Value::as_bool) != Some(true) {
        return None;
    }
    let why = "field is immutable when `immutable` is set";
    if object.get("immutable").and_then(Value::as_bool) != Some(true) {
        return Some(Cause::forbidden("immutable", why));
    }
    let changed = fields
        .iter()
        .find(|field| object.get(**field) != old.get(**field))?;
    Some(Cause::forbidden(changed, why))
}

/// What is known of a volume before anybody looks at it.
fn begin_status(kind: &Kind, object: &mut Value) {
    let status = match kind.kind.as_str() {
        "PersistentVolume" | "PersistentVolumeClaim" => json!({"phase": "Pending"}),
        "VolumeAttachment" => json!({"attached": false}),
        _ => return,
    };
    if object.get("status").is_none() {
        object["status"] = status;
    }
}

/// Who wants pods and does not say how many wants one.
fn complete_replicas(kind: &Kind, object: &mut Value) {
    if matches!(kind.kind.as_str(), "Deployment" | "ReplicaSet") {
        let replicas = child_mut(object, "spec").entry("replicas");
        replicas.or_insert_with(|| 1.into());
    }
}

fn drop_field(object: &mut Value, field: &str) {
    if let Some(map) = object.as_object_mut() {
        map.remove(field);
    }
}

fn default_text(object: &mut Value, field: &str, value: &str) {
    if text(object, &[field]).is_empty() && !value.is_empty() {
        object[field] = value.into();
    }
}

fn fold_string_data(secret: &mut Value) {
    let Some(Value::Object(texts)) = secret.as_object_mut().and_then(|s| s.remove("stringData"))
    else {
        return;
    };
    let data = child_mut(secret, "data");
    for (key, value) in texts {
        let encoded = STANDARD.encode(value.as_str().unwrap_or_default());
        data.insert(key, encoded.into());
    }
}
