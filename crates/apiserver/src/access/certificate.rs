//! Client certificates: the identity that one states.

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::caller::{AUTHENTICATED, Caller};

/// What a certificate states, and until when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stated {
    pub(crate) caller: Caller,
    pub(crate) not_after: Timestamp,
}

/// Reads the identity: the common name is the user, each organisation a group. `None` without a
/// common name.
pub(crate) fn stated(der: &[u8]) -> Option<Stated> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let subject = certificate.subject();
    let names = subject.iter_common_name();
    let name = names.last()?.as_str().ok()?.to_owned();
    if name.is_empty() {
        return None;
    }
    let mut groups = Vec::new();
    for group in subject.iter_organization() {
        groups.push(group.as_str().ok()?.to_owned());
    }
    groups.push(AUTHENTICATED.to_owned());
    let digest = format!("{:x}", Sha256::digest(der));
    let mut caller = Caller {
        name,
        groups,
        ..Caller::default()
    };
    caller.extra.insert(
        "authentication.kubernetes.io/credential-id".into(),
        vec![format!("X509SHA256={digest}")],
    );
    let end = certificate.validity().not_after.timestamp();
    Some(Stated {
        caller,
        not_after: Timestamp::from_second(end).ok()?,
    })
}
