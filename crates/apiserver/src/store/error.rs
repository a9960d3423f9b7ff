//! Why a store cannot be opened, kept or restored.

use std::path::{Path, PathBuf};

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
    /// Others than the owner may look into the folder.
    #[error(
        "the data directory {path} is open to other users (mode {mode:03o}), and it holds keys and \
         Secrets: chmod 700 {path}"
    )]
    Exposed {
        /// The folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
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
    /// The file is sound, but older than what was acknowledged: its end was torn off, or it was
    /// replaced.
    #[error(
        "the store {path} ends at revision {found}, but revision {acknowledged} was acknowledged: \
         the newest writes are gone; nothing was changed: restore it from a backup, or accept the \
         loss by removing {mark}"
    )]
    Lost {
        /// The file.
        path: PathBuf,
        /// The newest revision in it.
        found: u64,
        /// The newest revision that a client was told of.
        acknowledged: u64,
        /// The file that remembers it.
        mark: PathBuf,
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
    /// Objects are sealed, and there is no key file.
    #[error(
        "the store {path} holds objects sealed with key {key}, and there is no key file {key_file}: \
         put it back from where you keep it; nothing was changed"
    )]
    NoKey {
        /// The file.
        path: PathBuf,
        /// Where the key was looked for.
        key_file: PathBuf,
        /// The id of the key that sealed them.
        key: String,
    },
    /// Objects are sealed with a key that the key file does not hold.
    #[error(
        "the store {path} holds objects sealed with key {key}, which the key file {key_file} does \
         not hold: add a line with that key; nothing was changed"
    )]
    OtherKey {
        /// The file.
        path: PathBuf,
        /// The key file.
        key_file: PathBuf,
        /// The id of the missing key.
        key: String,
    },
    /// The key file cannot be read or is not one.
    #[error("the key file {path} cannot be used: {detail}")]
    KeyFile {
        /// The key file.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        detail: String,
    },
    /// A backup cannot be read.
    #[error("the backup {path} cannot be used: {detail}; use another one")]
    Backup {
        /// The backup.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// There is a store already where one should be restored.
    #[error(
        "{path} exists: a restore never overwrites a store; choose an empty directory, or move the \
         old one away"
    )]
    Occupied {
        /// The store.
        path: PathBuf,
    },
    /// The new file of a rewrite or restore could not be written; the old one is as it was.
    #[error("cannot write {path}: {detail}; check the free space of its disk")]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        detail: String,
    },
}

impl StoreError {
    pub(super) fn corrupt(path: &Path, detail: impl std::fmt::Display) -> Self {
        Self::Corrupt {
            path: path.to_owned(),
            detail: detail.to_string(),
        }
    }

    pub(super) fn folder(path: &Path, source: std::io::Error) -> Self {
        Self::Folder {
            path: path.to_owned(),
            source,
        }
    }

    pub(super) fn unwritable(path: &Path, detail: impl std::fmt::Display) -> Self {
        Self::Unwritable {
            path: path.to_owned(),
            detail: detail.to_string(),
        }
    }
}
