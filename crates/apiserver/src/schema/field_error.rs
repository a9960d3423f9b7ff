//! One problem of one field, in Kubernetes' own words.
//!
//! In: a kind, a path, the offending value and a detail. Out: the text that a `Status` message and
//! its causes carry. The texts are those of Kubernetes 1.36, since kubectl users read them.

use std::fmt::{self, Write as _};

use serde_json::Value;

/// What is wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FieldErrorKind {
    /// A value names something that doesn't exist.
    NotFound,
    /// A required value is absent.
    Required,
    /// A value that must be unique occurs twice.
    Duplicate,
    /// A value breaks a rule.
    Invalid,
    /// A value isn't one of the allowed ones.
    NotSupported,
    /// A value may not be set or changed here.
    Forbidden,
    /// A string is too long.
    TooLong,
    /// A list or map has too many entries.
    TooMany,
    /// The server couldn't decide.
    Internal,
    /// A value has the wrong JSON type.
    TypeInvalid,
}

impl FieldErrorKind {
    /// The words that start the message.
    pub fn title(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::Internal => "Internal error",
        }
    }

    /// The machine-readable reason of a `Status` cause.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::Internal => "InternalError",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    /// Whether the message shows the value.
    fn shows_value(self) -> bool {
        !matches!(
            self,
            Self::Required | Self::Forbidden | Self::TooLong | Self::Internal
        )
    }
}

/// One problem of one field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// What is wrong.
    pub kind: FieldErrorKind,
    /// Where, for example `spec.template.ports[0].name`; empty for the object as a whole.
    pub path: String,
    /// The offending value; `None` is left out of the message.
    pub value: Option<Value>,
    /// Whether a text value is printed as it is, without quotes.
    pub(crate) raw: bool,
    /// What to do about it; may be empty.
    pub detail: String,
}

impl FieldError {
    /// A problem of any kind.
    pub fn new(
        kind: FieldErrorKind,
        path: impl Into<String>,
        value: Option<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            path: path.into(),
            value,
            detail: detail.into(),
            raw: false,
        }
    }

    /// The same problem with a value that is printed as it is.
    pub(crate) fn raw(self) -> Self {
        Self { raw: true, ..self }
    }

    /// `PATH: Required value[: DETAIL]`.
    pub fn required(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Required, path, None, detail)
    }

    /// `PATH: Invalid value: VALUE: DETAIL`.
    pub fn invalid(path: impl Into<String>, value: Value, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Invalid, path, Some(value), detail)
    }

    /// `PATH: Invalid value: VALUE: DETAIL`, for a value of the wrong JSON type.
    pub fn type_invalid(path: impl Into<String>, value: Value, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::TypeInvalid, path, Some(value), detail)
    }

    /// `PATH: Forbidden: DETAIL`.
    pub fn forbidden(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Forbidden, path, None, detail)
    }

    /// `PATH: Duplicate value: VALUE`.
    pub fn duplicate(path: impl Into<String>, value: Value) -> Self {
        Self::new(FieldErrorKind::Duplicate, path, Some(value), "")
    }

    /// `PATH: Too long: may not be more than LIMIT bytes`.
    pub fn too_long(path: impl Into<String>, limit: u64) -> Self {
        let plural = if limit == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {limit} {plural}");
        Self::new(FieldErrorKind::TooLong, path, None, detail)
    }

    /// `PATH: Too many: ACTUAL: must have at most LIMIT items`.
    pub fn too_many(path: impl Into<String>, actual: usize, limit: u64) -> Self {
        let plural = if limit == 1 { "item" } else { "items" };
        let detail = format!("must have at most {limit} {plural}");
        Self::new(FieldErrorKind::TooMany, path, Some(actual.into()), detail)
    }

    /// `PATH: Unsupported value: VALUE: supported values: "a", "b"`.
    pub fn not_supported<'a>(
        path: impl Into<String>,
        value: Value,
        supported: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let quoted: Vec<String> = supported.into_iter().map(quote).collect();
        let detail = if quoted.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", quoted.join(", "))
        };
        Self::new(FieldErrorKind::NotSupported, path, Some(value), detail)
    }

    /// The reason of a `Status` cause.
    pub fn reason(&self) -> &'static str {
        self.kind.reason()
    }

    /// The field of a `Status` cause: the path, or `<nil>` for the object as a whole.
    pub fn field(&self) -> &str {
        if self.path.is_empty() {
            "<nil>"
        } else {
            &self.path
        }
    }

    /// The message without the path: what a `Status` cause carries.
    pub fn body(&self) -> String {
        let mut text = self.kind.title().to_owned();
        if let Some(value) = self.value.as_ref().filter(|_| self.kind.shows_value()) {
            text.push_str(": ");
            match value {
                Value::String(value) if self.raw => text.push_str(value),
                value => text.push_str(&show(value)),
            }
        }
        if !self.detail.is_empty() && self.kind != FieldErrorKind::Duplicate {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() {
            "<nil>"
        } else {
            &self.path
        };
        write!(f, "{path}: {}", self.body())
    }
}

impl std::error::Error for FieldError {}

/// A value as a message shows it: strings quoted, everything else as JSON.
fn show(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Number(number) => number_text(number),
        other => other.to_string(),
    }
}

/// A number as messages show it: a float without a fraction loses its `.0`.
pub(crate) fn number_text(number: &serde_json::Number) -> String {
    if number.is_f64() {
        number
            .as_f64()
            .map_or_else(|| number.to_string(), float_text)
    } else {
        number.to_string()
    }
}

/// A float in the shortest form, in scientific notation outside the range 1e-4 to 1e21.
pub(crate) fn float_text(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-4..1e21).contains(&magnitude) {
        let text = format!("{value:e}");
        return match text.split_once('e') {
            Some((mantissa, exponent)) => {
                let (sign, digits) = match exponent.strip_prefix('-') {
                    Some(digits) => ('-', digits),
                    None => ('+', exponent),
                };
                format!("{mantissa}e{sign}{digits:0>2}")
            }
            None => text,
        };
    }
    format!("{value}")
}

/// A string between double quotes, with the escapes that Kubernetes' messages use.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => {
                let _ = write!(out, "\\x{:02x}", c as u32);
            }
            c if c.is_control() || c == '\u{feff}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
