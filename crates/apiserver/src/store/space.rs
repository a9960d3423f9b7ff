//! The objects of one instance: shelves by resource, and the feed that its own loops live on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard};

use tokio::sync::{mpsc, watch};

use super::shelf::{Event, Expired, Place, Shelf};
use super::{Key, Record};

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
}

/// What a list returns: objects in key order, and the revision they are of.
pub(crate) struct Snapshot {
    pub(crate) revision: u64,
    pub(crate) records: Vec<(Place, Arc<Record>)>,
}

/// A place in the log of one shelf, from which events are read.
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
        shelf.load((key.namespace.clone(), key.name.clone()), Arc::new(record));
    }

    /// Makes a committed change visible.
    pub(crate) fn apply(&self, shelf: &Arc<str>, event: Arc<Event>) {
        {
            let mut inner = self.inner.write().expect("no holder of this lock panics");
            inner.revision = event.revision;
            let floor = inner.floor;
            let entry = inner
                .shelves
                .entry(shelf.clone())
                .or_insert_with(|| Shelf::new(floor));
            entry.apply(event.clone());
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
