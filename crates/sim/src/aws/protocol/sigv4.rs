//! Signature Version 4, both ways: checking a received request by signing it again, and signing
//! the requests simulated instances send.
//!
//! Written from the published description of the algorithm and checked in tests against the
//! signer of the AWS SDK, which clients use: two implementations that agree.

use std::{collections::BTreeMap, fmt::Write};

use hmac::{Hmac, Mac};
use http::{HeaderMap, HeaderValue, Method, Uri, header};
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sha2::{Digest, Sha256};

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
/// Characters SigV4 leaves as they are.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');
const UNRESERVED_PATH: &AsciiSet = &UNRESERVED.remove(b'/');

/// The parsed `Authorization` header of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Authorization {
    pub(crate) access_key_id: String,
    pub(crate) date: String,
    pub(crate) region: String,
    pub(crate) service: String,
    signed_headers: Vec<String>,
    signature: String,
}

impl Authorization {
    /// The header of a request; `None` when there is none or it is of another form.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
        let fields: BTreeMap<&str, &str> = value
            .strip_prefix(ALGORITHM)?
            .split(',')
            .filter_map(|field| field.trim().split_once('='))
            .collect();
        let mut scope = fields.get("Credential")?.rsplitn(5, '/');
        if scope.next()? != "aws4_request" {
            return None;
        }
        let (service, region, date, access_key_id) =
            (scope.next()?, scope.next()?, scope.next()?, scope.next()?);
        Some(Self {
            access_key_id: access_key_id.into(),
            date: date.into(),
            region: region.into(),
            service: service.into(),
            signed_headers: fields
                .get("SignedHeaders")?
                .split(';')
                .map(Into::into)
                .collect(),
            signature: (*fields.get("Signature")?).into(),
        })
    }

    /// Whether the signature is the one `secret` gives for this request.
    pub(crate) fn matches(&self, request: &Signable<'_>, secret: &str) -> bool {
        let Some(moment) = text(request.headers, "x-amz-date") else {
            return false;
        };
        let scope = format!(
            "{}/{}/{}/aws4_request",
            self.date, self.region, self.service
        );
        let canonical = request.canonical(&self.signed_headers, &self.service);
        let key = signing_key(secret, &self.date, &self.region, &self.service);
        signature(&key, moment, &scope, &canonical) == self.signature
    }
}

/// What a signature covers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signable<'a> {
    pub(crate) method: &'a Method,
    pub(crate) uri: &'a Uri,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a [u8],
}

impl Signable<'_> {
    fn canonical(&self, signed: &[String], service: &str) -> String {
        let mut canonical = String::with_capacity(512);
        let path = canonical_path(self.uri.path(), service);
        let query = canonical_query(self.uri.query().unwrap_or(""));
        let _ = write!(canonical, "{}\n{path}\n{query}\n", self.method);
        for name in signed {
            let _ = writeln!(canonical, "{name}:{}", self.header(name));
        }
        let _ = write!(canonical, "\n{}\n{}", signed.join(";"), self.payload_hash());
        canonical
    }

    /// All values of a header, joined, runs of spaces folded.
    fn header(&self, name: &str) -> String {
        let values: Vec<String> = self
            .headers
            .get_all(name)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .map(|value| value.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        if values.is_empty() && name == "host" {
            // HTTP/2 and in-process requests carry the host in the URI alone.
            return self
                .uri
                .authority()
                .map(ToString::to_string)
                .unwrap_or_default();
        }
        values.join(",")
    }

    fn payload_hash(&self) -> String {
        match text(self.headers, "x-amz-content-sha256") {
            Some(hash) => hash.to_owned(),
            None => hex_digest(self.body),
        }
    }

    /// Whether the body is the one the request says it signed.
    pub(crate) fn body_is_intact(&self) -> bool {
        match text(self.headers, "x-amz-content-sha256") {
            Some(hash) if hash.len() == 64 => hash == hex_digest(self.body),
            _ => true,
        }
    }
}

/// Credentials to sign with.
#[derive(Clone)]
pub(crate) struct Signer {
    pub(crate) access_key_id: String,
    pub(crate) secret: String,
    pub(crate) session_token: Option<String>,
    pub(crate) region: String,
    pub(crate) service: &'static str,
}

impl Signer {
    /// The headers of a signed request without a body.
    pub(crate) fn sign(&self, method: &Method, uri: &Uri, host: &str, at: Timestamp) -> HeaderMap {
        let value = |text: &str| HeaderValue::from_str(text).expect("signing writes ASCII");
        let moment = at.strftime("%Y%m%dT%H%M%SZ").to_string();
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, value(host));
        headers.insert("x-amz-content-sha256", value(&hex_digest(b"")));
        headers.insert("x-amz-date", value(&moment));
        if let Some(token) = &self.session_token {
            headers.insert("x-amz-security-token", value(token));
        }
        let mut signed: Vec<String> = headers.keys().map(|name| name.as_str().into()).collect();
        signed.sort_unstable();
        let date = &moment[..8];
        let scope = format!("{date}/{}/{}/aws4_request", self.region, self.service);
        let canonical = Signable {
            method,
            uri,
            headers: &headers,
            body: b"",
        }
        .canonical(&signed, self.service);
        let key = signing_key(&self.secret, date, &self.region, self.service);
        let authorization = format!(
            "{ALGORITHM} Credential={}/{scope}, SignedHeaders={}, Signature={}",
            self.access_key_id,
            signed.join(";"),
            signature(&key, &moment, &scope, &canonical),
        );
        headers.insert(header::AUTHORIZATION, value(&authorization));
        headers
    }
}

fn signature(key: &[u8], moment: &str, scope: &str, canonical: &str) -> String {
    let digest = hex_digest(canonical.as_bytes());
    hex(&hmac(
        key,
        format!("{ALGORITHM}\n{moment}\n{scope}\n{digest}").as_bytes(),
    ))
}

fn signing_key(secret: &str, date: &str, region: &str, service: &str) -> Vec<u8> {
    [date, region, service, "aws4_request"]
        .iter()
        .fold(format!("AWS4{secret}").into_bytes(), |key, part| {
            hmac(&key, part.as_bytes())
        })
}

/// S3 signs the path encoded once; all others encode what is already encoded.
fn canonical_path(path: &str, service: &str) -> String {
    let path = if path.is_empty() { "/" } else { path };
    if service == "s3" {
        let decoded: Vec<u8> = percent_decode_str(path).collect();
        percent_encoding::percent_encode(&decoded, UNRESERVED_PATH).to_string()
    } else {
        utf8_percent_encode(path, UNRESERVED_PATH).to_string()
    }
}

fn canonical_query(query: &str) -> String {
    let recode = |text: &str| {
        let decoded: Vec<u8> = percent_decode_str(text).collect();
        percent_encoding::percent_encode(&decoded, UNRESERVED).to_string()
    };
    let mut pairs: Vec<(String, String)> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (recode(name), recode(value)))
        .collect();
    pairs.sort_unstable();
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join("&")
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn hmac(key: &[u8], data: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(data);
    mac.finalize().into_bytes().to_vec()
}

/// Lower-case hex SHA-256.
pub(crate) fn hex_digest(data: &[u8]) -> String {
    hex(&Sha256::digest(data))
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}
