//! Tag sets and their merge order (Azure document 3.2).

use std::collections::BTreeMap;

use super::limits;
use crate::pool::payload::sha256_hex;

/// Name of the installation tag, on the set alone.
pub const INSTALLATION: &str = "remuda.dev_installation";

/// Prefixes that no user tag may have, in lower case.
pub const RESERVED: [&str; 2] = ["captf.io_", "captf.io/"];

/// Characters Azure forbids in a tag name.
pub const FORBIDDEN: [char; 7] = ['<', '>', '%', '&', '\\', '?', '/'];

/// Every tag set of one pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagSets {
    /// The autoscale setting.
    pub base: BTreeMap<String, String>,
    /// The scale set: the base set and, where there is room, the installation id.
    pub set: BTreeMap<String, String>,
}

/// Merges user tags and the contract's tags; later wins.
pub fn sets(
    additional: &BTreeMap<String, String>,
    captf: &BTreeMap<String, String>,
    installation: &str,
) -> TagSets {
    let mut base = additional.clone();
    base.extend(mapped(captf));
    let mut set = base.clone();
    set.retain(|name, _| !name.eq_ignore_ascii_case(INSTALLATION));
    if set.len() < limits::TAGS {
        set.insert(INSTALLATION.to_owned(), installation.to_owned());
    }
    TagSets { base, set }
}

/// The contract's tags as Azure takes them.
pub fn mapped(captf: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    captf
        .iter()
        .map(|(key, value)| (key.replace('/', "_"), fitted(value)))
        .collect()
}

/// A value within Azure's limit: a longer one is cut and carries its digest.
fn fitted(value: &str) -> String {
    if value.chars().count() <= limits::TAG_VALUE_CHARS {
        return value.to_owned();
    }
    let kept: String = value.chars().take(limits::TAG_VALUE_KEPT_CHARS).collect();
    let digest: String = sha256_hex(value.as_bytes())
        .chars()
        .take(limits::TAG_DIGEST_CHARS)
        .collect();
    format!("{kept}-{digest}")
}

/// The value of a tag; Azure's tag names ignore case.
pub fn found<'a>(tags: &'a BTreeMap<String, String>, name: &str) -> Option<&'a str> {
    tags.iter()
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_str())
}
