//! Sweeps: many pools, few calls (AWS document 11.2).
//!
//! One [`Sweep`] per credential and region answers for all pools there. Two kinds of batch fill it:
//!
//! * a **cycle** reads every pool that asked lately, at most one every 5 s;
//! * a **supplement** reads only pools that no cycle can serve yet: never read, or written to since.
//!   It is what lets a pool look at its own write without a cycle for everybody.
//!
//! A batch is single flight. Whoever needs an answer waits for the batch that will hold it; the
//! work runs on a task of its own, so that a caller that goes away takes nobody's answer along.
//!
//! Invariants: an answer is `Known` only when every page of its chunk was read; a failed page makes
//! the whole chunk `Unknown`; an answer read before a write to its group is never handed out after
//! that write; instances of groups that were not asked for are dropped.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use remuda_cloud::{
    CloudError, locked,
    sweep::{FAILURE_HOLDS, INTEREST, SweepTiming},
};
use remuda_plan::{
    aws::observed::{Group, Instance},
    error::{CloudFailure, FailureClass},
    pool::read::{Freshness, Read},
};
use tokio::{sync::Notify, time::Instant};

use crate::{
    calls,
    clients::Clients,
    wire::{group, instance},
};

/// Names in one `DescribeAutoScalingGroups`: 100, and `MaxRecords` must say so, for AWS returns 50
/// a page otherwise (AWS document 11.2).
const GROUPS_PER_CALL: usize = 100;

/// Values in one EC2 filter (AWS document 11.2).
const TAG_VALUES_PER_CALL: usize = 200;

/// What was read of one group.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// The group; `None` when AWS does not know it.
    pub(crate) group: Read<Option<Group>>,
    /// Its instances, sorted by provider id.
    pub(crate) instances: Read<Vec<Instance>>,
    /// When the read began.
    asked_at: Instant,
}

impl Answer {
    fn failed(&self) -> bool {
        self.group.known().is_none() || self.instances.known().is_none()
    }
}

/// The sweep of one credential and region.
#[derive(Debug)]
pub(crate) struct Sweep {
    clients: Arc<Clients>,
    timing: SweepTiming,
    state: Mutex<State>,
    finished: Notify,
}

#[derive(Debug, Default)]
struct State {
    answers: BTreeMap<String, Answer>,
    /// When each pool last asked.
    interest: BTreeMap<String, Instant>,
    /// When each group was last written to.
    written_at: BTreeMap<String, Instant>,
    /// Pools that wait because their answer is too old.
    aged: BTreeSet<String>,
    /// Pools that wait because there is no answer for them, or none since their last write.
    missing: BTreeSet<String>,
    last_cycle: Option<Instant>,
    last_supplement: Option<Instant>,
    driving: bool,
}

impl Sweep {
    pub(crate) fn new(clients: Arc<Clients>, timing: SweepTiming) -> Arc<Self> {
        Arc::new(Self {
            clients,
            timing,
            state: Mutex::default(),
            finished: Notify::new(),
        })
    }

    /// What is known of a group, no older than `freshness` allows and never older than its last
    /// write.
    ///
    /// # Cancellation
    /// The batch goes on for the others.
    pub(crate) async fn read(self: &Arc<Self>, name: &str, freshness: Freshness) -> Answer {
        let max_age = match freshness {
            Freshness::Steady => self.timing.steady,
            Freshness::Converging => self.timing.converging,
            Freshness::Changed => {
                self.void(name);
                self.timing.converging
            }
            Freshness::Fresh => return self.read_alone(name).await,
        };
        let asked_at = Instant::now();
        loop {
            let finished = self.finished.notified();
            tokio::pin!(finished);
            // Registered before looking, so that a batch that ends in between is not missed.
            finished.as_mut().enable();
            if let Some(answer) = self.look(name, max_age, asked_at) {
                self.tell(&answer);
                return answer;
            }
            self.drive();
            finished.await;
        }
    }

    /// Reads one group and its members now.
    async fn read_alone(&self, name: &str) -> Answer {
        let names = [name.to_owned()];
        let mut answers = self.fetch(&names, &mut Reading::now()).await;
        let answer = answers
            .remove(name)
            .expect("fetch answers for every name it is given");
        let mut state = locked(&self.state);
        state.interest.insert(name.to_owned(), answer.asked_at);
        state.keep(name, answer.clone());
        drop(state);
        self.tell(&answer);
        answer
    }

    /// Whoever counts learns how old an answer is that could be read.
    fn tell(&self, answer: &Answer) {
        if !answer.failed() {
            self.clients.outlet.told(answer.asked_at.elapsed());
        }
    }

    /// A group was written to, or is known to have changed: what was read before is void.
    pub(crate) fn void(&self, name: &str) {
        locked(&self.state)
            .written_at
            .insert(name.to_owned(), Instant::now());
    }

    /// An answer that will do, or the pool is put into the next batch.
    fn look(&self, name: &str, max_age: Duration, asked_at: Instant) -> Option<Answer> {
        let now = Instant::now();
        let mut state = locked(&self.state);
        state.interest.insert(name.to_owned(), now);
        let answer = state.valid_answer(name);
        if let Some(answer) = answer {
            // A read that began after the question is as new as can be, even if it took long.
            let age = now.saturating_duration_since(answer.asked_at);
            let limit = if answer.failed() {
                max_age.min(FAILURE_HOLDS)
            } else {
                max_age
            };
            if age <= limit || answer.asked_at >= asked_at {
                return Some(answer.clone());
            }
            state.aged.insert(name.to_owned());
        } else {
            state.missing.insert(name.to_owned());
        }
        None
    }

    /// Starts the task that runs batches while anyone waits.
    fn drive(self: &Arc<Self>) {
        let mut state = locked(&self.state);
        if state.driving {
            return;
        }
        state.driving = true;
        drop(state);
        let sweep = Arc::clone(self);
        tokio::spawn(async move {
            let _stopped = Stopped(&sweep);
            while let Some(start) = sweep.next_start() {
                tokio::time::sleep_until(start).await;
                let Some(names) = sweep.take_batch() else {
                    continue;
                };
                sweep.read_batch(&names).await;
                sweep.finished.notify_waiters();
            }
        });
    }

    /// Reads a batch. What was read is kept part by part: a cycle of a thousand pools is not in
    /// memory twice.
    async fn read_batch(&self, names: &[String]) {
        let mut reading = Reading::now();
        for part in names.chunks(TAG_VALUES_PER_CALL) {
            let answers = self.fetch(part, &mut reading).await;
            let mut state = locked(&self.state);
            for (name, answer) in answers {
                // Whoever asked for it meanwhile is served, or asks again when the batch has ended:
                // nobody else waits for a batch after this one.
                state.aged.remove(&name);
                state.missing.remove(&name);
                state.keep(&name, answer);
            }
        }
    }

    /// When the next batch may start; `None` when nobody waits, and then the task has ended.
    fn next_start(&self) -> Option<Instant> {
        let mut state = locked(&self.state);
        let gathered = Instant::now() + self.timing.gather;
        let spaced = |last: Option<Instant>, spacing| {
            last.map_or(gathered, |last: Instant| gathered.max(last + spacing))
        };
        let cycle = spaced(state.last_cycle, self.timing.cycle_spacing);
        let supplement = spaced(state.last_supplement, self.timing.supplement_spacing);
        let start = match (state.missing.is_empty(), state.aged.is_empty()) {
            (true, true) => None,
            (true, false) => Some(cycle),
            (false, true) => Some(supplement),
            (false, false) => Some(cycle.min(supplement)),
        };
        if start.is_none() {
            state.driving = false;
        }
        start
    }

    /// The batch that is due now: a cycle when someone waits for one and it is time.
    fn take_batch(&self) -> Option<Vec<String>> {
        let now = Instant::now();
        let mut state = locked(&self.state);
        let cycle_is_due = state
            .last_cycle
            .is_none_or(|last| now >= last + self.timing.cycle_spacing);
        let mut names = std::mem::take(&mut state.missing);
        if cycle_is_due && !state.aged.is_empty() {
            state.last_cycle = Some(now);
            state
                .interest
                .retain(|_, asked| now.saturating_duration_since(*asked) <= INTEREST);
            names.extend(state.interest.keys().cloned());
            names.append(&mut state.aged);
            state.forget_the_idle();
        } else if names.is_empty() {
            return None;
        } else {
            state.last_supplement = Some(now);
        }
        Some(names.into_iter().collect())
    }

    /// Reads groups and members of all names: one answer a name, whatever happens.
    async fn fetch(&self, names: &[String], reading: &mut Reading) -> BTreeMap<String, Answer> {
        let Reading { asked_at, hopeless } = reading;
        let mut answers: BTreeMap<String, Answer> = names
            .iter()
            .map(|name| {
                let answer = Answer {
                    group: Read::NotAsked,
                    instances: Read::NotAsked,
                    asked_at: *asked_at,
                };
                (name.clone(), answer)
            })
            .collect();
        for chunk in names.chunks(GROUPS_PER_CALL) {
            let read = attempt(hopeless, self.groups(chunk)).await;
            spread(&mut answers, chunk, read, |answer, read| {
                answer.group = read;
            });
        }
        for chunk in names.chunks(TAG_VALUES_PER_CALL) {
            let read = attempt(hopeless, self.instances(chunk)).await;
            spread(&mut answers, chunk, read, |answer, read| {
                answer.instances = read;
            });
        }
        answers
    }

    /// All pages of up to 100 groups by name.
    async fn groups(
        &self,
        names: &[String],
    ) -> Result<BTreeMap<String, Option<Group>>, CloudError> {
        let mut found: BTreeMap<String, Option<Group>> =
            names.iter().map(|name| (name.clone(), None)).collect();
        let mut next_token = None;
        loop {
            let page = self
                .clients
                .call(&calls::DESCRIBE_GROUPS, "", || {
                    self.clients
                        .autoscaling
                        .describe_auto_scaling_groups()
                        .set_auto_scaling_group_names(Some(names.to_vec()))
                        .max_records(100)
                        .set_next_token(next_token.clone())
                        .send()
                })
                .await?;
            for read in page.auto_scaling_groups().iter().filter_map(group::read) {
                if let Some(slot) = found.get_mut(&read.name) {
                    *slot = Some(read);
                }
            }
            next_token = page.next_token.filter(|token| !token.is_empty());
            if next_token.is_none() {
                return Ok(found);
            }
        }
    }

    /// All pages of the instances of up to 200 groups.
    async fn instances(
        &self,
        names: &[String],
    ) -> Result<BTreeMap<String, Vec<Instance>>, CloudError> {
        let values: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut found: BTreeMap<String, Vec<Instance>> = names
            .iter()
            .map(|name| (name.clone(), Vec::new()))
            .collect();
        let mut next_token: Option<String> = None;
        loop {
            let parameters = instance::describe(&values, next_token.as_deref());
            let page = self
                .clients
                .ec2(&calls::DESCRIBE_INSTANCES, "", parameters)
                .await?;
            let page = page.root();
            for (group, read) in instance::instances(page) {
                if let Some(instances) = found.get_mut(&group) {
                    instances.push(read);
                }
            }
            next_token = page.text_at(&["nextToken"]).map(ToOwned::to_owned);
            if next_token.is_none() {
                break;
            }
        }
        for instances in found.values_mut() {
            instances.sort_by(|one, other| one.member.provider_id.cmp(&other.member.provider_id));
            // Pages are not a snapshot: an instance may be on two of them.
            instances.dedup_by(|one, other| one.member.provider_id == other.member.provider_id);
        }
        Ok(found)
    }
}

impl State {
    /// The answer of a group, unless it was read before the group's last write.
    fn valid_answer(&self, name: &str) -> Option<&Answer> {
        let answer = self.answers.get(name)?;
        let void = self
            .written_at
            .get(name)
            .is_some_and(|written| answer.asked_at <= *written);
        (!void).then_some(answer)
    }

    /// Keeps an answer unless a newer one is there: a slow batch must not undo a fresh read.
    fn keep(&mut self, name: &str, answer: Answer) {
        let newer = self
            .answers
            .get(name)
            .is_some_and(|held| held.asked_at > answer.asked_at);
        if !newer {
            self.answers.insert(name.to_owned(), answer);
        }
    }

    /// Forgets what nobody asks for any more.
    fn forget_the_idle(&mut self) {
        let Self {
            answers,
            interest,
            written_at,
            ..
        } = self;
        answers.retain(|name, _| interest.contains_key(name));
        written_at.retain(|name, _| interest.contains_key(name));
    }
}

/// A batch that is being read.
struct Reading {
    /// When it began.
    asked_at: Instant,
    /// Why all further reads of it will fail.
    hopeless: Option<CloudFailure>,
}

impl Reading {
    fn now() -> Self {
        Self {
            asked_at: Instant::now(),
            hopeless: None,
        }
    }
}

/// Whatever ends the task, another may start, and those who wait look again.
struct Stopped<'a>(&'a Sweep);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        let mut state = locked(&self.0.state);
        if std::thread::panicking() {
            state.driving = false;
        }
        drop(state);
        self.0.finished.notify_waiters();
    }
}

/// Runs a read unless an earlier one of the batch showed that all will fail alike.
async fn attempt<T>(
    hopeless: &mut Option<CloudFailure>,
    read: impl Future<Output = Result<T, CloudError>>,
) -> Result<T, CloudFailure> {
    if let Some(failure) = hopeless {
        return Err(failure.clone());
    }
    read.await.map_err(|error| {
        if matches!(
            error.class(),
            FailureClass::NoCredentials | FailureClass::Throttled
        ) {
            *hopeless = Some(error.failure.clone());
        }
        error.failure
    })
}

/// Gives each name of a chunk its part of what was read, or the failure.
fn spread<T>(
    answers: &mut BTreeMap<String, Answer>,
    chunk: &[String],
    read: Result<BTreeMap<String, T>, CloudFailure>,
    put: impl Fn(&mut Answer, Read<T>),
) {
    let mut read = read;
    for name in chunk {
        let part = match &mut read {
            Ok(found) => found.remove(name).map(Read::Known),
            Err(failure) => Some(Read::Unknown(failure.clone())),
        };
        if let (Some(answer), Some(part)) = (answers.get_mut(name), part) {
            put(answer, part);
        }
    }
}
