//! One shelf: the objects of one resource, and the log of their latest changes.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use tokio::sync::watch;

use super::Record;
use super::by_label::ByLabel;

/// The watch log of a shelf keeps at most this many changes; ours, because a client that lags
/// further lists faster than it replays.
const LOG_EVENTS: usize = 8_192;
/// What an event takes beside the text of the object: its names, its places in the log and in maps.
const EVENT_BYTES: usize = 256;

/// What a commit did to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Created,
    Updated,
    Deleted,
}

/// One committed change.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) revision: u64,
    pub(crate) change: Change,
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
    /// The object after the change; for a deletion its last state, stamped with the deletion.
    pub(crate) record: Arc<Record>,
    /// The object before the change.
    pub(crate) before: Option<Arc<Record>>,
}

impl Event {
    /// What the log alone keeps alive of it. Each state of an object counts once: with the event
    /// that replaces it.
    fn weight(&self) -> usize {
        let before = self.before.as_ref().map_or(0, |record| record.weight());
        let last = match self.change {
            Change::Created | Change::Updated => 0,
            Change::Deleted => self.record.weight(),
        };
        EVENT_BYTES + before + last
    }
}

/// The log no longer reaches back to the asked revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expired {
    /// The oldest revision that a watch can start from.
    pub(crate) oldest: u64,
}

/// `(namespace, name)`.
pub(crate) type Place = (String, String);

/// Objects of one resource in one space.
#[derive(Debug)]
pub(crate) struct Shelf {
    objects: BTreeMap<Place, Arc<Record>>,
    /// Bytes held for the texts of all objects.
    live_bytes: usize,
    by_label: ByLabel,
    log: VecDeque<Arc<Event>>,
    log_bytes: usize,
    /// The sequence number of the first event in the log.
    first: u64,
    /// Changes up to this revision may be missing from the log.
    floor: u64,
    wake: watch::Sender<u64>,
}

impl Shelf {
    pub(crate) fn new(floor: u64) -> Self {
        Self {
            objects: BTreeMap::new(),
            live_bytes: 0,
            by_label: ByLabel::default(),
            log: VecDeque::new(),
            log_bytes: 0,
            first: 0,
            floor,
            wake: watch::Sender::new(0),
        }
    }

    /// Puts an object that was read from disk; no event.
    pub(crate) fn load(&mut self, place: Place, record: Arc<Record>) {
        self.by_label.replace(&place, None, Some(&record));
        self.live_bytes += record.weight();
        self.objects.insert(place, record);
    }

    pub(crate) fn get(&self, place: &Place) -> Option<&Arc<Record>> {
        self.objects.get(place)
    }

    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Applies a committed change and wakes the watchers.
    pub(crate) fn apply(&mut self, event: Arc<Event>) {
        let place = (event.namespace.to_string(), event.name.to_string());
        let before = self.objects.get(&place).map(AsRef::as_ref);
        let after = (event.change != Change::Deleted).then_some(&event.record);
        self.by_label
            .replace(&place, before, after.map(AsRef::as_ref));
        let replaced = match after {
            Some(record) => self.objects.insert(place, record.clone()),
            None => self.objects.remove(&place),
        };
        self.live_bytes += after.map_or(0, |record| record.weight());
        self.live_bytes -= replaced.map_or(0, |record| record.weight());
        self.log_bytes += event.weight();
        self.log.push_back(event);
        if self.log.len() > LOG_EVENTS {
            self.forget_oldest();
        }
        self.wake.send_replace(self.next());
    }

    /// Bytes of the texts of all objects.
    pub(crate) fn live_bytes(&self) -> usize {
        self.live_bytes
    }

    /// Bytes that only the log keeps alive.
    pub(crate) fn log_bytes(&self) -> usize {
        self.log_bytes
    }

    /// Drops the oldest change from the log.
    pub(crate) fn forget_oldest(&mut self) {
        if let Some(dropped) = self.log.pop_front() {
            self.first += 1;
            self.floor = dropped.revision;
            self.log_bytes -= dropped.weight();
        }
    }

    /// The sequence number of the oldest event in the log.
    #[cfg(test)]
    pub(crate) fn oldest(&self) -> u64 {
        self.first
    }

    /// The sequence number the next event will get.
    fn next(&self) -> u64 {
        self.first + self.log.len() as u64
    }

    /// The sequence number of the first change after `revision`.
    pub(crate) fn position_after(&self, revision: u64) -> Result<u64, Expired> {
        if revision < self.floor {
            return Err(Expired { oldest: self.floor });
        }
        let at = self.log.partition_point(|event| event.revision <= revision);
        Ok(self.first + at as u64)
    }

    /// The events from `position` on, and the position after them.
    pub(crate) fn events_from(&self, position: u64) -> Result<(Vec<Arc<Event>>, u64), Expired> {
        let Some(skip) = position.checked_sub(self.first) else {
            return Err(Expired { oldest: self.floor });
        };
        let skip = usize::try_from(skip)
            .unwrap_or(usize::MAX)
            .min(self.log.len());
        Ok((self.log.range(skip..).cloned().collect(), self.next()))
    }

    /// A receiver that wakes at each change.
    pub(crate) fn wake(&self) -> watch::Receiver<u64> {
        self.wake.subscribe()
    }

    /// The objects as they are, of one namespace or of all.
    pub(crate) fn list(&self, namespace: Option<&str>) -> Vec<(Place, Arc<Record>)> {
        let all = |(place, record): (&Place, &Arc<Record>)| (place.clone(), record.clone());
        match namespace {
            None => self.objects.iter().map(all).collect(),
            Some(namespace) => {
                let from = Bound::Included((namespace.to_owned(), String::new()));
                self.objects
                    .range((from, Bound::Unbounded))
                    .take_while(|((ns, _), _)| ns == namespace)
                    .map(all)
                    .collect()
            }
        }
    }

    /// Whether [`Shelf::list_labeled`] may be asked for objects with these labels.
    pub(crate) fn knows(&self, labels: &[(&str, &str)]) -> bool {
        labels.iter().all(|(key, _)| self.by_label.is_settled(key))
    }

    /// Indexes the keys of these labels.
    pub(crate) fn learn(&mut self, labels: &[(&str, &str)]) {
        for (key, _) in labels {
            self.by_label.add_key(key, &self.objects);
        }
    }

    /// Objects among which are all that carry these labels, as few as an index tells.
    pub(crate) fn list_labeled(
        &self,
        namespace: Option<&str>,
        labels: &[(&str, &str)],
    ) -> Vec<(Place, Arc<Record>)> {
        let Some(places) = self.by_label.candidates(labels, namespace) else {
            return self.list(namespace);
        };
        let found = places
            .into_iter()
            .filter_map(|place| Some((place.clone(), self.objects.get(place)?.clone())));
        found.collect()
    }

    /// The objects as they were at `revision`: the log walked back from now.
    pub(crate) fn list_at(
        &self,
        namespace: Option<&str>,
        revision: u64,
    ) -> Result<Vec<(Place, Arc<Record>)>, Expired> {
        if revision < self.floor {
            return Err(Expired { oldest: self.floor });
        }
        let mut undone: BTreeMap<Place, Option<Arc<Record>>> = BTreeMap::new();
        for event in self
            .log
            .iter()
            .rev()
            .take_while(|event| event.revision > revision)
        {
            let place = (event.namespace.to_string(), event.name.to_string());
            undone.insert(place, event.before.clone());
        }
        let mut objects: BTreeMap<Place, Arc<Record>> = self.list(namespace).into_iter().collect();
        for (place, before) in undone {
            if namespace.is_some_and(|namespace| namespace != place.0) {
                continue;
            }
            match before {
                Some(record) => objects.insert(place, record),
                None => objects.remove(&place),
            };
        }
        Ok(objects.into_iter().collect())
    }
}
