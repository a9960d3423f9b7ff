//! JSON without `metadata.managedFields`: who manages which field is half of many objects, and
//! hardly anybody asks.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Number, Value};

/// An object, or a list of objects.
pub(super) struct Unmanaged(pub Value);

impl<'de> Deserialize<'de> for Unmanaged {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let part = Part { is_metadata: false };
        part.deserialize(deserializer).map(Self)
    }
}

/// A part of an object.
#[derive(Clone, Copy)]
struct Part {
    /// It is what `metadata` holds.
    is_metadata: bool,
}

impl<'de> DeserializeSeed<'de> for Part {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Self { is_metadata: false })? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            if self.is_metadata && key == "managedFields" {
                fields.next_value::<IgnoredAny>()?;
                continue;
            }
            let is_metadata = key == "metadata";
            let value = fields.next_value_seed(Self { is_metadata })?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Unmanaged;

    #[test]
    fn only_the_managers_of_objects_are_left_out() {
        let object = |managers: bool| {
            let mut object = json!({
                "metadata": { "name": "a", "labels": { "managedFields": "x" }, "n": null },
                "data": { "managedFields": ["stays"] },
                "status": { "n": -1, "m": 2.5, "b": true, "u": 18_446_744_073_709_551_615_u64 },
            });
            if managers {
                object["metadata"]["managedFields"] = json!([{ "manager": "m", "fieldsV1": {} }]);
            }
            object
        };
        let list = |managers| json!({ "metadata": { "continue": "t" }, "items": [object(managers), object(managers)] });
        for (with, without) in [(object(true), object(false)), (list(true), list(false))] {
            let read: Unmanaged = serde_json::from_str(&with.to_string()).unwrap();
            assert_eq!(read.0, without);
            let same: Value = serde_json::from_str(&with.to_string()).unwrap();
            assert_ne!(same, without, "there was something to leave out");
        }
    }
}
