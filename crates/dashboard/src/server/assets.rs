//! Style, script and icon: compiled in, nothing from elsewhere.

use axum::{
    extract::Path,
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, StatusCode, header};
use ring::digest::{SHA256, digest};

const ASSETS: [(&str, &str, &str); 3] = [
    (
        "style.css",
        "text/css; charset=utf-8",
        include_str!("../assets/style.css"),
    ),
    (
        "live.js",
        "text/javascript; charset=utf-8",
        include_str!("../assets/live.js"),
    ),
    (
        "icon.svg",
        "image/svg+xml",
        include_str!("../assets/icon.svg"),
    ),
];

/// One of them. Browsers ask whether it changed and mostly learn that it did not.
pub(super) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let Some((_, kind, text)) = ASSETS.iter().find(|(known, _, _)| *known == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let hash = digest(&SHA256, text.as_bytes());
    let tag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(hash.as_ref()));
    let known = headers
        .get(header::IF_NONE_MATCH)
        .is_some_and(|have| have.as_bytes() == tag.as_bytes());
    let shared = [
        (header::ETAG, tag.as_str()),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    if known {
        return (StatusCode::NOT_MODIFIED, shared).into_response();
    }
    (shared, [(header::CONTENT_TYPE, *kind)], *text).into_response()
}
