//! The protobuf messages that kubectl 1.32 and newer sends, decoded by tables of field numbers.
//!
//! The numbers are those of the published `generated.proto` files; a number that is not in a table
//! is skipped, as protobuf asks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

const MAGIC: &[u8] = b"k8s\0";

/// How one field is read.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Texts,
    Bool,
    Int,
    Bytes,
    TextMap,
    BytesMap,
    One(&'static Message),
    Many(&'static Message),
}

/// Field number, JSON name, shape.
type Message = [(u64, &'static str, Shape)];

const OWNER: &Message = &[
    (1, "kind", Shape::Text),
    (3, "name", Shape::Text),
    (4, "uid", Shape::Text),
    (5, "apiVersion", Shape::Text),
    (6, "controller", Shape::Bool),
    (7, "blockOwnerDeletion", Shape::Bool),
];

const META: &Message = &[
    (1, "name", Shape::Text),
    (2, "generateName", Shape::Text),
    (3, "namespace", Shape::Text),
    (5, "uid", Shape::Text),
    (6, "resourceVersion", Shape::Text),
    (11, "labels", Shape::TextMap),
    (12, "annotations", Shape::TextMap),
    (13, "ownerReferences", Shape::Many(OWNER)),
    (14, "finalizers", Shape::Texts),
];

const NAMESPACE: &Message = &[
    (1, "metadata", Shape::One(META)),
    (2, "spec", Shape::One(&[(1, "finalizers", Shape::Texts)])),
];

const CONFIG_MAP: &Message = &[
    (1, "metadata", Shape::One(META)),
    (2, "data", Shape::TextMap),
    (3, "binaryData", Shape::BytesMap),
    (4, "immutable", Shape::Bool),
];

const SECRET: &Message = &[
    (1, "metadata", Shape::One(META)),
    (2, "data", Shape::BytesMap),
    (3, "type", Shape::Text),
    (4, "stringData", Shape::TextMap),
    (5, "immutable", Shape::Bool),
];

const SERVICE_ACCOUNT: &Message = &[
    (1, "metadata", Shape::One(META)),
    (
        3,
        "imagePullSecrets",
        Shape::Many(&[(1, "name", Shape::Text)]),
    ),
    (4, "automountServiceAccountToken", Shape::Bool),
];

const RESOURCE_ATTRIBUTES: &Message = &[
    (1, "namespace", Shape::Text),
    (2, "verb", Shape::Text),
    (3, "group", Shape::Text),
    (4, "version", Shape::Text),
    (5, "resource", Shape::Text),
    (6, "subresource", Shape::Text),
    (7, "name", Shape::Text),
];

const ACCESS_REVIEW_SPEC: &Message = &[
    (1, "resourceAttributes", Shape::One(RESOURCE_ATTRIBUTES)),
    (
        2,
        "nonResourceAttributes",
        Shape::One(&[(1, "path", Shape::Text), (2, "verb", Shape::Text)]),
    ),
];

const ACCESS_REVIEW: &Message = &[
    (1, "metadata", Shape::One(META)),
    (2, "spec", Shape::One(ACCESS_REVIEW_SPEC)),
];

const REVIEW: &Message = &[(1, "metadata", Shape::One(META))];

const PRECONDITIONS: &Message = &[(1, "uid", Shape::Text), (2, "resourceVersion", Shape::Text)];

const DELETE_OPTIONS: &Message = &[
    (1, "gracePeriodSeconds", Shape::Int),
    (2, "preconditions", Shape::One(PRECONDITIONS)),
    (3, "orphanDependents", Shape::Bool),
    (4, "propagationPolicy", Shape::Text),
    (5, "dryRun", Shape::Texts),
];

const EVICTION: &Message = &[
    (1, "metadata", Shape::One(META)),
    (2, "deleteOptions", Shape::One(DELETE_OPTIONS)),
];

/// Unwraps and decodes one message.
pub(super) fn decode(bytes: &[u8]) -> Result<Value, String> {
    let body = bytes
        .strip_prefix(MAGIC)
        .ok_or("the body does not start like Kubernetes protobuf")?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for field in Fields(body) {
        let (number, wire) = field?;
        match (number, wire) {
            (1, Wire::Bytes(type_meta)) => {
                for field in Fields(type_meta) {
                    match field? {
                        (1, Wire::Bytes(text)) => api_version = string(text)?,
                        (2, Wire::Bytes(text)) => kind = string(text)?,
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(inner)) => raw = inner,
            _ => {}
        }
    }
    let message = match kind.as_str() {
        "Namespace" => NAMESPACE,
        "ConfigMap" => CONFIG_MAP,
        "Secret" => SECRET,
        "ServiceAccount" => SERVICE_ACCOUNT,
        "SelfSubjectAccessReview" => ACCESS_REVIEW,
        "SelfSubjectReview" => REVIEW,
        "Eviction" => EVICTION,
        "DeleteOptions" => DELETE_OPTIONS,
        _ => {
            return Err(format!(
                "{kind} in protobuf is not supported by this server; send it as JSON"
            ));
        }
    };
    let mut object = read(raw, message)?;
    object.insert("apiVersion".into(), api_version.into());
    object.insert("kind".into(), kind.into());
    Ok(Value::Object(object))
}

fn read(bytes: &[u8], message: &Message) -> Result<Map<String, Value>, String> {
    let mut object = Map::new();
    for field in Fields(bytes) {
        let (number, wire) = field?;
        let Some((_, name, shape)) = message.iter().find(|(known, _, _)| *known == number) else {
            continue;
        };
        let value = match (shape, wire) {
            (Shape::Bool, Wire::Number(value)) => Value::Bool(value != 0),
            (Shape::Int, Wire::Number(value)) => json!(value.cast_signed()),
            (Shape::Text, Wire::Bytes(text)) => {
                let text = string(text)?;
                // Go's encoder writes every text, also those that were never set.
                if text.is_empty() {
                    continue;
                }
                Value::String(text)
            }
            (Shape::Bytes, Wire::Bytes(data)) => Value::String(STANDARD.encode(data)),
            (Shape::One(inner), Wire::Bytes(data)) => {
                let inner = read(data, inner)?;
                if inner.is_empty() && *name != "metadata" {
                    continue;
                }
                Value::Object(inner)
            }
            (Shape::Texts, Wire::Bytes(text)) => {
                push(&mut object, name, string(text)?.into());
                continue;
            }
            (Shape::Many(inner), Wire::Bytes(data)) => {
                push(&mut object, name, Value::Object(read(data, inner)?));
                continue;
            }
            (Shape::TextMap | Shape::BytesMap, Wire::Bytes(data)) => {
                let (key, value) = entry(data, matches!(shape, Shape::BytesMap))?;
                let map = object.entry(*name).or_insert_with(|| json!({}));
                if let Some(map) = map.as_object_mut() {
                    map.insert(key, value);
                }
                continue;
            }
            _ => return Err(format!("the field {name} has an unexpected wire type")),
        };
        object.insert((*name).into(), value);
    }
    Ok(object)
}

fn push(object: &mut Map<String, Value>, name: &str, value: Value) {
    let list = object.entry(name).or_insert_with(|| json!([]));
    if let Some(list) = list.as_array_mut() {
        list.push(value);
    }
}

fn entry(bytes: &[u8], binary: bool) -> Result<(String, Value), String> {
    let shape = if binary { Shape::Bytes } else { Shape::Text };
    let value_field: &Message = match shape {
        Shape::Bytes => &[(1, "key", Shape::Text), (2, "value", Shape::Bytes)],
        _ => &[(1, "key", Shape::Text), (2, "value", Shape::Text)],
    };
    let mut pair = read(bytes, value_field)?;
    let key = pair.remove("key").unwrap_or_default();
    let value = pair.remove("value").unwrap_or_else(|| "".into());
    Ok((key.as_str().unwrap_or_default().to_owned(), value))
}

fn string(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| "a text is not UTF-8".to_owned())
}

enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message, one after the other.
struct Fields<'a>(&'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Wire<'a>), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self
            .field()
            .ok_or_else(|| "the protobuf message is cut short".to_owned());
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Option<(u64, Wire<'a>)> {
        let tag = self.varint()?;
        let wire = match tag & 7 {
            0 => Wire::Number(self.varint()?),
            1 => Wire::Bytes(self.take(8)?),
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                Wire::Bytes(self.take(length)?)
            }
            5 => Wire::Bytes(self.take(4)?),
            _ => return None,
        };
        Some((tag >> 3, wire))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(number: u8, payload: &[u8]) -> Vec<u8> {
        let length = u8::try_from(payload.len()).expect("short payloads");
        [&[number << 3 | 2, length], payload].concat()
    }

    #[test]
    fn a_secret_is_read_with_its_bytes() {
        let meta = [field(1, b"s"), field(3, b"ns")].concat();
        let data = [field(1, b"k"), field(2, b"\x00\xff")].concat();
        let secret = [field(1, &meta), field(2, &data), field(3, b"Opaque")].concat();
        let type_meta = [field(1, b"v1"), field(2, b"Secret")].concat();
        let body = [b"k8s\0".to_vec(), field(1, &type_meta), field(2, &secret)].concat();
        assert_eq!(
            decode(&body).expect("valid"),
            json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
                   "metadata": {"name": "s", "namespace": "ns"}, "data": {"k": "AP8="}})
        );
        assert!(decode(body.get(..body.len() - 3).expect("longer")).is_err());
    }
}
