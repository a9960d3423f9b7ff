//! Certificate requests: what one asks for, and the certificate that answers it.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use rcgen::{
    CertificateSigningRequestParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SigningKey as _,
};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::FromDer as _;

use super::authority::{CredentialError, set_validity};

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

/// Signs a request with the key of `issuer`.
pub(super) fn sign(
    issuer: &Issuer<'static, KeyPair>,
    key: &KeyPair,
    request: &str,
    usages: &[&str],
    now: Timestamp,
    life: Duration,
) -> Result<String, CredentialError> {
    let subject = subject(request)
        .ok_or_else(|| CredentialError::Generate("the request's subject is unreadable".into()))?;
    let mut request = CertificateSigningRequestParams::from_pem(request)?;
    let params = &mut request.params;
    params.is_ca = IsCa::NoCa;
    params.key_usages = usages.iter().filter_map(|usage| key_usage(usage)).collect();
    params.extended_key_usages = usages
        .iter()
        .filter_map(|usage| extended_key_usage(usage))
        .collect();
    let now = Duration::from_secs(u64::try_from(now.as_second()).unwrap_or(0));
    set_validity(params, now, life);
    let signed = request.signed_by(issuer)?;
    let signed = with_subject(signed.der(), &subject, key)?;
    Ok(pem::encode(&pem::Pem::new("CERTIFICATE", signed)))
}

/// The certificate with the subject as it was asked for, signed again: rcgen keeps one
/// organisation of a name, and each is a group.
fn with_subject(
    certificate: &[u8],
    subject: &[u8],
    key: &KeyPair,
) -> Result<Vec<u8>, CredentialError> {
    let unreadable = |_| CredentialError::Generate("a certificate cannot be read back".into());
    let (body, algorithm) = yasna::parse_der(certificate, |reader| {
        reader.read_sequence(|reader| {
            let body = reader.next().read_der()?;
            let algorithm = reader.next().read_der()?;
            reader.next().read_der()?;
            Ok((body, algorithm))
        })
    })
    .map_err(unreadable)?;
    let mut parts = Vec::new();
    yasna::parse_der(&body, |reader| {
        reader.read_sequence_of(|reader| {
            parts.push(reader.read_der()?);
            Ok(())
        })
    })
    .map_err(unreadable)?;
    // Version, serial number, algorithm, issuer, validity, then the subject (RFC 5280, 4.1).
    if let Some(own) = parts.get_mut(5) {
        subject.clone_into(own);
    }
    let body = yasna::construct_der(|writer| {
        writer.write_sequence(|writer| {
            for part in &parts {
                writer.next().write_der(part);
            }
        });
    });
    let signature = key.sign(&body)?;
    Ok(yasna::construct_der(|writer| {
        writer.write_sequence(|writer| {
            writer.next().write_der(&body);
            writer.next().write_der(&algorithm);
            writer
                .next()
                .write_bitvec_bytes(&signature, signature.len() * 8);
        });
    }))
}

/// The subject of a request, as it was encoded.
fn subject(request: &str) -> Option<Vec<u8>> {
    let (_, pem) = x509_parser::pem::parse_x509_pem(request.as_bytes()).ok()?;
    let (_, request) = X509CertificationRequest::from_der(&pem.contents).ok()?;
    Some(request.certification_request_info.subject.as_raw().to_vec())
}

/// What a certificate request asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Requested {
    pub(crate) common_name: String,
    pub(crate) organizations: Vec<String>,
    pub(crate) dns_names: usize,
    pub(crate) addresses: usize,
    /// Other alternative names: mail addresses and URIs.
    pub(crate) other_names: usize,
}

/// Reads a request as a CertificateSigningRequest carries it: PEM in base64.
pub(crate) fn requested(encoded: &str) -> Option<Requested> {
    let text = STANDARD.decode(encoded).ok()?;
    let (_, pem) = x509_parser::pem::parse_x509_pem(&text).ok()?;
    let (_, request) = X509CertificationRequest::from_der(&pem.contents).ok()?;
    let subject = &request.certification_request_info.subject;
    let texts =
        |values: &mut dyn Iterator<Item = &x509_parser::x509::AttributeTypeAndValue<'_>>| {
            let texts = values.filter_map(|value| value.as_str().ok());
            texts.map(str::to_owned).collect::<Vec<String>>()
        };
    let mut asked = Requested {
        common_name: texts(&mut subject.iter_common_name())
            .pop()
            .unwrap_or_default(),
        organizations: texts(&mut subject.iter_organization()),
        ..Requested::default()
    };
    for extension in request.requested_extensions().into_iter().flatten() {
        let ParsedExtension::SubjectAlternativeName(names) = extension else {
            continue;
        };
        for name in &names.general_names {
            match name {
                GeneralName::DNSName(_) => asked.dns_names += 1,
                GeneralName::IPAddress(_) => asked.addresses += 1,
                _ => asked.other_names += 1,
            }
        }
    }
    Some(asked)
}
