//! What a handler answers.

use serde_json::Value;

/// Status, body and the operation it started.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Option<Value>,
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Answer {
    /// 200 with a body.
    pub(crate) fn ok(body: Value) -> Self {
        Self::with(200, Some(body))
    }

    /// A status without a body.
    pub(crate) fn status(status: u16) -> Self {
        Self::with(status, None)
    }

    /// A status and a body.
    pub(crate) fn with(status: u16, body: Option<Value>) -> Self {
        Self {
            status,
            body,
            headers: Vec::new(),
        }
    }

    /// With a header.
    #[must_use]
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}
