//! Field selectors: `metadata.name=a,status.phase!=Running`.

use serde_json::Value;

use crate::registry::Served;
use crate::status_error::{Failure, Outcome};

/// A parsed field selector; empty selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    field: String,
    value: String,
    negated: bool,
}

impl FieldSelector {
    /// Parses a selector and refuses fields that the kind does not offer.
    pub(crate) fn parse(text: &str, served: &Served) -> Outcome<Self> {
        let mut terms = Vec::new();
        for part in split(text) {
            let found = [("!=", true), ("==", false), ("=", false)]
                .into_iter()
                .find_map(|(operator, negated)| {
                    part.split_once(operator)
                        .map(|(field, value)| (field, value, negated))
                });
            let Some((field, value, negated)) = found else {
                let message = format!("invalid selector: '{text}'; can't understand '{part}'");
                return Err(Failure::bad_request(message));
            };
            let field = field.trim();
            let known = matches!(field, "metadata.name" | "metadata.namespace")
                || served
                    .version()
                    .selectable
                    .iter()
                    .any(|offered| offered == field);
            if !known {
                return Err(unknown(field, served));
            }
            terms.push(Term {
                field: field.to_owned(),
                value: unescape(value.trim())?,
                negated,
            });
        }
        Ok(Self { terms })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether terms remain that only the whole object can answer.
    pub(crate) fn needs_object(&self) -> bool {
        self.terms
            .iter()
            .any(|term| !term.field.starts_with("metadata."))
    }

    /// Decides the terms about name and namespace.
    pub(crate) fn matches_place(&self, namespace: &str, name: &str) -> bool {
        self.terms.iter().all(|term| match term.field.as_str() {
            "metadata.name" => (term.value == name) != term.negated,
            "metadata.namespace" => (term.value == namespace) != term.negated,
            _ => true,
        })
    }

    /// Decides the other terms.
    pub(crate) fn matches_object(&self, object: &Value) -> bool {
        self.terms
            .iter()
            .filter(|term| !term.field.starts_with("metadata."))
            .all(|term| (field(object, &term.field) == term.value) != term.negated)
    }
}

/// The text of a field as selectors compare it; absent is empty.
fn field(object: &Value, path: &str) -> String {
    // The one field whose name is not its path.
    if path == "source" && object.get("source").is_some_and(Value::is_object) {
        return crate::object::text(object, &["source", "component"]).to_owned();
    }
    let value = path
        .split('.')
        .try_fold(object, |value, part| value.get(part));
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None if matches!(path, "spec.unschedulable" | "spec.hostNetwork") => {
            "false".into()
        }
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

/// Splits at commas that are not escaped.
fn split(text: &str) -> Vec<&str> {
    let mut escaped = false;
    text.split(move |letter: char| {
        let splits = letter == ',' && !escaped;
        escaped = letter == '\\' && !escaped;
        splits
    })
    .filter(|part| !part.is_empty())
    .collect()
}

fn unescape(value: &str) -> Outcome<String> {
    let mut text = String::with_capacity(value.len());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            text.push(letter);
            continue;
        }
        match letters.next() {
            Some(escaped @ ('\\' | ',' | '=')) => text.push(escaped),
            other => {
                let sequence: String = std::iter::once('\\').chain(other).collect();
                let why = "invalid field selector: invalid escape sequence:";
                return Err(Failure::bad_request(format!("{why} {sequence}")));
            }
        }
    }
    Ok(text)
}

/// The refusal of a field that the kind does not offer.
fn unknown(field: &str, served: &Served) -> Failure {
    let plain = !served.kind.is_custom() && served.version().selectable.is_empty();
    Failure::bad_request(if plain {
        format!(
            "{field:?} is not a known field selector: only \"metadata.name\", \
             \"metadata.namespace\""
        )
    } else {
        format!("field label not supported: {field}")
    })
}
