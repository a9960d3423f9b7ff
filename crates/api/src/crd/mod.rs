//! Custom resource definitions made from the types.

use schemars::{Schema, SchemaGenerator, json_schema};

/// Schema of a field that takes any JSON.
pub(crate) fn any_json(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "x-kubernetes-preserve-unknown-fields": true })
}

/// Schema of a field that takes a count or a percentage.
pub(crate) fn int_or_string(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [{ "type": "integer" }, { "type": "string" }],
        "x-kubernetes-int-or-string": true,
    })
}
