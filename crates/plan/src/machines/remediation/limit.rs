//! How many Machines may be unhealthy before nothing follows: an outage of a zone must not delete
//! a pool.

use serde_json::Value;

/// When remediation is allowed, by the number of Machines that are not healthy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Limit {
    /// Up to this many.
    AtMost(usize),
    /// Up to this many of a hundred, rounded down.
    Percent(usize),
    /// From so many to so many.
    Within(usize, usize),
    /// What is set cannot be read: nothing follows. The words that were set.
    Unreadable(String),
}

impl Limit {
    /// Reads `spec.remediation.triggerIf`: a range replaces the count.
    pub fn parse(range: Option<&str>, at_most: Option<&Value>) -> Self {
        if let Some(range) = range {
            let bounds = range
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(']'))
                .and_then(|inner| inner.split_once('-'));
            let bounds =
                bounds.and_then(|(low, high)| Some((low.parse().ok()?, high.parse().ok()?)));
            return bounds.map_or_else(
                || Self::Unreadable(range.to_owned()),
                |(low, high)| Self::Within(low, high),
            );
        }
        match at_most {
            None | Some(Value::Null) => Self::Percent(100),
            Some(Value::Number(number)) => number
                .as_u64()
                .and_then(|number| usize::try_from(number).ok())
                .map_or_else(|| Self::Unreadable(number.to_string()), Self::AtMost),
            Some(Value::String(text)) => text
                .strip_suffix('%')
                .and_then(|percent| percent.parse().ok())
                .map_or_else(|| Self::Unreadable(text.clone()), Self::Percent),
            Some(other) => Self::Unreadable(other.to_string()),
        }
    }

    /// How many more may become unhealthy; `None`: too many or too few are.
    pub fn left(&self, expected: usize, unhealthy: usize) -> Option<usize> {
        match self {
            Self::AtMost(most) => most.checked_sub(unhealthy),
            Self::Percent(percent) => {
                (expected.saturating_mul(*percent) / 100).checked_sub(unhealthy)
            }
            Self::Within(low, high) if unhealthy >= *low => high.checked_sub(unhealthy),
            Self::Within(..) | Self::Unreadable(_) => None,
        }
    }

    /// The limit in words.
    pub fn words(&self) -> String {
        match self {
            Self::AtMost(most) => format!("at most {most} may be"),
            Self::Percent(percent) => format!("at most {percent} % may be"),
            Self::Within(low, high) => format!("from {low} to {high} may be"),
            Self::Unreadable(text) => format!("the limit {text:?} cannot be read"),
        }
    }
}
