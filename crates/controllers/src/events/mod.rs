//! Events of `events.k8s.io/v1`. An event that cannot be written is logged, never an error: it must
//! not keep a reconcile from its work. An object has only so many: see `rate`.

mod rate;

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use jiff::Timestamp;
use serde_json::{Value, json};

use self::rate::Rates;
use crate::{
    clock::Clock,
    context::FIELD_MANAGER,
    kinds::Kind,
    metrics::{EventEnd, Metrics},
    objects::LiveObjects,
};

/// `reportingController` of every event.
const CONTROLLER: &str = "remuda.dev/manager";

/// `note` holds at most this many bytes (Kubernetes' own limit).
const NOTE_BYTES: usize = 1024;

/// The object an event is about.
#[derive(Debug, Clone, Copy)]
pub struct Regarding<'a> {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace; empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its UID.
    pub uid: &'a str,
}

/// An event to write.
#[derive(Debug, Clone, Copy)]
pub struct Note<'a> {
    /// `Normal` or `Warning`.
    pub severity: &'static str,
    /// Machine-readable reason.
    pub reason: &'a str,
    /// For people.
    pub note: &'a str,
}

/// Writes events.
pub struct Recorder {
    objects: LiveObjects,
    clock: Arc<dyn Clock>,
    written: AtomicU64,
    rates: Mutex<Rates>,
    metrics: Arc<Metrics>,
}

impl Recorder {
    /// Writes through `objects`, and counts into `metrics`.
    pub fn new(objects: LiveObjects, clock: Arc<dyn Clock>, metrics: Arc<Metrics>) -> Self {
        Self {
            objects,
            clock,
            written: AtomicU64::new(0),
            rates: Mutex::default(),
            metrics,
        }
    }

    /// Counts into other metrics.
    pub(crate) fn count_into(&mut self, metrics: Arc<Metrics>) {
        self.metrics = metrics;
    }

    /// Writes one event, unless the object has had its share.
    pub async fn write(&self, regarding: Regarding<'_>, note: Note<'_>) {
        if !self.admits(&regarding) {
            tracing::debug!(
                reason = note.reason,
                note = note.note,
                "an event too many is left out"
            );
            self.metrics.event(note.severity, EventEnd::Dropped);
            return;
        }
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let event = event(regarding, note, self.clock.now(), number);
        let namespace = event_namespace(regarding.namespace);
        let kind = Kind::Event.resource();
        let result = self
            .objects
            .create(&kind, Some(namespace), &event, FIELD_MANAGER)
            .await;
        let end = match result {
            Ok(_) => EventEnd::Written,
            Err(error) => {
                tracing::warn!(%error, reason = note.reason, "an event could not be written");
                EventEnd::Failed
            }
        };
        self.metrics.event(note.severity, end);
    }

    fn admits(&self, regarding: &Regarding<'_>) -> bool {
        let object = format!(
            "{:?}/{}/{}/{}",
            regarding.kind, regarding.namespace, regarding.name, regarding.uid
        );
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        rates.admit(&object, self.clock.now())
    }
}

/// Events about cluster-scoped objects live in `default`.
fn event_namespace(namespace: &str) -> &str {
    if namespace.is_empty() {
        "default"
    } else {
        namespace
    }
}

fn event(regarding: Regarding<'_>, note: Note<'_>, now: Timestamp, number: u64) -> Value {
    let resource = regarding.kind.resource();
    let nanos = now.as_nanosecond();
    let mut about = json!({
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": regarding.name,
        "uid": regarding.uid,
    });
    if !regarding.namespace.is_empty() {
        about["namespace"] = Value::from(regarding.namespace);
    }
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {
            "name": format!("{}.{nanos:x}.{number:x}", cut(regarding.name, 200)),
            "namespace": event_namespace(regarding.namespace),
        },
        "eventTime": format!("{:.6}", Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now)),
        "type": note.severity,
        "reason": note.reason,
        "note": cut(note.note, NOTE_BYTES),
        "action": "Reconcile",
        "reportingController": CONTROLLER,
        "reportingInstance": CONTROLLER,
        "regarding": about,
    })
}

/// The longest prefix of at most `bytes` bytes.
fn cut(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
