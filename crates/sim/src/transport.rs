//! Requests and answers below any protocol.

use axum::body::Body;
use bytes::Bytes;
use futures::stream;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Limited};

use crate::Effect;

/// Largest body taken. Ours: the calls simulated here stay far below.
const MOST_BODY_BYTES: usize = 16 << 20;

/// A received request.
pub(crate) struct Received {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Received {
    /// Takes a request in; `None` when its body breaks off or is too long.
    pub(crate) async fn of(request: Request<Body>) -> Option<Self> {
        let (parts, body) = request.into_parts();
        let body = Limited::new(body, MOST_BODY_BYTES)
            .collect()
            .await
            .ok()?
            .to_bytes();
        Some(Self {
            method: parts.method,
            uri: parts.uri,
            headers: parts.headers,
            body,
        })
    }

    /// A header as text; empty when there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }
}

/// An answer whose body breaks off: what a caller sees of a lost connection.
pub(crate) fn broken() -> Response<Body> {
    let cut = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    let body = Body::from_stream(stream::iter([Err::<Bytes, _>(cut)]));
    Response::new(body)
}

/// The answer a fault makes by itself, if it makes one.
pub(crate) fn scripted(effect: &Effect) -> Option<Response<Body>> {
    let Effect::Answer {
        status,
        headers,
        body,
    } = effect
    else {
        return None;
    };
    let mut answer = Response::new(Body::from(body.clone()));
    *answer.status_mut() = StatusCode::from_u16(*status).unwrap_or(StatusCode::OK);
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            answer.headers_mut().append(name, value);
        }
    }
    Some(answer)
}
