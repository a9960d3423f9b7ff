//! The one writer: gives out revisions, keeps what is committed but not yet durable, and in disk
//! mode gathers the commits that wait at the same time into one transaction.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::thread::JoinHandle;

use serde_json::Value;
use tokio::sync::oneshot;

use super::disk::{Disk, Row};
use super::packed::{Packer, Packers};
use super::shelf::{Change, Event};
use super::{Key, Record, Space};

/// One transaction carries at most this many commits, so that the first never waits long.
const BATCH: usize = 256;
const CLOSED: &str = "the store is closed";

/// What a commit expects of the object it replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    /// No object there.
    Absent,
    /// The object of exactly this revision.
    Revision(u64),
}

/// Why a commit did not happen.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommitError {
    /// Another commit came first.
    #[error("the object has changed")]
    Conflict,
    /// The disk refused; nothing more can be written.
    #[error("the store cannot write any more: {0}")]
    Storage(String),
}

type Place = (Arc<str>, Key);

/// See the module's words.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the writer shares with the thread that owns the disk.
struct Shared {
    state: Mutex<State>,
}

impl Drop for Writer {
    /// Waits until the file is closed, so that it can be opened again at once.
    fn drop(&mut self) {
        self.close();
    }
}

impl Writer {
    /// Refuses commits from now on, and returns once those under way are settled and the file is
    /// closed.
    pub(crate) fn close(&self) {
        {
            let mut state = self.state();
            state.failed.get_or_insert_with(|| CLOSED.into());
            state.road = Road::Closed;
        }
        let thread = self.thread.lock().ok().and_then(|mut thread| thread.take());
        if let Some(thread) = thread {
            // A panic of that thread was already reported by the runtime.
            let _ = thread.join();
        }
    }
}

/// Where commits go.
enum Road {
    Memory,
    Disk(mpsc::Sender<Job>),
    Closed,
}

struct State {
    road: Road,
    revision: u64,
    /// The newest revision that readers see.
    visible: u64,
    /// Newest state of objects whose commit is not durable yet.
    pending: HashMap<Place, (u64, Option<Arc<Record>>)>,
    failed: Option<String>,
    packers: Packers,
}

/// Called once the change is durable and visible, or will never be.
type Done = Box<dyn FnOnce(Result<(), String>) + Send>;

struct Job {
    work: Work,
    done: Done,
}

enum Work {
    Change(JobChange),
    /// Only waits for those before it.
    Wait,
    /// Writes the file anew.
    Compact,
}

impl Job {
    fn change(&self) -> Option<&JobChange> {
        match &self.work {
            Work::Change(change) => Some(change),
            Work::Wait | Work::Compact => None,
        }
    }
}

struct JobChange {
    space: Arc<Space>,
    key: Key,
    event: Arc<Event>,
}

impl Writer {
    pub(crate) fn in_memory() -> Self {
        Self {
            shared: Arc::new(Shared::new(Road::Memory, 0, Packers::default())),
            thread: Mutex::new(None),
        }
    }

    /// Starts the thread that owns the disk.
    pub(crate) fn on_disk(disk: Disk, revision: u64, packers: Packers) -> Self {
        let (sender, receiver) = mpsc::channel();
        let shared = Arc::new(Shared::new(Road::Disk(sender), revision, packers));
        let thread = {
            let shared = shared.clone();
            std::thread::Builder::new()
                .name("apiserver-store".into())
                .spawn(move || run(disk, &receiver, &shared))
                .expect("the machine can start one more thread")
        };
        Self {
            shared,
            thread: Mutex::new(Some(thread)),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state()
    }

    /// The newest revision given out.
    pub(crate) fn revision(&self) -> u64 {
        self.state().revision
    }

    /// The object as the next commit will find it: durable or not.
    pub(crate) fn latest(&self, space: &Space, key: &Key) -> Option<Arc<Record>> {
        self.state().latest(space, key)
    }

    /// Replaces, makes or (with `None`) removes one object, if it is still as expected. Returns
    /// once the change is durable and visible: the stored object, or the removed one stamped with
    /// the revision of its removal.
    ///
    /// Cancellation: the commit happens all the same; only its acknowledgement is lost.
    pub(crate) async fn commit(
        &self,
        space: &Arc<Space>,
        key: &Key,
        expect: Expect,
        object: Option<Value>,
    ) -> Result<Arc<Record>, CommitError> {
        let (done, acknowledged) = oneshot::channel();
        // A caller that went away does not need the answer.
        let done = Box::new(move |outcome| drop(done.send(outcome)));
        let record = self.enqueue(space, key, expect, object, done)?;
        acknowledged
            .await
            .unwrap_or_else(|_| Err(CLOSED.into()))
            .map_err(CommitError::Storage)?;
        Ok(record)
    }

    /// Like [`Writer::commit`], for callers outside a runtime: holds the thread for one commit.
    pub(crate) fn commit_blocking(
        &self,
        space: &Arc<Space>,
        key: &Key,
        expect: Expect,
        object: Option<Value>,
    ) -> Result<Arc<Record>, CommitError> {
        let (done, acknowledged) = mpsc::channel();
        let done = Box::new(move |outcome| drop(done.send(outcome)));
        let record = self.enqueue(space, key, expect, object, done)?;
        acknowledged
            .recv()
            .unwrap_or_else(|_| Err(CLOSED.into()))
            .map_err(CommitError::Storage)?;
        Ok(record)
    }

    /// Runs `read` while nothing becomes visible, with the newest revision that is.
    pub(crate) fn standing_still<T>(&self, read: impl FnOnce(u64) -> T) -> T {
        let state = self.state();
        read(state.visible)
    }

    /// Returns once every commit begun before is durable and visible.
    pub(crate) async fn settled(&self) -> Result<(), CommitError> {
        self.ask(Work::Wait).await
    }

    /// Writes the file anew, without waste, and everything sealed with the newest key; writes wait
    /// meanwhile. A failure leaves the file as it was. In memory there is nothing to do.
    pub(crate) async fn compact(&self) -> Result<(), CommitError> {
        self.ask(Work::Compact).await
    }

    async fn ask(&self, work: Work) -> Result<(), CommitError> {
        let (done, acknowledged) = oneshot::channel();
        let done = Box::new(move |outcome| drop(done.send(outcome)));
        {
            let state = self.state();
            match &state.road {
                Road::Memory => return Ok(()),
                Road::Closed => return Err(CommitError::Storage(CLOSED.into())),
                Road::Disk(queue) => queue
                    .send(Job { work, done })
                    .map_err(|_| CommitError::Storage(CLOSED.into()))?,
            }
        }
        acknowledged
            .await
            .unwrap_or_else(|_| Err(CLOSED.into()))
            .map_err(CommitError::Storage)
    }

    fn enqueue(
        &self,
        space: &Arc<Space>,
        key: &Key,
        expect: Expect,
        object: Option<Value>,
        done: Done,
    ) -> Result<Arc<Record>, CommitError> {
        let mut state = self.state();
        if let Some(why) = &state.failed {
            return Err(CommitError::Storage(why.clone()));
        }
        let before = state.latest(space, key);
        let as_expected = match (expect, &before) {
            (Expect::Absent, found) => found.is_none(),
            (Expect::Revision(revision), Some(found)) => found.revision == revision,
            (Expect::Revision(_), None) => false,
        };
        if !as_expected {
            return Err(CommitError::Conflict);
        }
        let revision = state.revision + 1;
        let packer = state.packers.of(&key.shelf);
        let Some(event) = event(key, revision, before, object, packer) else {
            return Err(CommitError::Conflict);
        };
        state.revision = revision;
        let record = event.record.clone();
        if matches!(state.road, Road::Memory) {
            space.apply(&key.shelf, event);
            state.visible = revision;
            drop(state);
            done(Ok(()));
            return Ok(record);
        }
        let kept = (event.change != Change::Deleted).then(|| record.clone());
        let place = (space.name().clone(), key.clone());
        state.pending.insert(place, (revision, kept));
        let change = JobChange {
            space: space.clone(),
            key: key.clone(),
            event,
        };
        let job = Job {
            work: Work::Change(change),
            done,
        };
        let sent = match &state.road {
            Road::Disk(queue) => queue.send(job).is_ok(),
            Road::Memory | Road::Closed => false,
        };
        if !sent {
            state.failed = Some(CLOSED.into());
            return Err(CommitError::Storage(CLOSED.into()));
        }
        Ok(record)
    }
}

impl Shared {
    fn new(road: Road, revision: u64, packers: Packers) -> Self {
        Self {
            state: Mutex::new(State::new(road, revision, packers)),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of this lock panics")
    }

    fn settle(&self, jobs: Vec<Job>, outcome: &Result<(), String>) {
        {
            let mut state = self.state();
            if let Err(why) = outcome {
                tracing::error!(error = %why, "the store cannot write any more");
                state.failed = Some(why.clone());
            }
            for change in jobs.iter().filter_map(Job::change) {
                if outcome.is_ok() {
                    state.visible = change.event.revision;
                    change.space.apply(&change.key.shelf, change.event.clone());
                }
                let place = (change.space.name().clone(), change.key.clone());
                let newest = state.pending.get(&place).map(|(revision, _)| *revision);
                if newest == Some(change.event.revision) {
                    state.pending.remove(&place);
                }
            }
        }
        for job in jobs {
            (job.done)(outcome.clone());
        }
    }
}

impl State {
    fn new(road: Road, revision: u64, packers: Packers) -> Self {
        Self {
            road,
            packers,
            revision,
            visible: revision,
            pending: HashMap::new(),
            failed: None,
        }
    }

    fn latest(&self, space: &Space, key: &Key) -> Option<Arc<Record>> {
        match self.pending.get(&(space.name().clone(), key.clone())) {
            Some((_, record)) => record.clone(),
            None => space.get(key),
        }
    }
}

/// The event of a commit; `None` for the removal of nothing.
fn event(
    key: &Key,
    revision: u64,
    before: Option<Arc<Record>>,
    object: Option<Value>,
    packer: &mut Packer,
) -> Option<Arc<Event>> {
    let change = match (&before, &object) {
        (None, Some(_)) => Change::Created,
        (Some(_), Some(_)) => Change::Updated,
        (Some(_), None) => Change::Deleted,
        (None, None) => return None,
    };
    let object = match object {
        Some(object) => object,
        None => before.as_ref()?.value(),
    };
    let record = Record::kept(object, revision, packer, before.as_deref());
    Some(Arc::new(Event {
        revision,
        change,
        namespace: key.namespace.as_str().into(),
        name: key.name.as_str().into(),
        record: Arc::new(record),
        before,
    }))
}

fn run(mut disk: Disk, queue: &mpsc::Receiver<Job>, shared: &Shared) {
    while let Ok(first) = queue.recv() {
        let jobs = gather(first, queue);
        let compacts = |job: &Job| matches!(job.work, Work::Compact);
        let (compacting, jobs): (Vec<Job>, Vec<Job>) = jobs.into_iter().partition(compacts);
        let changes = jobs.iter().filter_map(Job::change);
        let outcome = match changes.clone().next() {
            Some(_) => disk
                .commit(changes.map(row))
                .map_err(|error| error.to_string()),
            None => Ok(()),
        };
        shared.settle(jobs, &outcome);
        if !compacting.is_empty() {
            let outcome = disk.compact().map_err(|error| error.to_string());
            for job in compacting {
                (job.done)(outcome.clone());
            }
        }
    }
}

/// All jobs that wait, and on a busy machine those that are about to: a transaction costs about the
/// same whatever it holds, so whoever is ready to run gets the processor once before it begins.
fn gather(first: Job, queue: &mpsc::Receiver<Job>) -> Vec<Job> {
    let mut jobs = vec![first];
    for turn in 0..2 {
        while jobs.len() < BATCH
            && let Ok(job) = queue.try_recv()
        {
            jobs.push(job);
        }
        if turn == 0 {
            std::thread::yield_now();
        }
    }
    jobs
}

fn row(change: &JobChange) -> Row<'_> {
    let kept = change.event.change != Change::Deleted;
    Row {
        space: change.space.name(),
        key: &change.key,
        revision: change.event.revision,
        record: kept.then_some(&*change.event.record),
    }
}
