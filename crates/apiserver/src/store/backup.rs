//! Backups: every object of every instance at one revision, in one file that proves itself whole.
//!
//! ```text
//! "remuda-backup 1\n"   revision, count: 64 bits each, little endian
//! count times           length (32 bits) and bytes of the place, then of the row
//! SHA-256 of all that
//! ```
//!
//! Rows are as in the store: sealed objects stay sealed. Keys, certificates and tokens of the
//! server are not in it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::layout::{self, Codec, Sealing};
use super::seal::KeyId;
use super::{Key, Record, StoreError, folder};

const MAGIC: &[u8; 16] = b"remuda-backup 1\n";
/// The stream comes in pieces of about this size.
const CHUNK: usize = 64 * 1024;
/// No key or object is longer: bodies of requests end far below.
const LONGEST: u32 = 64 * 1024 * 1024;

/// The objects at one revision.
pub(super) struct Everything {
    pub(super) revision: u64,
    pub(super) records: Vec<(Arc<str>, Key, Arc<Record>)>,
}

/// A backup as a stream of chunks: all objects of a server at one revision. Taking one copies no
/// object, and writes go on meanwhile.
pub struct Backup {
    revision: u64,
    count: usize,
    records: std::vec::IntoIter<(Arc<str>, Key, Arc<Record>)>,
    codec: Arc<Codec>,
    digest: Sha256,
    part: Part,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Head,
    Rows,
    Done,
}

impl std::fmt::Debug for Backup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backup")
            .field("revision", &self.revision)
            .field("objects", &self.count)
            .finish_non_exhaustive()
    }
}

impl Backup {
    pub(super) fn new(snapshot: Everything, codec: Arc<Codec>) -> Self {
        Self {
            revision: snapshot.revision,
            count: snapshot.records.len(),
            records: snapshot.records.into_iter(),
            codec,
            digest: Sha256::new(),
            part: Part::Head,
        }
    }

    /// The revision that every object in it is as of.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// How many objects it holds.
    pub fn objects(&self) -> usize {
        self.count
    }

    /// Writes it to a new file of mode 0600; an existing one is left alone.
    pub fn write_new(self, path: &Path) -> Result<(), StoreError> {
        let failed = |error| StoreError::unwritable(path, error);
        let mut file = folder::private_file().open(path).map_err(failed)?;
        let write = || {
            for chunk in self {
                file.write_all(&chunk)?;
            }
            file.sync_all()?;
            folder::sync_parent(path)
        };
        write().map_err(|error| {
            // Half a backup is worse than none.
            let _ = std::fs::remove_file(path);
            failed(error)
        })
    }
}

impl Iterator for Backup {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let mut chunk = Vec::with_capacity(CHUNK + CHUNK / 4);
        match self.part {
            Part::Done => return None,
            Part::Head => {
                chunk.extend_from_slice(MAGIC);
                chunk.extend_from_slice(&self.revision.to_le_bytes());
                chunk.extend_from_slice(&(self.count as u64).to_le_bytes());
                self.part = Part::Rows;
            }
            Part::Rows => {}
        }
        let mut row = Vec::new();
        while chunk.len() < CHUNK {
            let Some((space, key, record)) = self.records.next() else {
                self.part = Part::Done;
                break;
            };
            let place = layout::format_key(&space, &key);
            record.read(|json| self.codec.encode(&key.shelf, &place, json, &mut row));
            for part in [place.as_bytes(), &row] {
                let length = u32::try_from(part.len()).expect("an object is far below 4 GiB");
                chunk.extend_from_slice(&length.to_le_bytes());
                chunk.extend_from_slice(part);
            }
        }
        self.digest.update(&chunk);
        if self.part == Part::Done {
            chunk.extend_from_slice(&std::mem::take(&mut self.digest).finalize());
        }
        Some(chunk.into())
    }
}

/// What a backup holds, once it was read to its end.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) revision: u64,
    pub(super) count: u64,
    /// The keys that open it.
    pub(super) keys: BTreeSet<KeyId>,
}

/// Reads a whole backup; `visit` gets every place and row. Returns only if all of it is as it was
/// written: what `visit` made of the rows counts only then.
pub(super) fn read(
    path: &Path,
    mut visit: impl FnMut(&str, &[u8]) -> Result<(), StoreError>,
) -> Result<Contents, StoreError> {
    let bad = |detail: &str| StoreError::Backup {
        path: path.to_owned(),
        detail: detail.to_owned(),
    };
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => bad("it is cut off"),
        _ => bad(&error.to_string()),
    };
    let file = File::open(path).map_err(failed)?;
    let mut input = Hashed {
        input: BufReader::new(file),
        digest: Sha256::new(),
    };
    let mut magic = [0; MAGIC.len()];
    input.read_exact(&mut magic).map_err(failed)?;
    if &magic != MAGIC {
        return Err(bad("it is not a backup of this format"));
    }
    let revision = input.number().map_err(failed)?;
    let count = input.number().map_err(failed)?;
    let mut keys = BTreeSet::new();
    let (mut place, mut row) = (Vec::new(), Vec::new());
    for _ in 0..count {
        for part in [&mut place, &mut row] {
            input.sized(part).map_err(failed)?;
        }
        match layout::sealing(&row) {
            Sealing::Plain => {}
            Sealing::With(key) => drop(keys.insert(key)),
            Sealing::Unknown => return Err(bad("it is damaged")),
        }
        let place = std::str::from_utf8(&place).map_err(|_| bad("it is damaged"))?;
        visit(place, &row)?;
    }
    let computed = input.digest.finalize_reset();
    let mut stored = [0; 32];
    input.input.read_exact(&mut stored).map_err(failed)?;
    let rest = input.input.read(&mut [0]).map_err(failed)?;
    if computed.as_slice() != stored || rest > 0 {
        return Err(bad("it is damaged: its digest does not fit"));
    }
    Ok(Contents {
        revision,
        count,
        keys,
    })
}

/// A reader that hashes what it reads.
struct Hashed<R> {
    input: R,
    digest: Sha256,
}

impl<R: Read> Hashed<R> {
    fn read_exact(&mut self, out: &mut [u8]) -> io::Result<()> {
        self.input.read_exact(out)?;
        self.digest.update(&*out);
        Ok(())
    }

    fn number(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read_exact(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn sized(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let mut length = [0; 4];
        self.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length);
        if length > LONGEST {
            return Err(io::Error::other("it is damaged: a length is impossible"));
        }
        out.clear();
        out.resize(length as usize, 0);
        self.read_exact(out)
    }
}
