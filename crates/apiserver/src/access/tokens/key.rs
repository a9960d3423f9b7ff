//! The key that ServiceAccount tokens are signed with: ES256, by ring.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
    UnparsedPublicKey,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use signature::{Signer, Verifier};

use crate::server::CredentialError;

/// Signs tokens and opens those that it signed.
pub(crate) struct TokenKey {
    private: EncodingKey,
    public: DecodingKey,
    /// The public key as an uncompressed point.
    point: Vec<u8>,
    id: String,
    /// Claims of tokens whose signature was found good, by digest of the token: checking one
    /// costs more than most requests.
    opened: Mutex<HashMap<[u8; 32], Arc<Value>>>,
}

/// Tokens that are remembered; at the next one all are forgotten.
const REMEMBERED: usize = 1_024;

impl std::fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenKey([redacted])")
    }
}

impl TokenKey {
    /// Reads a key of the curve P-256 from PKCS #8, as DER.
    pub(crate) fn new(der: &[u8], path: &Path) -> Result<Self, CredentialError> {
        // Another user of the crate in this process may have chosen a provider: that one then
        // serves, for all know ES256.
        let _ = PROVIDER.install_default();
        let pair = pair(der).map_err(|_| CredentialError::Damaged {
            path: path.to_owned(),
            detail: "the key of ServiceAccount tokens is not an ECDSA key of P-256".into(),
        })?;
        let point = pair.public_key().as_ref().to_vec();
        Ok(Self {
            private: EncodingKey::from_ec_der(der),
            public: DecodingKey::from_ec_der(&point),
            id: URL_SAFE_NO_PAD.encode(Sha256::digest(&point)),
            point,
            opened: Mutex::default(),
        })
    }

    /// A token with these claims.
    pub(super) fn sign(&self, claims: &Value) -> Result<String, Error> {
        let mut header = Header::new(Algorithm::ES256);
        header.typ = None;
        header.kid = Some(self.id.clone());
        jsonwebtoken::encode(&header, claims, &self.private)
    }

    /// The claims of a token that this key signed. Times and audiences are the caller's to check,
    /// for they need the server's clock.
    pub(super) fn open(&self, token: &str) -> Option<Arc<Value>> {
        let digest: [u8; 32] = Sha256::digest(token).into();
        let opened = || self.opened.lock().expect("no holder of this lock panics");
        if let Some(known) = opened().get(&digest) {
            return Some(known.clone());
        }
        let claims = Arc::new(self.checked(token)?);
        let mut opened = opened();
        if opened.len() >= REMEMBERED {
            opened.clear();
        }
        opened.insert(digest, claims.clone());
        Some(claims)
    }

    fn checked(&self, token: &str) -> Option<Value> {
        let mut validation = Validation::new(Algorithm::ES256);
        validation.required_spec_claims.clear();
        validation.validate_exp = false;
        validation.validate_aud = false;
        let opened = jsonwebtoken::decode::<Value>(token, &self.public, &validation).ok()?;
        Some(opened.claims)
    }

    /// The public key as a JSON web key set.
    pub(crate) fn key_set(&self) -> Value {
        let half = |range: std::ops::Range<usize>| {
            URL_SAFE_NO_PAD.encode(self.point.get(range).unwrap_or_default())
        };
        json!({"keys": [{
            "use": "sig", "kty": "EC", "kid": self.id, "crv": "P-256", "alg": "ES256",
            "x": half(1..33), "y": half(33..65),
        }]})
    }
}

fn pair(der: &[u8]) -> Result<EcdsaKeyPair, ring::error::KeyRejected> {
    let random = SystemRandom::new();
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &random)
}

/// ES256 for the token crate, by the one cryptography provider of the project.
static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: signer,
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

struct Es256Signer(EcdsaKeyPair);

struct Es256Verifier(UnparsedPublicKey<Vec<u8>>);

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the token crate calls it so"
)]
fn signer(algorithm: &Algorithm, key: &EncodingKey) -> Result<Box<dyn JwtSigner>, Error> {
    match algorithm {
        Algorithm::ES256 => {
            let pair = pair(key.as_bytes()).map_err(|_| ErrorKind::InvalidEcdsaKey)?;
            Ok(Box::new(Es256Signer(pair)))
        }
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the token crate calls it so"
)]
fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    match algorithm {
        Algorithm::ES256 => {
            let point = key.try_get_as_bytes()?.to_vec();
            let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
            Ok(Box::new(Es256Verifier(public)))
        }
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    }
}

impl Signer<Vec<u8>> for Es256Signer {
    fn try_sign(&self, message: &[u8]) -> Result<Vec<u8>, signature::Error> {
        let signed = self.0.sign(&SystemRandom::new(), message);
        let signed = signed.map_err(|_| signature::Error::new())?;
        Ok(signed.as_ref().to_vec())
    }
}

impl JwtSigner for Es256Signer {
    fn algorithm(&self) -> Algorithm {
        Algorithm::ES256
    }
}

impl Verifier<Vec<u8>> for Es256Verifier {
    fn verify(&self, message: &[u8], signed: &Vec<u8>) -> Result<(), signature::Error> {
        let outcome = self.0.verify(message, signed);
        outcome.map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for Es256Verifier {
    fn algorithm(&self) -> Algorithm {
        Algorithm::ES256
    }
}
