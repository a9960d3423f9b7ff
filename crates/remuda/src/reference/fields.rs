//! Fields of the kinds that Remuda serves, from their schemas.

use anyhow::{Context, Result};
use serde_json::Value;

use super::{cell, page};

pub(crate) fn fields() -> Result<String> {
    let mut text = page(
        "Fields",
        "Every field of every kind in [deploy/crds](../../deploy/crds), as `kubectl explain` shows \
         them. `[]` is each entry of a list, `{}` each value of a map. `metadata` is Kubernetes' own.",
    );
    for definition in remuda_api::crds() {
        let definition = serde_json::to_value(&definition)?;
        describe(&definition, &mut text).context("reading a definition of our own")?;
    }
    Ok(text)
}

/// Adds one kind; `None` if the definition is not shaped like one.
fn describe(definition: &Value, text: &mut String) -> Option<()> {
    let spec = &definition["spec"];
    let (group, kind) = (spec["group"].as_str()?, spec["names"]["kind"].as_str()?);
    for version in spec["versions"].as_array()? {
        let name = version["name"].as_str()?;
        let schema = &version["schema"]["openAPIV3Schema"];
        text.extend([format!("\n## {kind} (`{group}/{name}`)\n\n")]);
        if let Some(about) = schema["description"].as_str() {
            text.extend([format!("{about}\n\n")]);
        }
        text.push_str("| field | type | meaning |\n| --- | --- | --- |\n");
        for part in ["spec", "status"] {
            below(&schema["properties"][part], part, text);
        }
    }
    Some(())
}

/// Adds the fields below a schema, parents first.
fn below(schema: &Value, path: &str, text: &mut String) {
    if let Some(properties) = schema["properties"].as_object() {
        let required: Vec<&str> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        for (name, field) in properties {
            let path = format!("{path}.{name}");
            let must = if required.contains(&name.as_str()) {
                ", required"
            } else {
                ""
            };
            let about = cell(field["description"].as_str().unwrap_or_default());
            text.extend([format!("| `{path}` | {}{must} | {about} |\n", kind(field))]);
            below(field, &path, text);
        }
    }
    if schema["items"].is_object() {
        below(&schema["items"], &format!("{path}[]"), text);
    }
    if schema["additionalProperties"].is_object() {
        below(
            &schema["additionalProperties"],
            &format!("{path}{{}}"),
            text,
        );
    }
}

/// Type of a field, with its words where it has a fixed list of them.
fn kind(field: &Value) -> String {
    if let Some(words) = field["enum"].as_array() {
        let words: Vec<String> = words
            .iter()
            .filter_map(Value::as_str)
            .map(|word| format!("`{word}`"))
            .collect();
        return words.join(", ");
    }
    if field["x-kubernetes-int-or-string"] == true {
        return "integer or string".to_owned();
    }
    field["type"].as_str().unwrap_or("any").to_owned()
}
