//! The page file: its tables, its facts, and how a whole new one comes to be.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use redb::{
    Database, DatabaseError, ReadableDatabase, ReadableTable, StorageError, Table, TableDefinition,
};

use super::folder;
use super::hold;
use super::layout::{self, Codec, FORMAT, Sealing};
use super::packed::Packers;
use super::seal::{KeyId, KeyRing, Unsealing};
use super::{Record, StoreError, Stored};

pub(super) const FACTS: TableDefinition<'static, &str, u64> = TableDefinition::new("facts");
pub(super) const OBJECTS: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("objects");
/// The table of objects, open for writing.
pub(super) type Objects<'a> = Table<'a, &'static str, &'static [u8]>;
/// Objects are served from memory, so the page cache only has to hold what a commit touches.
const CACHE_BYTES: usize = 4 * 1024 * 1024;

pub(super) fn builder() -> redb::Builder {
    let mut builder = Database::builder();
    // Everything is read anyway, and a plain open may panic on a file that someone altered.
    builder
        .set_cache_size(CACHE_BYTES)
        .set_check_integrity_on_open(true);
    builder
}

/// What a file says of itself.
pub(super) struct Facts {
    pub(super) format: u64,
    pub(super) revision: u64,
}

impl Facts {
    pub(super) fn read(database: &Database, path: &Path) -> Result<Self, StoreError> {
        let corrupt = |error: redb::Error| StoreError::corrupt(path, error);
        let (format, revision) = Self::stored(database).map_err(corrupt)?;
        let gone = |name| move || StoreError::corrupt(path, format!("the fact {name:?} is gone"));
        let format = format.ok_or_else(gone("format"))?;
        if format > FORMAT {
            return Err(StoreError::Newer {
                path: path.to_owned(),
                found: format,
                known: FORMAT,
            });
        }
        let revision = revision.ok_or_else(gone("revision"))?;
        Ok(Self { format, revision })
    }

    fn stored(database: &Database) -> Result<(Option<u64>, Option<u64>), redb::Error> {
        let facts = database.begin_read()?.open_table(FACTS)?;
        let fact = |name| Ok::<_, redb::Error>(facts.get(name)?.map(|value| value.value()));
        Ok((fact("format")?, fact("revision")?))
    }
}

/// The rows of a file and the format they are in.
pub(super) struct Rows<'a> {
    pub(super) database: &'a Database,
    pub(super) format: u64,
}

impl Rows<'_> {
    /// Calls `visit` with every key and row.
    fn each(
        &self,
        path: &Path,
        mut visit: impl FnMut(&str, &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let corrupt = |error: redb::Error| StoreError::corrupt(path, error);
        let objects = || {
            let transaction = self.database.begin_read()?;
            Ok(transaction.open_table(OBJECTS)?)
        };
        let objects = objects().map_err(corrupt)?;
        for row in objects.iter().map_err(|error| corrupt(error.into()))? {
            let (key, value) = row.map_err(|error| corrupt(error.into()))?;
            visit(key.value(), value.value())?;
        }
        Ok(())
    }

    /// The keys that rows are sealed with.
    pub(super) fn keys(&self, path: &Path) -> Result<BTreeSet<KeyId>, StoreError> {
        let mut used = BTreeSet::new();
        if self.format < 2 {
            return Ok(used);
        }
        self.each(path, |_, row| {
            if let Sealing::With(key) = layout::sealing(row) {
                used.insert(key);
            }
            Ok(())
        })?;
        Ok(used)
    }

    fn json(&self, keys: &KeyRing, place: &str, row: &[u8]) -> Result<Vec<u8>, Unsealing> {
        match self.format {
            1 => Ok(row.to_vec()),
            _ => layout::decode(keys, place, row),
        }
    }

    /// The objects, and whether some should be written differently by now.
    pub(super) fn load(
        &self,
        path: &Path,
        codec: &Codec,
        revision: u64,
        packers: &mut Packers,
    ) -> Result<(Vec<Stored>, bool), StoreError> {
        let mut records = Vec::new();
        let mut stale = false;
        self.each(path, |place, row| {
            let bad = || StoreError::corrupt(path, format!("the object {place:?} cannot be read"));
            let (space, key) = layout::parse_key(place).ok_or_else(bad)?;
            let json = self.json(&codec.keys, place, row).map_err(|_| bad())?;
            let packer = packers.of(&key.shelf);
            let record = Record::parse(&json, packer).ok_or_else(bad)?;
            if record.revision > revision {
                return Err(bad());
            }
            stale |= !codec.is_current(&key.shelf, row);
            records.push((space, key, record));
            Ok(())
        })?;
        Ok((records, stale))
    }

    /// The same objects in a new file at `path`.
    pub(super) fn rewritten(
        &self,
        path: &Path,
        codec: &Codec,
        revision: u64,
    ) -> Result<Database, StoreError> {
        new_file(path, revision, |objects| {
            let mut scratch = Vec::new();
            self.each(path, |place, row| {
                let bad = || StoreError::corrupt(path, format!("{place:?} cannot be read"));
                let (_, key) = layout::parse_key(place).ok_or_else(bad)?;
                let json = self.json(&codec.keys, place, row).map_err(|_| bad())?;
                codec.encode(&key.shelf, place, &json, &mut scratch);
                let inserted = objects.insert(place, scratch.as_slice());
                inserted.map_err(|error| StoreError::unwritable(path, error))?;
                Ok(())
            })
        })
    }
}

/// Makes a new file of the newest format beside `path`, then puts it there in one step.
pub(super) fn new_file(
    path: &Path,
    revision: u64,
    fill: impl FnOnce(&mut Objects<'_>) -> Result<(), StoreError>,
) -> Result<Database, StoreError> {
    let part = part(path);
    // Left by a process that ended while it wrote.
    let _ = std::fs::remove_file(&part);
    let made = filled(&part, revision, fill).and_then(|database| {
        let placed = std::fs::rename(&part, path).and_then(|()| folder::sync_parent(path));
        placed.map_err(|error| StoreError::unwritable(path, error))?;
        Ok(database)
    });
    if made.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    made
}

/// The file beside `path` that is to replace it.
pub(super) fn part(path: &Path) -> PathBuf {
    path.with_extension("redb.new")
}

fn filled(
    part: &Path,
    revision: u64,
    fill: impl FnOnce(&mut Objects<'_>) -> Result<(), StoreError>,
) -> Result<Database, StoreError> {
    let unwritable = |error: redb::Error| StoreError::unwritable(part, error);
    let begun = || {
        let (backend, hold) = hold::hold(folder::private_file().open(part)?)?;
        hold.release()?;
        let database = builder().create_with_backend(backend)?;
        let transaction = database.begin_write()?;
        Ok((database, transaction))
    };
    let (database, transaction) = begun().map_err(unwritable)?;
    {
        let objects = transaction.open_table(OBJECTS);
        fill(&mut objects.map_err(|error| unwritable(error.into()))?)?;
    }
    let ended = || {
        {
            let mut facts = transaction.open_table(FACTS)?;
            facts.insert("format", FORMAT)?;
            facts.insert("revision", revision)?;
        }
        transaction.commit()?;
        Ok(())
    };
    ended().map_err(unwritable)?;
    Ok(database)
}

pub(super) fn opening(path: &Path, error: DatabaseError) -> StoreError {
    use std::io::ErrorKind::{InvalidData, UnexpectedEof};
    match error {
        DatabaseError::DatabaseAlreadyOpen => StoreError::InUse {
            path: path.to_owned(),
        },
        DatabaseError::Storage(StorageError::Io(source))
            if !matches!(source.kind(), InvalidData | UnexpectedEof) =>
        {
            StoreError::folder(path, source)
        }
        other => StoreError::corrupt(path, other),
    }
}
