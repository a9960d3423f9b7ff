//! The data directory: private, locked, and never half written.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::Path;

use super::StoreError;

/// Makes the folder for its owner alone, or checks that it is so.
pub(super) fn private(folder: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::folder(folder, source);
    match std::fs::metadata(folder) {
        Ok(found) if found.is_dir() => match exposed(&found) {
            None => Ok(()),
            Some(mode) => Err(StoreError::Exposed {
                path: folder.to_owned(),
                mode,
            }),
        },
        Ok(_) => Err(failed(io::ErrorKind::NotADirectory.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => make(folder).map_err(failed),
        Err(error) => Err(failed(error)),
    }
}

/// The permission bits, when they let others in.
#[cfg(unix)]
pub(super) fn exposed(found: &std::fs::Metadata) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    let mode = found.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}

#[cfg(not(unix))]
pub(super) fn exposed(_: &std::fs::Metadata) -> Option<u32> {
    None
}

#[cfg(unix)]
fn make(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
}

#[cfg(not(unix))]
fn make(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)
}

/// Holds a folder against other processes while it lives. The lock is on the folder itself, so
/// that it outlives the replacement of a file in it, and nothing is written to take it.
#[derive(Debug)]
pub(super) struct Lock(#[allow(dead_code, reason = "the handle is the lock")] Option<File>);

impl Lock {
    /// Takes the lock. Where folders cannot be locked, the lock of the file in it is the only one.
    pub(super) fn take(folder: &Path) -> Result<Self, StoreError> {
        let Ok(handle) = File::open(folder) else {
            return Ok(Self(None));
        };
        match handle.try_lock() {
            Ok(()) => Ok(Self(Some(handle))),
            Err(TryLockError::WouldBlock) => Err(StoreError::InUse {
                path: folder.to_owned(),
            }),
            Err(TryLockError::Error(_)) => Ok(Self(None)),
        }
    }
}

/// Options of a new file that only its owner can read.
pub(super) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options
}

/// Writes a new private file, durable once this returns.
pub(super) fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = private_file().open(path)?;
    file.write_all(content)?;
    file.sync_all()?;
    sync_parent(path)
}

/// Makes the names in the folder of `path` durable.
pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        return File::open(folder)?.sync_all();
    }
    Ok(())
}
