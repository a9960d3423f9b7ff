//! Client certificates of one instance: signed when a request is approved, checked at the door.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ED25519,
};
use rustls::RootCertStore;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivatePkcs8KeyDer, UnixTime};

use super::authority::{CredentialError, distinguished, set_validity};
use super::signing;

/// PKCS #8 of an Ed25519 key, up to the 32 bytes of its seed (RFC 8410, section 7).
const ED25519_PREFIX: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];
/// An authority that is never stored is made anew at each start, valid for ever.
const EVER: Duration = Duration::from_hours(100 * 365 * 24);

/// Signs client certificates, and knows those that it signed.
pub(crate) struct ClientAuthority {
    issuer: Issuer<'static, KeyPair>,
    /// The issuer's key.
    key: KeyPair,
    verifier: Arc<dyn ClientCertVerifier>,
}

impl ClientAuthority {
    /// An authority with its certificate, as PEM.
    pub(super) fn new(
        issuer: Issuer<'static, KeyPair>,
        key: KeyPair,
        certificate: &str,
    ) -> Result<Self, CredentialError> {
        let generate = |error: &dyn std::fmt::Display| CredentialError::Generate(error.to_string());
        let mut roots = RootCertStore::empty();
        let own = CertificateDer::from_pem_slice(certificate.as_bytes())
            .map_err(|error| generate(&error))?;
        roots.add(own).map_err(|error| generate(&error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|error| generate(&error))?;
        Ok(Self {
            issuer,
            key,
            verifier,
        })
    }

    /// The authority whose key comes from `seed`.
    pub(super) fn derived(seed: &[u8; 32], instance: &str) -> Result<Self, CredentialError> {
        let der: Vec<u8> = ED25519_PREFIX.iter().chain(seed).copied().collect();
        let der = PrivatePkcs8KeyDer::from(der);
        let key = || KeyPair::from_pkcs8_der_and_sign_algo(&der, &PKCS_ED25519);
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name = distinguished(&format!("remuda-apiserver {instance}"));
        set_validity(&mut params, Duration::ZERO, EVER);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ClientAuth,
            ExtendedKeyUsagePurpose::ServerAuth,
        ];
        let certificate = params.self_signed(&key()?)?.pem();
        Self::new(Issuer::new(params, key()?), key()?, &certificate)
    }

    /// Signs a certificate request for the wished usages. What the request itself says about
    /// usages, lifetime and authority is not taken over.
    pub(crate) fn sign(
        &self,
        request: &str,
        usages: &[&str],
        now: Timestamp,
        seconds: u64,
    ) -> Result<String, CredentialError> {
        signing::sign(
            &self.issuer,
            &self.key,
            request,
            usages,
            now,
            Duration::from_secs(seconds),
        )
    }

    /// Whether a chain leads to this authority at that time, and is for clients.
    pub(super) fn accepts(&self, chain: &[CertificateDer<'static>], now: Timestamp) -> bool {
        let Some((own, between)) = chain.split_first() else {
            return false;
        };
        let now = u64::try_from(now.as_second()).unwrap_or_default();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(now));
        self.verifier.verify_client_cert(own, between, now).is_ok()
    }
}
