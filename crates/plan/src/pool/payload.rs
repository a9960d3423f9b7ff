//! Bootstrap payloads: format, bytes, digest (captf document 2.7). Opaque but for the first lines,
//! which say what kind of document it is; never edited, never shown.

use std::{fmt::Write as _, io::Read as _};

use super::secret::Secret;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};

/// Format of bootstrap data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// cloud-init's user data.
    CloudConfig,
    /// Ignition's JSON.
    Ignition,
}

impl Format {
    /// The format a Secret's `format` key names.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "cloud-config" => Some(Self::CloudConfig),
            "ignition" => Some(Self::Ignition),
            _ => None,
        }
    }

    /// The two names, for messages.
    pub const NAMES: &'static str = "`cloud-config` or `ignition`";
}

/// Decoded bootstrap data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// The bytes, unchanged: gzip stays gzip.
    pub body: Secret<Vec<u8>>,
    /// Lower-case hex SHA-256 of the bytes.
    pub sha256: String,
    /// The bytes are a gzip stream.
    pub gzip: bool,
}

impl Payload {
    /// Whether cloud-init takes the document for cloud-config: its first line says so, or the
    /// second below a Jinja header. Gzip that cannot be read here is left to the machine to judge.
    pub fn is_cloud_config(&self) -> bool {
        /// More than two lines of a header ever take.
        const HEAD_BYTES: u64 = 4096;
        let body = self.body.reveal().as_slice();
        let mut head = Vec::new();
        let read = if self.gzip {
            GzDecoder::new(body).take(HEAD_BYTES).read_to_end(&mut head)
        } else {
            body.take(HEAD_BYTES).read_to_end(&mut head)
        };
        if read.is_err() {
            return self.gzip;
        }
        let mut lines = head.split(|byte| *byte == b'\n');
        let mut line = || lines.next().unwrap_or_default();
        let first = line();
        first.starts_with(b"#cloud-config")
            || first.starts_with(b"## template: jinja") && line().starts_with(b"#cloud-config")
    }
}

/// Decodes padded standard base64; `None` when it is not that. Says nothing of the value.
pub fn decode(bootstrap_data: &Secret<String>) -> Option<Payload> {
    let body = STANDARD.decode(bootstrap_data.reveal()).ok()?;
    let sha256 = sha256_hex(&body);
    Some(Payload {
        gzip: body.starts_with(&[0x1f, 0x8b, 0x08]),
        sha256,
        body: Secret::new(body),
    })
}

/// Lower-case hex SHA-256.
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::with_capacity(64), |mut hex, byte| {
            write!(hex, "{byte:02x}").expect("writing to a String does not fail");
            hex
        })
}
