//! A data directory that no server runs on: backup and restore.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::store::{self, Backup, BackupSummary, Settings, StoreError};

/// The data directory of a server that is not running.
#[derive(Clone, Debug)]
pub struct DataDir {
    settings: Settings,
}

impl DataDir {
    /// The resources that are sealed unless told otherwise.
    pub(super) fn sealed() -> BTreeSet<String> {
        BTreeSet::from(["secrets".to_owned()])
    }

    /// The directory at `path`, with `store.key` in it as its key file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            settings: Settings {
                folder: path.into(),
                key_file: None,
                sealed: Self::sealed(),
            },
        }
    }

    /// Looks for the keys in this file instead. See [`Builder::key_file`](super::Builder::key_file).
    #[must_use]
    pub fn key_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.settings.key_file = Some(path.into());
        self
    }

    /// Seals other resources than Secrets. See [`Builder::seal`](super::Builder::seal).
    #[must_use]
    pub fn seal(mut self, resources: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.settings.sealed = resources.into_iter().map(Into::into).collect();
        self
    }

    /// A backup of its store, which is read and not written to.
    ///
    /// # Errors
    /// [`StoreError::InUse`]: a server runs on it; ask that server ([`ApiServer::backup`], or
    /// `GET /backup` of its management API).
    ///
    /// [`ApiServer::backup`]: super::ApiServer::backup
    pub fn backup(&self) -> Result<Backup, StoreError> {
        store::backup_of(&self.settings)
    }

    /// Makes its store from a backup; the directory may exist, a store in it may not. `keys`, a key
    /// file, is copied into the directory when there is none yet. Credentials of the server are
    /// made anew by its next start.
    ///
    /// Revisions go on far behind those of the backup, so that none names two states.
    ///
    /// # Errors
    /// Those of reading the backup and the key file, and [`StoreError::Occupied`].
    pub fn restore(&self, backup: &Path, keys: Option<&Path>) -> Result<BackupSummary, StoreError> {
        store::restore(backup, &self.settings, keys)
    }
}
