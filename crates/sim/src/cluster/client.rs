//! A workload cluster's API over its router, in process: requests, and lists that stay up to date.

use std::time::Duration;

use axum::{Router, body::Body};
use bytes::Bytes;
use futures::StreamExt;
use http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::Value;
use tower::ServiceExt;

/// Pause before a list that could not be had is asked for again. Ours.
const PAUSE: Duration = Duration::from_secs(10);

/// An answer of the API.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    text: Bytes,
}

impl Reply {
    pub(crate) fn is_success(&self) -> bool {
        self.status.is_success()
    }

    /// What it holds; null if that is no JSON. Most writers never ask.
    pub(crate) fn body(&self) -> Value {
        serde_json::from_slice(&self.text).unwrap_or_default()
    }

    /// What the API said, short.
    pub(crate) fn why(&self) -> String {
        let body = self.body();
        let message = text(&body, "/message");
        format!("{} {message}", self.status.as_u16())
    }
}

/// Sends a request and reads the answer. Patches are merge patches.
pub(crate) async fn send(
    api: &Router,
    agent: &str,
    (method, path): (Method, &str),
    body: Option<&Value>,
) -> Reply {
    let answer = ask(api, agent, (method, path), body).await;
    let status = answer.status();
    match answer.into_body().collect().await {
        Ok(body) => Reply {
            status,
            text: body.to_bytes(),
        },
        Err(_) => Reply {
            status: StatusCode::BAD_GATEWAY,
            text: Bytes::new(),
        },
    }
}

async fn ask(
    api: &Router,
    agent: &str,
    (method, path): (Method, &str),
    body: Option<&Value>,
) -> http::Response<Body> {
    let kind = if method == Method::PATCH {
        "application/merge-patch+json"
    } else {
        "application/json"
    };
    let bytes = body.map(ToString::to_string).unwrap_or_default();
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::CONTENT_TYPE, kind)
        .header(header::ACCEPT, "application/json")
        .header(header::USER_AGENT, agent)
        .body(Body::from(bytes))
        .expect("paths are made of names of objects");
    api.clone()
        .oneshot(request)
        .await
        .unwrap_or_else(|never| match never {})
}

/// What becomes known of the objects of a kind.
#[derive(Debug)]
pub(crate) enum Seen {
    /// All there are; others are gone.
    All(Vec<Value>),
    /// A new one, or a new state of one.
    Changed(Value),
    /// One is gone.
    Gone(Value),
}

/// Follows the objects at `path` for as long as it is polled.
pub(crate) async fn follow(api: Router, path: &'static str, mut seen: impl FnMut(Seen) + Send) {
    loop {
        if follow_once(&api, path, &mut seen).await.is_none() {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// One list and the watches behind it. `None` when the list could not be had, or when the watch
/// broke before it said anything: the next attempt should wait.
async fn follow_once(api: &Router, path: &str, seen: &mut (impl FnMut(Seen) + Send)) -> Option<()> {
    const AGENT: &str = "simulated cluster";
    let list = send(api, AGENT, (Method::GET, path), None).await;
    let (mut body, listed) = (list.body(), list.is_success());
    drop(list);
    let items = body.get_mut("items").map(Value::take);
    let (Some(Value::Array(items)), true) = (items, listed) else {
        return None;
    };
    let mut revision = text(&body, "/metadata/resourceVersion").to_owned();
    seen(Seen::All(items));
    loop {
        // No bookmarks: they would wake a world that sleeps in virtual time.
        let watch = format!("{path}?watch=true&resourceVersion={revision}");
        let answer = ask(api, AGENT, (Method::GET, &watch), None).await;
        if !answer.status().is_success() {
            return None;
        }
        let mut lines = Lines::new(answer.into_body());
        let mut any = false;
        while let Some(event) = lines.next().await {
            let kind = text(&event, "/type").to_owned();
            let mut event = event;
            let object = event.get_mut("object").map(Value::take).unwrap_or_default();
            if kind == "ERROR" {
                // The revision is too old, most likely: list anew.
                return Some(());
            }
            any = true;
            text(&object, "/metadata/resourceVersion").clone_into(&mut revision);
            seen(if kind == "DELETED" {
                Seen::Gone(object)
            } else {
                Seen::Changed(object)
            });
        }
        if !any {
            return None;
        }
    }
}

/// The text at a JSON pointer, empty when absent.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// JSON values, one a line, as a watch sends them.
struct Lines {
    body: axum::body::BodyDataStream,
    /// What was read and not yet handed out; one chunk may hold thousands of lines.
    pending: Bytes,
}

impl Lines {
    fn new(body: Body) -> Self {
        Self {
            body: body.into_data_stream(),
            pending: Bytes::new(),
        }
    }

    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
                let line = self.pending.split_to(end + 1);
                match serde_json::from_slice(&line) {
                    Ok(value) => return Some(value),
                    Err(_) => continue,
                }
            }
            let chunk = self.body.next().await?.ok()?;
            self.pending = if self.pending.is_empty() {
                chunk
            } else {
                [&*self.pending, &*chunk].concat().into()
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_found_however_they_are_cut() {
        let text = "{\"n\":1}\n\n{\"n\":2}\n{\"n\":3}\n{\"n\":";
        for size in 1..=text.len() {
            let chunks = text.as_bytes().chunks(size).map(Bytes::copy_from_slice);
            let chunks = futures::stream::iter(chunks.map(Ok::<_, std::io::Error>));
            let mut lines = Lines::new(Body::from_stream(chunks));
            let mut found = Vec::new();
            while let Some(line) = lines.next().await {
                found.push(line["n"].as_u64());
            }
            assert_eq!(found, [Some(1), Some(2), Some(3)], "chunks of {size}");
        }
    }
}
