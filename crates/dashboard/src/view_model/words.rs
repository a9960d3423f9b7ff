//! Counts and times as people say them.

use jiff::Timestamp;
use serde::Serialize;

/// A point in time, for `<time>` and for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Moment {
    /// RFC 3339.
    pub(crate) at: String,
    /// `3 min ago`.
    pub(crate) ago: String,
}

impl Moment {
    pub(crate) fn new(at: Timestamp, now: Timestamp) -> Self {
        Self {
            at: format!("{at:.0}"),
            ago: ago(at, now),
        }
    }
}

/// How long ago something was. Coarse, so that a page does not change with every second.
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(at).as_secs();
    if seconds < 60 {
        return "just now".to_owned();
    }
    format!("{} ago", span(seconds))
}

/// A length of time in its largest unit, two while it is short of three days.
pub(crate) fn span(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (3.., _, _) => format!("{days} days"),
        (1.., _, _) => format!("{days} d {} h", hours % 24),
        (0, 1.., _) => format!("{hours} h {} min", minutes % 60),
        (0, 0, 1..) => format!("{minutes} min"),
        _ => format!("{seconds} s"),
    }
}

/// `1 machine`, `3 machines`.
pub(crate) fn count(number: i64, noun: &str) -> String {
    if number == 1 {
        format!("1 {noun}")
    } else {
        format!("{number} {noun}s")
    }
}

/// `is` or `are`.
pub(crate) fn is_are(number: i64) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

/// `InstancePending` as `Instance pending`; abbreviations stay together.
pub(crate) fn spaced(reason: &str) -> String {
    let letters: Vec<char> = reason.chars().collect();
    let mut words = String::with_capacity(reason.len() + 8);
    for (index, &letter) in letters.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|i| letters.get(i));
        let after_small = before.is_some_and(|c| c.is_lowercase() || c.is_ascii_digit());
        let next_small = letters.get(index + 1).is_some_and(|c| c.is_lowercase());
        let starts = letter.is_uppercase() && index > 0 && (after_small || next_small);
        if starts {
            words.push(' ');
        }
        if letter.is_uppercase() && index > 0 && next_small {
            words.extend(letter.to_lowercase());
        } else {
            words.push(letter);
        }
    }
    words
}

/// Text that ends like a sentence.
pub(crate) fn sentence(text: &str) -> String {
    let text = text.trim();
    let mut letters = text.chars();
    let Some(first) = letters.next() else {
        return String::new();
    };
    let mut said: String = first.to_uppercase().chain(letters).collect();
    if !said.ends_with(['.', '!', '?', ':']) {
        said.push('.');
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_coarse() {
        for (seconds, said) in [
            (-5, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3_599, "59 min"),
            (3_600, "1 h 0 min"),
            (90_000, "1 d 1 h"),
            (400_000, "4 days"),
        ] {
            assert_eq!(span(seconds), said);
        }
    }

    #[test]
    fn a_time_in_the_future_is_now() {
        let now: Timestamp = "2026-10-01T08:00:00Z".parse().unwrap();
        let later: Timestamp = "2026-10-01T09:00:00Z".parse().unwrap();
        assert_eq!(ago(later, now), "just now");
        assert_eq!(ago(now, later), "1 h 0 min ago");
    }

    #[test]
    fn reasons_become_words() {
        for (reason, words) in [
            ("InstancePending", "Instance pending"),
            ("RBACReady", "RBAC ready"),
            ("ProviderIDSet", "Provider ID set"),
            ("Ready", "Ready"),
            ("", ""),
            ("lower", "lower"),
        ] {
            assert_eq!(spaced(reason), words);
        }
    }

    #[test]
    fn sentences_end() {
        assert_eq!(sentence("it waits"), "It waits.");
        assert_eq!(sentence("Really?"), "Really?");
        assert_eq!(sentence("  "), "");
    }
}
