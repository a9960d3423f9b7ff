//! Watch a collection: every change once, in order, filtered so that an object that enters or
//! leaves a selection is ADDED or DELETED.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::Response;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::answer;
use super::call::Call;
use super::list::{Filter, check_watch, unreadable};
use crate::conversion::{self, Text};
use crate::request::accept::{Form, Wish};
use crate::status_error::{Failure, Outcome};
use crate::store::{Change, Cursor, Event, Record};

/// A watch without `timeoutSeconds` ends after this: the lower bound of a genuine server.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(30);
/// The longest watch.
const MAX_TIMEOUT: Duration = Duration::from_hours(24);
/// How often a quiet watch says which revision it has seen: the period of a genuine server.
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);

/// Answers with the stream of changes.
pub(crate) async fn watch(call: &Call) -> Outcome<Response<Body>> {
    check_watch(&call.options)?;
    let filter = Filter::of(call)?;
    let timeout = call.options.timeout_seconds.filter(|seconds| *seconds > 0);
    let timeout = timeout
        .map_or(DEFAULT_TIMEOUT, Duration::from_secs)
        .min(MAX_TIMEOUT);
    let now = Instant::now();
    let kinds = call.instance.kinds_changed();
    let start = begin(call, &filter).await?;
    let watcher = Watcher {
        encoder: Encoder::new(call),
        instance: call.instance.clone(),
        shelf: call.served.kind.shelf.clone(),
        filter,
        kinds,
        cursor: start.cursor,
        ready: start.initial,
        bookmarks: call.options.bookmarks,
        revision: start.revision,
        deadline: now + timeout,
        next_bookmark: now + BOOKMARK_EVERY,
        ended: start.ended,
    };
    let chunks = futures::stream::unfold(watcher, |mut watcher| async move {
        let chunk = watcher.next().await?;
        Some((Ok::<_, Infallible>(chunk), watcher))
    });
    Ok(answer::stream(chunks))
}

struct Start {
    cursor: Option<Cursor>,
    initial: VecDeque<Bytes>,
    revision: u64,
    ended: bool,
}

/// Finds where the watch starts, and what it says first.
async fn begin(call: &Call, filter: &Filter) -> Outcome<Start> {
    let (space, shelf) = (call.instance.space(), &call.served.kind.shelf);
    let asked = match call.options.resource_version.as_str() {
        "" => 0,
        text => text.parse().map_err(|_| unreadable(text))?,
    };
    let initial_events = call.options.send_initial_events.unwrap_or(asked == 0);
    let mut initial = VecDeque::new();
    if initial_events {
        let namespace = call.target.namespace.as_deref();
        let (snapshot, cursor) = space.list_and_cursor(shelf, namespace);
        let mut encoder = Encoder::new(call);
        let (places, records): (Vec<_>, Vec<_>) = snapshot.records.into_iter().unzip();
        let records = conversion::records(&call.instance, &call.served, records).await?;
        for ((namespace, name), record) in places.iter().zip(&records) {
            if filter.accepts(namespace, name, record) {
                initial.push_back(encoder.event("ADDED", record));
            }
        }
        if call.options.send_initial_events == Some(true) && call.options.bookmarks {
            initial.push_back(encoder.bookmark(snapshot.revision, true));
        }
        let revision = snapshot.revision;
        return Ok(Start {
            cursor: Some(cursor),
            initial,
            revision,
            ended: false,
        });
    }
    let from = if asked == 0 { space.revision() } else { asked };
    match space.cursor(shelf, from) {
        Ok(cursor) => Ok(Start {
            cursor: Some(cursor),
            initial,
            revision: from,
            ended: false,
        }),
        Err(expired) => {
            initial.push_back(error_event(&Failure::too_old(asked, expired.oldest)));
            Ok(Start {
                cursor: None,
                initial,
                revision: from,
                ended: true,
            })
        }
    }
}

struct Watcher {
    encoder: Encoder,
    instance: crate::Instance,
    shelf: Arc<str>,
    filter: Filter,
    /// Wakes when a definition changes.
    kinds: tokio::sync::watch::Receiver<u64>,
    cursor: Option<Cursor>,
    ready: VecDeque<Bytes>,
    bookmarks: bool,
    revision: u64,
    deadline: Instant,
    next_bookmark: Instant,
    ended: bool,
}

impl Watcher {
    /// The next chunk: all events that are ready, or a bookmark; `None` ends the stream.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if !self.ready.is_empty() {
                return Some(join(&mut self.ready));
            }
            if self.ended {
                return None;
            }
            // Read before waiting: the log may already be ahead of the cursor.
            self.read().await;
            if self.ready.is_empty() && !self.ended {
                self.wait().await;
            }
        }
    }

    /// Takes over what the log has behind the cursor.
    async fn read(&mut self) {
        let Some(cursor) = &mut self.cursor else {
            return;
        };
        let read = match self.instance.space().events(&self.shelf, cursor) {
            Ok((events, revision)) => self
                .converted(events)
                .await
                .map(|events| (events, revision)),
            Err(expired) => Err(Failure::too_old(self.revision, expired.oldest)),
        };
        match read {
            Ok((events, revision)) => {
                for event in events {
                    if let Some(chunk) = self.encoder.change(&event, &self.filter) {
                        self.ready.push_back(chunk);
                    }
                }
                self.revision = self.revision.max(revision);
            }
            Err(failure) => {
                self.ready.push_back(error_event(&failure));
                self.ended = true;
            }
        }
    }

    /// Events with their objects at the version of this watch, all in one review.
    async fn converted(&self, events: Vec<Arc<Event>>) -> Outcome<Vec<Arc<Event>>> {
        let served = &self.encoder.served;
        if served.kind.conversion.is_none() || events.is_empty() {
            return Ok(events);
        }
        // Without a selection it does not matter what an object was before.
        let selects = !self.filter.is_empty();
        let before = |event: &Event| event.before.clone().filter(|_| selects);
        let records = events
            .iter()
            .flat_map(|event| [Some(event.record.clone()), before(event)])
            .flatten();
        let records = conversion::records(&self.instance, served, records.collect()).await?;
        let mut records = records.into_iter();
        let turned = events.iter().map(|event| {
            let record = records.next().unwrap_or_else(|| event.record.clone());
            let shown = before(event).and_then(|_| records.next());
            Arc::new(Event {
                record,
                before: shown.or_else(|| event.before.clone()),
                ..Event::clone(event)
            })
        });
        Ok(turned.collect())
    }

    /// Goes on with the kind as it is now; ends when the version is no longer served.
    fn follow_kind(&mut self) {
        let served = &self.encoder.served;
        let (kind, version) = (&served.kind, &served.version().name);
        let found = self
            .instance
            .registry()
            .at(&kind.group, version, &kind.plural);
        match found {
            Some(found) => {
                self.filter.serve(&found);
                self.encoder.served = found;
            }
            None => self.ended = true,
        }
    }

    /// Waits for a change, a bookmark's time or the end.
    async fn wait(&mut self) {
        let Some(cursor) = &mut self.cursor else {
            return;
        };
        let bookmark = if self.bookmarks {
            self.next_bookmark
        } else {
            self.deadline
        };
        tokio::select! {
            biased;
            changed = cursor.wake.changed() => self.ended = changed.is_err(),
            changed = self.kinds.changed() => match changed {
                Ok(()) => self.follow_kind(),
                Err(_) => self.ended = true,
            },
            () = sleep_until(bookmark.min(self.deadline)) => {
                let now = Instant::now();
                if self.bookmarks && now >= self.next_bookmark {
                    self.next_bookmark = now + BOOKMARK_EVERY;
                    self.ready.push_back(self.encoder.bookmark(self.revision, false));
                }
                self.ended = now >= self.deadline;
            }
        }
    }
}

fn join(ready: &mut VecDeque<Bytes>) -> Bytes {
    if ready.len() == 1 {
        return ready.pop_front().unwrap_or_default();
    }
    let size = ready.iter().map(Bytes::len).sum();
    let mut text = Vec::with_capacity(size);
    for chunk in ready.drain(..) {
        text.extend_from_slice(&chunk);
    }
    text.into()
}

/// Writes events in the wished form.
struct Encoder {
    served: crate::registry::Served,
    wish: Wish,
    /// What a table needs of the call.
    columns: ColumnsOnce,
    include: String,
    instance: crate::Instance,
}

/// Tables name their columns in the first event only.
enum ColumnsOnce {
    Due,
    Sent,
}

impl Encoder {
    fn new(call: &Call) -> Self {
        Self {
            served: call.served.clone(),
            wish: call.wish,
            columns: ColumnsOnce::Due,
            include: call.options.include_object.clone(),
            instance: call.instance.clone(),
        }
    }

    /// The event of one change as this watch sees it, if it sees it at all.
    fn change(&mut self, event: &Event, filter: &Filter) -> Option<Bytes> {
        let accepts = |record: &Arc<Record>| filter.accepts(&event.namespace, &event.name, record);
        let before = event.before.as_ref().is_some_and(accepts);
        let now = event.change != Change::Deleted && accepts(&event.record);
        match (before, now) {
            (false, true) => Some(self.event("ADDED", &event.record)),
            (true, true) => Some(self.event("MODIFIED", &event.record)),
            (true, false) => Some(self.event("DELETED", &Self::last_seen(event))),
            (false, false) => None,
        }
    }

    /// What a watch says of an object that left its selection: its last selected state, stamped
    /// with the revision of the change.
    fn last_seen(event: &Event) -> Arc<Record> {
        match (&event.before, event.change) {
            (Some(before), Change::Updated) => {
                Arc::new(Record::new(before.value(), event.revision))
            }
            _ => event.record.clone(),
        }
    }

    fn event(&mut self, kind: &str, record: &Arc<Record>) -> Bytes {
        if self.wish.form == Form::Object {
            let object = Text::of(record, &self.served);
            let mut text = Vec::with_capacity(object.len() + 32);
            text.extend_from_slice(b"{\"type\":\"");
            text.extend_from_slice(kind.as_bytes());
            text.extend_from_slice(b"\",\"object\":");
            object.append_to(&mut text);
            text.extend_from_slice(b"}\n");
            return text.into();
        }
        let object = conversion::value(record, &self.served);
        let shown = if self.wish.form == Form::Table {
            self.table(&object, record.revision)
        } else {
            answer::metadata(&object, self.wish.version)
        };
        line(&json!({"type": kind, "object": shown}))
    }

    fn table(&mut self, object: &Value, revision: u64) -> Value {
        let columns = &self.served.version().columns;
        let now = self.instance.now();
        let include = answer::include(&self.include);
        let mut table = crate::table::render(columns, std::slice::from_ref(object), include, now);
        table["metadata"]["resourceVersion"] = revision.to_string().into();
        answer::set_version(&mut table, self.wish.version);
        if matches!(self.columns, ColumnsOnce::Sent) {
            table["columnDefinitions"] = Value::Null;
        }
        self.columns = ColumnsOnce::Sent;
        table
    }

    fn bookmark(&mut self, revision: u64, initial_end: bool) -> Bytes {
        let mut object = json!({
            "kind": self.served.kind.kind, "apiVersion": self.served.api_version(),
            "metadata": {"resourceVersion": revision.to_string()},
        });
        if self.wish.form == Form::Metadata {
            object["kind"] = "PartialObjectMetadata".into();
            object["apiVersion"] = self.wish.version.into();
        }
        if initial_end {
            object["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        if self.wish.form == Form::Table {
            object = self.table(&object, revision);
            // Nothing has a name, but not the lack of one.
            object["rows"][0]["cells"][0] = "".into();
        }
        line(&json!({"type": "BOOKMARK", "object": object}))
    }
}

fn error_event(failure: &Failure) -> Bytes {
    line(&json!({"type": "ERROR", "object": failure.status()}))
}

fn line(value: &Value) -> Bytes {
    let mut text = serde_json::to_vec(value).expect("a JSON value always serialises");
    text.push(b'\n');
    text.into()
}
