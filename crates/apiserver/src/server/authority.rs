//! Keys of the server: a certificate authority, and the secret that bearer tokens come from.
//! Kept in the data directory, readable by its owner alone; in memory they last one process.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, DistinguishedName,
    DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use sha2::{Digest, Sha256};

use crate::clock::{Clock as _, SystemClock};

/// Clocks may differ by this much.
const SKEW: Duration = Duration::from_mins(5);
/// How long the authority is valid: as long as that of kubeadm.
const AUTHORITY_LIFE: Duration = Duration::from_hours(10 * 365 * 24);
/// How long a server certificate is valid: each start makes a new one.
const SERVER_LIFE: Duration = Duration::from_hours(2 * 365 * 24);
const KEY_FILE: &str = "ca.key";
const CERTIFICATE_FILE: &str = "ca.crt";
const TOKEN_FILE: &str = "token.secret";

/// Why keys could not be read or made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialError {
    /// A file cannot be read or written.
    #[error("cannot use {path}: {source}; check who owns it")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A key or certificate is not one.
    #[error(
        "{path} does not hold what this server wrote: {detail}; restore it from a backup, or \
             remove ca.key, ca.crt and token.secret to have new ones"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// A new key or certificate could not be made.
    #[error("cannot make a certificate: {0}")]
    Generate(String),
}

impl From<rcgen::Error> for CredentialError {
    fn from(error: rcgen::Error) -> Self {
        Self::Generate(error.to_string())
    }
}

/// The certificate authority and the token secret of one server.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
    secret: String,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Authority([redacted])")
    }
}

impl Authority {
    /// Reads the keys in `folder`, or makes them there; without a folder makes them in memory.
    pub(crate) fn open(folder: Option<&Path>) -> Result<Self, CredentialError> {
        let Some(folder) = folder else {
            let (key, certificate) = generate()?;
            return Self::new(&key, certificate, random_secret(), Path::new("memory"));
        };
        let path = |name: &str| folder.join(name);
        if path(KEY_FILE).exists() {
            let key = read(&path(KEY_FILE))?;
            let certificate = read(&path(CERTIFICATE_FILE))?;
            let secret = read(&path(TOKEN_FILE))?;
            return Self::new(&key, certificate, secret.trim().to_owned(), &path(KEY_FILE));
        }
        let (key, certificate) = generate()?;
        let secret = random_secret();
        // The key comes last: a crash before it starts over.
        write_private(&path(TOKEN_FILE), &secret)?;
        write_private(&path(CERTIFICATE_FILE), &certificate)?;
        write_private(&path(KEY_FILE), &key)?;
        Self::new(&key, certificate, secret, &path(KEY_FILE))
    }

    fn new(
        key: &str,
        certificate: String,
        secret: String,
        path: &Path,
    ) -> Result<Self, CredentialError> {
        let damaged = |detail: String| CredentialError::Damaged {
            path: path.to_owned(),
            detail,
        };
        if secret.len() < 32 {
            return Err(damaged("the token secret is too short".into()));
        }
        let key = KeyPair::from_pem(key).map_err(|error| damaged(error.to_string()))?;
        let issuer = Issuer::from_ca_cert_pem(&certificate, key)
            .map_err(|error| damaged(error.to_string()))?;
        Ok(Self {
            issuer,
            certificate,
            secret,
        })
    }

    /// The certificate of the authority, as PEM.
    pub(crate) fn certificate(&self) -> &str {
        &self.certificate
    }

    /// The administrator's token of one instance. It opens no other instance.
    pub(crate) fn token(&self, instance: &str) -> String {
        use std::fmt::Write as _;
        let mut digest = Sha256::new();
        for part in [
            self.secret.as_str(),
            "admin",
            instance,
            self.secret.as_str(),
        ] {
            digest.update(part.as_bytes());
            digest.update([0]);
        }
        digest
            .finalize()
            .iter()
            .fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })
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
        let mut request = CertificateSigningRequestParams::from_pem(request)?;
        let params = &mut request.params;
        params.is_ca = IsCa::NoCa;
        params.key_usages = usages.iter().filter_map(|usage| key_usage(usage)).collect();
        params.extended_key_usages = usages
            .iter()
            .filter_map(|usage| extended_key_usage(usage))
            .collect();
        let now = Duration::from_secs(u64::try_from(now.as_second()).unwrap_or(0));
        set_validity(params, now, Duration::from_secs(seconds));
        Ok(request.signed_by(&self.issuer)?.pem())
    }

    /// A server certificate for loopback, with its chain.
    pub(crate) fn server_certificate(
        &self,
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), CredentialError> {
        let names = [
            "localhost",
            "127.0.0.1",
            "::1",
            "kubernetes",
            "kubernetes.default",
        ];
        let mut params = CertificateParams::new(names.map(str::to_owned))?;
        params.distinguished_name = distinguished("kube-apiserver");
        set_validity(&mut params, machine_time(), SERVER_LIFE);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyEncipherment,
        ];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        Ok((vec![certificate.der().clone()], key))
    }
}

/// From a little before `now`, for clocks that differ.
fn set_validity(params: &mut CertificateParams, now: Duration, life: Duration) {
    let epoch = date_time_ymd(1970, 1, 1);
    params.not_before = epoch + now.saturating_sub(SKEW);
    params.not_after = epoch + now + life;
}

/// The time of the machine: certificates are checked by clients that live in it.
fn machine_time() -> Duration {
    Duration::from_secs(u64::try_from(SystemClock.now().as_second()).unwrap_or_default())
}

fn key_usage(usage: &str) -> Option<KeyUsagePurpose> {
    Some(match usage {
        "digital signature" | "signing" => KeyUsagePurpose::DigitalSignature,
        "key encipherment" => KeyUsagePurpose::KeyEncipherment,
        "key agreement" => KeyUsagePurpose::KeyAgreement,
        _ => return None,
    })
}

fn extended_key_usage(usage: &str) -> Option<ExtendedKeyUsagePurpose> {
    Some(match usage {
        "client auth" => ExtendedKeyUsagePurpose::ClientAuth,
        "server auth" => ExtendedKeyUsagePurpose::ServerAuth,
        _ => return None,
    })
}

fn distinguished(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

fn generate() -> Result<(String, String), CredentialError> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name = distinguished("remuda-apiserver");
    set_validity(&mut params, machine_time(), AUTHORITY_LIFE);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok((key.serialize_pem(), certificate.pem()))
}

/// 244 random bits from the system.
fn random_secret() -> String {
    format!(
        "{}{}",
        uuid::Uuid::new_v4().simple(),
        uuid::Uuid::new_v4().simple()
    )
}

fn read(path: &Path) -> Result<String, CredentialError> {
    std::fs::read_to_string(path).map_err(|source| CredentialError::File {
        path: path.to_owned(),
        source,
    })
}

/// Writes a new file that only its owner can read.
fn write_private(path: &Path, text: &str) -> Result<(), CredentialError> {
    use std::io::Write as _;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let mut file = options.open(path).map_err(|source| CredentialError::File {
        path: path.to_owned(),
        source,
    })?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(|source| CredentialError::File {
            path: path.to_owned(),
            source,
        })
}
