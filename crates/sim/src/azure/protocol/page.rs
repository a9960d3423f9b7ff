//! Lists in pages: `{"value": […], "nextLink": "…"}`.

use serde_json::{Value, json};

use super::ArmError;

/// Which page of a list, and where the next one is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page<'a> {
    /// Items before this page.
    pub(crate) skip: usize,
    /// Most items of a page.
    pub(crate) size: usize,
    /// Absolute address of the request without its skip token, query included.
    pub(crate) address: &'a str,
}

/// The skip token of a page: where it begins, as ARM hides it.
pub(crate) fn read_token(token: Option<&str>) -> Result<usize, ArmError> {
    let Some(token) = token else { return Ok(0) };
    token
        .strip_prefix("sim-")
        .and_then(|number| number.parse().ok())
        .ok_or_else(|| ArmError::new(400, "InvalidSkipToken", "The skip token is invalid."))
}

impl Page<'_> {
    /// The page of `items`; only its own are rendered.
    pub(crate) fn of<T>(&self, items: Vec<T>, render: impl Fn(T) -> Value) -> Value {
        let total = items.len();
        let end = self.skip.saturating_add(self.size);
        let page = items.into_iter().skip(self.skip).take(self.size);
        let value: Vec<Value> = page.map(render).collect();
        if end >= total {
            return json!({ "value": value });
        }
        let joint = if self.address.contains('?') { '&' } else { '?' };
        let link = format!("{}{joint}$skiptoken=sim-{end}", self.address);
        json!({ "value": value, "nextLink": link })
    }
}
