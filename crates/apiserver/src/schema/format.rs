//! The string formats that Kubernetes checks.
//!
//! In: a format's name and a string. Out: whether the string has that form. Formats that
//! Kubernetes doesn't know are accepted.

use std::net::Ipv6Addr;
use std::sync::LazyLock;

use base64::Engine;
use regex::Regex;

/// Whether a string has a format; unknown formats accept everything.
pub(crate) fn matches(format: &str, text: &str) -> bool {
    match format {
        "date-time" | "datetime" => date_time(text),
        "date" => date(text),
        "duration" => go_duration_nanoseconds(text).is_some() || long_duration(text),
        "byte" => {
            !text.is_empty()
                && base64::engine::general_purpose::STANDARD
                    .decode(text)
                    .is_ok()
        }
        "ipv4" => sloppy_ipv4(text),
        "ipv6" => text.contains(':') && text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => cidr(text),
        "mac" => MAC.is_match(text),
        "uuid" => UUID.is_match(text) && hyphens(text),
        "uuid3" => UUID.is_match(text) && version(text, b'3', false),
        "uuid4" => UUID.is_match(text) && version(text, b'4', true),
        "uuid5" => UUID.is_match(text) && version(text, b'5', true),
        "uri" => uri(text),
        "email" => EMAIL.is_match(text),
        "hostname" => hostname(text),
        "bsonobjectid" => text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit()),
        "isbn" => isbn(text, 10) || isbn(text, 13),
        "isbn10" => isbn(text, 10),
        "isbn13" => isbn(text, 13),
        "creditcard" => credit_card(text),
        "ssn" => SSN.is_match(text),
        "hexcolor" => HEX_COLOUR.is_match(text),
        "rgbcolor" => RGB_COLOUR.is_match(text),
        "k8s-short-name" => SHORT_NAME.is_match(text) && text.len() <= 63,
        "k8s-long-name" => LONG_NAME.is_match(text) && text.len() <= 253,
        _ => true,
    }
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern written here compiles")
}

static MAC: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        "^(?:[0-9a-fA-F]{2}([:-]))(?:[0-9a-fA-F]{2}[:-]){4}[0-9a-fA-F]{2}$|^(?:[0-9a-fA-F]{4}\\.){2}[0-9a-fA-F]{4}$",
    )
});
static UUID: LazyLock<Regex> = LazyLock::new(|| {
    regex("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$")
});
static EMAIL: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:[^<>]*<)?[^\s@<>]+@[^\s@<>]+>?$"));
static SSN: LazyLock<Regex> = LazyLock::new(|| regex(r"^\d{3}[- ]\d{2}[- ]\d{4}$"));
static HEX_COLOUR: LazyLock<Regex> = LazyLock::new(|| regex("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"));
static RGB_COLOUR: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$",
    )
});
static SHORT_NAME: LazyLock<Regex> = LazyLock::new(|| regex("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"));
static LONG_NAME: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"));
static HOST: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$",
    )
});

fn hyphens(text: &str) -> bool {
    text.len() == 32 || text.bytes().filter(|b| *b == b'-').count() <= 4
}

/// The version digit of a UUID, and with it the variant digit where that version asks for it.
fn version(text: &str, wanted: u8, variant: bool) -> bool {
    let digits: Vec<u8> = text.bytes().filter(|b| *b != b'-').collect();
    let version = digits.get(12).copied();
    let given = digits.get(16).map(u8::to_ascii_lowercase);
    version == Some(wanted) && (!variant || matches!(given, Some(b'8' | b'9' | b'a' | b'b')))
}

fn date_time(text: &str) -> bool {
    let Some((day, rest)) = text.split_at_checked(10) else {
        return false;
    };
    if !date(day) || !rest.starts_with(['T', 't']) {
        return false;
    }
    chrono::DateTime::parse_from_rfc3339(text).is_ok()
}

fn date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

/// An IPv4 address whose parts may have leading zeros.
fn sloppy_ipv4(text: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_digit())
            && part.trim_start_matches('0').len() <= 3
            && part.parse::<u32>().is_ok_and(|number| number < 256)
    };
    text.split('.').count() == 4 && text.split('.').all(part)
}

fn cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let limit = if sloppy_ipv4(address) {
        32
    } else if address.parse::<Ipv6Addr>().is_ok() {
        128
    } else {
        return false;
    };
    length.bytes().all(|b| b.is_ascii_digit())
        && length.parse::<u8>().is_ok_and(|length| length <= limit)
}

fn uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|b| b <= 0x20 || b == 0x7f) {
        return false;
    }
    if text.starts_with('/') {
        return true;
    }
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let valid = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    valid && !rest.contains("%%")
}

fn hostname(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 255
        && HOST.is_match(text)
        && text
            .split('.')
            .all(|label| !label.is_empty() && label.len() <= 63)
}

fn isbn(text: &str, length: usize) -> bool {
    let digits: Vec<u8> = text.bytes().filter(|b| !matches!(b, b' ' | b'-')).collect();
    if digits.len() != length {
        return false;
    }
    let value = |b: u8, last: bool| match b {
        b'0'..=b'9' => Some(u32::from(b - b'0')),
        b'X' | b'x' if last && length == 10 => Some(10),
        _ => None,
    };
    let mut sum = 0;
    for (position, digit) in digits.iter().enumerate() {
        let Some(digit) = value(*digit, position + 1 == length) else {
            return false;
        };
        let weight = match (length, position % 2) {
            (10, _) => u32::try_from(position + 1).unwrap_or(1),
            (_, 0) => 1,
            _ => 3,
        };
        sum += weight * digit;
    }
    if length == 10 {
        sum % 11 == 0
    } else {
        sum % 10 == 0
    }
}

fn credit_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    if !(13..=19).contains(&digits.len()) {
        return false;
    }
    let doubled = digits.iter().rev().enumerate().map(|(position, digit)| {
        if position % 2 == 0 {
            *digit
        } else if digit * 2 > 9 {
            digit * 2 - 9
        } else {
            digit * 2
        }
    });
    doubled.sum::<u32>() % 10 == 0
}

/// A duration such as `1h30m` in nanoseconds; `None` when it isn't one or is too long.
pub(crate) fn go_duration_nanoseconds(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(end);
        let unit_end = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        total += scaled(number, unit_nanoseconds(unit)?)?;
        rest = tail;
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

fn unit_nanoseconds(unit: &str) -> Option<i128> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

fn scaled(number: &str, unit: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let whole: i128 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let mut total = whole.checked_mul(unit)?;
    let mut scale = unit;
    for digit in fraction.chars() {
        scale /= 10;
        total += i128::from(digit.to_digit(10)?) * scale;
    }
    Some(total)
}

/// Durations in words, `3 days` or `2 weeks`, which the format also accepts.
fn long_duration(text: &str) -> bool {
    static LONG: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"^(\d+\s*(ns|nanos?|nanoseconds?|us|µs|micros?|microseconds?|ms|millis?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)\s*)+$",
        )
    });
    LONG.is_match(text)
}
