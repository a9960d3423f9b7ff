//! Client assertions: JWTs signed with an application's certificate, and tokens of a federated
//! issuer.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use jiff::Timestamp;
use rustls_pki_types::{CertificateDer, SignatureVerificationAlgorithm};
use serde_json::Value;
use sha2::{Digest, Sha256};
use webpki::EndEntityCert;

use super::invalid_client;
use crate::azure::{protocol::ArmError, state::Application};

/// Longest life of an assertion, with a minute for clocks that differ.
const LONGEST_SECONDS: i64 = 11 * 60;

/// An assertion, and what it must be for.
pub(super) struct Proof<'a> {
    pub(super) assertion: &'a str,
    pub(super) client_id: &'a str,
    /// Path of the token endpoint.
    pub(super) endpoint: &'a str,
    pub(super) now: Timestamp,
}

/// A JWT in its parts.
struct Jwt<'a> {
    header: Value,
    claims: Value,
    signed: &'a str,
    signature: Vec<u8>,
}

impl<'a> Jwt<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let (signed, signature) = text.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let json = |part: &str| -> Option<Value> {
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
        };
        Some(Self {
            header: json(header)?,
            claims: json(claims)?,
            signed,
            signature: URL_SAFE_NO_PAD.decode(signature).ok()?,
        })
    }

    fn claim(&self, name: &str) -> &str {
        match &self.claims[name] {
            Value::Array(list) => list.first().and_then(Value::as_str).unwrap_or_default(),
            value => value.as_str().unwrap_or_default(),
        }
    }

    fn moment(&self, name: &str) -> Option<i64> {
        self.claims[name].as_i64()
    }
}

impl Proof<'_> {
    /// Refuses an assertion that does not speak for the application.
    pub(super) fn check(&self, application: &Application) -> Result<(), ArmError> {
        let jwt = Jwt::read(self.assertion)
            .ok_or_else(|| invalid_client("AADSTS50027: JWT token is invalid or malformed."))?;
        self.check_time(&jwt)?;
        let own = jwt.claim("iss") == self.client_id && jwt.claim("sub") == self.client_id;
        if own || !jwt.header["x5t"].is_null() || !jwt.header["x5t#S256"].is_null() {
            return self.check_certificate(application, &jwt);
        }
        let trusted = application.federations.iter().any(|trust| {
            trust.issuer == jwt.claim("iss")
                && trust.subject == jwt.claim("sub")
                && trust.audience == jwt.claim("aud")
        });
        if trusted {
            return Ok(());
        }
        let why = format!(
            "AADSTS700213: No matching federated identity record found for presented assertion \
             subject '{}', issuer '{}', audience '{}'.",
            jwt.claim("sub"),
            jwt.claim("iss"),
            jwt.claim("aud")
        );
        Err(invalid_client(&why))
    }

    fn check_time(&self, jwt: &Jwt<'_>) -> Result<(), ArmError> {
        let now = self.now.as_second();
        let begins = jwt.moment("nbf").unwrap_or(i64::MIN);
        let ends = jwt.moment("exp").unwrap_or(i64::MIN);
        // Azure allows for clocks that differ by five minutes.
        if begins <= now + 300 && now < ends {
            return Ok(());
        }
        let why = "AADSTS700024: Client assertion is not within its valid time range.";
        Err(invalid_client(why))
    }

    fn check_certificate(&self, application: &Application, jwt: &Jwt<'_>) -> Result<(), ArmError> {
        if !jwt.claim("aud").ends_with(self.endpoint) {
            let why = "AADSTS700023: Client assertion audience claim does not match the endpoint.";
            return Err(invalid_client(why));
        }
        if jwt.claim("iss") != self.client_id || jwt.claim("sub") != self.client_id {
            let why = "AADSTS700030: Invalid certificate: issuer and subject of the assertion are \
                       not the application.";
            return Err(invalid_client(why));
        }
        if jwt.claim("jti").is_empty() {
            let why = "AADSTS50027: The assertion has no identifier (jti).";
            return Err(invalid_client(why));
        }
        let life = jwt.moment("exp").unwrap_or_default() - self.now.as_second();
        if life > LONGEST_SECONDS {
            let why = "AADSTS700024: Client assertion is valid for more than ten minutes.";
            return Err(invalid_client(why));
        }
        let certificate = application
            .certificates
            .iter()
            .filter_map(|encoded| STANDARD.decode(encoded).ok())
            .find(|der| names(&jwt.header, der));
        let Some(certificate) = certificate else {
            let why = "AADSTS700027: Client assertion contains an unknown certificate thumbprint.";
            return Err(invalid_client(why));
        };
        if signature_holds(jwt, &certificate) {
            return Ok(());
        }
        let why = "AADSTS700027: Client assertion failed signature validation.";
        Err(invalid_client(why))
    }
}

/// Whether a header names this certificate.
fn names(header: &Value, der: &[u8]) -> bool {
    if let Some(thumbprint) = header["x5t#S256"].as_str() {
        return thumbprint == URL_SAFE_NO_PAD.encode(Sha256::digest(der));
    }
    let thumbprint = header["x5t"].as_str().unwrap_or_default();
    let digest = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, der);
    thumbprint == URL_SAFE_NO_PAD.encode(digest)
}

fn signature_holds(jwt: &Jwt<'_>, certificate: &[u8]) -> bool {
    let algorithm: &dyn SignatureVerificationAlgorithm = match jwt.header["alg"].as_str() {
        Some("PS256") => webpki::ring::RSA_PSS_2048_8192_SHA256_LEGACY_KEY,
        Some("RS256") => webpki::ring::RSA_PKCS1_2048_8192_SHA256,
        _ => return false,
    };
    let der = CertificateDer::from(certificate);
    EndEntityCert::try_from(&der).is_ok_and(|certificate| {
        certificate
            .verify_signature(algorithm, jwt.signed.as_bytes(), &jwt.signature)
            .is_ok()
    })
}
