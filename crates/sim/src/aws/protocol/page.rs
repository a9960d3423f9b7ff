//! Paging: a token names the last entry of the page before, so pages stay right while entries come
//! and go.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use super::AwsError;

/// The entry a page starts after.
pub(crate) fn decode(token: Option<&str>) -> Result<Option<String>, AwsError> {
    let Some(token) = token.filter(|token| !token.is_empty()) else {
        return Ok(None);
    };
    URL_SAFE_NO_PAD
        .decode(token)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .and_then(|text| text.strip_prefix("after:").map(str::to_owned))
        .map(Some)
        .ok_or_else(|| AwsError::new("InvalidNextToken", "The token is not valid."))
}

/// The token for the page after `last`.
pub(crate) fn encode(last: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("after:{last}"))
}

/// One page of `entries`, which are sorted by `key`, and the token of the next one.
pub(crate) fn cut<'a, T>(
    entries: impl IntoIterator<Item = &'a T>,
    key: impl Fn(&T) -> &str,
    token: Option<&str>,
    size: usize,
) -> Result<(Vec<&'a T>, Option<String>), AwsError> {
    let after = decode(token)?;
    let mut rest = entries
        .into_iter()
        .skip_while(|entry| after.as_deref().is_some_and(|after| key(entry) <= after));
    let page: Vec<&T> = rest.by_ref().take(size).collect();
    let next = match (rest.next(), page.last()) {
        (Some(_), Some(last)) => Some(encode(key(last))),
        _ => None,
    };
    Ok((page, next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_join_to_the_whole_even_when_an_entry_vanishes() {
        let all: Vec<String> = ["a", "b", "c", "d", "e"].map(String::from).to_vec();
        let (first, token) = cut(&all, |e| e, None, 2).unwrap();
        assert_eq!(first, [&all[0], &all[1]]);
        let shorter: Vec<String> = ["a", "c", "d", "e"].map(String::from).to_vec();
        let (second, token) = cut(&shorter, |e| e, token.as_deref(), 3).unwrap();
        assert_eq!(second, ["c", "d", "e"]);
        assert_eq!(token, None);
        assert!(cut(&all, |e: &String| e, Some("nonsense"), 2).is_err());
    }
}
