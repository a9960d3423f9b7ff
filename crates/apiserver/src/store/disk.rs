//! The file: one table of objects, one of facts about the file itself.
//!
//! A commit is on disk when it returns. A file of another format, a file that is in use and a
//! damaged file are told apart, and none of them is written to.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use redb::{
    Database, DatabaseError, ReadableDatabase, ReadableTable, StorageError, TableDefinition,
};

use super::{Key, Record};

const FILE: &str = "apiserver.redb";
const FORMAT: u64 = 1;
const FACTS: TableDefinition<'static, &str, u64> = TableDefinition::new("facts");
const OBJECTS: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("objects");
/// Objects are served from memory, so the page cache only has to hold what a commit touches.
const CACHE_BYTES: usize = 8 * 1024 * 1024;

/// Why a store could not be opened. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder cannot be made or read.
    #[error("cannot use the data directory {path}: {source}; check that it is a folder you own")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Another process holds the store.
    #[error(
        "the data directory {path} is in use by another process; stop it, or choose another \
         directory"
    )]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The file is not a store, or a damaged one.
    #[error(
        "the store {path} is damaged: {detail}; nothing was changed: restore it from a backup, or \
         move it away to start empty"
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// The file was written by a newer release.
    #[error(
        "the store {path} has format {found}, this release reads up to {known}; use the newer \
         release that wrote it"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The format of the file.
        found: u64,
        /// The newest format this release reads.
        known: u64,
    },
}

/// What a file held when it was opened.
pub(crate) struct Loaded {
    pub(crate) revision: u64,
    pub(crate) records: Vec<(String, Key, Record)>,
}

/// One change of one object.
pub(crate) struct Row<'a> {
    pub(crate) space: &'a str,
    pub(crate) key: &'a Key,
    pub(crate) revision: u64,
    /// The new text; `None` removes the object.
    pub(crate) json: Option<&'a Bytes>,
}

/// The open file.
pub(crate) struct Disk {
    database: Database,
}

impl Disk {
    /// Opens the file in `folder`, or makes both.
    pub(crate) fn open(folder: &Path) -> Result<(Self, Loaded), StoreError> {
        let at = |source| StoreError::Folder {
            path: folder.to_owned(),
            source,
        };
        make_private(folder).map_err(at)?;
        let path = folder.join(FILE);
        let length = match std::fs::metadata(&path) {
            Ok(found) => Some(found.len()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(at(error)),
        };
        let mut builder = Database::builder();
        // Everything is read anyway, and a plain open may panic on a file that someone altered.
        builder
            .set_cache_size(CACHE_BYTES)
            .set_check_integrity_on_open(true);
        let database = match length {
            None => builder
                .create(&path)
                .map_err(|error| opening(&path, error))?,
            Some(0) => return Err(corrupt(&path, "the file is empty")),
            Some(_) => builder.open(&path).map_err(|error| opening(&path, error))?,
        };
        let disk = Self { database };
        if length.is_none() {
            restrict(&path).map_err(at)?;
            disk.initialise().map_err(|error| corrupt(&path, error))?;
        }
        let loaded = disk.load(&path)?;
        Ok((disk, loaded))
    }

    fn initialise(&self) -> Result<(), redb::Error> {
        let transaction = self.database.begin_write()?;
        {
            let mut facts = transaction.open_table(FACTS)?;
            facts.insert("format", FORMAT)?;
            facts.insert("revision", 0)?;
            transaction.open_table(OBJECTS)?;
        }
        transaction.commit()?;
        Ok(())
    }

    fn load(&self, path: &Path) -> Result<Loaded, StoreError> {
        let transaction = self
            .database
            .begin_read()
            .map_err(|error| corrupt(path, error))?;
        let facts = transaction
            .open_table(FACTS)
            .map_err(|error| corrupt(path, error))?;
        let fact = |name: &str| -> Result<u64, StoreError> {
            let value = facts.get(name).map_err(|error| corrupt(path, error))?;
            let value = value.ok_or_else(|| corrupt(path, format!("the fact {name:?} is gone")))?;
            Ok(value.value())
        };
        let found = fact("format")?;
        if found > FORMAT {
            return Err(StoreError::Newer {
                path: path.to_owned(),
                found,
                known: FORMAT,
            });
        }
        let revision = fact("revision")?;
        let objects = transaction
            .open_table(OBJECTS)
            .map_err(|error| corrupt(path, error))?;
        let mut records = Vec::new();
        for row in objects.iter().map_err(|error| corrupt(path, error))? {
            let (key, json) = row.map_err(|error| corrupt(path, error))?;
            let bad = || corrupt(path, format!("the object {:?} cannot be read", key.value()));
            let (space, place) = parse_key(key.value()).ok_or_else(bad)?;
            let record = Record::parse(Bytes::copy_from_slice(json.value())).ok_or_else(bad)?;
            if record.revision > revision {
                return Err(bad());
            }
            records.push((space, place, record));
        }
        Ok(Loaded { revision, records })
    }

    /// Writes all rows in one durable transaction.
    pub(crate) fn commit<'a>(
        &self,
        rows: impl Iterator<Item = Row<'a>>,
    ) -> Result<(), redb::Error> {
        let transaction = self.database.begin_write()?;
        {
            let mut objects = transaction.open_table(OBJECTS)?;
            let mut revision = 0;
            for row in rows {
                revision = row.revision;
                let key = format_key(row.space, row.key);
                match row.json {
                    Some(json) => objects.insert(key.as_str(), json.as_ref())?,
                    None => objects.remove(key.as_str())?,
                };
            }
            transaction
                .open_table(FACTS)?
                .insert("revision", revision)?;
        }
        transaction.commit()?;
        Ok(())
    }
}

/// Key parts are joined by a character that no name can hold.
fn format_key(space: &str, key: &Key) -> String {
    [space, &key.shelf, &key.namespace, &key.name].join("\0")
}

fn parse_key(text: &str) -> Option<(String, Key)> {
    let mut parts = text.split('\0');
    let space = parts.next()?.to_owned();
    let key = Key {
        shelf: parts.next()?.into(),
        namespace: parts.next()?.to_owned(),
        name: parts.next()?.to_owned(),
    };
    parts.next().is_none().then_some((space, key))
}

fn corrupt(path: &Path, detail: impl std::fmt::Display) -> StoreError {
    StoreError::Corrupt {
        path: path.to_owned(),
        detail: detail.to_string(),
    }
}

fn opening(path: &Path, error: DatabaseError) -> StoreError {
    use std::io::ErrorKind::{InvalidData, UnexpectedEof};
    match error {
        DatabaseError::DatabaseAlreadyOpen => StoreError::InUse {
            path: path.to_owned(),
        },
        DatabaseError::Storage(StorageError::Io(source))
            if !matches!(source.kind(), InvalidData | UnexpectedEof) =>
        {
            StoreError::Folder {
                path: path.to_owned(),
                source,
            }
        }
        other => corrupt(path, other),
    }
}

#[cfg(unix)]
fn make_private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
}

#[cfg(not(unix))]
fn make_private(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)
}

#[cfg(unix)]
fn restrict(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
fn restrict(_: &Path) -> std::io::Result<()> {
    Ok(())
}
