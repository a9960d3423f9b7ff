//! Answers: objects, lists, tables and refusals, in the encoding that was asked for.

use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::call::Call;
use super::pieces::{self, Joined};
use crate::conversion::{self, Text};
use crate::openapi::wire;
use crate::request::accept::{Discovery, Form, Wish};
use crate::request::body::Decoded;
use crate::status_error::{Failure, Outcome};
use crate::store::Record;
use crate::table::{self, IncludeObject};

/// Answers shorter than this are not worth compressing: the bound of a genuine server.
const GZIP_FROM: u64 = 128 * 1024;

fn bytes(status: u16, content_type: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("no-cache, private"),
    );
    response
}

/// A value in the wished encoding.
pub(crate) fn value(status: u16, value: &Value, wish: Wish) -> Response<Body> {
    if wish.yaml
        && let Ok(text) = serde_saphyr::to_string(value)
    {
        return bytes(status, "application/yaml", text);
    }
    let text = serde_json::to_vec(value).expect("a JSON value always serialises");
    bytes(status, "application/json", text)
}

/// Text of a health endpoint.
pub(crate) fn plain_text(text: String) -> Response<Body> {
    bytes(200, "text/plain; charset=utf-8", text)
}

/// Aggregated discovery, with the media type that tells its version.
pub(crate) fn aggregated(document: &Value, shape: Discovery) -> Response<Body> {
    let content_type = match shape {
        Discovery::AggregatedV2Beta1 => {
            "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
        }
        _ => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    };
    let text = serde_json::to_vec(document).expect("a JSON value always serialises");
    let mut response = bytes(200, content_type, text);
    response
        .headers_mut()
        .insert(header::VARY, HeaderValue::from_static("Accept"));
    response
}

/// An OpenAPI document, with a tag by which a client learns that it has not changed. Version 2 goes
/// out in protobuf to those who ask for it, as every kubectl does.
pub(crate) fn schema_document(headers: &HeaderMap, document: &Value, old: bool) -> Response<Body> {
    let asked = |name: &header::HeaderName| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let (content_type, text) = if old && asked(&header::ACCEPT).contains(wire::ASKED) {
        (wire::ANSWERED, wire::document(document))
    } else {
        let text = serde_json::to_vec(document).expect("a JSON value always serialises");
        ("application/json", text)
    };
    let tag = format!("\"{:X}\"", Sha256::digest(&text));
    let known = asked(&header::IF_NONE_MATCH);
    let unchanged = known.split(',').any(|known| known.trim() == tag);
    let mut response = if unchanged {
        bytes(304, content_type, Body::empty())
    } else {
        bytes(200, content_type, text)
    };
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    response
}

/// A refusal.
pub(crate) fn failure(failure: &Failure) -> Response<Body> {
    if failure.is_page() {
        let text = failure.message.clone();
        return bytes(failure.code, "text/plain; charset=utf-8", text);
    }
    let mut response = value(failure.code, &failure.status(), Wish::JSON);
    if let Some(seconds) = failure
        .details
        .get("retryAfterSeconds")
        .and_then(Value::as_u64)
    {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// One object in the wished form.
pub(crate) fn object(call: &Call, status: u16, record: &Arc<Record>) -> Response<Body> {
    match call.wish.form {
        Form::Object if !call.wish.yaml => bytes(
            status,
            "application/json",
            Text::of(record, &call.served).into_vec(),
        ),
        Form::Object => value(status, &conversion::value(record, &call.served), call.wish),
        Form::Table => {
            let object = conversion::value(record, &call.served);
            let revision = record.revision.to_string();
            value(status, &table(call, &[object], &revision), call.wish)
        }
        Form::Metadata => value(
            status,
            &metadata(&conversion::value(record, &call.served), call.wish.version),
            call.wish,
        ),
    }
}

/// A table of objects.
pub(crate) fn table(call: &Call, objects: &[Value], revision: &str) -> Value {
    let include = include(&call.options.include_object);
    let columns = &call.served.version().columns;
    let mut table = table::render(columns, objects, include, call.instance.now());
    set_version(&mut table, call.wish.version);
    table["metadata"]["resourceVersion"] = revision.into();
    table
}

/// A `Scale` in the wished form.
pub(crate) fn scale(call: &Call, scale: &Value) -> Response<Body> {
    if call.wish.form != Form::Table {
        return value(200, scale, call.wish);
    }
    let include = include(&call.options.include_object);
    let now = call.instance.now();
    let mut table = table::render(
        &table::scale_columns(),
        std::slice::from_ref(scale),
        include,
        now,
    );
    table["metadata"]["resourceVersion"] = scale["metadata"]["resourceVersion"].clone();
    value(200, &table, call.wish)
}

/// Names the version of a table and of what its rows carry.
pub(crate) fn set_version(table: &mut Value, version: &str) {
    table["apiVersion"] = version.into();
    let rows = table.get_mut("rows").and_then(Value::as_array_mut);
    for object in rows
        .into_iter()
        .flatten()
        .filter_map(|row| row.get_mut("object"))
    {
        if object
            .get("kind")
            .is_some_and(|kind| kind == "PartialObjectMetadata")
        {
            object["apiVersion"] = version.into();
        }
    }
}

/// What the rows of a table carry of their objects.
pub(crate) fn include(option: &str) -> IncludeObject {
    IncludeObject::from_query(option).unwrap_or_default()
}

/// `PartialObjectMetadata` of an object.
pub(crate) fn metadata(object: &Value, version: &str) -> Value {
    json!({
        "kind": "PartialObjectMetadata", "apiVersion": version,
        "metadata": object.get("metadata"),
    })
}

/// Where a list stands: its revision, and how it goes on.
pub(crate) struct ListMeta {
    pub(crate) revision: u64,
    pub(crate) continue_token: Option<String>,
    pub(crate) remaining: Option<usize>,
}

impl ListMeta {
    fn value(&self) -> Value {
        let mut meta = json!({"resourceVersion": self.revision.to_string()});
        if let Some(token) = &self.continue_token {
            meta["continue"] = token.as_str().into();
        }
        if let Some(remaining) = self.remaining {
            meta["remainingItemCount"] = remaining.into();
        }
        meta
    }
}

/// A list in the wished form.
pub(crate) fn list(call: &Call, meta: &ListMeta, records: &[Arc<Record>]) -> Response<Body> {
    let values = || -> Vec<Value> {
        records
            .iter()
            .map(|record| conversion::value(record, &call.served))
            .collect()
    };
    match call.wish.form {
        Form::Object if !call.wish.yaml => {
            bytes(200, "application/json", list_text(call, meta, records))
        }
        Form::Object => {
            let list = json!({
                "kind": call.served.kind.list_kind, "apiVersion": call.served.api_version(),
                "metadata": meta.value(), "items": values(),
            });
            value(200, &list, call.wish)
        }
        Form::Table => {
            let mut table = table(call, &values(), &meta.revision.to_string());
            table["metadata"] = meta.value();
            value(200, &table, call.wish)
        }
        Form::Metadata => {
            let version = call.wish.version;
            let items = values()
                .iter()
                .map(|object| metadata(object, version))
                .collect::<Vec<_>>();
            let list = json!({
                "kind": "PartialObjectMetadataList", "apiVersion": version,
                "metadata": meta.value(), "items": items,
            });
            value(200, &list, call.wish)
        }
    }
}

/// The list as text: the stored texts, joined while they are sent.
fn list_text(call: &Call, meta: &ListMeta, records: &[Arc<Record>]) -> Body {
    let head = format!(
        "{{\"kind\":{},\"apiVersion\":{},\"metadata\":{},\"items\":[",
        json!(call.served.kind.list_kind),
        json!(call.served.api_version()),
        meta.value()
    );
    let texts = records.iter().map(|record| Text::of(record, &call.served));
    Body::new(Joined::new(head.into_bytes(), texts.collect()))
}

/// The success `Status` of a delete that leaves nothing behind.
pub(crate) fn deleted(call: &Call, record: &Record) -> Response<Body> {
    let mut details = json!({
        "name": call.name(), "kind": call.served.kind.plural, "uid": &*record.head.uid,
    });
    if !call.served.kind.group.is_empty() {
        details["group"] = call.served.kind.group.as_str().into();
    }
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": details,
    });
    value(
        200,
        &status,
        Wish {
            form: Form::Object,
            ..call.wish
        },
    )
}

/// A stream of chunks: the body of a watch.
pub(crate) fn stream(
    chunks: impl futures::Stream<Item = Result<Bytes, std::convert::Infallible>> + Send + 'static,
) -> Response<Body> {
    bytes(200, "application/json", Body::from_stream(chunks))
}

/// A stream of bytes that are no text.
pub(crate) fn octets(chunks: impl Iterator<Item = Bytes> + Send + 'static) -> Response<Body> {
    let chunks = futures::stream::iter(chunks.map(Ok::<_, std::convert::Infallible>));
    bytes(200, "application/octet-stream", Body::from_stream(chunks))
}

/// Whether the client takes gzip.
pub(crate) fn takes_gzip(headers: &HeaderMap) -> bool {
    let header = headers
        .get(header::ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok());
    header
        .unwrap_or_default()
        .split(',')
        .any(|name| name.trim().split(';').next() == Some("gzip"))
}

/// Compresses a long answer whose length is known; a stream goes out as it comes.
pub(crate) fn compress(response: Response<Body>) -> Response<Body> {
    use http_body::Body as _;
    let length = response.body().size_hint().exact();
    if length.is_none_or(|length| length < GZIP_FROM) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let headers = &mut parts.headers;
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    Response::from_parts(parts, pieces::gzipped(body))
}

/// The object in the body.
pub(crate) fn decoded(call: &Call) -> Outcome<Decoded> {
    crate::request::body::typed(&call.served.kind, &call.media_type, &call.body)
}
