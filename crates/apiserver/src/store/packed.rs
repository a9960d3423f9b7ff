//! Texts of objects as memory holds them. An object resembles the others of its resource, so most
//! of its text is said by reference to the text of one of them: the dictionary.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use lz4_flex::block;
use serde_json::Value;

/// The shelf of what must not be kept longer than its object.
const SECRETS: &str = "secrets";
/// Shorter texts are not worth packing.
const SHORTEST: usize = 64;
/// Longer texts are no dictionaries: one costs time with each text that is packed with it.
const LONGEST_DICTIONARY: usize = 16 * 1024;
/// A text that packs to more than this part of itself asks for another dictionary.
const POOR: usize = 5;
/// A larger scratch than this is given back.
const SCRATCH_BYTES: usize = 64 * 1024;

thread_local! {
    /// Texts are made and packed here and copied out at their size: kept as they grow, each would
    /// hold up to twice its bytes. More than one where work is inside other work.
    static SCRATCHES: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work` with an empty vector that has room already.
pub(super) fn with_scratch<T>(work: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut scratch = SCRATCHES.with_borrow_mut(Vec::pop).unwrap_or_default();
    let outcome = work(&mut scratch);
    if scratch.capacity() <= SCRATCH_BYTES {
        scratch.clear();
        SCRATCHES.with_borrow_mut(|scratches| scratches.push(scratch));
    }
    outcome
}

/// A text, packed or plain.
pub(super) struct Packed {
    held: Box<[u8]>,
    /// Of the text.
    length: usize,
    /// What it refers to; none when it is plain.
    dictionary: Option<Arc<[u8]>>,
}

impl Packed {
    /// A text that is kept as it is.
    pub(super) fn plain(text: &[u8]) -> Self {
        Self {
            held: text.into(),
            length: text.len(),
            dictionary: None,
        }
    }

    /// Bytes of the text.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Bytes that are held for it.
    pub(super) fn weight(&self) -> usize {
        self.held.len()
    }

    /// Appends the text.
    pub(super) fn append_to(&self, out: &mut Vec<u8>) {
        let Some(dictionary) = &self.dictionary else {
            out.extend_from_slice(&self.held);
            return;
        };
        let start = out.len();
        out.resize(start + self.length, 0);
        let unpacked = block::decompress_into_with_dict(&self.held, &mut out[start..], dictionary);
        assert_eq!(
            unpacked.ok(),
            Some(self.length),
            "packed with this dictionary"
        );
    }

    /// Calls `reader` with the text.
    pub(super) fn read<T>(&self, reader: impl FnOnce(&[u8]) -> T) -> T {
        match self.dictionary {
            None => reader(&self.held),
            Some(_) => with_scratch(|scratch| {
                self.append_to(scratch);
                reader(scratch)
            }),
        }
    }
}

impl std::fmt::Debug for Packed {
    // It may be a Secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[{} bytes]", self.length)
    }
}

/// Packs the texts of one resource.
#[derive(Debug, Default)]
pub(crate) struct Packer {
    dictionary: Arc<[u8]>,
    /// Texts packed with this dictionary.
    packed: u32,
    /// So many texts it serves at least: each one lasts twice as long as the one before, so that
    /// texts which resemble nothing do not each bring their own.
    lasts: u32,
    /// The texts are Secrets: a dictionary outlives the object whose text it was.
    secret: bool,
}

impl Packer {
    /// Packs a text. One that packs poorly becomes the dictionary of those that follow: the first
    /// of all, one that has a status by now.
    pub(super) fn pack(&mut self, text: &[u8]) -> Packed {
        if text.len() < SHORTEST {
            return Packed::plain(text);
        }
        self.packed = self.packed.saturating_add(1);
        with_scratch(|scratch| {
            scratch.resize(block::get_maximum_output_size(text.len()), 0);
            let mut length = compress(text, scratch, &self.dictionary);
            if length > text.len() / POOR && self.accepts(text) {
                self.dictionary = if self.secret {
                    without_values(text)
                } else {
                    text.into()
                };
                self.packed = 0;
                self.lasts = self.lasts.saturating_mul(2).saturating_add(1);
                length = compress(text, scratch, &self.dictionary);
            }
            if length > text.len() - text.len() / 8 {
                return Packed::plain(text);
            }
            Packed {
                held: scratch[..length].into(),
                length: text.len(),
                dictionary: Some(self.dictionary.clone()),
            }
        })
    }

    fn accepts(&self, text: &[u8]) -> bool {
        self.packed > self.lasts && text.len() <= LONGEST_DICTIONARY
    }
}

/// A packer for each resource, of all spaces together: their objects are much the same.
#[derive(Debug, Default)]
pub(crate) struct Packers(HashMap<Arc<str>, Packer>);

impl Packers {
    /// The packer of a shelf.
    pub(super) fn of(&mut self, shelf: &Arc<str>) -> &mut Packer {
        // Looked up first: nearly always it is there.
        if !self.0.contains_key(shelf) {
            let packer = Packer {
                secret: **shelf == *SECRETS,
                ..Packer::default()
            };
            self.0.insert(shelf.clone(), packer);
        }
        self.0.get_mut(shelf).expect("made above")
    }
}

/// The text of a Secret without what it keeps secret, wherever that stands: annotations may hold a
/// whole manifest.
fn without_values(text: &[u8]) -> Arc<[u8]> {
    let Ok(mut object) = serde_json::from_slice::<Value>(text) else {
        return Arc::default();
    };
    for place in ["/data", "/stringData", "/metadata/annotations"] {
        let values = object.pointer_mut(place).and_then(Value::as_object_mut);
        for (_, value) in values.into_iter().flatten() {
            *value = Value::from("");
        }
    }
    object.to_string().into_bytes().into()
}

fn compress(text: &[u8], out: &mut [u8], dictionary: &[u8]) -> usize {
    block::compress_into_with_dict(text, out, dictionary).expect("room for the worst case")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unpacked(packed: &Packed) -> Vec<u8> {
        let mut text = b"before".to_vec();
        packed.append_to(&mut text);
        text.split_off(6)
    }

    /// Texts that have much in common, and some that have nothing.
    fn texts() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let alike = ("[a-c]{0,40}", 0..30_usize)
            .prop_map(|(own, times)| format!("{{{own}:{}}}", "spec status ".repeat(times)));
        let text = prop_oneof![
            3 => alike.prop_map(String::into_bytes),
            1 => proptest::collection::vec(any::<u8>(), 0..3_000),
        ];
        proptest::collection::vec(text, 0..40)
    }

    proptest! {
        #[test]
        fn every_text_is_what_it_was(texts in texts()) {
            let mut packer = Packer::default();
            let packed: Vec<Packed> = texts.iter().map(|text| packer.pack(text)).collect();
            for (packed, text) in packed.iter().zip(&texts) {
                prop_assert_eq!(&unpacked(packed), text);
                prop_assert!(packed.read(|read| read == text.as_slice()));
                prop_assert_eq!(packed.length(), text.len());
                prop_assert!(packed.weight() <= text.len());
            }
        }
    }

    /// An object of a kind; the status is as long as all the rest.
    fn object(number: u64, status: bool) -> String {
        let mut random = fastrand::Rng::with_seed(1);
        let mut words = || -> String {
            let letters = std::iter::repeat_with(|| random.char('a'..='z'));
            letters.take(800).collect()
        };
        let spec = words();
        let status = if status { words() } else { String::new() };
        format!("{{\"name\":\"pool-{number}\",\"spec\":\"{spec}\",\"status\":\"{status}\"}}")
    }

    #[test]
    fn nothing_of_a_secret_outlives_it_in_a_dictionary() {
        let mut packers = Packers::default();
        let secret = |name: &str, value: &str| {
            let mut random = fastrand::Rng::with_seed(1);
            let letters = std::iter::repeat_with(|| random.char('a'..='z'));
            let manager: String = letters.take(800).collect();
            serde_json::json!({
                "metadata": { "name": name, "annotations": { "last": value }, "m": manager },
                "data": { "key": value }, "stringData": { "other": value },
            })
            .to_string()
        };
        let packer = packers.of(&SECRETS.into());
        let first = secret("a", "c2VjcmV0");
        assert_eq!(unpacked(&packer.pack(first.as_bytes())), first.as_bytes());
        let dictionary = String::from_utf8(packer.dictionary.to_vec()).unwrap();
        assert!(dictionary.contains("\"key\":\"\""), "{dictionary}");
        assert!(!dictionary.contains("c2VjcmV0"), "{dictionary}");
        let second = secret("b", "YW5vdGhlcg==");
        let packed = packer.pack(second.as_bytes());
        assert_eq!(unpacked(&packed), second.as_bytes());
        assert!(packed.weight() * 3 < second.len(), "it serves all the same");
    }

    #[test]
    fn what_resembles_its_dictionary_takes_little() {
        let mut packer = Packer::default();
        for number in 0..100 {
            let text = object(number, false);
            let packed = packer.pack(text.as_bytes());
            assert!(packed.weight() * 10 < text.len(), "{number}");
        }
        // Something that the first ones did not have.
        for number in 0..100 {
            let text = object(number, true);
            let packed = packer.pack(text.as_bytes());
            assert!(packed.weight() * 10 < text.len(), "{number}");
        }
    }

    #[test]
    fn what_resembles_nothing_stays_plain_and_brings_few_dictionaries() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut packer = Packer::default();
        let mut dictionaries = 0;
        for _ in 0..1_000 {
            let text: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(500).collect();
            let before = packer.dictionary.clone();
            let _ = packer.pack(&text);
            dictionaries += u32::from(!Arc::ptr_eq(&before, &packer.dictionary));
            let other = packer.pack(&text[..SHORTEST - 1]);
            assert_eq!(other.weight(), other.length());
        }
        assert!(dictionaries <= 10, "{dictionaries}");
        let long = object(1, true).repeat(20);
        assert!(long.len() > LONGEST_DICTIONARY);
        let packed = Packer::default().pack(long.as_bytes());
        assert!(packed.weight() * 10 < long.len());
        assert_eq!(unpacked(&packed), long.as_bytes());
    }
}
