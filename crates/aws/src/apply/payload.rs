//! The staged payload: one object.

use std::collections::BTreeMap;

use aws_sdk_s3::{
    primitives::ByteStream,
    types::{ServerSideEncryption, Tag, Tagging},
};
use bytes::Bytes;
use remuda_cloud::{Applied, CloudError, answer::gone_already};
use remuda_plan::{aws::desired::PayloadSpec, error::FailureClass};

use super::unbuildable;
use crate::{calls, observe::Region, wire::payload};

impl Region {
    pub(super) async fn put_payload(&self, spec: &PayloadSpec) -> Result<Applied, CloudError> {
        let body = Bytes::from(spec.body.reveal().clone());
        let tagging = payload::tagging(&spec.tags);
        self.clients
            .call(&calls::PUT_OBJECT, &spec.bucket, || {
                self.clients
                    .s3
                    .put_object()
                    .bucket(&spec.bucket)
                    .key(&spec.key)
                    .body(ByteStream::from(body.clone()))
                    .content_type("application/octet-stream")
                    .server_side_encryption(ServerSideEncryption::Aes256)
                    .tagging(&tagging)
                    .send()
            })
            .await
            .map_err(|error| naming_bucket(error, &spec.bucket))?;
        Ok(Applied::Done)
    }

    pub(super) async fn tag_payload(
        &self,
        bucket: &str,
        key: &str,
        tags: &BTreeMap<String, String>,
    ) -> Result<Applied, CloudError> {
        let set = tags
            .iter()
            .map(|(key, value)| Tag::builder().key(key).value(value).build())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| unbuildable(&calls::PUT_OBJECT_TAGGING, error))?;
        let tagging = Tagging::builder()
            .set_tag_set(Some(set))
            .build()
            .map_err(|error| unbuildable(&calls::PUT_OBJECT_TAGGING, error))?;
        self.clients
            .call(&calls::PUT_OBJECT_TAGGING, bucket, || {
                self.clients
                    .s3
                    .put_object_tagging()
                    .bucket(bucket)
                    .key(key)
                    .tagging(tagging.clone())
                    .send()
            })
            .await
            .map_err(|error| naming_bucket(error, bucket))?;
        Ok(Applied::Done)
    }

    pub(super) async fn delete_payload(
        &self,
        bucket: &str,
        key: &str,
    ) -> Result<Applied, CloudError> {
        let sent = self
            .clients
            .call(&calls::DELETE_OBJECT, bucket, || {
                self.clients
                    .s3
                    .delete_object()
                    .bucket(bucket)
                    .key(key)
                    .send()
            })
            .await;
        gone_already(sent.map(|_| Applied::Done))
    }
}

/// a missing bucket is named; nothing of ours can make it.
fn naming_bucket(mut error: CloudError, bucket: &str) -> CloudError {
    if error.class() == FailureClass::NotFound {
        error.failure.message =
            format!("bucket {bucket} does not exist: {}", error.failure.message);
    }
    error
}
