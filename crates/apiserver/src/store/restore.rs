//! Backups of a data directory that no server runs on, and the way back from a backup.

use std::path::Path;
use std::sync::Arc;

use super::backup::{self, Backup, Contents, Everything};
use super::disk::{self, Disk, Settings};
use super::file;
use super::folder::{self, Lock};
use super::layout::{self, Codec};
use super::mark::Mark;
use super::packed::Packer;
use super::seal::{KeyRing, Unsealing};
use super::{Record, StoreError};

/// A restored store goes on this far behind the backup's revision: further than a server gets
/// between a backup and its loss, so that no revision names two states, and clients that know newer
/// ones list again.
const REVISION_GAP: u64 = 1_000_000;

/// What a backup holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupSummary {
    /// The revision that every object in it is as of.
    pub revision: u64,
    /// How many objects it holds.
    pub objects: u64,
    /// Ids of the keys that its Secrets are sealed with; without one of them it cannot be restored.
    pub keys: Vec<String>,
}

/// Reads the store of a folder without writing to it.
pub(crate) fn backup_of(settings: &Settings) -> Result<Backup, StoreError> {
    let (codec, loaded) = Disk::read(settings)?;
    let records = loaded.records.into_iter();
    let snapshot = Everything {
        revision: loaded.revision,
        records: records
            .map(|(space, key, record)| (space.into(), key, Arc::new(record)))
            .collect(),
    };
    Ok(Backup::new(snapshot, Arc::new(codec)))
}

/// Reads a backup to its end and says what it holds.
///
/// # Errors
/// [`StoreError::Backup`]: it is cut off, damaged, or no backup.
pub fn verify_backup(path: &Path) -> Result<BackupSummary, StoreError> {
    backup::read(path, |_, _| Ok(())).map(|contents| summary(&contents))
}

fn summary(contents: &Contents) -> BackupSummary {
    BackupSummary {
        revision: contents.revision,
        objects: contents.count,
        keys: contents.keys.iter().map(ToString::to_string).collect(),
    }
}

/// Makes a store from a backup, in a folder that has none. `key_file` is copied into the folder
/// when it has no key file yet.
pub(crate) fn restore(
    path: &Path,
    settings: &Settings,
    key_file: Option<&Path>,
) -> Result<BackupSummary, StoreError> {
    let contents = backup::read(path, |_, _| Ok(()))?;
    folder::private(&settings.folder)?;
    let _lock = Lock::take(&settings.folder)?;
    let store = settings.store();
    if store.exists() {
        return Err(StoreError::Occupied { path: store });
    }
    if let Some(source) = key_file {
        copy_keys(source, &settings.keys(), &contents)?;
    }
    let codec = Codec {
        keys: disk::keys(settings, &contents.keys)?,
        sealed: settings.sealed.clone(),
    };
    let revision = contents.revision + REVISION_GAP;
    file::new_file(&store, revision, |objects| {
        let mut row = Vec::new();
        let filled = backup::read(path, |place, stored| {
            let json = opened(path, &codec.keys, place, stored)?;
            let (_, key) = layout::parse_key(place).ok_or_else(|| damaged(path, place))?;
            codec.encode(&key.shelf, place, &json, &mut row);
            let inserted = objects.insert(place, row.as_slice());
            inserted.map_err(|error| StoreError::unwritable(&store, error))?;
            Ok(())
        });
        filled.map(drop)
    })?;
    let marked = Mark::open(&settings.mark()).and_then(|mut mark| mark.set(revision));
    marked.map_err(|error| StoreError::unwritable(&settings.mark(), error))?;
    Ok(summary(&contents))
}

/// The JSON of a row, if it opens and is an object.
fn opened(path: &Path, keys: &KeyRing, place: &str, stored: &[u8]) -> Result<Vec<u8>, StoreError> {
    let json = layout::decode(keys, place, stored);
    let json = json.map_err(|why| match why {
        Unsealing::Damaged | Unsealing::Unknown(_) => damaged(path, place),
    })?;
    match Record::parse(&json, &mut Packer::default()) {
        Some(_) => Ok(json),
        None => Err(damaged(path, place)),
    }
}

fn damaged(path: &Path, place: &str) -> StoreError {
    StoreError::Backup {
        path: path.to_owned(),
        detail: format!("the object {place:?} cannot be read"),
    }
}

/// Copies a key file to where the store looks for it.
fn copy_keys(source: &Path, target: &Path, contents: &Contents) -> Result<(), StoreError> {
    let refused = |path: &Path, detail: String| StoreError::KeyFile {
        path: path.to_owned(),
        detail,
    };
    let Some(keys) = KeyRing::read(source)? else {
        return Err(refused(source, "it does not exist".into()));
    };
    if let Some(missing) = contents.keys.iter().find(|key| !keys.holds(**key)) {
        let detail = format!("it does not hold key {missing}, which the backup is sealed with");
        return Err(refused(source, detail));
    }
    let read = |path: &Path| std::fs::read(path).map_err(|error| refused(path, error.to_string()));
    let text = read(source)?;
    if target.exists() {
        if read(target)? == text {
            return Ok(());
        }
        let detail = format!(
            "it exists and differs from {}: join their lines by hand, and leave --key-file out",
            source.display()
        );
        return Err(refused(target, detail));
    }
    folder::write_new(target, &text).map_err(|error| refused(target, error.to_string()))
}
