//! Client assertions signed with a certificate (Azure document 12.2).

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use p12_keystore::Pkcs12Archive;
use remuda_plan::pool::secret::Secret;
use ring::{
    rand::SystemRandom,
    signature::{KeyPair, RSA_PSS_SHA256, RsaKeyPair},
};
use serde_json::json;
use sha2::{Digest, Sha256};

/// An assertion is good for this long; ten minutes is the most (Azure document 12.2). Clocks may
/// differ by the other half.
const LIFE_SECONDS: i64 = 300;

/// A certificate with its RSA key.
pub(crate) struct Certificate {
    key: RsaKeyPair,
    /// `x5t#S256`: base64url of the SHA-256 of the certificate.
    thumbprint: String,
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate")
            .field("thumbprint", &self.thumbprint)
            .finish_non_exhaustive()
    }
}

impl Certificate {
    /// Unpacks PKCS#12.
    ///
    /// # Errors
    /// Why it can't be used, without any of its contents.
    pub(crate) fn from_pkcs12(packed: &[u8], password: &str) -> Result<Self, String> {
        let unusable = |why: &str| format!("the client certificate {why}");
        let archive = Pkcs12Archive::from_pkcs12(packed, password)
            .map_err(|_| unusable("is not PKCS#12, or the password is wrong"))?;
        let key = archive
            .keys
            .iter()
            .find_map(|bag| RsaKeyPair::from_pkcs8(bag.key.as_der()).ok())
            .ok_or_else(|| unusable("has no RSA key of at least 2048 bits"))?;
        let own = own_certificate(&archive, &key)
            .ok_or_else(|| unusable("holds a key but not the certificate of that key"))?;
        Ok(Self {
            thumbprint: URL_SAFE_NO_PAD.encode(Sha256::digest(own)),
            key,
        })
    }

    /// A signed assertion for a token URL. `id` must differ from that of any other assertion.
    ///
    /// # Errors
    /// The key cannot sign.
    pub(crate) fn assertion(
        &self,
        token_url: &str,
        client_id: &str,
        now_epoch_seconds: i64,
        id: &str,
    ) -> Result<Secret<String>, String> {
        let header = json!({ "alg": "PS256", "typ": "JWT", "x5t#S256": self.thumbprint });
        let claims = json!({
            "aud": token_url,
            "iss": client_id,
            "sub": client_id,
            "jti": id,
            "nbf": now_epoch_seconds,
            "iat": now_epoch_seconds,
            "exp": now_epoch_seconds + LIFE_SECONDS,
        });
        let part = |json: serde_json::Value| URL_SAFE_NO_PAD.encode(json.to_string());
        let signed = format!("{}.{}", part(header), part(claims));
        let mut signature = vec![0; self.key.public().modulus_len()];
        self.key
            .sign(
                &RSA_PSS_SHA256,
                &SystemRandom::new(),
                signed.as_bytes(),
                &mut signature,
            )
            .map_err(|_| "the client certificate's key cannot sign".to_owned())?;
        let signature = URL_SAFE_NO_PAD.encode(signature);
        Ok(Secret::new(format!("{signed}.{signature}")))
    }
}

/// The certificate that the key belongs to: an archive may hold its issuers too, in any order. A
/// certificate holds its public key as the key itself writes it.
fn own_certificate<'a>(archive: &'a Pkcs12Archive, key: &RsaKeyPair) -> Option<&'a [u8]> {
    let public = key.public_key().as_ref();
    archive
        .certs
        .iter()
        .map(|bag| bag.cert.as_der())
        .find(|der| der.windows(public.len()).any(|window| window == public))
}
