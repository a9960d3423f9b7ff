//! Object tags as the `x-amz-tagging` header carries them.

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stays as it is: RFC 3986 unreserved characters.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// `captf.io%2Fcluster=demo&…`, keys in order, empty values included.
pub(crate) fn tagging(tags: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> = tags
        .iter()
        .map(|(key, value)| {
            format!(
                "{}={}",
                utf8_percent_encode(key, ENCODED),
                utf8_percent_encode(value, ENCODED)
            )
        })
        .collect();
    pairs.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_encoded_and_an_empty_value_stays() {
        let tags = BTreeMap::from([
            ("captf.io/cluster".to_owned(), "demo".to_owned()),
            ("captf.io/template".to_owned(), String::new()),
            ("z".to_owned(), "a b+c".to_owned()),
        ]);
        assert_eq!(
            tagging(&tags),
            "captf.io%2Fcluster=demo&captf.io%2Ftemplate=&z=a%20b%2Bc"
        );
    }
}
