//! The journal of write requests: lets a test prove that a pass wrote nothing.

use std::collections::VecDeque;
use std::sync::Mutex;

/// The journal keeps at most this many requests; the total goes on counting.
const KEPT: usize = 4_096;

/// One request that could write, and how it was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteRequest {
    /// `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: &'static str,
    /// The path, without the query.
    pub path: String,
    /// The HTTP status of the answer.
    pub status: u16,
    /// The field manager, or the client's name when it gave none.
    pub manager: String,
}

/// Write requests of one instance, newest last.
#[derive(Debug, Default)]
pub struct Journal {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    total: u64,
    kept: VecDeque<WriteRequest>,
}

impl Journal {
    /// How many write requests were answered since the start, refused ones included.
    pub fn total(&self) -> u64 {
        self.lock().total
    }

    /// The newest write requests, oldest first; older ones are dropped.
    pub fn writes(&self) -> Vec<WriteRequest> {
        self.lock().kept.iter().cloned().collect()
    }

    /// Forgets the kept requests; the total stays.
    pub fn clear(&self) {
        self.lock().kept.clear();
    }

    pub(crate) fn record(&self, request: WriteRequest) {
        let mut inner = self.lock();
        inner.total += 1;
        if inner.kept.len() == KEPT {
            inner.kept.pop_front();
        }
        inner.kept.push_back(request);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().expect("no holder of this lock panics")
    }
}
