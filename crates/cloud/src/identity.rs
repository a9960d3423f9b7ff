//! Identity Secrets: told apart without holding them, and read key by key.

use std::{collections::BTreeMap, fmt::Write as _};

use remuda_plan::{
    error::{CloudFailure, FailureClass},
    pool::secret::Secret,
};
use sha2::{Digest, Sha256};

use crate::{backend::CredentialSource, error::failure};

/// Where captf mounts the keys of an identity Secret: a path below it names a key.
const MOUNT: &str = "/var/run/captf/credentials/";

/// Equal sources have equal fingerprints: pools with the same credential share one sweep, whatever
/// namespace they are in. A digest, so that no map key holds a secret.
pub fn fingerprint(source: &CredentialSource) -> String {
    let mut digest = Sha256::new();
    if let CredentialSource::Keys(keys) = source {
        for (key, value) in keys {
            for part in [key.as_bytes(), value.reveal().as_slice()] {
                digest.update(part.len().to_be_bytes());
                digest.update(part);
            }
        }
        digest.update(b"keys");
    }
    let mut text = String::with_capacity(64);
    for byte in digest.finalize() {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// An identity that cannot be used, and why; never a value.
pub fn unusable(why: impl Into<String>) -> CloudFailure {
    failure(FailureClass::NoCredentials, "credentials", why)
}

/// Why the manager's own identity may not be used. `cloud` as people write it.
pub fn ambient_refused(cloud: &str) -> CloudFailure {
    unusable(format!(
        "the manager's own {cloud} identity may not be used: name an identity with a Secret, or \
         allow it with --ambient-credentials"
    ))
}

/// A file that a Secret carries: its key and what is in it.
pub type Carried<'a> = (String, &'a Secret<Vec<u8>>);

/// The keys of an identity Secret.
#[derive(Debug, Clone, Copy)]
pub struct Keys<'a>(pub &'a BTreeMap<String, Secret<Vec<u8>>>);

impl<'a> Keys<'a> {
    /// Text of a key; `None` when it is absent or empty.
    ///
    /// # Errors
    /// The value is not text.
    pub fn text(self, key: &str) -> Result<Option<String>, String> {
        let Some(value) = self.0.get(key) else {
            return Ok(None);
        };
        let text = std::str::from_utf8(value.reveal())
            .map_err(|_| format!("key {key} of the Secret is not text"))?
            .trim();
        Ok((!text.is_empty()).then(|| text.to_owned()))
    }

    /// The key that `variable` names by a path below captf's mount, and its value: a file that the
    /// Secret itself carries. `None` when the variable is not set.
    ///
    /// # Errors
    /// A path anywhere else, or to a key that is not there.
    pub fn file(self, variable: &str) -> Result<Option<Carried<'a>>, String> {
        let Some(path) = self.text(variable)? else {
            return Ok(None);
        };
        let key = path
            .strip_prefix(MOUNT)
            .filter(|key| !key.is_empty() && !key.contains('/') && *key != "..")
            .ok_or_else(|| {
                format!(
                    "{variable} must be {MOUNT}<key>, which means the key of that name in the Secret"
                )
            })?;
        match self.0.get(key) {
            Some(value) => Ok(Some((key.to_owned(), value))),
            None => Err(format!(
                "{variable} names key {key}, which the Secret does not have"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(pairs: &[(&str, &str)]) -> BTreeMap<String, Secret<Vec<u8>>> {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), Secret::new(value.as_bytes().to_vec())))
            .collect()
    }

    #[test]
    fn fingerprints_tell_contents_apart_and_hold_none() {
        let of = |pairs| fingerprint(&CredentialSource::Keys(secret(pairs)));
        let one = of(&[("A", "bc")]);
        assert_eq!(one.len(), 64);
        assert_eq!(one, of(&[("A", "bc")]));
        assert_ne!(one, of(&[("Ab", "c")]));
        assert_ne!(of(&[]), fingerprint(&CredentialSource::Ambient));
    }

    #[test]
    fn a_path_names_a_key_of_the_secret_and_nothing_else() {
        let file = |path: &str| {
            let keys = secret(&[("FILE", path), ("config", "[default]")]);
            let found = Keys(&keys).file("FILE")?;
            Ok::<_, String>(found.map(|(key, value)| (key, value.reveal().clone())))
        };
        let found = file("/var/run/captf/credentials/config").expect("it is there");
        assert_eq!(found, Some(("config".to_owned(), b"[default]".to_vec())));
        assert_eq!(file(" "), Ok(None));
        for path in [
            "/root/.aws/config",
            "/var/run/captf/credentials/../config",
            "/var/run/captf/credentials/..",
            "/var/run/captf/credentials/",
        ] {
            let why = file(path).expect_err(path);
            assert!(why.contains("FILE must be"), "{why}");
        }
        let why = file("/var/run/captf/credentials/absent").expect_err("it is not there");
        assert!(why.contains("key absent"), "{why}");
    }
}
