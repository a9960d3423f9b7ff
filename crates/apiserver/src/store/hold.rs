//! A file whose writes are held back until it is known to be good.
//!
//! Opening a page store writes to it: repairs, and a flag that it is in use. A file that turns out
//! to be damaged, foreign or sealed with an unknown key must stay as it is, so those writes go to
//! memory first, and to the file on [`Hold::release`].

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use redb::backends::FileBackend;
use redb::{BackendError, DatabaseError, StorageBackend};

/// Writes are held in blocks of this many bytes.
const BLOCK: u64 = 4096;
const BLOCK_SIZE: usize = 4096;

/// The file as the page store sees it.
#[derive(Debug)]
pub(super) struct HeldFile(Arc<Inner>);

/// The say over when writes reach the file.
#[derive(Debug)]
pub(super) struct Hold(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: FileBackend,
    released: AtomicBool,
    held: Mutex<Held>,
}

/// What was written so far.
#[derive(Debug)]
struct Held {
    length: u64,
    /// Bytes of the file from here on no longer count.
    kept: u64,
    blocks: BTreeMap<u64, Box<[u8]>>,
}

/// Opens a file with its writes held back.
pub(super) fn hold(file: File) -> Result<(HeldFile, Hold), DatabaseError> {
    let length = file.metadata().map_err(redb::StorageError::from)?.len();
    let inner = Arc::new(Inner {
        file: FileBackend::new(file)?,
        released: AtomicBool::new(false),
        held: Mutex::new(Held {
            length,
            kept: length,
            blocks: BTreeMap::new(),
        }),
    });
    Ok((HeldFile(inner.clone()), Hold(inner)))
}

impl Hold {
    /// Writes what was held back, durably; from now on writes reach the file at once.
    pub(super) fn release(self) -> io::Result<()> {
        let mut held = self.0.held();
        let file = &self.0.file;
        if held.kept < file.len()? {
            file.set_len(held.kept)?;
        }
        file.set_len(held.length)?;
        for (index, block) in &held.blocks {
            let start = index * BLOCK;
            let end = held.length.min(start + BLOCK);
            let size = usize::try_from(end.saturating_sub(start)).unwrap_or(0);
            file.write(start, block.get(..size).unwrap_or_default())?;
        }
        file.sync_data()?;
        held.blocks.clear();
        self.0.released.store(true, Ordering::Release);
        Ok(())
    }
}

impl Inner {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().expect("no holder of this lock panics")
    }

    /// The held state, or `None` once writes go through.
    fn holding(&self) -> Option<MutexGuard<'_, Held>> {
        if self.released.load(Ordering::Acquire) {
            return None;
        }
        let held = self.held();
        // Released while this waited.
        (!self.released.load(Ordering::Acquire)).then_some(held)
    }
}

impl Held {
    /// Reads what the file will hold.
    fn read(&self, file: &FileBackend, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let end = offset + out.len() as u64;
        if end > self.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        out.fill(0);
        let from_file = usize::try_from(self.kept.min(end).saturating_sub(offset)).unwrap_or(0);
        if let Some(part) = out.get_mut(..from_file).filter(|part| !part.is_empty()) {
            file.read(offset, part)?;
        }
        for (index, block) in self.blocks.range(offset / BLOCK..end.div_ceil(BLOCK)) {
            copy_overlap(index * BLOCK, block, offset, out);
        }
        Ok(())
    }

    fn write(&mut self, file: &FileBackend, offset: u64, data: &[u8]) -> io::Result<()> {
        let end = offset + data.len() as u64;
        self.length = self.length.max(end);
        for index in offset / BLOCK..end.div_ceil(BLOCK) {
            if !self.blocks.contains_key(&index) {
                let start = index * BLOCK;
                let mut block = vec![0; BLOCK_SIZE].into_boxed_slice();
                let size = usize::try_from(self.length.saturating_sub(start).min(BLOCK));
                if let Some(part) = block.get_mut(..size.unwrap_or(0)) {
                    self.read(file, start, part)?;
                }
                self.blocks.insert(index, block);
            }
            if let Some(block) = self.blocks.get_mut(&index) {
                copy_overlap(offset, data, index * BLOCK, block);
            }
        }
        Ok(())
    }

    fn set_len(&mut self, length: u64) {
        if length < self.length {
            self.kept = self.kept.min(length);
            self.blocks.retain(|index, _| index * BLOCK < length);
            let last = length / BLOCK;
            let rest = usize::try_from(length % BLOCK).unwrap_or(0);
            if let Some(tail) = self.blocks.get_mut(&last).and_then(|b| b.get_mut(rest..)) {
                tail.fill(0);
            }
        }
        self.length = length;
    }
}

/// Copies the part of `from` (at `from_start`) that lies within `to` (at `to_start`).
fn copy_overlap(from_start: u64, from: &[u8], to_start: u64, to: &mut [u8]) {
    let start = from_start.max(to_start);
    let end = (from_start + from.len() as u64).min(to_start + to.len() as u64);
    let within = |base: u64| {
        let at = |point: u64| usize::try_from(point - base).unwrap_or(usize::MAX);
        (start < end).then(|| at(start)..at(end))
    };
    let source = within(from_start).and_then(|range| from.get(range));
    let target = within(to_start).and_then(|range| to.get_mut(range));
    if let (Some(source), Some(target)) = (source, target) {
        target.copy_from_slice(source);
    }
}

impl StorageBackend for HeldFile {
    fn len(&self) -> io::Result<u64> {
        match self.0.holding() {
            Some(held) => Ok(held.length),
            None => self.0.file.len(),
        }
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        match self.0.holding() {
            Some(held) => held.read(&self.0.file, offset, out),
            None => self.0.file.read(offset, out),
        }
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        match self.0.holding() {
            Some(mut held) => {
                held.set_len(length);
                Ok(())
            }
            None => self.0.file.set_len(length),
        }
    }

    fn sync_data(&self) -> io::Result<()> {
        match self.0.holding() {
            Some(_) => Ok(()),
            None => self.0.file.sync_data(),
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        match self.0.holding() {
            Some(mut held) => held.write(&self.0.file, offset, data),
            None => self.0.file.write(offset, data),
        }
    }

    fn close(&self) -> io::Result<()> {
        self.0.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.file.try_lock_range(start, end)
    }

    fn try_lock_shared_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, BackendError> {
        self.0.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.file.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.file.query_lock_range(start, end)
    }
}
