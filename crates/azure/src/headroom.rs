//! How much of its limits Azure says is left (Azure document 10.5), read from every answer.

use std::{collections::BTreeMap, sync::Mutex, time::Duration};

use http::HeaderMap;
use remuda_cloud::locked;
use tokio::time::Instant;

/// Below this share of a limit, reads become rarer (Azure document 10.5).
const LOW_SHARE: i64 = 10;

/// What was said longer ago than this says nothing any more. Ours: Azure's own windows are between
/// one and five minutes long.
const HOLDS: Duration = Duration::from_mins(3);

/// ARM's own limits and how much they hold (Azure document 10.5).
const ARM: [(&str, i64); 3] = [
    ("x-ms-ratelimit-remaining-subscription-reads", 250),
    ("x-ms-ratelimit-remaining-subscription-writes", 200),
    ("x-ms-ratelimit-remaining-subscription-deletes", 200),
];

/// Policies of the resource providers: `Microsoft.Compute/GetVMScaleSet3Min;197`, several with
/// commas.
const POLICIES: &str = "x-ms-ratelimit-remaining-resource";

/// What is left of each limit.
#[derive(Debug, Default)]
pub(crate) struct Headroom {
    limits: Mutex<BTreeMap<String, Limit>>,
}

#[derive(Debug)]
struct Limit {
    left: i64,
    /// What it holds: known, or the most that was ever seen left of it.
    whole: i64,
    said_at: Instant,
}

impl Headroom {
    /// Takes note of what an answer says.
    pub(crate) fn note(&self, headers: &HeaderMap) {
        for (name, whole) in ARM {
            if let Some(left) = text(headers, name).and_then(|left| left.trim().parse().ok()) {
                self.set(name, left, whole);
            }
        }
        for part in text(headers, POLICIES).unwrap_or_default().split(',') {
            if let Some((policy, left)) = part.split_once(';')
                && let Ok(left) = left.trim().parse()
            {
                self.set(policy.trim(), left, left);
            }
        }
    }

    fn set(&self, name: &str, left: i64, whole: i64) {
        let said_at = Instant::now();
        let mut limits = locked(&self.limits);
        let limit = limits.entry(name.to_owned()).or_insert(Limit {
            left,
            whole,
            said_at,
        });
        limit.left = left;
        limit.whole = limit.whole.max(left);
        limit.said_at = said_at;
    }

    /// By how much refreshes are stretched: twice while any limit is low.
    pub(crate) fn stretch(&self) -> u32 {
        let now = Instant::now();
        let is_low = locked(&self.limits).values().any(|limit| {
            now.saturating_duration_since(limit.said_at) <= HOLDS
                && limit.left * 100 < limit.whole * LOW_SHARE
        });
        if is_low { 2 } else { 1 }
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(headroom: &Headroom, name: &'static str, value: &'static str) -> u32 {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().expect("a header value"));
        headroom.note(&headers);
        headroom.stretch()
    }

    #[tokio::test(start_paused = true)]
    async fn a_low_limit_stretches_until_it_is_old_or_high_again() {
        let headroom = Headroom::default();
        let list = |left| match left {
            high if high > 100 => "Microsoft.Compute/HighCostGet3Min;1079,Microsoft.Compute/X;7",
            _ => "Microsoft.Compute/HighCostGet3Min;99",
        };
        assert_eq!(said(&headroom, POLICIES, list(1079)), 1);
        assert_eq!(said(&headroom, POLICIES, list(99)), 2);
        assert_eq!(said(&headroom, POLICIES, list(1079)), 1);
        assert_eq!(said(&headroom, ARM[0].0, "25"), 1);
        assert_eq!(said(&headroom, ARM[0].0, "24"), 2);
        tokio::time::advance(HOLDS + Duration::from_secs(1)).await;
        assert_eq!(headroom.stretch(), 1);
    }
}
