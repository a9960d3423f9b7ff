//! The OpenAPI v2 document in protobuf, the only form in which kubectl asks for it.
//!
//! The messages are those of gnostic's `openapi.v2`; the numbers stand beside the names. Only what
//! our documents hold is written.

use serde_json::{Map, Value};

/// The media type of the document, as it is asked for and as it is answered.
pub(crate) const ASKED: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
pub(crate) const ANSWERED: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// Fields of a `Schema` that hold text, by number.
const TEXTS: [(u64, &str); 4] = [(1, "$ref"), (2, "format"), (3, "title"), (4, "description")];
/// Fields of a `Schema` that hold a whole number.
const NUMBERS: [(u64, &str); 6] = [
    (11, "maxLength"),
    (12, "minLength"),
    (14, "maxItems"),
    (15, "minItems"),
    (17, "maxProperties"),
    (18, "minProperties"),
];

/// The bytes of a `Document`.
pub(crate) fn document(document: &Value) -> Vec<u8> {
    let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str);
    let mut out = Message::default();
    out.text(1, text("/swagger"));
    let mut info = Message::default();
    info.text(1, text("/info/title"));
    info.text(2, text("/info/version"));
    out.message(2, &info);
    out.message(8, &Message::default());
    let definitions = document.get("definitions").and_then(Value::as_object);
    out.message(9, &named(definitions));
    out.0
}

/// Schemas by name: `Definitions`, `Properties`.
fn named(schemas: Option<&Map<String, Value>>) -> Message {
    let mut out = Message::default();
    for (name, value) in schemas.into_iter().flatten() {
        let mut entry = Message::default();
        entry.text(1, Some(name));
        entry.message(2, &schema(value));
        out.message(1, &entry);
    }
    out
}

fn schema(value: &Value) -> Message {
    let mut out = Message::default();
    for (number, field) in TEXTS {
        out.text(number, value.get(field).and_then(Value::as_str));
    }
    out.any(5, value.get("default"));
    for (number, field) in [(7, "maximum"), (9, "minimum")] {
        out.double(number, value.get(field).and_then(Value::as_f64));
    }
    for (number, field) in NUMBERS {
        out.number(number, value.get(field).and_then(Value::as_u64));
    }
    out.text(13, value.get("pattern").and_then(Value::as_str));
    for required in list(value, "required") {
        out.text(19, required.as_str());
    }
    for allowed in list(value, "enum") {
        out.any(20, Some(allowed));
    }
    if let Some(values) = value.get("additionalProperties") {
        let mut item = Message::default();
        match values {
            Value::Bool(any) => item.number(2, Some(u64::from(*any))),
            schema_of => item.message(1, &schema(schema_of)),
        }
        out.message(21, &item);
    }
    if let Some(kind) = value.get("type").and_then(Value::as_str) {
        let mut item = Message::default();
        item.text(1, Some(kind));
        out.message(22, &item);
    }
    if let Some(items) = value.get("items") {
        let mut item = Message::default();
        item.message(1, &schema(items));
        out.message(23, &item);
    }
    for part in list(value, "allOf") {
        out.message(24, &schema(part));
    }
    if let Some(properties) = value.get("properties") {
        out.message(25, &named(properties.as_object()));
    }
    let extensions = value.as_object().into_iter().flatten();
    for (name, extension) in extensions.filter(|(name, _)| name.starts_with("x-")) {
        let mut entry = Message::default();
        entry.text(1, Some(name));
        entry.any(2, Some(extension));
        out.message(31, &entry);
    }
    out
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    let list = value.get(field).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

/// The bytes of one message.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(u8::try_from(value & 0x7f).unwrap_or(0) | 0x80);
            value >>= 7;
        }
        self.0.push(u8::try_from(value).unwrap_or(0));
    }

    fn bytes(&mut self, number: u64, bytes: &[u8]) {
        self.varint(number << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, number: u64, text: Option<&str>) {
        if let Some(text) = text {
            self.bytes(number, text.as_bytes());
        }
    }

    fn message(&mut self, number: u64, message: &Self) {
        self.bytes(number, &message.0);
    }

    fn number(&mut self, number: u64, value: Option<u64>) {
        if let Some(value) = value {
            self.varint(number << 3);
            self.varint(value);
        }
    }

    fn double(&mut self, number: u64, value: Option<f64>) {
        if let Some(value) = value {
            self.varint(number << 3 | 1);
            self.0.extend_from_slice(&value.to_le_bytes());
        }
    }

    /// Any value, as YAML; JSON is YAML.
    fn any(&mut self, number: u64, value: Option<&Value>) {
        if let Some(value) = value {
            let mut any = Self::default();
            any.text(2, Some(&format!("{value}\n")));
            self.message(number, &any);
        }
    }
}
