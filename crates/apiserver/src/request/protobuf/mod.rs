//! The protobuf messages that kubectl 1.32 and newer sends, decoded by tables of field numbers.
//!
//! The numbers are those of the published `generated.proto` files; a number that is not in a table
//! is skipped, as protobuf asks.

mod messages;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use messages::{Message, Shape};

const MAGIC: &[u8] = b"k8s\0";

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
    let message = messages::of(&kind).ok_or_else(|| {
        format!("{kind} in protobuf is not supported by this server; send it as JSON")
    })?;
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
            // Go's encoder writes numbers and flags that were never set, too.
            (Shape::NonZero | Shape::Set, Wire::Number(0)) => continue,
            (Shape::Set, Wire::Number(_)) => Value::Bool(true),
            (Shape::Int | Shape::NonZero, Wire::Number(value)) => json!(value.cast_signed()),
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
            (Shape::Time, Wire::Bytes(data)) => match time(data)? {
                Some(time) => Value::String(time),
                None => continue,
            },
            (Shape::IntOrString, Wire::Bytes(data)) => int_or_string(data)?,
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

/// Seconds and nanoseconds since 1970; zero is no time.
fn time(bytes: &[u8]) -> Result<Option<String>, String> {
    let parts = read(bytes, &[(1, "seconds", Shape::Int)])?;
    let seconds = parts
        .get("seconds")
        .and_then(Value::as_i64)
        .filter(|seconds| *seconds > 0);
    let time = seconds.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    Ok(time.map(crate::clock::stamp))
}

fn int_or_string(bytes: &[u8]) -> Result<Value, String> {
    const PARTS: &Message = &[
        (1, "type", Shape::Int),
        (2, "int", Shape::Int),
        (3, "text", Shape::Text),
    ];
    let mut parts = read(bytes, PARTS)?;
    let is_text = parts.get("type").and_then(Value::as_i64) == Some(1);
    let part = parts.remove(if is_text { "text" } else { "int" });
    Ok(part.unwrap_or_else(|| if is_text { "".into() } else { 0.into() }))
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
