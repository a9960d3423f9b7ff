//! What is wrong with an object, in the words that people know from the API server.

use std::fmt;

use serde_json::Value;

use super::kind::Kind;

/// What sort of mistake it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Something must be there.
    Required,
    /// The value is no good.
    Invalid,
    /// It must not be there, or not now.
    Forbidden,
}

impl Cause {
    /// The reason of the cause in a `Status`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::Forbidden => "FieldValueForbidden",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid => "Invalid value",
            Self::Forbidden => "Forbidden",
        }
    }
}

/// One reason to refuse an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// `spec.template.spec.version`.
    pub field: String,
    /// What sort of mistake it is.
    pub cause: Cause,
    /// The value as JSON, where it may be shown.
    pub value: Option<String>,
    /// What to do.
    pub remedy: String,
}

impl Problem {
    /// Something is missing.
    pub fn required(field: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(field, Cause::Required, None, remedy)
    }

    /// A value is no good.
    pub fn invalid(field: impl Into<String>, value: &Value, remedy: impl Into<String>) -> Self {
        Self::new(field, Cause::Invalid, Some(value.to_string()), remedy)
    }

    /// A value is no good, and is not shown.
    pub fn hidden(field: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(field, Cause::Invalid, None, remedy)
    }

    /// Something must not be there, or not be done now.
    pub fn forbidden(field: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(field, Cause::Forbidden, None, remedy)
    }

    fn new(
        field: impl Into<String>,
        cause: Cause,
        value: Option<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            field: field.into(),
            cause,
            value,
            remedy: remedy.into(),
        }
    }

    /// The problem without its field, as a `Status` lists it beside the field.
    pub fn detail(&self) -> String {
        let words = self.cause.words();
        match &self.value {
            Some(value) => format!("{words}: {value}: {}", self.remedy),
            None => format!("{words}: {}", self.remedy),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.detail())
    }
}

/// The whole refusal: `MachinePool.cluster.x-k8s.io "a" is invalid: [first, second]`.
pub fn refusal(kind: Kind, name: &str, problems: &[Problem]) -> String {
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let list = match told.as_slice() {
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    format!(
        "{}.{} {name:?} is invalid: {list}",
        kind.name(),
        kind.group()
    )
}
