//! Decisions on one Machine: deletion, drain, volumes, its Node, its conditions.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail loudly, as tests do"
)]

mod conditions;
mod deletion;
mod drain;
mod node_sync;
mod volumes;

use std::collections::BTreeMap;

use jiff::Timestamp;

fn at(seconds: i64) -> Timestamp {
    // 2026-10-01T08:00:00Z and some seconds.
    Timestamp::from_second(1_790_841_600 + seconds).unwrap()
}

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}
