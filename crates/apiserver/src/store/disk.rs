//! The store in its folder: opened with care, written to in durable commits.
//!
//! A commit is on disk when it returns. A file of another format, a file that is in use, a damaged
//! file and one sealed with unknown keys are told apart, and none of them is written to. A whole
//! new file (the first, a rewrite, a restore) is made beside the old one and renamed over it.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use redb::Database;

use super::file::{self, FACTS, Facts, OBJECTS, Rows, builder, new_file, opening};
use super::folder::{self, Lock};
use super::hold::{self, Hold};
use super::layout::{self, Codec, FORMAT};
use super::mark::{self, Mark};
use super::packed::Packers;
use super::seal::{KeyId, KeyRing};
use super::{Key, Record, StoreError};

const FILE: &str = "apiserver.redb";
const MARK: &str = "apiserver.mark";
const KEYS: &str = "store.key";
/// A file is written anew at the start when it is this much larger than four times its rows.
const WASTE_BYTES: u64 = 16 * 1024 * 1024;

/// What a store is opened with.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) folder: PathBuf,
    /// The key file, where it is not the one in the folder.
    pub(crate) key_file: Option<PathBuf>,
    /// Shelves whose objects are sealed.
    pub(crate) sealed: BTreeSet<String>,
}

impl Settings {
    pub(super) fn store(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    pub(super) fn keys(&self) -> PathBuf {
        let own = self.key_file.clone();
        own.unwrap_or_else(|| self.folder.join(KEYS))
    }

    pub(super) fn mark(&self) -> PathBuf {
        self.folder.join(MARK)
    }
}

/// One object: its instance, its place, its state.
pub(crate) type Stored = (String, Key, Record);

/// What a file held when it was opened.
pub(crate) struct Loaded {
    pub(crate) revision: u64,
    pub(crate) records: Vec<Stored>,
    /// What packed them.
    pub(crate) packers: Packers,
}

/// One change of one object.
pub(crate) struct Row<'a> {
    pub(crate) space: &'a str,
    pub(crate) key: &'a Key,
    pub(crate) revision: u64,
    /// The new state; `None` removes the object.
    pub(crate) record: Option<&'a Record>,
}

/// The open file.
pub(crate) struct Disk {
    database: Database,
    codec: Arc<Codec>,
    path: PathBuf,
    mark: Mark,
    /// The row being written.
    scratch: Vec<u8>,
    /// Last, so that the file is closed when the lock goes.
    _lock: Lock,
}

/// An existing file, read and found good, and not yet written to.
struct Found {
    database: Database,
    hold: Hold,
    codec: Codec,
    loaded: Loaded,
    format: u64,
    /// Whether rows should be written differently by now, or most of the file is waste.
    stale: bool,
}

impl Disk {
    /// Opens the file in the folder, or makes both.
    pub(crate) fn open(settings: &Settings) -> Result<(Self, Loaded), StoreError> {
        folder::private(&settings.folder)?;
        let lock = Lock::take(&settings.folder)?;
        let path = settings.store();
        let (database, codec, loaded) = match existing(settings)? {
            None => create(settings)?,
            Some(found) if found.stale => {
                let Found { codec, loaded, .. } = &found;
                let rows = Rows {
                    database: &found.database,
                    format: found.format,
                };
                let database = rows.rewritten(&path, codec, loaded.revision)?;
                (database, found.codec, found.loaded)
            }
            Some(found) => {
                let unwritable = |error| StoreError::folder(&settings.folder, error);
                found.hold.release().map_err(unwritable)?;
                (found.database, found.codec, found.loaded)
            }
        };
        // What a process left that ended while it rewrote the file.
        let _ = std::fs::remove_file(file::part(&path));
        let marked = Mark::open(&settings.mark());
        let marked = marked.and_then(|mut mark| mark.set(loaded.revision).map(|()| mark));
        let disk = Self {
            database,
            codec: Arc::new(codec),
            path,
            mark: marked.map_err(|error| StoreError::unwritable(&settings.mark(), error))?,
            scratch: Vec::new(),
            _lock: lock,
        };
        Ok((disk, loaded))
    }

    /// Reads the file in the folder without writing to it.
    pub(super) fn read(settings: &Settings) -> Result<(Codec, Loaded), StoreError> {
        let missing = || {
            let none = std::io::ErrorKind::NotFound.into();
            StoreError::folder(&settings.store(), none)
        };
        if !settings.folder.exists() {
            return Err(missing());
        }
        folder::private(&settings.folder)?;
        let _lock = Lock::take(&settings.folder)?;
        let found = existing(settings)?.ok_or_else(missing)?;
        Ok((found.codec, found.loaded))
    }

    /// How rows are written.
    pub(super) fn codec(&self) -> Arc<Codec> {
        self.codec.clone()
    }

    /// Writes all rows in one durable transaction.
    pub(crate) fn commit<'a>(
        &mut self,
        rows: impl Iterator<Item = Row<'a>>,
    ) -> Result<(), redb::Error> {
        let transaction = self.database.begin_write()?;
        let mut revision = 0;
        {
            let mut objects = transaction.open_table(OBJECTS)?;
            for row in rows {
                revision = row.revision;
                let place = layout::format_key(row.space, row.key);
                match row.record {
                    Some(record) => {
                        let (codec, out) = (&self.codec, &mut self.scratch);
                        record.read(|json| codec.encode(&row.key.shelf, &place, json, out));
                        objects.insert(place.as_str(), self.scratch.as_slice())?
                    }
                    None => objects.remove(place.as_str())?,
                };
            }
            transaction
                .open_table(FACTS)?
                .insert("revision", revision)?;
        }
        transaction.commit()?;
        Ok(self.mark.set(revision)?)
    }

    /// Writes the file anew: without waste, and every object sealed with the newest key.
    pub(crate) fn compact(&mut self) -> Result<(), StoreError> {
        let rows = Rows {
            database: &self.database,
            format: FORMAT,
        };
        let revision = Facts::read(&self.database, &self.path)?.revision;
        self.database = rows.rewritten(&self.path, &self.codec, revision)?;
        Ok(())
    }
}

/// A new, empty store.
fn create(settings: &Settings) -> Result<(Database, Codec, Loaded), StoreError> {
    let path = settings.store();
    check_mark(settings, 0)?;
    let codec = Codec {
        keys: keys(settings, &BTreeSet::new())?,
        sealed: settings.sealed.clone(),
    };
    let database = new_file(&path, 0, |_| Ok(()))?;
    let loaded = Loaded {
        revision: 0,
        records: Vec::new(),
        packers: Packers::default(),
    };
    Ok((database, codec, loaded))
}

/// The file in the folder, if there is one, with its writes held back.
fn existing(settings: &Settings) -> Result<Option<Found>, StoreError> {
    let path = settings.store();
    let file = match File::options().read(true).write(true).open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::folder(&path, error)),
    };
    let length = file.metadata().map_err(|e| StoreError::folder(&path, e))?;
    if length.len() == 0 {
        return Err(StoreError::corrupt(&path, "the file is empty"));
    }
    let (backend, hold) = hold::hold(file).map_err(|error| opening(&path, error))?;
    let database = builder()
        .create_with_backend(backend)
        .map_err(|error| opening(&path, error))?;
    let facts = Facts::read(&database, &path)?;
    check_mark(settings, facts.revision)?;
    let rows = Rows {
        database: &database,
        format: facts.format,
    };
    let codec = Codec {
        keys: keys(settings, &rows.keys(&path)?)?,
        sealed: settings.sealed.clone(),
    };
    let mut packers = Packers::default();
    let (records, stale) = rows.load(&path, &codec, facts.revision, &mut packers)?;
    let lengths = records.iter().map(|(_, _, r)| r.text_length() as u64);
    let live: u64 = lengths.sum();
    let wasteful = length.len() > 4 * live + WASTE_BYTES;
    Ok(Some(Found {
        stale: stale || wasteful || facts.format < FORMAT,
        format: facts.format,
        loaded: Loaded {
            revision: facts.revision,
            records,
            packers,
        },
        database,
        hold,
        codec,
    }))
}

/// A store whose file is behind what was acknowledged is not the one that was left here.
fn check_mark(settings: &Settings, found: u64) -> Result<(), StoreError> {
    let mark = settings.mark();
    let acknowledged = mark::read(&mark).map_err(|error| StoreError::folder(&mark, error))?;
    match acknowledged {
        Some(acknowledged) if acknowledged > found => Err(StoreError::Lost {
            path: settings.store(),
            found,
            acknowledged,
            mark,
        }),
        _ => Ok(()),
    }
}

/// The keys of the key file, which must hold every key in `used`; made when none is needed yet.
pub(super) fn keys(settings: &Settings, used: &BTreeSet<KeyId>) -> Result<KeyRing, StoreError> {
    let (path, key_file) = (settings.store(), settings.keys());
    let Some(keys) = KeyRing::read(&key_file)? else {
        return match used.first() {
            None => KeyRing::generate(&key_file),
            Some(key) => Err(StoreError::NoKey {
                path,
                key_file,
                key: key.to_string(),
            }),
        };
    };
    match used.iter().find(|key| !keys.holds(**key)) {
        None => Ok(keys),
        Some(key) => Err(StoreError::OtherKey {
            path,
            key_file,
            key: key.to_string(),
        }),
    }
}
