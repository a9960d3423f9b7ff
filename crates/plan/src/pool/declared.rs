//! User variables as data: how a driver declares them, and how a value is converted (captf
//! document VAR-14 to VAR-16).
//!
//! A driver declares each variable once, in [`declare_variables!`](crate::pool::declared): the
//! entry is both a field of the typed result and a row of the table that documentation, checks and
//! tests read. Values never appear in a refusal: they may come from a Secret.

use serde_json::{Map, Number, Value};

use super::action::Effect;
use crate::error::Refusal;

/// One declared variable.
#[derive(Debug)]
pub struct Declared {
    /// Name, for example `root_volume_size_gib`.
    pub name: &'static str,
    /// Type.
    pub kind: Kind,
    /// Default, as JSON text.
    pub default: &'static str,
    /// Null is a value of its own, not "use the default".
    pub nullable: bool,
    /// What a change does to running machines.
    pub effect: Effect,
    /// What a converted value must satisfy. Null satisfies everything.
    pub checks: &'static [Check],
    /// Lines of documentation.
    pub doc: &'static [&'static str],
}

/// Type of a variable.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A string; numbers and booleans become their text.
    Text,
    /// A number; exact numeric text is one.
    Number,
    /// A boolean; `"true"` and `"false"` are ones.
    Flag,
    /// A list of strings.
    Texts,
    /// A map of strings.
    TextMap,
    /// Any JSON.
    Any,
    /// An object of declared fields; unknown fields are dropped.
    Object(&'static [Declared]),
}

/// A condition on a converted value.
#[derive(Debug)]
pub struct Check {
    /// Code of the cloud document, for example `V-19`.
    pub code: &'static str,
    /// The rule, to be read after the variable's name: `must be a whole number from 8 to 16384`.
    pub rule: &'static str,
    /// Whether a value satisfies it.
    pub holds: fn(&Value) -> bool,
}

impl Declared {
    /// The default as a value.
    pub fn default_value(&self) -> Value {
        serde_json::from_str(self.default).expect("defaults in a table are JSON")
    }
}

impl Kind {
    /// Name for messages and documentation, in the module's words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Number => "number",
            Self::Flag => "bool",
            Self::Texts => "list(string)",
            Self::TextMap => "map(string)",
            Self::Any => "any",
            Self::Object(_) => "object",
        }
    }
}

/// Converts and checks all variables: every declared name with its value or default.
///
/// # Errors
/// `V-0` for unknown names and values that cannot be converted, and each violated check; sorted.
pub fn resolve(
    table: &'static [Declared],
    variables: &Map<String, Value>,
) -> Result<Map<String, Value>, Vec<Refusal>> {
    let mut refusals: Vec<Refusal> = variables
        .keys()
        .filter(|name| !table.iter().any(|declared| declared.name == *name))
        .map(|name| unknown(table, name))
        .collect();
    let resolved = fields(table, variables, "", &mut refusals);
    if refusals.is_empty() {
        Ok(resolved)
    } else {
        refusals.sort();
        Err(refusals)
    }
}

fn unknown(table: &'static [Declared], name: &str) -> Refusal {
    let refusal = Refusal::new("V-0", name, "is not a variable of this pool type");
    let nearest = table
        .iter()
        .map(|declared| (distance(declared.name, name), declared.name))
        .min();
    match nearest {
        Some((distance, nearest)) if distance * 3 <= name.len() => {
            refusal.with_remedy(format!("remove it, or did you mean {nearest}?"))
        }
        _ => {
            let names: Vec<&str> = table.iter().map(|declared| declared.name).collect();
            refusal.with_remedy(format!("remove it, or use one of {}", names.join(", ")))
        }
    }
}

/// How many characters must be put in, taken out or exchanged to make one text of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, to) in row.iter_mut().skip(1).zip(&b) {
            let cost = diagonal + usize::from(from != *to);
            diagonal = *cell;
            *cell = cost.min(left + 1).min(diagonal + 1);
            left = *cell;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

fn fields(
    table: &'static [Declared],
    given: &Map<String, Value>,
    prefix: &str,
    refusals: &mut Vec<Refusal>,
) -> Map<String, Value> {
    let mut resolved = Map::new();
    for declared in table {
        let subject = format!("{prefix}{}", declared.name);
        let value = match given.get(declared.name) {
            Some(Value::Null) if declared.nullable => Value::Null,
            None | Some(Value::Null) => with_defaults(declared, &subject, refusals),
            Some(value) => match convert(declared.kind, value, &subject, refusals) {
                Ok(value) => value,
                Err(problem) => {
                    refusals.push(Refusal::new("V-0", subject, problem));
                    continue;
                }
            },
        };
        if !value.is_null() {
            refusals.extend(
                declared
                    .checks
                    .iter()
                    .filter(|check| !(check.holds)(&value))
                    .map(|check| Refusal::new(check.code, subject.clone(), check.rule)),
            );
        }
        resolved.insert(declared.name.to_owned(), value);
    }
    resolved
}

fn with_defaults(declared: &Declared, subject: &str, refusals: &mut Vec<Refusal>) -> Value {
    match declared.kind {
        Kind::Object(table) => {
            Value::Object(fields(table, &Map::new(), &format!("{subject}."), refusals))
        }
        Kind::Text | Kind::Number | Kind::Flag | Kind::Texts | Kind::TextMap | Kind::Any => {
            declared.default_value()
        }
    }
}

fn convert(
    kind: Kind,
    value: &Value,
    subject: &str,
    refusals: &mut Vec<Refusal>,
) -> Result<Value, String> {
    let refused = || format!("must be a {}, got {}", kind.name(), name_of(value));
    match (kind, value) {
        (Kind::Any, value) => Ok(value.clone()),
        (Kind::Text, value) => scalar(value).map(Value::String).ok_or_else(refused),
        (Kind::Number, Value::Number(number)) => Ok(canonical(number)),
        (Kind::Number, Value::String(text)) => exact(text)
            .map(|number| canonical(&number))
            .ok_or_else(|| "must be a number, got a string that is not one".to_owned()),
        (Kind::Flag, Value::Bool(flag)) => Ok(Value::Bool(*flag)),
        (Kind::Flag, Value::String(text)) => match text.as_str() {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ => Err("must be a bool, got a string other than `true` and `false`".to_owned()),
        },
        (Kind::Texts, Value::Array(items)) => items
            .iter()
            .map(|item| scalar(item).map(Value::String))
            .collect::<Option<Vec<Value>>>()
            .map(Value::Array)
            .ok_or_else(|| "must hold strings only".to_owned()),
        (Kind::TextMap, Value::Object(entries)) => entries
            .iter()
            .map(|(key, item)| Some((key.clone(), Value::String(scalar(item)?))))
            .collect::<Option<Map<String, Value>>>()
            .map(Value::Object)
            .ok_or_else(|| "must hold string values only".to_owned()),
        (Kind::Object(table), Value::Object(given)) => Ok(Value::Object(fields(
            table,
            given,
            &format!("{subject}."),
            refusals,
        ))),
        (Kind::Number | Kind::Flag | Kind::Texts | Kind::TextMap | Kind::Object(_), _) => {
            Err(refused())
        }
    }
}

/// A scalar's canonical text; `None` for null, lists and objects.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(canonical(number).to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The number a text is, without anything around it.
fn exact(text: &str) -> Option<Number> {
    let is_bare = text.trim() == text;
    is_bare.then(|| serde_json::from_str(text).ok()).flatten()
}

/// Whole numbers as integers, so that `40`, `40.0` and `"4e1"` are one value.
fn canonical(number: &Number) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53: whole numbers below are exact in an f64
    match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => Value::from(whole),
        (None, Some(float)) if float.fract() == 0.0 && float.abs() < EXACT => {
            #[allow(
                clippy::cast_possible_truncation,
                reason = "a whole number below 2^53 fits an i64 exactly"
            )]
            let whole = float as i64;
            Value::from(whole)
        }
        (None, _) => Value::Number(number.clone()),
    }
}

fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a bool",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Whether a value is text that satisfies `rule`.
pub fn text(value: &Value, rule: impl Fn(&str) -> bool) -> bool {
    value.as_str().is_some_and(rule)
}

/// Whether a value is one of some words.
pub fn one_of(value: &Value, words: &[&str]) -> bool {
    text(value, |text| words.contains(&text))
}

/// Whether a value is a whole number in a range, ends included.
pub fn whole(value: &Value, range: std::ops::RangeInclusive<i64>) -> bool {
    value.as_i64().is_some_and(|number| range.contains(&number))
}

/// Declares a struct of variables and its table in one go; each variable has one entry.
macro_rules! declare_variables {
    (
        $(#[doc = $about:literal])+
        pub struct $name:ident;
        $(
            $(#[doc = $doc:literal])+
            $field:ident: $type:ty {
                kind: $kind:expr,
                default: $default:literal,
                nullable: $nullable:literal,
                effect: $effect:expr,
                checks: [$($check:expr),* $(,)?],
            }
        )+
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, serde::Deserialize)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: $type, )+
        }

        impl $name {
            /// One row a variable.
            pub const TABLE: &'static [$crate::pool::declared::Declared] = &[$(
                $crate::pool::declared::Declared {
                    name: stringify!($field),
                    kind: $kind,
                    default: $default,
                    nullable: $nullable,
                    effect: $effect,
                    checks: &[$($check),*],
                    doc: &[$($doc),+],
                },
            )+];
        }
    };
}

pub(crate) use declare_variables;
