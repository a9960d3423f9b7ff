//! From user data to bootstrap data: what the boot stub or Ignition does on a real machine.

use std::time::Duration;

use axum::body::Body;
use http::{Method, Request, Uri};
use http_body_util::BodyExt;
use tower::ServiceExt;

use super::super::{
    host::{Hosts, Machine},
    payload::{assignment, check_ignition, cloud_config, labels},
};
use crate::aws::AwsSim;

/// The stub's patience: sixty attempts, five seconds apart.
const ATTEMPTS: u32 = 60;
const PAUSE: Duration = Duration::from_secs(5);

/// What user data asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum UserData {
    /// A `#cloud-boothook` shell stub that fetches cloud-config.
    Boothook {
        region: Option<String>,
        object: ObjectRef,
        labels: Vec<(String, String)>,
    },
    /// An Ignition config that is replaced by an object.
    Ignition(ObjectRef),
    /// cloud-config in place.
    CloudConfig,
}

/// `s3://bucket/key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ObjectRef {
    bucket: String,
    key: String,
}

impl std::fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "s3://{}/{}", self.bucket, self.key)
    }
}

impl UserData {
    /// Reads user data, or says why a machine could not start from it.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "user data is not text".to_owned())?;
        if text.starts_with("#cloud-boothook") {
            return Self::read_boothook(text);
        }
        if text.trim_start().starts_with('{') {
            return Self::read_ignition(text);
        }
        if text.starts_with("#cloud-config") {
            return Ok(Self::CloudConfig);
        }
        Err(if text.is_empty() {
            "there is no user data".to_owned()
        } else {
            "user data is neither a boothook, nor cloud-config, nor an Ignition config".to_owned()
        })
    }

    fn read_boothook(text: &str) -> Result<Self, String> {
        let object = assignment(text, "object")
            .ok_or_else(|| "the boothook has no line object='s3://…'".to_owned())?;
        let object = ObjectRef::parse(&object)?;
        let labels = labels(&assignment(text, "node_labels").unwrap_or_default());
        Ok(Self::Boothook {
            region: assignment(text, "region"),
            object,
            labels,
        })
    }

    fn read_ignition(text: &str) -> Result<Self, String> {
        let config: serde_json::Value = serde_json::from_str(text)
            .map_err(|error| format!("user data is not an Ignition config: {error}"))?;
        let version = config
            .pointer("/ignition/version")
            .and_then(serde_json::Value::as_str);
        if !version.is_some_and(|version| version.starts_with("3.")) {
            return Err("the Ignition config has no version 3".to_owned());
        }
        let source = config.pointer("/ignition/config/replace/source");
        let source = source.and_then(serde_json::Value::as_str).ok_or_else(|| {
            "the Ignition config has no ignition.config.replace.source".to_owned()
        })?;
        Ok(Self::Ignition(ObjectRef::parse(source)?))
    }
}

impl ObjectRef {
    fn parse(text: &str) -> Result<Self, String> {
        text.strip_prefix("s3://")
            .and_then(|rest| rest.split_once('/'))
            .filter(|(bucket, key)| !bucket.is_empty() && !key.is_empty())
            .map(|(bucket, key)| Self {
                bucket: bucket.to_owned(),
                key: key.to_owned(),
            })
            .ok_or_else(|| format!("{text} is not s3://bucket/key"))
    }
}

impl AwsSim {
    /// Does what the user data asks for; the labels the kubelet is to register with.
    pub(super) async fn follow_user_data(
        &self,
        machine: &Machine,
    ) -> Result<Vec<(String, String)>, String> {
        match UserData::read(&machine.user_data)? {
            UserData::CloudConfig => Ok(Vec::new()),
            UserData::Boothook {
                region,
                object,
                labels,
            } => {
                let region = region.unwrap_or_else(|| machine.region.clone());
                let data = self.fetch(machine, &region, &object).await?;
                cloud_config(&data).map_err(|why| format!("{object}: {why}"))?;
                Ok(labels)
            }
            UserData::Ignition(object) => {
                let data = self.fetch(machine, &machine.region, &object).await?;
                check_ignition(&data).map_err(|why| format!("{object}: {why}"))?;
                Ok(Vec::new())
            }
        }
    }

    /// Fetches an object as patiently as the stub. Each failed attempt is made known.
    async fn fetch(
        &self,
        machine: &Machine,
        region: &str,
        object: &ObjectRef,
    ) -> Result<Vec<u8>, String> {
        let mut attempt = 1;
        loop {
            let why = match self.get_object(machine, region, object).await {
                Ok(data) => return Ok(data),
                Err(why) => format!("fetching {object} failed {attempt} times: {why}"),
            };
            if attempt == ATTEMPTS {
                return Err(why);
            }
            self.report(&machine.id, Some(why));
            attempt += 1;
            self.inner.clock.sleep(PAUSE).await;
        }
    }

    async fn get_object(
        &self,
        machine: &Machine,
        region: &str,
        object: &ObjectRef,
    ) -> Result<Vec<u8>, String> {
        let signer = self
            .instance_signer(machine, region)
            .ok_or_else(|| "the instance has no instance profile".to_owned())?;
        let path: String = object
            .key
            .split('/')
            .map(|part| {
                percent_encoding::utf8_percent_encode(part, percent_encoding::NON_ALPHANUMERIC)
                    .to_string()
            })
            .collect::<Vec<_>>()
            .join("/");
        let host = format!("s3.{region}.amazonaws.com");
        let uri: Uri = format!("https://{host}/{}/{path}", object.bucket)
            .parse()
            .map_err(|_| format!("{object} cannot be written as an address"))?;
        let headers = signer.sign(&Method::GET, &uri, &host, self.inner.clock.now());
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        let answer = self
            .router()
            .oneshot(request)
            .await
            .unwrap_or_else(|never| match never {});
        let (parts, body) = answer.into_parts();
        let body = body
            .collect()
            .await
            .map_err(|_| "the connection broke".to_owned())?
            .to_bytes();
        if parts.status.is_success() {
            return Ok(body.to_vec());
        }
        let text = String::from_utf8_lossy(&body);
        let code = text
            .split_once("<Code>")
            .and_then(|(_, rest)| rest.split_once("</Code>"));
        Err(format!(
            "{} {}",
            parts.status.as_u16(),
            code.map_or("", |(code, _)| code)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boothook_tells_object_region_and_labels() {
        let stub = "#cloud-boothook\n#!/bin/sh\nset -eu\nregion='us-east-1'\n  object=\"s3://b/pool/demo\"\n\
                    readonly node_labels='team=platform,empty=,x/y=z'\n";
        let UserData::Boothook {
            region,
            object,
            labels,
        } = UserData::read(stub.as_bytes()).unwrap()
        else {
            panic!("a boothook")
        };
        assert_eq!(region.unwrap(), "us-east-1");
        assert_eq!(object.to_string(), "s3://b/pool/demo");
        let labels: Vec<String> = labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(labels, ["team=platform", "empty=", "x/y=z"]);
    }

    #[test]
    fn ignition_names_its_replacement() {
        let config =
            br#"{"ignition":{"version":"3.0.0","config":{"replace":{"source":"s3://b/k"}}}}"#;
        let read = UserData::read(config).unwrap();
        assert_eq!(
            read,
            UserData::Ignition(ObjectRef {
                bucket: "b".into(),
                key: "k".into()
            })
        );
        assert!(UserData::read(br#"{"ignition":{"version":"3.0.0"}}"#).is_err());
    }

    #[test]
    fn bad_user_data_says_why() {
        assert!(UserData::read(b"").unwrap_err().contains("no user data"));
        assert!(
            UserData::read(b"#cloud-boothook\n")
                .unwrap_err()
                .contains("object=")
        );
        assert!(UserData::read(b"#!/bin/sh\n").is_err());
    }
}
