//! A column of a table: its head, and how it gets a cell from an object.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age;
use super::json_path::{self, JsonPath};

/// Where a cell comes from.
#[derive(Clone)]
enum Source {
    /// A path in the object.
    Path(Arc<JsonPath>),
    /// A function of the object and the time.
    Function(fn(&Value, Timestamp) -> Value),
    /// A path that isn't one: always empty.
    Nothing,
}

/// One column.
#[derive(Clone)]
pub struct Column {
    name: String,
    kind: String,
    format: String,
    description: String,
    priority: i64,
    source: Source,
}

const NAME_DESCRIPTION: &str = "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";

const AGE_DESCRIPTION: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

impl Column {
    /// The object's name, the first column of every table.
    pub fn name() -> Self {
        Self {
            format: "name".to_owned(),
            description: NAME_DESCRIPTION.to_owned(),
            ..Self::function("Name", "string", 0, |object, _| {
                object
                    .pointer("/metadata/name")
                    .cloned()
                    .unwrap_or(Value::Null)
            })
        }
    }

    /// The same column, shown only where all columns are asked for.
    pub(super) fn only_wide(self) -> Self {
        Self {
            priority: 1,
            description: String::new(),
            ..self
        }
    }

    /// The object's age.
    pub fn age() -> Self {
        Self {
            description: AGE_DESCRIPTION.to_owned(),
            ..Self::function("Age", "string", 0, |object, now| {
                let created = object.pointer("/metadata/creationTimestamp");
                age::since(created.and_then(Value::as_str), now).into()
            })
        }
    }

    /// A column of a built-in kind.
    pub(super) fn function(
        name: &str,
        column_type: &str,
        priority: i64,
        function: fn(&Value, Timestamp) -> Value,
    ) -> Self {
        Self {
            name: name.to_owned(),
            kind: column_type.to_owned(),
            format: String::new(),
            description: String::new(),
            priority,
            source: Source::Function(function),
        }
    }

    pub(super) fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.kind,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        })
    }

    pub(super) fn cell(&self, object: &Value, now: Timestamp) -> Value {
        let path = match &self.source {
            Source::Function(function) => return function(object, now),
            Source::Nothing => return Value::Null,
            Source::Path(path) => path,
        };
        let found = path.find(object);
        let Some(first) = found.first() else {
            return Value::Null;
        };
        match self.kind.as_str() {
            "string" => json_path::print(first).into(),
            "integer" => integer(first),
            "number" if first.is_number() => (*first).clone(),
            "boolean" => first.as_bool().map_or(Value::Null, Value::from),
            "date" => match first {
                Value::String(text) => age::since(Some(text), now).into(),
                _ => Value::Null,
            },
            _ => Value::Null,
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a cell of type integer cuts the fraction off"
)]
fn integer(value: &Value) -> Value {
    let whole = value
        .as_i64()
        .or_else(|| value.as_f64().map(|number| number as i64));
    whole.map_or(Value::Null, Value::from)
}

/// The columns of a custom kind: its name, then what `additionalPrinterColumns` lists, or its age
/// when nothing is listed.
pub fn custom_columns(additional_printer_columns: &[Value]) -> Vec<Column> {
    let mut out = vec![Column::name()];
    if additional_printer_columns.is_empty() {
        out.push(Column {
            kind: "date".to_owned(),
            ..Column::age()
        });
        return out;
    }
    for given in additional_printer_columns {
        let text = |name: &str| given.get(name).and_then(Value::as_str).unwrap_or_default();
        let source = JsonPath::parse(text("jsonPath"))
            .map_or(Source::Nothing, |path| Source::Path(Arc::new(path)));
        let description = match text("description") {
            "" => format!(
                "Custom resource definition column (in JSONPath format): {}",
                text("jsonPath")
            ),
            given => given.to_owned(),
        };
        out.push(Column {
            name: text("name").to_owned(),
            kind: text("type").to_owned(),
            format: text("format").to_owned(),
            description,
            priority: given.get("priority").and_then(Value::as_i64).unwrap_or(0),
            source,
        });
    }
    out
}
