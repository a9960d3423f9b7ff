//! The newest revision that a client was told of, beside the store.
//!
//! A page store that lost its newest pages falls back to the commit before, which is right after a
//! crash in the middle of a commit and wrong for a commit that was acknowledged. The mark tells the
//! two apart: it is written after each commit and before its acknowledgement. It is not synced by
//! itself: a mark that is behind detects less, one that is ahead cannot happen.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::folder;

/// The revision, then its complement, so that a torn mark is known for one.
const SIZE: usize = 16;

/// The open mark.
#[derive(Debug)]
pub(super) struct Mark(File);

/// The revision in the mark at `path`; `None` when there is none that can be read.
pub(super) fn read(path: &Path) -> io::Result<Option<u64>> {
    let mut bytes = Vec::new();
    match File::open(path) {
        Ok(file) => file.take(SIZE as u64 + 1).read_to_end(&mut bytes)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let Some((revision, complement)) = bytes.split_at_checked(SIZE / 2) else {
        return Ok(None);
    };
    let number = |part: &[u8]| part.try_into().map(u64::from_le_bytes).ok();
    Ok(match (number(revision), number(complement)) {
        (Some(revision), Some(complement)) if revision == !complement => Some(revision),
        _ => None,
    })
}

impl Mark {
    /// Opens the mark, or makes it.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let found = File::options().read(true).write(true).open(path);
        match found {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                folder::private_file().open(path).map(Self)
            }
            other => other.map(Self),
        }
    }

    /// Remembers that `revision` is on disk.
    pub(super) fn set(&mut self, revision: u64) -> io::Result<()> {
        let mut bytes = [0; SIZE];
        let (first, second) = bytes.split_at_mut(SIZE / 2);
        first.copy_from_slice(&revision.to_le_bytes());
        second.copy_from_slice(&(!revision).to_le_bytes());
        self.0.seek(SeekFrom::Start(0))?;
        self.0.write_all(&bytes)
    }
}
