//! From user data to bootstrap data: what the boot stub or Ignition does on a real machine.

use std::{io::Read, time::Duration};

use axum::body::Body;
use flate2::read::GzDecoder;
use http::{Method, Request, Uri};
use http_body_util::BodyExt;
use tower::ServiceExt;

use super::{Nodes, machine::Machine};
use crate::aws::EstateId;

/// The stub's patience: sixty attempts, five seconds apart.
const ATTEMPTS: u32 = 60;
const PAUSE: Duration = Duration::from_secs(5);
/// Largest bootstrap data taken after unpacking.
const MOST_BYTES: u64 = 8 << 20;

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
        let labels = assignment(text, "node_labels").unwrap_or_default();
        let labels = labels
            .split(',')
            .filter(|label| !label.is_empty())
            .map(|label| label.split_once('=').unwrap_or((label, "")))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
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

/// The value of the first shell assignment to a name, one level of quotes removed.
fn assignment(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let line = line.trim();
        let line = line
            .strip_prefix("readonly ")
            .or(line.strip_prefix("export "))
            .unwrap_or(line);
        let (left, right) = line.split_once('=')?;
        if !left.eq_ignore_ascii_case(name) {
            return None;
        }
        let right = right.trim();
        let unquoted = ['\'', '"'].into_iter().find_map(|quote| {
            let inner = right.strip_prefix(quote)?;
            inner.find(quote).map(|end| &inner[..end])
        });
        let bare = || {
            right
                .split([' ', '\t', ';', '#'])
                .next()
                .unwrap_or_default()
        };
        Some(unquoted.unwrap_or_else(bare).to_owned())
    })
}

impl Nodes {
    /// Does what the user data asks for; the labels the kubelet is to register with.
    pub(super) async fn bootstrap(
        &self,
        estate: EstateId,
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
                let data = self.fetch(estate, machine, &region, &object).await?;
                check_cloud_config(&data).map_err(|why| format!("{object}: {why}"))?;
                Ok(labels)
            }
            UserData::Ignition(object) => {
                let data = self
                    .fetch(estate, machine, &machine.region, &object)
                    .await?;
                check_ignition(&data).map_err(|why| format!("{object}: {why}"))?;
                Ok(Vec::new())
            }
        }
    }

    /// Fetches an object as patiently as the stub. Each failed attempt is made known.
    async fn fetch(
        &self,
        estate: EstateId,
        machine: &Machine,
        region: &str,
        object: &ObjectRef,
    ) -> Result<Vec<u8>, String> {
        let mut attempt = 1;
        loop {
            let why = match self.get(estate, machine, region, object).await {
                Ok(data) => return Ok(data),
                Err(why) => format!("fetching {object} failed {attempt} times: {why}"),
            };
            if attempt == ATTEMPTS {
                return Err(why);
            }
            self.report(&machine.id, Some(why));
            attempt += 1;
            self.sim.inner.clock.sleep(PAUSE).await;
        }
    }

    async fn get(
        &self,
        estate: EstateId,
        machine: &Machine,
        region: &str,
        object: &ObjectRef,
    ) -> Result<Vec<u8>, String> {
        let signer = self
            .signer(estate, &machine.id, region)
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
        let headers = signer.sign(&Method::GET, &uri, &host, self.sim.inner.clock.now());
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        let answer = self
            .sim
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

/// The stub's check: gzip is unpacked, and only cloud-config is installed.
fn check_cloud_config(data: &[u8]) -> Result<(), String> {
    let mut unpacked = Vec::new();
    let data = if data.starts_with(&[0x1f, 0x8b]) {
        GzDecoder::new(data)
            .take(MOST_BYTES)
            .read_to_end(&mut unpacked)
            .map_err(|_| "the gzip data is broken".to_owned())?;
        &unpacked
    } else {
        data
    };
    let text = String::from_utf8_lossy(data);
    let mut lines = text.lines().map(|line| line.trim_end_matches('\r'));
    let first = lines.next().unwrap_or_default();
    let header = if first.starts_with("## template: jinja") {
        lines.next().unwrap_or_default()
    } else {
        first
    };
    if header.starts_with("#cloud-config") {
        return Ok(());
    }
    Err("the bootstrap data is not cloud-config".to_owned())
}

fn check_ignition(data: &[u8]) -> Result<(), String> {
    if data.starts_with(&[0x1f, 0x8b]) {
        return Err("Ignition cannot fetch a compressed config".to_owned());
    }
    let config: Option<serde_json::Value> = serde_json::from_slice(data).ok();
    match config
        .as_ref()
        .and_then(|config| config.pointer("/ignition/version"))
    {
        Some(_) => Ok(()),
        None => Err("the bootstrap data is not an Ignition config".to_owned()),
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
    fn only_cloud_config_is_installed() {
        assert!(check_cloud_config(b"#cloud-config\nruncmd: []\n").is_ok());
        assert!(check_cloud_config(b"## template: jinja\r\n#cloud-config\r\n").is_ok());
        assert!(check_cloud_config(b"## template: jinja\n#!/bin/sh\n").is_err());
        assert!(check_cloud_config(b"#!/bin/sh\n").is_err());
        assert!(check_cloud_config(&[0x1f, 0x8b, 8, 0]).is_err());
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, b"#cloud-config\n").unwrap();
        assert!(check_cloud_config(&packed.finish().unwrap()).is_ok());
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
