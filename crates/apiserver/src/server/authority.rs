//! Keys of the server: a certificate authority, the secret that bearer tokens come from, and the
//! key of ServiceAccount tokens. Kept in the data directory, readable by its owner alone; in
//! memory they last one process.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use sha2::{Digest, Sha256};

use super::MANAGEMENT;
use super::client_authority::ClientAuthority;
use crate::access::tokens::TokenKey;
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
const SERVICE_ACCOUNT_FILE: &str = "sa.key";

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
             remove ca.key, ca.crt, token.secret and sa.key to have new ones"
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

/// The keys of one server.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
    secret: String,
    tokens: TokenKey,
    /// Made when first asked for; the management API's is the server's own.
    clients: Mutex<HashMap<String, Arc<ClientAuthority>>>,
}

/// The texts that an authority is made of.
struct Texts {
    key: String,
    certificate: String,
    secret: String,
    tokens: String,
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
            return Self::new(&Texts::generate()?, Path::new("memory"));
        };
        let path = |name: &str| folder.join(name);
        if !path(SERVICE_ACCOUNT_FILE).exists() {
            write_private(
                &path(SERVICE_ACCOUNT_FILE),
                &KeyPair::generate()?.serialize_pem(),
            )?;
        }
        let tokens = read(&path(SERVICE_ACCOUNT_FILE))?;
        if path(KEY_FILE).exists() {
            let texts = Texts {
                key: read(&path(KEY_FILE))?,
                certificate: read(&path(CERTIFICATE_FILE))?,
                secret: read(&path(TOKEN_FILE))?.trim().to_owned(),
                tokens,
            };
            return Self::new(&texts, &path(KEY_FILE));
        }
        let texts = Texts {
            tokens,
            ..Texts::generate()?
        };
        // The key comes last: a crash before it starts over.
        write_private(&path(TOKEN_FILE), &texts.secret)?;
        write_private(&path(CERTIFICATE_FILE), &texts.certificate)?;
        write_private(&path(KEY_FILE), &texts.key)?;
        Self::new(&texts, &path(KEY_FILE))
    }

    fn new(texts: &Texts, path: &Path) -> Result<Self, CredentialError> {
        let damaged = |detail: String| CredentialError::Damaged {
            path: path.to_owned(),
            detail,
        };
        if texts.secret.len() < 32 {
            return Err(damaged("the token secret is too short".into()));
        }
        let issuer = || -> Result<Issuer<'static, KeyPair>, rcgen::Error> {
            let key = KeyPair::from_pem(&texts.key)?;
            Issuer::from_ca_cert_pem(&texts.certificate, key)
        };
        let own = || issuer().map_err(|error| damaged(error.to_string()));
        let tokens = path.with_file_name(SERVICE_ACCOUNT_FILE);
        let key = KeyPair::from_pem(&texts.tokens).map_err(|error| CredentialError::Damaged {
            path: tokens.clone(),
            detail: error.to_string(),
        })?;
        let own_key = KeyPair::from_pem(&texts.key)?;
        let clients = ClientAuthority::new(own()?, own_key, &texts.certificate)?;
        Ok(Self {
            issuer: own()?,
            certificate: texts.certificate.clone(),
            secret: texts.secret.clone(),
            tokens: TokenKey::new(&key.serialize_der(), &tokens)?,
            clients: Mutex::new(HashMap::from([(MANAGEMENT.to_owned(), Arc::new(clients))])),
        })
    }

    /// The key of ServiceAccount tokens.
    pub(crate) fn token_key(&self) -> &TokenKey {
        &self.tokens
    }

    /// Who signs and checks the client certificates of one instance. They open no other: the
    /// authority of the management API is the server's, that of another instance has a key
    /// derived from the server's secret and the instance's name.
    pub(crate) fn clients(&self, instance: &str) -> Result<Arc<ClientAuthority>, CredentialError> {
        let mut clients = self.clients.lock().expect("no holder of this lock panics");
        if let Some(known) = clients.get(instance) {
            return Ok(known.clone());
        }
        let seed = self.derived("client certificates", instance);
        let made = Arc::new(ClientAuthority::derived(&seed, instance)?);
        clients.insert(instance.to_owned(), made.clone());
        Ok(made)
    }

    /// The certificate of the authority, as PEM.
    pub(crate) fn certificate(&self) -> &str {
        &self.certificate
    }

    /// The administrator's token of one instance. It opens no other instance.
    pub(crate) fn token(&self, instance: &str) -> String {
        use std::fmt::Write as _;
        let digest = self.derived("admin", instance);
        digest.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    /// A secret of one instance for one purpose.
    fn derived(&self, purpose: &str, instance: &str) -> [u8; 32] {
        let mut digest = Sha256::new();
        for part in [&self.secret, purpose, instance, &self.secret] {
            digest.update(part.as_bytes());
            digest.update([0]);
        }
        digest.finalize().into()
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
            "kubernetes.default.svc",
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
pub(super) fn set_validity(params: &mut CertificateParams, now: Duration, life: Duration) {
    let epoch = date_time_ymd(1970, 1, 1);
    params.not_before = epoch + now.saturating_sub(SKEW);
    params.not_after = epoch + now + life;
}

/// The time of the machine: certificates are checked by clients that live in it.
fn machine_time() -> Duration {
    Duration::from_secs(u64::try_from(SystemClock.now().as_second()).unwrap_or_default())
}

pub(super) fn distinguished(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

impl Texts {
    fn generate() -> Result<Self, CredentialError> {
        let (key, certificate) = generate()?;
        Ok(Self {
            key,
            certificate,
            secret: random_secret(),
            tokens: KeyPair::generate()?.serialize_pem(),
        })
    }
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
