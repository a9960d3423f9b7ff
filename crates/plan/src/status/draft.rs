//! The publication while it is made.

use jiff::Timestamp;

use super::{
    condition::{ConditionType, Reason},
    conditions::Conditions,
    event::{Event, EventReason},
    pass::Pass,
    publication::{MetadataWrite, SpecWrite},
    wire::PoolStatus,
};
use crate::pool::{
    findings::StateFinding,
    gate::{self, Next},
    goal::Goal,
    record::Record,
    world::{Memory, World},
};

/// The publication while it is made: each part of `fold` adds to it.
pub(super) struct Draft<'a> {
    pub(super) world: &'a World,
    pub(super) pass: &'a Pass,
    /// Whole seconds, as Kubernetes writes times.
    pub(super) now: Timestamp,
    pub(super) status: PoolStatus,
    pub(super) conditions: Conditions,
    pub(super) spec: SpecWrite,
    pub(super) metadata: MetadataWrite,
    /// The record as it will be; `None` while there is nothing to remember.
    pub(super) record: Option<Record>,
    pub(super) events: Vec<Event>,
    pub(super) memory: Memory,
    /// The pass ended an operation that was folded before: its events are out.
    pub(super) told: bool,
}

impl<'a> Draft<'a> {
    pub(super) fn new(world: &'a World, pass: &'a Pass, now: Timestamp) -> Self {
        let seconds = whole_seconds(now);
        let mut memory = gate::memory(world, now);
        let status = world.pool.status.clone();
        let goal = goal(pass);
        let stored = [
            pass.record.as_ref(),
            goal.and_then(|goal| goal.record.as_ref()),
            world.record.found(),
        ];
        let stored = stored
            .into_iter()
            .flatten()
            .max_by_key(|record| record.revision)
            // What another pool left behind says nothing of this one.
            .filter(|_| {
                let state = &pass.gate.findings.state;
                !matches!(state, Some(StateFinding::Retained(_)))
            });
        let told = goal.is_some_and(|goal| {
            let run = Some((goal.job.clone(), pass.started));
            let told = memory.judged == run;
            memory.judged = run;
            told
        });
        Self {
            world,
            pass,
            now: seconds,
            conditions: Conditions::new(&status.conditions, seconds),
            status,
            spec: SpecWrite::default(),
            metadata: MetadataWrite::default(),
            record: stored.cloned(),
            events: Vec::new(),
            memory,
            told,
        }
    }

    /// The operation of the pass, if it came to one.
    pub(super) fn goal(&self) -> Option<&'a Goal> {
        goal(self.pass)
    }

    /// The record, made if need be.
    pub(super) fn record_mut(&mut self) -> &mut Record {
        let installation = &self.world.manager.installation;
        self.record.get_or_insert_with(|| Record::new(installation))
    }

    /// The loss of the record was told before, perhaps with what the search for it found.
    pub(super) fn state_was_lost(&self) -> bool {
        self.conditions
            .before(ConditionType::StateReadable)
            .is_some_and(|before| {
                matches!(before.reason, Reason::StateLost | Reason::StateInconsistent)
            })
    }

    /// Adds an event.
    pub(super) fn tell(&mut self, reason: EventReason, note: impl Into<String>) {
        self.events.push(Event::new(reason, note));
    }

    /// Adds the event of an operation's end, unless this pass was folded before.
    pub(super) fn tell_once(&mut self, reason: EventReason, note: impl Into<String>) {
        if !self.told {
            self.tell(reason, note);
        }
    }
}

fn goal(pass: &Pass) -> Option<&Goal> {
    match &pass.gate.next {
        Next::Go(goal) => Some(goal),
        Next::Ignore | Next::AddFinalizer | Next::Prepare(_) | Next::Release(_) | Next::Rest => {
            None
        }
    }
}

/// Kubernetes writes times in whole seconds.
fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}
