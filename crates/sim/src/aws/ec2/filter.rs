//! `Filter.n.Name` and `Filter.n.Value.m`: values of one filter are alternatives, filters add up,
//! `*` stands for any run of characters and `?` for zero or one, as EC2's documentation says.

use std::collections::HashSet;

use crate::aws::protocol::{AwsError, Params};

/// Values EC2 takes in one filter.
const MOST_VALUES: usize = 200;

/// One filter. Its values are kept apart by what they cost: two hundred names against a thousand
/// instances must not be two hundred thousand comparisons.
#[derive(Debug)]
pub(crate) struct Filter<'a> {
    pub(crate) name: &'a str,
    exact: HashSet<&'a str>,
    patterns: Vec<&'a str>,
}

impl<'a> Filter<'a> {
    /// The filters of a request; a name outside `known` is refused unless it filters by tag.
    pub(crate) fn all(params: &'a Params, known: &[&str]) -> Result<Vec<Self>, AwsError> {
        let mut filters = Vec::new();
        for node in params.list("Filter") {
            let name = node.required("Name")?;
            if !known.contains(&name) && !name.starts_with("tag:") {
                return Err(AwsError::invalid_value(format!(
                    "The filter '{name}' is invalid"
                )));
            }
            let values = node.texts("Value");
            if values.is_empty() {
                return Err(AwsError::new(
                    "InvalidParameterValue",
                    format!("The filter '{name}' is missing values"),
                ));
            }
            if values.len() > MOST_VALUES {
                return Err(AwsError::new(
                    "FilterLimitExceeded",
                    format!(
                        "The maximum number of filter values specified on a single call is \
                         {MOST_VALUES}"
                    ),
                ));
            }
            let (patterns, exact): (Vec<&str>, Vec<&str>) =
                values.into_iter().partition(|value| is_pattern(value));
            let exact = exact.into_iter().collect();
            filters.push(Self {
                name,
                exact,
                patterns,
            });
        }
        Ok(filters)
    }

    /// Whether some value of the filter matches `text`.
    pub(crate) fn accepts(&self, text: &str) -> bool {
        self.exact.contains(text) || self.patterns.iter().any(|pattern| matches(pattern, text))
    }

    /// The values, if none of them is a pattern.
    pub(crate) fn names(&self) -> Option<impl Iterator<Item = &'a str>> {
        self.patterns.is_empty().then(|| self.exact.iter().copied())
    }

    /// The tag key of a `tag:<key>` filter.
    pub(crate) fn tag_key(&self) -> Option<&str> {
        self.name.strip_prefix("tag:")
    }
}

/// Whether `text` matches an EC2 pattern; case matters.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    if !is_pattern(pattern) {
        return pattern == text;
    }
    let pattern: Vec<Piece> = pieces(pattern);
    let text: Vec<char> = text.chars().collect();
    // Reachable pattern positions after each character: at most as many as the pattern is long.
    let mut reachable = closure(&pattern, &[0]);
    for character in text {
        let stepped: Vec<usize> = reachable
            .iter()
            .filter_map(|&at| match pattern.get(at)? {
                Piece::Run => Some(at),
                Piece::AtMostOne => Some(at + 1),
                Piece::Exactly(wanted) => (*wanted == character).then_some(at + 1),
            })
            .collect();
        reachable = closure(&pattern, &stepped);
        if reachable.is_empty() {
            return false;
        }
    }
    reachable.contains(&pattern.len())
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '\\'])
}

enum Piece {
    Run,
    AtMostOne,
    Exactly(char),
}

fn pieces(pattern: &str) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        pieces.push(match character {
            '*' => Piece::Run,
            '?' => Piece::AtMostOne,
            '\\' => Piece::Exactly(characters.next().unwrap_or('\\')),
            other => Piece::Exactly(other),
        });
    }
    pieces
}

/// The positions and those reachable from them without reading a character, sorted, once each.
fn closure(pattern: &[Piece], positions: &[usize]) -> Vec<usize> {
    let mut reachable = Vec::with_capacity(positions.len() + 1);
    for &start in positions {
        let mut at = start;
        loop {
            if !reachable.contains(&at) {
                reachable.push(at);
            }
            match pattern.get(at) {
                Some(Piece::Run | Piece::AtMostOne) => at += 1,
                _ => break,
            }
        }
    }
    reachable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_mark_is_zero_or_one_character() {
        let pattern = "capa-ami-ubuntu-24.04-?1.34.1-*";
        assert!(matches(pattern, "capa-ami-ubuntu-24.04-v1.34.1-1760000000"));
        assert!(matches(pattern, "capa-ami-ubuntu-24.04-1.34.1-1760000000"));
        assert!(!matches(
            pattern,
            "capa-ami-ubuntu-24.04-vv1.34.1-1760000000"
        ));
        assert!(!matches(
            pattern,
            "capa-ami-ubuntu-24.04-v1.34.10-1760000000"
        ));
    }

    #[test]
    fn patterns_are_anchored_and_escapable() {
        assert!(matches("a*c", "abbbc") && matches("*", "") && matches("a?", "a"));
        assert!(!matches("a*c", "abbbcd") && !matches("a", "A"));
        assert!(matches("a\\*", "a*") && !matches("a\\*", "ab"));
    }

    #[test]
    fn filters_are_checked() {
        let many: Vec<String> = (1..=201)
            .map(|n| format!("Filter.1.Value.{n}=g{n}"))
            .collect();
        let params = Params::parse(format!("Filter.1.Name=tag:x&{}", many.join("&")).as_bytes());
        assert_eq!(
            Filter::all(&params, &[]).unwrap_err().code,
            "FilterLimitExceeded"
        );
        let params = Params::parse(b"Filter.1.Name=nonsense&Filter.1.Value.1=x");
        assert!(Filter::all(&params, &["image-id"]).is_err());
    }
}
