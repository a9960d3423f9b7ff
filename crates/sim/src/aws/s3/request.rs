//! Which S3 action a request is, on which bucket and key.

use std::collections::BTreeMap;

use http::{HeaderMap, Method, Uri};
use percent_encoding::percent_decode_str;

/// The actions simulated here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum S3Action {
    PutObject,
    GetObject,
    HeadObject,
    DeleteObject,
    PutObjectTagging,
    GetObjectTagging,
    DeleteObjectTagging,
    ListObjectsV2,
    HeadBucket,
    ListBuckets,
    CreateBucket,
    DeleteBucket,
}

impl S3Action {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::PutObject => "PutObject",
            Self::GetObject => "GetObject",
            Self::HeadObject => "HeadObject",
            Self::DeleteObject => "DeleteObject",
            Self::PutObjectTagging => "PutObjectTagging",
            Self::GetObjectTagging => "GetObjectTagging",
            Self::DeleteObjectTagging => "DeleteObjectTagging",
            Self::ListObjectsV2 => "ListObjectsV2",
            Self::HeadBucket => "HeadBucket",
            Self::ListBuckets => "ListBuckets",
            Self::CreateBucket => "CreateBucket",
            Self::DeleteBucket => "DeleteBucket",
        }
    }

    pub(crate) fn writes(self) -> bool {
        matches!(
            self,
            Self::PutObject
                | Self::DeleteObject
                | Self::PutObjectTagging
                | Self::DeleteObjectTagging
                | Self::CreateBucket
                | Self::DeleteBucket
        )
    }
}

/// A request taken apart.
#[derive(Debug)]
pub(crate) struct S3Request<'a> {
    pub(crate) action: S3Action,
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) headers: &'a HeaderMap,
}

impl<'a> S3Request<'a> {
    /// The parts of a request; `None` when it is no action simulated here.
    pub(crate) fn of(method: &Method, uri: &Uri, headers: &'a HeaderMap) -> Option<Self> {
        let path = uri.path().trim_start_matches('/');
        let (bucket, key) = if let Some(bucket) = bucket_in_host(uri, headers) {
            (bucket, path)
        } else {
            let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
            (bucket.to_owned(), key)
        };
        let key = percent_decode_str(key).decode_utf8_lossy().into_owned();
        let query: BTreeMap<String, String> =
            form_urlencoded::parse(uri.query().unwrap_or("").as_bytes())
                .into_owned()
                .collect();
        let tagging = query.contains_key("tagging");
        let action = match (method.as_str(), bucket.is_empty(), key.is_empty(), tagging) {
            ("GET", true, _, _) => S3Action::ListBuckets,
            ("GET", _, true, false) if query.contains_key("list-type") => S3Action::ListObjectsV2,
            ("HEAD", false, true, _) => S3Action::HeadBucket,
            ("PUT", false, true, false) => S3Action::CreateBucket,
            ("DELETE", false, true, false) => S3Action::DeleteBucket,
            ("PUT", false, false, false) => S3Action::PutObject,
            ("GET", false, false, false) => S3Action::GetObject,
            ("HEAD", false, false, _) => S3Action::HeadObject,
            ("DELETE", false, false, false) => S3Action::DeleteObject,
            ("PUT", false, false, true) => S3Action::PutObjectTagging,
            ("GET", false, false, true) => S3Action::GetObjectTagging,
            ("DELETE", false, false, true) => S3Action::DeleteObjectTagging,
            _ => return None,
        };
        Some(Self {
            action,
            bucket,
            key,
            query,
            headers,
        })
    }

    /// A header as text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// The bucket of a virtual-hosted address: `<bucket>.s3.<region>.amazonaws.com`.
fn bucket_in_host(uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let host = headers
        .get(http::header::HOST)
        .and_then(|host| host.to_str().ok());
    let host = host.or_else(|| uri.host())?;
    let at = host.find(".s3.").or_else(|| host.find(".s3-"))?;
    host.contains(".amazonaws.com")
        .then(|| host[..at].to_owned())
}
