//! A certificate authority of our own and the certificate that it signs for the webhooks.
//!
//! Two lives: the authority's is long, the certificate's short. A new authority is trusted beside
//! the old one before anything is signed with it, so that no API server meets a certificate that it
//! does not know. Pure but for keys, which come from the system.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use serde_json::{Map, Value, json};
use x509_parser::{certificate::X509Certificate, pem::Pem, prelude::FromDer as _};

/// Clocks may differ by this much.
const SKEW: Duration = Duration::from_mins(5);
/// How long an authority is valid.
const AUTHORITY_LIFE: Duration = Duration::from_hours(365 * 24);
/// How long a certificate is valid.
const SERVING_LIFE: Duration = Duration::from_hours(90 * 24);
/// Renewal is due when less than this part of a life is left: one in so many.
const RENEWAL_PART: u32 = 3;

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// One could not be made.
    #[error("cannot make a certificate: {0}")]
    Generate(#[from] rcgen::Error),
    /// What was found is none.
    #[error("{0} does not hold what it should; delete it to have it made anew")]
    Damaged(String),
}

/// The authority, whom to trust, and the certificate with its key, all PEM.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Material {
    /// Authorities that are trusted, the current one first.
    pub(super) authorities: String,
    authority_key: String,
    /// The certificate of the webhooks.
    pub(super) certificate: String,
    /// Its key.
    pub(super) key: String,
}

impl std::fmt::Debug for Material {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Material([redacted])")
    }
}

impl Material {
    /// A new authority and a certificate of it.
    pub(super) fn new(names: &[String], now: Timestamp) -> Result<Self, CertificateError> {
        let (authorities, authority_key) = authority(now)?;
        let (certificate, key) = sign(&authorities, &authority_key, names, now)?;
        Ok(Self {
            authorities,
            authority_key,
            certificate,
            key,
        })
    }

    /// What a Secret's data holds; `None` when it is incomplete.
    pub(super) fn from_data(data: &Map<String, Value>) -> Option<Self> {
        let text = |key: &str| {
            let bytes = STANDARD.decode(data.get(key)?.as_str()?).ok()?;
            String::from_utf8(bytes).ok()
        };
        Some(Self {
            authorities: text("ca.crt")?,
            authority_key: text("ca.key")?,
            certificate: text("tls.crt")?,
            key: text("tls.key")?,
        })
    }

    /// As a Secret's `data`.
    pub(super) fn data(&self) -> Value {
        json!({
            "ca.crt": STANDARD.encode(&self.authorities),
            "ca.key": STANDARD.encode(&self.authority_key),
            "tls.crt": STANDARD.encode(&self.certificate),
            "tls.key": STANDARD.encode(&self.key),
        })
    }

    /// The same after one renewal; `None` while nothing is due. `known`: the current authority is
    /// trusted by those who ask.
    pub(super) fn renewed(
        &self,
        names: &[String],
        now: Timestamp,
        known: bool,
    ) -> Result<Option<Self>, CertificateError> {
        let (Some(authority), Some(certificate)) =
            (Facts::of(&self.authorities), Facts::of(&self.certificate))
        else {
            return Self::new(names, now).map(Some);
        };
        if authority.is_over(now) {
            return Self::new(names, now).map(Some);
        }
        if authority.is_old(AUTHORITY_LIFE, now) {
            return self.with_new_authority(now).map(Some);
        }
        let mut wanted = names.to_vec();
        wanted.sort();
        // Then the old certificate is of no use, whoever is trusted.
        let useless = certificate.is_over(now) || certificate.names != wanted;
        let old = certificate.is_old(SERVING_LIFE, now) || certificate.issuer != authority.subject;
        if useless || (old && known) {
            return self.signed_again(names, now).map(Some);
        }
        Ok(None)
    }

    /// The same with a new authority in front; what is signed stays. Authorities whose time is over
    /// are no longer trusted.
    fn with_new_authority(&self, now: Timestamp) -> Result<Self, CertificateError> {
        let (new, authority_key) = authority(now)?;
        let old = blocks(&self.authorities).filter(|block| {
            let facts = Facts::of(block);
            facts.is_some_and(|facts| !facts.is_over(now))
        });
        Ok(Self {
            authorities: std::iter::once(new).chain(old).collect(),
            authority_key,
            ..self.clone()
        })
    }

    /// The same with a new certificate, signed by the current authority.
    fn signed_again(&self, names: &[String], now: Timestamp) -> Result<Self, CertificateError> {
        let current = blocks(&self.authorities).next().unwrap_or_default();
        let (certificate, key) = sign(&current, &self.authority_key, names, now)?;
        Ok(Self {
            certificate,
            key,
            ..self.clone()
        })
    }
}

/// What a certificate says of itself.
struct Facts {
    subject: String,
    issuer: String,
    /// Its end, in seconds since the epoch.
    ends: i64,
    /// Names and addresses that it is for, sorted.
    names: Vec<String>,
}

impl Facts {
    /// Of the first certificate in a PEM text.
    fn of(text: &str) -> Option<Self> {
        let pem = Pem::iter_from_buffer(text.as_bytes()).next()?.ok()?;
        let (_, certificate) = X509Certificate::from_der(&pem.contents).ok()?;
        let mut names: Vec<String> = certificate
            .subject_alternative_name()
            .ok()?
            .map(|extension| {
                extension
                    .value
                    .general_names
                    .iter()
                    .filter_map(name)
                    .collect()
            })
            .unwrap_or_default();
        names.sort();
        Some(Self {
            subject: certificate.subject().to_string(),
            issuer: certificate.issuer().to_string(),
            ends: certificate.validity().not_after.timestamp(),
            names,
        })
    }

    fn is_over(&self, now: Timestamp) -> bool {
        self.ends <= now.as_second()
    }

    fn is_old(&self, life: Duration, now: Timestamp) -> bool {
        let left = self.ends.saturating_sub(now.as_second());
        left < i64::try_from((life / RENEWAL_PART).as_secs()).unwrap_or(i64::MAX)
    }
}

fn name(name: &x509_parser::extensions::GeneralName<'_>) -> Option<String> {
    use x509_parser::extensions::GeneralName::{DNSName, IPAddress};
    match name {
        DNSName(name) => Some((*name).to_owned()),
        IPAddress(bytes) => match bytes.len() {
            4 => <[u8; 4]>::try_from(*bytes)
                .ok()
                .map(|it| std::net::Ipv4Addr::from(it).to_string()),
            _ => <[u8; 16]>::try_from(*bytes)
                .ok()
                .map(|it| std::net::Ipv6Addr::from(it).to_string()),
        },
        _ => None,
    }
}

/// The certificates of a PEM text, each as a text of its own.
fn blocks(text: &str) -> impl Iterator<Item = String> {
    const END: &str = "-----END CERTIFICATE-----";
    text.split_inclusive(END)
        .filter(|block| block.contains(END))
        .map(|block| format!("{}\n", block.trim()))
}

/// A new authority: certificate and key. Its name tells it from those before it.
fn authority(now: Timestamp) -> Result<(String, String), CertificateError> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name = called(&format!("remuda-webhooks {}", now.as_second()));
    set_validity(&mut params, now, AUTHORITY_LIFE);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

fn sign(
    authority: &str,
    authority_key: &str,
    names: &[String],
    now: Timestamp,
) -> Result<(String, String), CertificateError> {
    let issuer = Issuer::from_ca_cert_pem(authority, KeyPair::from_pem(authority_key)?)?;
    let mut params = CertificateParams::new(names.to_vec())?;
    params.distinguished_name = called("remuda-webhooks");
    set_validity(&mut params, now, SERVING_LIFE);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyEncipherment,
    ];
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &issuer)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

fn called(name: &str) -> DistinguishedName {
    let mut called = DistinguishedName::new();
    called.push(DnType::CommonName, name);
    called
}

/// From a little before `now`, for clocks that differ.
fn set_validity(params: &mut CertificateParams, now: Timestamp, life: Duration) {
    let now = Duration::from_secs(u64::try_from(now.as_second()).unwrap_or_default());
    let epoch = date_time_ymd(1970, 1, 1);
    params.not_before = epoch + now.saturating_sub(SKEW);
    params.not_after = epoch + now + life;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        vec![
            "127.0.0.1".to_owned(),
            "webhooks.remuda-system.svc".to_owned(),
        ]
    }

    fn day(number: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + number * 86_400).expect("a time in range")
    }

    /// What comes of it on a day; itself while nothing is due.
    fn on(material: &Material, number: i64, known: bool) -> Material {
        let renewed = material.renewed(&names(), day(number), known);
        renewed
            .expect("keys can be made")
            .unwrap_or_else(|| material.clone())
    }

    #[test]
    fn a_certificate_is_renewed_before_the_last_third_of_its_life() {
        let made = Material::new(&names(), day(0)).expect("keys can be made");
        assert_eq!(on(&made, 59, true), made);
        assert_eq!(on(&made, 61, false), made, "the authority is not known yet");
        let again = on(&made, 61, true);
        assert_eq!(again.authorities, made.authorities);
        assert_ne!(again.certificate, made.certificate);
        assert_eq!(on(&again, 61, true), again);
    }

    #[test]
    fn other_names_need_another_certificate_at_once() {
        let made = Material::new(&names(), day(0)).expect("keys can be made");
        let other = ["127.0.0.1".to_owned()];
        let again = made
            .renewed(&other, day(0), false)
            .expect("keys can be made");
        assert!(again.is_some_and(|again| again.authorities == made.authorities));
    }

    #[test]
    fn a_new_authority_signs_when_it_is_known_and_the_old_is_trusted_until_it_is_over() {
        let made = Material::new(&names(), day(0)).expect("keys can be made");
        let made = on(&made, 200, true);
        let both = on(&made, 250, true);
        assert_eq!(blocks(&both.authorities).count(), 2);
        assert!(both.authorities.ends_with(&made.authorities));
        assert_eq!(both.certificate, made.certificate);
        assert_eq!(on(&both, 250, false), both, "nobody trusts the new one yet");
        let signed = on(&both, 250, true);
        assert_ne!(signed.certificate, both.certificate);
        assert_eq!(on(&signed, 250, true), signed);
        let third = on(&signed, 500, true);
        assert_eq!(
            blocks(&third.authorities).count(),
            2,
            "the first one is over"
        );
    }

    #[test]
    fn what_is_unreadable_or_over_is_made_anew() {
        let made = Material::new(&names(), day(0)).expect("keys can be made");
        let mut broken = made.clone();
        broken.certificate = "nonsense".to_owned();
        assert_eq!(blocks(&on(&broken, 0, false).authorities).count(), 1);
        let late = on(&made, 400, false);
        assert_eq!(blocks(&late.authorities).count(), 1);
        assert_ne!(late.authorities, made.authorities);
    }
}
