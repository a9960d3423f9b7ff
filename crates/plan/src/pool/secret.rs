//! A value that never reaches a log, event, status, plan or panic.

use std::fmt;

use serde::{Serialize, Serializer};

/// Holds a secret; prints and serializes as `[redacted]`. Reading it takes [`Secret::reveal`],
/// which is easy to find in a review.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Wraps a secret value.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// Another secret made from this one.
    #[must_use]
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Secret<U> {
        Secret(make(self.0))
    }

    /// The value itself, for the one place that needs it.
    pub fn reveal(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl<T> fmt::Display for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl<T> Serialize for Secret<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("[redacted]")
    }
}
