//! The objects of one instance: shelves by resource, and the feed that its own loops live on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard};

use tokio::sync::{mpsc, watch};

use super::shelf::{Event, Expired, Place, Shelf};
use super::{Key, Record};

/// The watch logs of a space keep at most as many bytes alive as its objects take, within these
/// bounds; ours, because a watch that lags further lists faster than it replays. Texts are packed:
/// the most is some thousands of changes.
const LEAST_LOG_BYTES: usize = 512 * 1024;
const MOST_LOG_BYTES: usize = 4 * 1024 * 1024;

/// A committed change and the shelf it happened on.
pub(crate) type Changed = (Arc<str>, Arc<Event>);

/// One isolated set of objects.
pub(crate) struct Space {
    name: Arc<str>,
    inner: RwLock<Contents>,
    feed: Mutex<Option<mpsc::UnboundedSender<Changed>>>,
}

#[derive(Debug)]
struct Contents {
    /// The newest revision that readers of this space see.
    revision: u64,
    /// Shelves made from now on start with a log that reaches back to here.
    floor: u64,
    shelves: BTreeMap<Arc<str>, Shelf>,
    /// Bytes of the texts of all objects.
    live_bytes: usize,
    /// Bytes that only the watch logs keep alive.
    log_bytes: usize,
}

impl Contents {
    /// Applies a change, and drops the oldest changes of the longest logs when all logs together
    /// grow too large.
    fn apply(&mut self, shelf: &Arc<str>, event: Arc<Event>) {
        self.revision = event.revision;
        let floor = self.floor;
        let shelves = &mut self.shelves;
        let entry = shelves
            .entry(shelf.clone())
            .or_insert_with(|| Shelf::new(floor));
        let (before, live_before) = (entry.log_bytes(), entry.live_bytes());
        entry.apply(event);
        self.log_bytes = self.log_bytes + entry.log_bytes() - before;
        self.live_bytes = self.live_bytes + entry.live_bytes() - live_before;
        let most = self.live_bytes.clamp(LEAST_LOG_BYTES, MOST_LOG_BYTES);
        while self.log_bytes > most {
            let longest = shelves.values_mut().max_by_key(|shelf| shelf.log_bytes());
            let Some(longest) = longest else { break };
            let before = longest.log_bytes();
            longest.forget_oldest();
            self.log_bytes = self.log_bytes + longest.log_bytes() - before;
        }
    }
}

/// What a list returns: objects in key order, and the revision they are of.
pub(crate) struct Snapshot {
    pub(crate) revision: u64,
    pub(crate) records: Vec<(Place, Arc<Record>)>,
}

/// A place in the log of one shelf, from which events are read.
#[derive(Debug)]
pub(crate) struct Cursor {
    pub(crate) position: u64,
    pub(crate) wake: watch::Receiver<u64>,
}

impl Space {
    pub(crate) fn new(name: &str, revision: u64) -> Self {
        let contents = Contents {
            revision,
            floor: revision,
            shelves: BTreeMap::new(),
            live_bytes: 0,
            log_bytes: 0,
        };
        Self {
            name: name.into(),
            inner: RwLock::new(contents),
            feed: Mutex::new(None),
        }
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn read(&self) -> RwLockReadGuard<'_, Contents> {
        self.inner.read().expect("no holder of this lock panics")
    }

    /// Puts an object that was read from disk; no event.
    pub(crate) fn load(&self, key: &Key, record: Record) {
        let mut inner = self.inner.write().expect("no holder of this lock panics");
        let floor = inner.floor;
        let shelf = inner
            .shelves
            .entry(key.shelf.clone())
            .or_insert_with(|| Shelf::new(floor));
        let length = record.weight();
        shelf.load((key.namespace.clone(), key.name.clone()), Arc::new(record));
        inner.live_bytes += length;
    }

    /// Makes a committed change visible.
    pub(crate) fn apply(&self, shelf: &Arc<str>, event: Arc<Event>) {
        {
            let mut inner = self.inner.write().expect("no holder of this lock panics");
            inner.apply(shelf, event.clone());
        }
        let mut feed = self.feed.lock().expect("no holder of this lock panics");
        if feed
            .as_ref()
            .is_some_and(|sender| sender.send((shelf.clone(), event)).is_err())
        {
            *feed = None;
        }
    }

    /// Every change of this space from now on; a later call replaces the earlier one.
    pub(crate) fn feed(&self) -> mpsc::UnboundedReceiver<Changed> {
        let (sender, receiver) = mpsc::unbounded_channel();
        *self.feed.lock().expect("no holder of this lock panics") = Some(sender);
        receiver
    }

    /// The newest revision that readers see.
    pub(crate) fn revision(&self) -> u64 {
        self.read().revision
    }

    /// One object as readers see it.
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Record>> {
        let inner = self.read();
        let place = (key.namespace.clone(), key.name.clone());
        inner
            .shelves
            .get(&key.shelf)
            .and_then(|shelf| shelf.get(&place))
            .cloned()
    }

    /// All objects of a shelf, of one namespace or of all.
    pub(crate) fn list(&self, shelf: &str, namespace: Option<&str>) -> Snapshot {
        let inner = self.read();
        let records = inner
            .shelves
            .get(shelf)
            .map(|s| s.list(namespace))
            .unwrap_or_default();
        Snapshot {
            revision: inner.revision,
            records,
        }
    }

    /// Objects of a shelf among which are all that carry these labels: what a list looks at.
    pub(crate) fn list_labeled(
        &self,
        shelf: &Arc<str>,
        namespace: Option<&str>,
        labels: &[(&str, &str)],
    ) -> Snapshot {
        let snapshot = |inner: &Contents, shelf: Option<&Shelf>| Snapshot {
            revision: inner.revision,
            records: shelf
                .map(|shelf| shelf.list_labeled(namespace, labels))
                .unwrap_or_default(),
        };
        {
            let inner = self.read();
            let shelf = inner.shelves.get(shelf);
            if shelf.is_none_or(|shelf| shelf.knows(labels)) {
                return snapshot(&inner, shelf);
            }
        }
        let mut inner = self.inner.write().expect("no holder of this lock panics");
        if let Some(shelf) = inner.shelves.get_mut(shelf) {
            shelf.learn(labels);
        }
        snapshot(&inner, inner.shelves.get(shelf))
    }

    /// The objects of a shelf as they were at `revision`.
    pub(crate) fn list_at(
        &self,
        shelf: &str,
        namespace: Option<&str>,
        revision: u64,
    ) -> Result<Snapshot, Expired> {
        let inner = self.read();
        let records = match inner.shelves.get(shelf) {
            Some(shelf) => shelf.list_at(namespace, revision)?,
            None => Vec::new(),
        };
        Ok(Snapshot { revision, records })
    }

    /// Every object of every shelf.
    pub(crate) fn all(&self) -> Vec<(Arc<str>, Key, Arc<Record>)> {
        let inner = self.read();
        let of_shelf = |(shelf, contents): (&Arc<str>, &Shelf)| {
            let (space, shelf) = (self.name.clone(), shelf.clone());
            let records = contents.list(None).into_iter();
            records.map(move |((namespace, name), record)| {
                let key = Key {
                    shelf: shelf.clone(),
                    namespace,
                    name,
                };
                (space.clone(), key, record)
            })
        };
        inner.shelves.iter().flat_map(of_shelf).collect()
    }

    /// How many objects a shelf holds.
    pub(crate) fn count(&self, shelf: &str) -> usize {
        self.read().shelves.get(shelf).map_or(0, Shelf::len)
    }

    /// The names of the shelves that were ever used.
    pub(crate) fn shelf_names(&self) -> Vec<Arc<str>> {
        self.read().shelves.keys().cloned().collect()
    }

    /// A cursor behind the changes up to `revision`.
    pub(crate) fn cursor(&self, shelf: &Arc<str>, revision: u64) -> Result<Cursor, Expired> {
        let mut inner = self.inner.write().expect("no holder of this lock panics");
        let floor = inner.floor;
        let shelf = inner
            .shelves
            .entry(shelf.clone())
            .or_insert_with(|| Shelf::new(floor));
        Ok(Cursor {
            position: shelf.position_after(revision)?,
            wake: shelf.wake(),
        })
    }

    /// The current objects and a cursor behind them, taken at one moment.
    pub(crate) fn list_and_cursor(
        &self,
        shelf: &Arc<str>,
        namespace: Option<&str>,
    ) -> (Snapshot, Cursor) {
        let mut inner = self.inner.write().expect("no holder of this lock panics");
        let (floor, revision) = (inner.floor, inner.revision);
        let shelf = inner
            .shelves
            .entry(shelf.clone())
            .or_insert_with(|| Shelf::new(floor));
        let snapshot = Snapshot {
            revision,
            records: shelf.list(namespace),
        };
        let position = shelf
            .position_after(revision)
            .expect("the newest revision is in the log");
        (
            snapshot,
            Cursor {
                position,
                wake: shelf.wake(),
            },
        )
    }

    /// The events behind a cursor, which moves past them; and the revision they reach.
    pub(crate) fn events(
        &self,
        shelf: &str,
        cursor: &mut Cursor,
    ) -> Result<(Vec<Arc<Event>>, u64), Expired> {
        let inner = self.read();
        let Some(shelf) = inner.shelves.get(shelf) else {
            return Ok((Vec::new(), inner.revision));
        };
        cursor.wake.mark_unchanged();
        let (events, next) = shelf.events_from(cursor.position)?;
        cursor.position = next;
        Ok((events, inner.revision))
    }
}

#[cfg(test)]
mod tests {
    use super::super::shelf::Change;
    use super::*;
    use serde_json::json;

    /// An update of one object among `names`, of about 4 KiB.
    fn update(space: &Space, shelf: &Arc<str>, names: u64, revision: u64) {
        let name = format!("o-{}", revision % names);
        let key = Key {
            shelf: shelf.clone(),
            namespace: String::new(),
            name: name.clone(),
        };
        let object = json!({"metadata": {"name": name}, "data": "x".repeat(4096)});
        let before = space.get(&key);
        let change = before.as_ref().map_or(Change::Created, |_| Change::Updated);
        let event = Event {
            revision,
            change,
            namespace: "".into(),
            name: name.into(),
            record: Arc::new(Record::new(object, revision)),
            before,
        };
        space.apply(shelf, Arc::new(event));
    }

    /// Bytes of every state that is alive because of the logs, found by walking them.
    fn kept_alive(space: &Space) -> usize {
        let inner = space.read();
        let replaced = |event: &Arc<Event>| event.before.as_ref().map_or(0, |r| r.weight());
        let of_shelf = |shelf: &Shelf| {
            let (events, _) = shelf.events_from(shelf.oldest()).expect("its own start");
            events.iter().map(replaced).sum::<usize>()
        };
        inner.shelves.values().map(of_shelf).sum()
    }

    #[test]
    fn the_logs_of_all_shelves_together_are_bounded_in_bytes() {
        // Objects of each of ten shelves, and the bound that follows from them.
        for (objects, most) in [
            (1_000, MOST_LOG_BYTES),
            (100, 100 * 10 * 4096),
            (1, LEAST_LOG_BYTES),
        ] {
            let space = Space::new("", 0);
            let shelves: Vec<Arc<str>> = (0..10).map(|n| format!("shelf-{n}").into()).collect();
            for revision in 1..=20_000 {
                let shelf = &shelves[usize::try_from(revision % 10).unwrap()];
                update(&space, shelf, 10 * objects, revision);
            }
            let kept = kept_alive(&space);
            // The texts are a little longer than the data in them.
            assert!(kept <= most + most / 10, "{kept} of {most}");
            assert!(
                kept > most / 2,
                "{kept} of {most}: the logs reach back as far as they may"
            );
            let newest = space.revision();
            assert!(space.cursor(&shelves[0], newest - 100).is_ok());
            let expired = space.cursor(&shelves[0], 1).unwrap_err();
            assert!(space.cursor(&shelves[0], expired.oldest).is_ok());
        }
    }

    #[test]
    fn the_weight_of_the_objects_is_known_whatever_happens_to_them() {
        let space = Space::new("", 0);
        let shelf: Arc<str> = "shelf".into();
        let loaded = Record::new(json!({"metadata": {"name": "loaded"}}), 1);
        let key = Key {
            shelf: shelf.clone(),
            namespace: String::new(),
            name: "loaded".into(),
        };
        space.load(&key, loaded);
        for revision in 2..=50 {
            update(&space, &shelf, 7, revision);
        }
        let gone = space.get(&key).unwrap();
        let event = Event {
            revision: 51,
            change: Change::Deleted,
            namespace: "".into(),
            name: "loaded".into(),
            record: Arc::new(Record::new(gone.value(), 51)),
            before: Some(gone),
        };
        space.apply(&shelf, Arc::new(event));
        let all = space.list(&shelf, None).records;
        assert_eq!(all.len(), 7);
        let weight: usize = all.iter().map(|(_, record)| record.weight()).sum();
        assert_eq!(space.read().live_bytes, weight);
    }

    #[test]
    fn objects_that_are_only_made_weigh_next_to_nothing_in_the_log() {
        let space = Space::new("", 0);
        let shelf: Arc<str> = "shelf".into();
        for revision in 1..=8_000 {
            update(&space, &shelf, 8_000, revision);
        }
        assert!(space.cursor(&shelf, 0).is_ok(), "no change was dropped");
    }
}
