//! What a candidate saw of leases, and when that was new.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    pin::Pin,
    time::Duration,
};

use futures::{Stream, StreamExt};
use kube::{
    Api,
    api::DynamicObject,
    runtime::{WatchStreamExt, watcher::watch_object},
};
use serde_json::Value;
use tokio::time::Instant;

/// What a candidate last saw of a lease, and when that was new.
#[derive(Default)]
pub(super) struct Seen(Option<(Value, Instant)>);

impl Seen {
    /// Sees it; whether someone else still holds it.
    pub(super) fn is_held(&mut self, spec: &Value, identity: &str, now: Instant) -> bool {
        if !matches!(&self.0, Some((seen, _)) if seen == spec) {
            self.0 = Some((spec.clone(), now));
        }
        self.over(identity).is_some_and(|over| now < over)
    }

    /// When the lease is over, if nothing new is seen and someone else holds it.
    pub(super) fn over(&self, identity: &str) -> Option<Instant> {
        let (spec, since) = self.0.as_ref()?;
        let holder = spec["holderIdentity"].as_str().unwrap_or_default();
        let seconds = spec["leaseDurationSeconds"].as_u64().unwrap_or_default();
        (!holder.is_empty() && holder != identity).then(|| *since + Duration::from_secs(seconds))
    }
}

/// What a candidate saw of the leases of other shares.
#[derive(Default)]
pub(super) struct Others {
    /// By name.
    pub(super) seen: HashMap<String, Seen>,
    /// How often this process gave way to another that acquired a lease at the same time.
    pub(super) collisions: u32,
}

impl Others {
    /// Those that collided try again at different times.
    pub(super) fn jitter(&self, identity: &str, at_most: Duration) -> Duration {
        if self.collisions == 0 {
            return Duration::ZERO;
        }
        let mut hasher = DefaultHasher::new();
        (identity, self.collisions).hash(&mut hasher);
        let part = u32::try_from(hasher.finish() % 100).unwrap_or_default();
        at_most * part / 100
    }
}

/// A watch of one lease. It begins when it is first asked, and again by itself after it broke.
pub(super) struct Changes {
    stream: Pin<Box<dyn Stream<Item = Result<Option<DynamicObject>, String>> + Send>>,
    /// Whether the last that was heard is a failure, which is told once.
    is_broken: bool,
}

impl Changes {
    pub(super) fn of(leases: Api<DynamicObject>, name: &str) -> Self {
        let stream = watch_object(leases, name).default_backoff();
        Self {
            stream: Box::pin(stream.map(|heard| heard.map_err(|error| error.to_string()))),
            is_broken: false,
        }
    }

    /// The `spec` of the lease after its next change; never ready while the watch is broken.
    pub(super) async fn next(&mut self) -> Value {
        loop {
            match self.stream.next().await {
                Some(Ok(Some(lease))) => {
                    self.is_broken = false;
                    return lease.data.get("spec").cloned().unwrap_or_default();
                }
                // Whoever held a lease that was deleted makes it again while it lives.
                Some(Ok(None)) => self.is_broken = false,
                Some(Err(error)) => {
                    if !std::mem::replace(&mut self.is_broken, true) {
                        tracing::warn!(error, "the lease cannot be watched; it is polled instead");
                    }
                }
                None => std::future::pending().await,
            }
        }
    }
}
