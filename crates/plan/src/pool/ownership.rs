//! Whose a found cloud object is (captf document 6.4).
//!
//! Names alone prove nothing: two management clusters can hold equal names in one account. An object
//! is ours by its tags; one that carries another installation's id never is.

use std::collections::BTreeMap;

/// Whose an object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ownership {
    /// This pool's.
    Ours,
    /// Something else's; the tags that say so, `<absent>` where one is missing.
    Foreign(BTreeMap<String, String>),
}

const ABSENT: &str = "<absent>";

/// What tells whose an object is, in a cloud's spelling.
#[derive(Debug, Clone, Copy)]
pub struct Marks<'a> {
    /// The ownership tags of this pool.
    pub ownership: &'a BTreeMap<String, String>,
    /// Key of the installation tag.
    pub installation_key: &'a str,
    /// This pool's installation id.
    pub installation: &'a str,
}

impl Marks<'_> {
    /// Whose a group is. One that the record names may have lost tags by hand and stays ours as
    /// long as one of them still says so; one the record does not name needs all of them.
    pub fn judge<'a>(
        &self,
        found: impl Fn(&str) -> Option<&'a str>,
        is_recorded: bool,
    ) -> Ownership {
        let installation = found(self.installation_key);
        if installation.is_some_and(|id| id != self.installation) {
            return Ownership::Foreign(self.spoken(found));
        }
        let is_ours = if is_recorded {
            installation.is_some()
                || self.any_is_there(&found) && contradicts_none(self.ownership, &found)
        } else {
            equals_all(self.ownership, &found)
        };
        if is_ours {
            Ownership::Ours
        } else {
            Ownership::Foreign(self.spoken(found))
        }
    }

    fn any_is_there<'a>(&self, found: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.ownership.keys().any(|key| found(key).is_some())
    }

    fn spoken<'a>(&self, found: impl Fn(&str) -> Option<&'a str>) -> BTreeMap<String, String> {
        self.ownership
            .keys()
            .map(String::as_str)
            .chain([self.installation_key])
            .map(|key| (key.to_owned(), found(key).unwrap_or(ABSENT).to_owned()))
            .collect()
    }
}

/// Whether every ownership tag is there with its value.
pub fn equals_all<'a>(
    ownership: &BTreeMap<String, String>,
    found: impl Fn(&str) -> Option<&'a str>,
) -> bool {
    ownership
        .iter()
        .all(|(key, value)| found(key) == Some(value.as_str()))
}

/// Whether no ownership tag has another value.
pub fn contradicts_none<'a>(
    ownership: &BTreeMap<String, String>,
    found: impl Fn(&str) -> Option<&'a str>,
) -> bool {
    ownership
        .iter()
        .all(|(key, value)| found(key).is_none_or(|found| found == value))
}

/// The tags of a foreign object, for a refusal: `captf.io/name=other, captf.io/kind=<absent>`.
pub fn told(found: &BTreeMap<String, String>) -> String {
    let tags: Vec<String> = found
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    tags.join(", ")
}
