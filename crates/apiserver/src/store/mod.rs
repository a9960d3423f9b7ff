//! The store: every object of every instance, served from memory, durable when given a folder.
//!
//! In: compare-and-swap commits of one object each. Out: snapshots, lists and watch events.
//!
//! Invariants:
//! * revisions grow by one a commit, across all instances, and never repeat after a restart;
//! * readers see a commit only once it is durable, and a commit is acknowledged only once readers
//!   see it; writers compare against the newest commit, durable or not;
//! * in memory mode nothing blocks and no thread is started, so that virtual time can be paused.

mod backup;
mod by_label;
mod disk;
mod error;
mod file;
mod folder;
mod hold;
mod labels;
mod layout;
mod mark;
mod packed;
mod record;
mod restore;
mod seal;
mod shelf;
mod space;
mod writer;

pub(crate) use disk::{Settings, Stored};
pub(crate) use record::{Head, Record};
pub(crate) use restore::{backup_of, restore};
pub(crate) use shelf::{Change, Event, Place};
pub(crate) use space::{Changed, Cursor, Snapshot, Space};
pub(crate) use writer::{CommitError, Expect};

pub use backup::Backup;
pub use error::StoreError;
pub use restore::{BackupSummary, verify_backup};

use std::collections::HashMap;
use std::sync::{Arc, Mutex, RwLock};

use backup::Everything;
use layout::Codec;
use writer::Writer;

/// Where one object lives inside an instance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    /// The shelf: `pods`, or `widgets.example.com`.
    pub(crate) shelf: Arc<str>,
    /// Empty for cluster-scoped objects.
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// All spaces of one server.
pub(crate) struct Store {
    writer: Arc<Writer>,
    spaces: RwLock<HashMap<String, Arc<Space>>>,
    making: Mutex<()>,
    /// How backups are written; none in memory.
    codec: Option<Arc<Codec>>,
}

impl Store {
    /// A store that lives as long as the process.
    pub(crate) fn in_memory() -> Self {
        Self::with(Writer::in_memory(), HashMap::new(), None)
    }

    /// Opens the store in a folder, or makes it there.
    pub(crate) fn open(settings: &Settings) -> Result<Self, StoreError> {
        let (disk, loaded) = disk::Disk::open(settings)?;
        let codec = disk.codec();
        let writer = Writer::on_disk(disk, loaded.revision, loaded.packers);
        let mut spaces: HashMap<String, Arc<Space>> = HashMap::new();
        for (space, key, record) in loaded.records {
            let space = spaces
                .entry(space.clone())
                .or_insert_with(|| Arc::new(Space::new(&space, loaded.revision)));
            space.load(&key, record);
        }
        Ok(Self::with(writer, spaces, Some(codec)))
    }

    fn with(
        writer: Writer,
        spaces: HashMap<String, Arc<Space>>,
        codec: Option<Arc<Codec>>,
    ) -> Self {
        Self {
            writer: Arc::new(writer),
            spaces: RwLock::new(spaces),
            making: Mutex::new(()),
            codec,
        }
    }

    /// Every object at the newest revision that readers see; `None` in memory, where there is no
    /// key to seal with.
    pub(crate) fn backup(&self) -> Option<Backup> {
        let codec = self.codec.clone()?;
        let snapshot = self.writer.standing_still(|revision| {
            let spaces = self.spaces.read().expect("no holder of this lock panics");
            let records = spaces.values().flat_map(|space| space.all()).collect();
            Everything { revision, records }
        });
        Some(Backup::new(snapshot, codec))
    }

    /// The space of this name, made when absent.
    pub(crate) fn space(&self, name: &str) -> Arc<Space> {
        let read = |spaces: &HashMap<String, Arc<Space>>| spaces.get(name).cloned();
        if let Some(space) = read(&self.spaces.read().expect("no holder of this lock panics")) {
            return space;
        }
        let _making = self.making.lock().expect("no holder of this lock panics");
        // Asked before the lock is taken: whoever holds the writer still may take it.
        let revision = self.writer.revision();
        let mut spaces = self.spaces.write().expect("no holder of this lock panics");
        let made = || Arc::new(Space::new(name, revision));
        spaces.entry(name.to_owned()).or_insert_with(made).clone()
    }

    /// Removes a space and all its objects.
    pub(crate) async fn remove_space(&self, name: &str) -> Result<(), CommitError> {
        let space = {
            let mut spaces = self.spaces.write().expect("no holder of this lock panics");
            spaces.remove(name)
        };
        let Some(space) = space else { return Ok(()) };
        let outcome = self.empty(&space).await;
        if outcome.is_err() {
            // Kept, so that another attempt finds what is left.
            let mut spaces = self.spaces.write().expect("no holder of this lock panics");
            spaces.entry(name.to_owned()).or_insert(space);
        }
        outcome
    }

    /// Removes every object of a space, all of them under way at the same time.
    async fn empty(&self, space: &Arc<Space>) -> Result<(), CommitError> {
        let mut removals = Vec::new();
        for shelf in space.shelf_names() {
            for ((namespace, name), record) in space.list(&shelf, None).records {
                let key = Key {
                    shelf: shelf.clone(),
                    namespace,
                    name,
                };
                let expect = Expect::Revision(record.revision);
                removals.push(async move { self.writer.commit(space, &key, expect, None).await });
            }
        }
        for outcome in futures::future::join_all(removals).await {
            match outcome {
                // Someone else was faster, or wrote once more: neither leaves anything that counts.
                Ok(_) | Err(CommitError::Conflict) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The names of the spaces that exist.
    pub(crate) fn space_names(&self) -> Vec<String> {
        let spaces = self.spaces.read().expect("no holder of this lock panics");
        let mut names: Vec<String> = spaces.keys().cloned().collect();
        names.sort();
        names
    }

    /// The one writer of all spaces.
    pub(crate) fn writer(&self) -> Arc<Writer> {
        self.writer.clone()
    }
}

pub(crate) use writer::Writer as StoreWriter;
