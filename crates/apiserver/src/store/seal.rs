//! Sealing of objects at rest.
//!
//! The key file holds one 256-bit key a line, in base64; `#` starts a comment. The first key seals,
//! all of them open: a new key is put on top, and the old line may go once every object was sealed
//! again, which the next start does.
//!
//! Each object is sealed with its own key, derived (HKDF-SHA-256) from the file's key and 24 random
//! bytes that are stored with it, so that no nonce is ever used twice; the cipher is
//! ChaCha20-Poly1305. What is sealed is bound to the object's place: moved elsewhere it does not
//! open.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{self, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf;
use ring::rand::{SecureRandom as _, SystemRandom};
use sha2::{Digest as _, Sha256};

use super::{StoreError, folder};

const SECRET: usize = 32;
const SALT: usize = 24;
/// The derived key, then the nonce.
const DERIVED: usize = SECRET + aead::NONCE_LEN;
const PURPOSE: &[u8] = b"remuda-apiserver object seal 1";

/// Names a key without telling it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KeyId([u8; 8]);

impl std::fmt::Display for KeyId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Debug for KeyId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// Why a sealed object does not open.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unsealing {
    /// Sealed with a key that is not here.
    Unknown(KeyId),
    /// Altered, cut, or moved from another place.
    Damaged,
}

/// The keys of a key file.
pub(super) struct KeyRing(Vec<(KeyId, [u8; SECRET])>);

impl std::fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyRing([redacted])")
    }
}

impl KeyRing {
    /// Reads a key file; `None` when there is none.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, StoreError> {
        let refused = |detail: String| StoreError::KeyFile {
            path: path.to_owned(),
            detail,
        };
        let found = match std::fs::metadata(path) {
            Ok(found) => found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(refused(error.to_string())),
        };
        if let Some(mode) = folder::exposed(&found) {
            return Err(refused(format!(
                "it is open to other users (mode {mode:03o}): chmod 600 {}",
                path.display()
            )));
        }
        let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        Self::parse(&text).map(Some).map_err(refused)
    }

    /// Makes a key file with one new key.
    pub(super) fn generate(path: &Path) -> Result<Self, StoreError> {
        let secret: [u8; SECRET] = random();
        let text = format!(
            "# Seals the Secrets of the store beside it. Without it they are lost: keep a copy\n\
             # elsewhere. To change the key, add a new one above the old one and start again.\n\
             {}\n",
            STANDARD.encode(secret)
        );
        let unwritable = |error: std::io::Error| StoreError::KeyFile {
            path: path.to_owned(),
            detail: format!("it cannot be made: {error}"),
        };
        folder::write_new(path, text.as_bytes()).map_err(unwritable)?;
        Ok(Self(vec![(id(&secret), secret)]))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut keys = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let secret: Option<[u8; SECRET]> = STANDARD
                .decode(line)
                .ok()
                .and_then(|bytes| bytes.try_into().ok());
            let secret = secret.ok_or_else(|| {
                format!(
                    "line {} is not a key: 32 random bytes in base64, as `head -c 32 \
                     /dev/urandom | base64` prints them",
                    index + 1
                )
            })?;
            keys.push((id(&secret), secret));
        }
        if keys.is_empty() {
            return Err("it holds no key: put it back from where you keep it".into());
        }
        Ok(Self(keys))
    }

    /// The key that seals.
    pub(super) fn current(&self) -> Option<KeyId> {
        self.0.first().map(|(id, _)| *id)
    }

    /// Whether a key is here.
    pub(super) fn holds(&self, wanted: KeyId) -> bool {
        self.0.iter().any(|(id, _)| *id == wanted)
    }

    /// Appends the sealed form of `plain` to `out`: key id, salt, cipher text, tag.
    pub(super) fn seal(&self, place: &str, plain: &[u8], out: &mut Vec<u8>) {
        let (id, secret) = self.0.first().expect("a key ring holds a key");
        let salt: [u8; SALT] = random();
        out.extend_from_slice(&id.0);
        out.extend_from_slice(&salt);
        let start = out.len();
        out.extend_from_slice(plain);
        let (key, nonce) = derive(secret, &salt);
        let body = out.get_mut(start..).unwrap_or_default();
        let tag = key
            .seal_in_place_separate_tag(nonce, Aad::from(place), body)
            .expect("an object is far below the cipher's limit of 256 GiB");
        out.extend_from_slice(tag.as_ref());
    }

    /// The plain form of what [`KeyRing::seal`] wrote for the same place.
    pub(super) fn open(&self, place: &str, sealed: &[u8]) -> Result<Vec<u8>, Unsealing> {
        let wanted = sealed_with(sealed).ok_or(Unsealing::Damaged)?;
        let (salt, body) = sealed
            .get(wanted.0.len()..)
            .and_then(|rest| rest.split_at_checked(SALT))
            .ok_or(Unsealing::Damaged)?;
        let found = self.0.iter().find(|(id, _)| *id == wanted);
        let (_, secret) = found.ok_or(Unsealing::Unknown(wanted))?;
        let (key, nonce) = derive(secret, salt);
        let mut body = body.to_vec();
        let opened = key.open_in_place(nonce, Aad::from(place), &mut body);
        let length = opened.map_err(|_| Unsealing::Damaged)?.len();
        body.truncate(length);
        Ok(body)
    }
}

/// The key that sealed these bytes.
pub(super) fn sealed_with(sealed: &[u8]) -> Option<KeyId> {
    sealed.first_chunk().copied().map(KeyId)
}

fn id(secret: &[u8; SECRET]) -> KeyId {
    let digest = Sha256::new()
        .chain_update(b"remuda-apiserver key id\0")
        .chain_update(secret)
        .finalize();
    KeyId(*digest.first_chunk().expect("a digest is longer than an id"))
}

struct Derived;

impl hkdf::KeyType for Derived {
    fn len(&self) -> usize {
        DERIVED
    }
}

/// The key and nonce of one object.
fn derive(secret: &[u8; SECRET], salt: &[u8]) -> (LessSafeKey, Nonce) {
    let mut derived = [0; DERIVED];
    hkdf::Salt::new(hkdf::HKDF_SHA256, salt)
        .extract(secret)
        .expand(&[PURPOSE], Derived)
        .and_then(|okm| okm.fill(&mut derived))
        .expect("the wished length is within what HKDF gives");
    let (key, nonce) = derived.split_at(SECRET);
    let key = UnboundKey::new(&CHACHA20_POLY1305, key).expect("the key has the cipher's length");
    let nonce = Nonce::try_assume_unique_for_key(nonce).expect("the nonce has its length");
    (LessSafeKey::new(key), nonce)
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemRandom::new()
        .fill(&mut bytes)
        .expect("the system gives random bytes");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(seeds: &[u8]) -> KeyRing {
        let lines: Vec<String> = seeds
            .iter()
            .map(|s| STANDARD.encode([*s; SECRET]))
            .collect();
        KeyRing::parse(&lines.join("\n")).unwrap()
    }

    fn sealed(ring: &KeyRing, place: &str) -> Vec<u8> {
        let mut out = Vec::new();
        ring.seal(place, b"the plain text", &mut out);
        out
    }

    #[test]
    fn a_seal_opens_with_its_key_at_its_place_only() {
        let keys = ring(&[1]);
        let text = sealed(&keys, "here");
        assert!(!text.windows(5).any(|part| part == b"plain"));
        assert_eq!(keys.open("here", &text).unwrap(), b"the plain text");
        assert_eq!(keys.open("there", &text), Err(Unsealing::Damaged));
        let other = ring(&[2]);
        let missing = keys.current().unwrap();
        assert_eq!(other.open("here", &text), Err(Unsealing::Unknown(missing)));
    }

    #[test]
    fn every_altered_byte_and_every_cut_is_noticed() {
        let keys = ring(&[1]);
        let text = sealed(&keys, "here");
        for at in 0..text.len() {
            let mut altered = text.clone();
            altered[at] ^= 1;
            assert!(keys.open("here", &altered).is_err(), "byte {at}");
            assert!(keys.open("here", &text[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn the_first_key_seals_and_all_of_them_open() {
        let (old, both) = (ring(&[1]), ring(&[2, 1]));
        let before = sealed(&old, "here");
        assert_eq!(both.open("here", &before).unwrap(), b"the plain text");
        let after = sealed(&both, "here");
        assert_eq!(sealed_with(&after), ring(&[2]).current());
        assert!(old.open("here", &after).is_err());
    }

    #[test]
    fn the_same_text_never_looks_the_same() {
        let keys = ring(&[1]);
        assert_ne!(sealed(&keys, "here")[8..], sealed(&keys, "here")[8..]);
    }

    #[test]
    fn a_bad_key_file_is_told_by_its_line_and_never_printed() {
        let error = KeyRing::parse("# mine\n\nhunter2\n").unwrap_err();
        assert!(
            error.contains("line 3") && !error.contains("hunter2"),
            "{error}"
        );
        assert!(
            KeyRing::parse("# nothing\n")
                .unwrap_err()
                .contains("no key")
        );
        assert_eq!(format!("{:?}", ring(&[1])), "KeyRing([redacted])");
    }
}
