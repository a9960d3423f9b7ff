//! Simulated S3: buckets with objects, tags and a read policy; path-style and virtual-hosted
//! addresses. Strongly consistent, as S3 is.
//!
//! In: the parts of a REST request. Out: an HTTP answer without the envelope of a Query service.

mod object;
mod request;

use std::collections::BTreeMap;

use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::saved::base64_text;

pub(crate) use object::call;
pub(crate) use request::{S3Action, S3Request};

/// A bucket.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Bucket {
    pub(crate) account: String,
    pub(crate) region: String,
    /// Roles that may get objects, each under a key prefix: the bucket policy.
    pub(crate) readers: Vec<(String, String)>,
    pub(crate) objects: BTreeMap<String, Object>,
    pub(crate) created: Timestamp,
}

/// An object.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Object {
    #[serde(with = "base64_text")]
    pub(crate) body: Bytes,
    /// Lower-case hex MD5 in quotes.
    pub(crate) etag: String,
    pub(crate) content_type: String,
    pub(crate) encryption: String,
    pub(crate) tags: BTreeMap<String, String>,
    pub(crate) modified: Timestamp,
}

impl std::fmt::Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The body may be bootstrap data, which holds join tokens.
        f.debug_struct("Object")
            .field("etag", &self.etag)
            .field("tags", &self.tags)
            .finish_non_exhaustive()
    }
}
