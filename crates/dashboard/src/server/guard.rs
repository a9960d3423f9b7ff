//! What every request passes and every answer carries.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};

use super::Inner;

/// No script, style, picture or form but our own; no frame around us.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Headers of every answer. `same-origin` and not `no-referrer`: with the latter, browsers send
/// forms without their origin.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "same-origin"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// Refuses requests for other names and forms of other sites, and adds the headers.
pub(super) async fn guard(
    State(inner): State<Arc<Inner>>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match refuse(&inner, request.method(), request.uri(), request.headers()) {
        Some(why) => (StatusCode::FORBIDDEN, why).into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

fn refuse(inner: &Inner, method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<&'static str> {
    let text = |name| {
        headers
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok())
    };
    let Some(host) =
        text(header::HOST).or_else(|| uri.authority().map(http::uri::Authority::as_str))
    else {
        return Some("the request names no host");
    };
    if !inner
        .hosts
        .iter()
        .any(|known| known.eq_ignore_ascii_case(without_port(host)))
    {
        return Some("this dashboard is not reached under that name");
    }
    if matches!(*method, Method::GET | Method::HEAD) {
        return None;
    }
    let scheme = if inner.secure { "https" } else { "http" };
    let ours = format!("{scheme}://{host}");
    match text(header::ORIGIN) {
        Some(origin) if origin.eq_ignore_ascii_case(&ours) => None,
        _ => Some("the form was not sent from a page of this dashboard"),
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_cut_off_and_addresses_are_not() {
        for (host, name) in [
            ("localhost:8080", "localhost"),
            ("localhost", "localhost"),
            ("[::1]:80", "[::1]"),
            ("[::1]", "[::1]"),
            ("127.0.0.1:1", "127.0.0.1"),
        ] {
            assert_eq!(without_port(host), name);
        }
    }
}
