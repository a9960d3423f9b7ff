//! What every simulated cloud is made of: its state behind a lock, its clock, faults and journal,
//! and who is told when something changes.
//!
//! Invariant: the world moves when somebody looks. Whoever takes the lock to look at the state
//! first lets the state handle the events due by then.

use std::{
    ops::{Deref, DerefMut},
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use jiff::Timestamp;
use tokio::sync::{Notify, watch};

use crate::{Faults, Journal, SimClock, events::EventQueue};

/// The state of one cloud.
pub trait CloudState: Send + 'static {
    /// What happens by itself.
    type Event;

    /// How often the world changed; time alone is no change.
    fn revision(&self) -> u64;
    /// Its clock.
    fn clock(&self) -> &SimClock;
    /// Its fault scripts.
    fn faults(&self) -> &Faults;
    /// The moment being worked on, and what happens next.
    fn course(&mut self) -> (&mut Timestamp, &mut EventQueue<Self::Event>);
    /// When the next event comes.
    fn next_event(&self) -> Option<Timestamp>;
    /// Does what an event does.
    fn handle(&mut self, event: Self::Event);

    /// Handles the events due by now, each at its own moment.
    fn advance(&mut self) {
        let present = self.clock().now();
        loop {
            let (now, events) = self.course();
            let Some((at, event)) = events.pop_due(present) else {
                *now = present.max(*now);
                return;
            };
            *now = at.max(*now);
            self.handle(event);
        }
    }
}

/// One cloud.
pub struct Cloud<S> {
    pub(crate) clock: SimClock,
    pub(crate) journal: Journal,
    pub(crate) faults: Faults,
    /// Told when something may have changed what comes next.
    pub(crate) wake: Notify,
    state: Mutex<S>,
    /// The last revision that was made known.
    pub(crate) changes: watch::Sender<u64>,
}

impl<S: CloudState> Cloud<S> {
    pub(crate) fn new(state: S, clock: SimClock, faults: Faults) -> Self {
        Self {
            clock,
            journal: Journal::default(),
            faults,
            wake: Notify::new(),
            changes: watch::Sender::new(state.revision()),
            state: Mutex::new(state),
        }
    }

    pub(crate) fn lock(&self) -> Held<'_, S> {
        Held {
            state: self.state.lock().expect("no holder of the world panics"),
            changes: &self.changes,
        }
    }

    /// Handles the events that are due; when the next one comes.
    pub(crate) fn tick(&self) -> Option<Timestamp> {
        let mut state = self.lock();
        state.advance();
        state.next_event()
    }

    /// Lets `span` of simulated time pass and handles what comes due in it.
    pub(crate) async fn pass(&self, span: Duration) {
        self.clock.sleep(span).await;
        self.tick();
    }

    /// Moves the world whenever an event is due, until dropped. Idle while nothing is.
    pub(crate) async fn drive(&self) {
        loop {
            match self.tick() {
                Some(at) => {
                    tokio::select! {
                        () = tokio::time::sleep_until(self.clock.instant_of(at)) => {}
                        () = self.wake.notified() => {}
                    }
                }
                None => self.wake.notified().await,
            }
        }
    }
}

/// The state, held. Letting it go makes known whether it changed.
pub(crate) struct Held<'a, S: CloudState> {
    state: MutexGuard<'a, S>,
    changes: &'a watch::Sender<u64>,
}

impl<S: CloudState> Deref for Held<'_, S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.state
    }
}

impl<S: CloudState> DerefMut for Held<'_, S> {
    fn deref_mut(&mut self) -> &mut S {
        &mut self.state
    }
}

impl<S: CloudState> Drop for Held<'_, S> {
    fn drop(&mut self) {
        let revision = self.state.revision();
        self.changes
            .send_if_modified(|known| std::mem::replace(known, revision) != revision);
    }
}
