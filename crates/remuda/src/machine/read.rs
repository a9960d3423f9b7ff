//! Reads from an API as plain JSON.

use anyhow::{Context, Result};
use kube::Client;
use serde_json::Value;

/// Reads of one API.
pub(crate) struct Reader(pub(crate) Client);

impl Reader {
    /// The object at a path; `None` when it is not there.
    pub(crate) async fn get(&self, path: &str) -> Result<Option<Value>> {
        match self.ask(path).await {
            Ok(object) => Ok(Some(object)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error).with_context(|| format!("reading {path}")),
        }
    }

    /// The objects at a path.
    pub(crate) async fn list(&self, path: &str) -> Result<Vec<Value>> {
        let list = self.ask(path).await;
        let mut list = list.with_context(|| format!("listing {path}"))?;
        match list.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => Ok(items),
            _ => Ok(Vec::new()),
        }
    }

    async fn ask(&self, path: &str) -> kube::Result<Value> {
        let request = http::Request::get(path).body(Vec::new());
        self.0
            .request(request.map_err(kube::Error::HttpError)?)
            .await
    }
}
