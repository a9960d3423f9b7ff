//! The S3 actions.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{Response, StatusCode};
use jiff::Timestamp;
use md5::{Digest, Md5};

use super::{Bucket, Object, S3Action, S3Request};
use crate::{
    aws::{
        protocol::{AwsError, Xml, page, sigv4::hex},
        state::{
            State,
            identity::{Principal, Rights},
        },
    },
    clock::iso,
};

/// S3's limits of tags an object and of keys a page.
const MOST_TAGS: usize = 10;
const PAGE: usize = 1000;

type S3Answer = Result<Response<Bytes>, AwsError>;

/// Carries out a request.
pub(crate) fn call(
    state: &mut State,
    caller: &Principal,
    request: &S3Request<'_>,
    body: &[u8],
) -> S3Answer {
    let now = state.fabric.now;
    if request.action.writes() {
        state.touch();
    }
    match request.action {
        S3Action::ListBuckets => return Ok(list_buckets(state, caller)),
        S3Action::CreateBucket => return create_bucket(state, caller, request),
        _ => {}
    }
    let name = &request.bucket;
    let bucket = state.buckets.get_mut(name).ok_or_else(no_bucket)?;
    authorize(bucket, caller, request)?;
    match request.action {
        S3Action::PutObject => put(bucket, request, body, now),
        S3Action::GetObject => get(bucket, request, true),
        S3Action::HeadObject => get(bucket, request, false),
        S3Action::DeleteObject => {
            bucket.objects.remove(&request.key);
            Ok(empty(StatusCode::NO_CONTENT))
        }
        S3Action::PutObjectTagging => {
            let tags = tags_of_xml(body)?;
            found(bucket, request)?.tags = tags;
            Ok(empty(StatusCode::OK))
        }
        S3Action::DeleteObjectTagging => {
            found(bucket, request)?.tags.clear();
            Ok(empty(StatusCode::NO_CONTENT))
        }
        S3Action::GetObjectTagging => tags_of(bucket, request),
        S3Action::ListObjectsV2 => list(bucket, request),
        S3Action::HeadBucket => Ok(with_header(
            empty(StatusCode::OK),
            "x-amz-bucket-region",
            &bucket.region,
        )),
        S3Action::DeleteBucket if bucket.objects.is_empty() => {
            state.buckets.remove(name);
            Ok(empty(StatusCode::NO_CONTENT))
        }
        S3Action::DeleteBucket => Err(AwsError::with_status(
            "BucketNotEmpty",
            "The bucket you tried to delete is not empty",
            409,
        )),
        S3Action::ListBuckets | S3Action::CreateBucket => Err(AwsError::with_status(
            "NotImplemented",
            "handled above",
            501,
        )),
    }
}

fn tags_of(bucket: &mut Bucket, request: &S3Request<'_>) -> S3Answer {
    let tags = &found(bucket, request)?.tags;
    let mut xml = Xml::new();
    xml.within("Tagging", |xml| {
        xml.list("TagSet", "Tag", tags, |xml, (key, value)| {
            xml.text("Key", key);
            xml.text("Value", value);
        });
    });
    Ok(document(xml))
}

/// The owner's keys may do everything; a role only what the bucket's policy says.
fn authorize(bucket: &Bucket, caller: &Principal, request: &S3Request<'_>) -> Result<(), AwsError> {
    let granted = caller.role.as_ref().is_some_and(|role| {
        matches!(request.action, S3Action::GetObject | S3Action::HeadObject)
            && bucket
                .readers
                .iter()
                .any(|(reader, prefix)| reader == role && request.key.starts_with(prefix))
    });
    let owner = caller.account == bucket.account && caller.rights == Rights::Everything;
    if owner || (caller.account == bucket.account && granted) {
        return Ok(());
    }
    Err(AwsError::with_status("AccessDenied", "Access Denied", 403))
}

fn put(bucket: &mut Bucket, request: &S3Request<'_>, body: &[u8], now: Timestamp) -> S3Answer {
    let known = bucket.objects.get(&request.key);
    let stops = match (request.header("if-none-match"), request.header("if-match")) {
        (Some("*"), _) => known.is_some(),
        (_, Some(etag)) => known.is_none_or(|object| object.etag != etag),
        _ => false,
    };
    if stops {
        return Err(AwsError::with_status(
            "PreconditionFailed",
            "At least one of the pre-conditions you specified did not hold",
            412,
        ));
    }
    let tags = match request.header("x-amz-tagging") {
        Some(text) => form_urlencoded::parse(text.as_bytes())
            .into_owned()
            .collect(),
        None => BTreeMap::new(),
    };
    check_tags(&tags)?;
    let encryption = request
        .header("x-amz-server-side-encryption")
        .unwrap_or("AES256");
    if !["AES256", "aws:kms", "aws:kms:dsse"].contains(&encryption) {
        return Err(AwsError::new(
            "InvalidEncryptionAlgorithmError",
            "The encryption request you specified is not valid.",
        ));
    }
    let object = Object {
        etag: format!("\"{}\"", hex(&Md5::digest(body))),
        body: Bytes::copy_from_slice(body),
        content_type: request
            .header("content-type")
            .unwrap_or("binary/octet-stream")
            .to_owned(),
        encryption: encryption.to_owned(),
        tags,
        modified: now,
    };
    let answer = with_header(empty(StatusCode::OK), "etag", &object.etag);
    let answer = with_header(answer, "x-amz-server-side-encryption", &object.encryption);
    bucket.objects.insert(request.key.clone(), object);
    Ok(answer)
}

fn get(bucket: &Bucket, request: &S3Request<'_>, with_body: bool) -> S3Answer {
    let object = bucket.objects.get(&request.key).ok_or_else(no_key)?;
    if request.header("if-none-match") == Some(&object.etag) {
        return Ok(with_header(
            empty(StatusCode::NOT_MODIFIED),
            "etag",
            &object.etag,
        ));
    }
    let body = if with_body {
        object.body.clone()
    } else {
        Bytes::new()
    };
    let mut answer = Response::new(body);
    let headers = [
        ("etag", object.etag.clone()),
        ("content-type", object.content_type.clone()),
        ("content-length", object.body.len().to_string()),
        ("accept-ranges", "bytes".to_owned()),
        (
            "last-modified",
            object
                .modified
                .strftime("%a, %d %b %Y %H:%M:%S GMT")
                .to_string(),
        ),
        ("x-amz-server-side-encryption", object.encryption.clone()),
    ];
    for (name, value) in headers {
        answer = with_header(answer, name, &value);
    }
    if !object.tags.is_empty() {
        answer = with_header(
            answer,
            "x-amz-tagging-count",
            &object.tags.len().to_string(),
        );
    }
    Ok(answer)
}

fn list(bucket: &Bucket, request: &S3Request<'_>) -> S3Answer {
    let text = |name: &str| request.query.get(name).map(String::as_str);
    let prefix = text("prefix").unwrap_or("");
    let size = text("max-keys")
        .and_then(|t| t.parse().ok())
        .unwrap_or(PAGE)
        .min(PAGE);
    let entries: Vec<(&String, &Object)> = bucket
        .objects
        .iter()
        .filter(|(key, _)| key.starts_with(prefix))
        .collect();
    let (page, next) = page::cut(&entries, |(key, _)| key, text("continuation-token"), size)?;
    let mut xml = Xml::new();
    xml.within("ListBucketResult", |xml| {
        xml.text("Name", &request.bucket);
        xml.text("Prefix", prefix);
        xml.plain("KeyCount", page.len());
        xml.plain("MaxKeys", size);
        xml.plain("IsTruncated", next.is_some());
        xml.optional("NextContinuationToken", next.as_deref());
        for (key, object) in page {
            xml.within("Contents", |xml| {
                xml.text("Key", key);
                xml.text("LastModified", &iso(object.modified));
                xml.text("ETag", &object.etag);
                xml.plain("Size", object.body.len());
                xml.raw("<StorageClass>STANDARD</StorageClass>");
            });
        }
    });
    Ok(document(xml))
}

fn list_buckets(state: &State, caller: &Principal) -> Response<Bytes> {
    let mut xml = Xml::new();
    xml.within("ListAllMyBucketsResult", |xml| {
        let mine = state
            .buckets
            .iter()
            .filter(|(_, bucket)| bucket.account == caller.account);
        xml.list("Buckets", "Bucket", mine, |xml, (name, bucket)| {
            xml.text("Name", name);
            xml.text("CreationDate", &iso(bucket.created));
        });
    });
    document(xml)
}

fn create_bucket(state: &mut State, caller: &Principal, request: &S3Request<'_>) -> S3Answer {
    if let Some(bucket) = state.buckets.get(&request.bucket) {
        let code = if bucket.account == caller.account {
            "BucketAlreadyOwnedByYou"
        } else {
            "BucketAlreadyExists"
        };
        return Err(AwsError::with_status(
            code,
            "The bucket name is taken.",
            409,
        ));
    }
    if caller.rights != Rights::Everything {
        return Err(AwsError::with_status("AccessDenied", "Access Denied", 403));
    }
    let bucket = Bucket {
        account: caller.account.clone(),
        region: request.query.get("region").cloned().unwrap_or_default(),
        readers: Vec::new(),
        objects: BTreeMap::new(),
        created: state.fabric.now,
    };
    state.buckets.insert(request.bucket.clone(), bucket);
    Ok(with_header(
        empty(StatusCode::OK),
        "location",
        &format!("/{}", request.bucket),
    ))
}

fn found<'b>(bucket: &'b mut Bucket, request: &S3Request<'_>) -> Result<&'b mut Object, AwsError> {
    bucket.objects.get_mut(&request.key).ok_or_else(no_key)
}

/// `<Tagging><TagSet><Tag><Key>…</Key><Value>…</Value></Tag>…`.
fn tags_of_xml(body: &[u8]) -> Result<BTreeMap<String, String>, AwsError> {
    let malformed = || {
        AwsError::new(
            "MalformedXML",
            "The XML you provided was not well-formed or did not validate against our published \
             schema",
        )
    };
    let text = std::str::from_utf8(body).map_err(|_| malformed())?;
    if !text.contains("<TagSet") {
        return Err(malformed());
    }
    let mut tags = BTreeMap::new();
    for tag in text.split("<Tag>").skip(1) {
        let key = element(tag, "Key").ok_or_else(malformed)?;
        tags.insert(key, element(tag, "Value").unwrap_or_default());
    }
    check_tags(&tags)?;
    Ok(tags)
}

/// The text of the first element of that name.
fn element(markup: &str, name: &str) -> Option<String> {
    let (_, rest) = markup.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    let text = text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"");
    Some(
        text.replace("&apos;", "'")
            .replace("&#39;", "'")
            .replace("&amp;", "&"),
    )
}

fn check_tags(tags: &BTreeMap<String, String>) -> Result<(), AwsError> {
    if tags.len() > MOST_TAGS {
        return Err(AwsError::new(
            "BadRequest",
            format!("Object tags cannot be greater than {MOST_TAGS}"),
        ));
    }
    let too_long = tags
        .iter()
        .any(|(key, value)| key.chars().count() > 128 || value.chars().count() > 256);
    if too_long {
        return Err(AwsError::new("InvalidTag", "The tag provided is too long"));
    }
    Ok(())
}

fn no_bucket() -> AwsError {
    AwsError::with_status("NoSuchBucket", "The specified bucket does not exist", 404)
}

fn no_key() -> AwsError {
    AwsError::with_status("NoSuchKey", "The specified key does not exist.", 404)
}

fn empty(status: StatusCode) -> Response<Bytes> {
    let mut answer = Response::new(Bytes::new());
    *answer.status_mut() = status;
    answer
}

fn document(xml: Xml) -> Response<Bytes> {
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}",
        xml.finish()
    );
    with_header(
        Response::new(Bytes::from(body)),
        "content-type",
        "application/xml",
    )
}

fn with_header(mut answer: Response<Bytes>, name: &'static str, value: &str) -> Response<Bytes> {
    if let Ok(value) = http::HeaderValue::from_str(value) {
        answer.headers_mut().insert(name, value);
    }
    answer
}
