//! Values that are filled in, as operations of a JSON patch.

use serde_json::{Map, Value, json};

/// An object and what was filled in so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Defaults {
    object: Value,
    operations: Vec<Value>,
}

impl Defaults {
    /// Nothing is filled in yet.
    pub fn of(object: &Value) -> Self {
        Self {
            object: object.clone(),
            operations: Vec::new(),
        }
    }

    /// The object as it is now.
    pub fn object(&self) -> &Value {
        &self.object
    }

    /// The operations of a JSON patch (RFC 6902) that lead there; none when nothing was missing.
    pub fn operations(&self) -> &[Value] {
        &self.operations
    }

    /// The value at a path of field names; null when there is none.
    pub fn at(&self, path: &[&str]) -> &Value {
        path.iter().fold(&self.object, |value, part| &value[*part])
    }

    /// Sets a field, making the objects on the way to it. Does nothing where it holds the value
    /// already, or where something that is no object stands in the way: that is a schema's to say.
    pub fn set(&mut self, path: &[&str], value: Value) {
        let Some((last, way)) = path.split_last() else {
            return;
        };
        if *self.at(path) == value {
            return;
        }
        let mut place = &mut self.object;
        let mut pointer = String::new();
        for part in way {
            pointer.push('/');
            pointer.push_str(&escaped(part));
            let Some(fields) = place.as_object_mut() else {
                return;
            };
            place = fields.entry(*part).or_insert(Value::Null);
            if place.is_null() {
                *place = Value::Object(Map::new());
                self.operations
                    .push(json!({ "op": "add", "path": pointer, "value": {} }));
            }
        }
        let Some(fields) = place.as_object_mut() else {
            return;
        };
        pointer.push('/');
        pointer.push_str(&escaped(last));
        fields.insert((*last).to_owned(), value.clone());
        self.operations
            .push(json!({ "op": "add", "path": pointer, "value": value }));
    }
}

/// A field name inside a JSON pointer (RFC 6901).
fn escaped(part: &str) -> String {
    part.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_a_field_is_made() {
        let mut defaults = Defaults::of(&json!({ "metadata": { "name": "a" }, "spec": {} }));
        defaults.set(&["metadata", "labels", "x.io/a"], "b".into());
        defaults.set(&["spec", "replicas"], 1.into());
        defaults.set(&["spec", "replicas"], 1.into());
        assert_eq!(
            defaults.operations(),
            [
                json!({ "op": "add", "path": "/metadata/labels", "value": {} }),
                json!({ "op": "add", "path": "/metadata/labels/x.io~1a", "value": "b" }),
                json!({ "op": "add", "path": "/spec/replicas", "value": 1 }),
            ]
        );
        assert_eq!(defaults.object()["metadata"]["labels"]["x.io/a"], "b");
    }

    #[test]
    fn what_is_no_object_is_left_alone() {
        let mut defaults = Defaults::of(&json!({ "spec": "text" }));
        defaults.set(&["spec", "replicas"], 1.into());
        assert_eq!(defaults.operations(), [] as [Value; 0]);
        assert_eq!(*defaults.object(), json!({ "spec": "text" }));
    }
}
