//! One YAML document, and the keys that it names twice.

use bytes::Bytes;
use serde_json::Value;
use serde_saphyr::options::DuplicateKeyPolicy;

use super::duplicates;

/// A field that a text names more than once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repeated {
    warning: String,
    error: String,
}

impl Repeated {
    /// The repeated fields of a JSON text.
    pub(crate) fn in_json(text: &[u8]) -> Vec<Self> {
        let field = |path: String| {
            let text = format!("duplicate field {path:?}");
            Self {
                warning: text.clone(),
                error: text,
            }
        };
        duplicates::find(text).into_iter().map(field).collect()
    }

    /// The repeated and unknown fields of a JSON patch.
    pub(crate) fn in_operations(text: &[u8], operations: &Value) -> Vec<Self> {
        const KNOWN: [&str; 4] = ["op", "path", "from", "value"];
        let problem = |what: &str, path: &str| {
            let text = format!("json patch {what} field {path:?}");
            Self {
                warning: text.clone(),
                error: text,
            }
        };
        let repeated = duplicates::find(text).into_iter();
        let operations = operations.as_array().into_iter().flatten().enumerate();
        let unknown = operations.flat_map(|(index, operation)| {
            let names = operation
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, _)| name);
            let odd = names.filter(|name| !KNOWN.contains(&name.as_str()));
            odd.map(move |name| format!("[{index}].{name}"))
        });
        repeated
            .map(|path| problem("duplicate", &path))
            .chain(unknown.map(|path| problem("unknown", &path)))
            .collect()
    }

    /// The text of a warning.
    pub(crate) fn warning(&self) -> &str {
        &self.warning
    }

    /// The text of a refusal.
    pub(crate) fn error(&self) -> &str {
        &self.error
    }
}

/// Parses one document, or JSON.
///
/// # Errors
/// What is wrong with the text.
pub(crate) fn parse(bytes: &Bytes) -> Result<(Value, Vec<Repeated>), String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "yaml: invalid UTF-8".to_owned())?;
    let error = match serde_saphyr::from_str(text) {
        Ok(value) => return Ok((value, Vec::new())),
        Err(error) => error,
    };
    let options = serde_saphyr::options! { duplicate_keys: DuplicateKeyPolicy::LastWins };
    match serde_saphyr::from_str_with_options(text, options) {
        Ok(value) => Ok((value, repeated(&error.to_string()))),
        Err(_) => Err(format!("yaml: {}", first_line(&error.to_string()))),
    }
}

/// The key that the strict parser stumbled over; it names the first one only.
fn repeated(error: &str) -> Vec<Repeated> {
    let line = error
        .split("line ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let key = error.split("duplicate mapping key: ").nth(1);
    let key = key.and_then(|rest| rest.split(',').next());
    let (Some(line), Some(key)) = (line, key) else {
        return Vec::new();
    };
    let warning = format!("line {line}: key {key:?} already set in map");
    let error = format!("yaml: unmarshal errors:\n  {warning}");
    vec![Repeated { warning, error }]
}

fn first_line(error: &str) -> &str {
    let line = error.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line)
}
