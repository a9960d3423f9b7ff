//! The world model of one simulated AWS.
//!
//! ```text
//! State ── fabric   time, randomness, events, regions (zones, capacity, images), faults
//!       ├─ estates  what one account owns in one region: groups, and compute below them
//!       │           (templates, instances, subnets)
//!       ├─ identity keys, roles, sessions
//!       └─ buckets
//! ```
//!
//! Invariants: everything that happens by itself is an event in the queue; a state is only read
//! after the events due by then were handled ([`State::advance`]).

pub(crate) mod estate;
pub(crate) mod events;
pub(crate) mod fabric;
pub(crate) mod identity;
pub(crate) mod network;
pub(crate) mod region;
mod timing;

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;

pub use timing::Timing;

pub(crate) use self::{
    estate::{Compute, Estate},
    fabric::Fabric,
};
use self::{
    events::{EstateId, Event},
    identity::Identity,
};
use super::s3::Bucket;
use crate::{
    Faults, SimClock, cloud::CloudState, events::EventQueue, kubelet::Kubelets, parts::Parts,
};

/// A name or id that many places hold.
pub(crate) type Name = Arc<str>;

/// Everything a write may touch in one account and region.
pub(crate) struct Site<'a> {
    pub(crate) estate: &'a mut Estate,
    pub(crate) fabric: &'a mut Fabric,
}

/// Everything a read may see in one account and region.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) estate: &'a Estate,
    pub(crate) fabric: &'a Fabric,
}

/// The whole world.
pub struct State {
    pub(crate) fabric: Fabric,
    /// With their earlier states, for stale reads.
    pub(crate) estates: Parts<Estate>,
    pub(crate) identity: Identity,
    pub(crate) buckets: BTreeMap<String, Bucket>,
    pub(crate) kubelets: Kubelets,
    /// How often the world changed.
    revision: u64,
}

impl State {
    pub(crate) fn new(fabric: Fabric) -> Self {
        Self {
            fabric,
            estates: Parts::default(),
            identity: Identity::default(),
            buckets: BTreeMap::new(),
            kubelets: Kubelets::default(),
            revision: 0,
        }
    }

    /// Says that something changes.
    pub(crate) fn touch(&mut self) {
        self.revision += 1;
    }

    /// Where an account's things in a region are; `None` when there is no such region.
    pub(crate) fn estate_id(&mut self, account: &str, region: &str) -> Option<EstateId> {
        let found = self.estates.iter().position(|estate| {
            &*estate.compute.account == account && &*estate.compute.region == region
        });
        if found.is_some() || !self.fabric.regions.contains_key(region) {
            return found;
        }
        self.touch();
        let id = self.estates.len();
        self.estates
            .push(Estate::new(id, account.into(), region.into()));
        Some(id)
    }

    /// One estate to write to. Its present state is remembered for stale reads.
    pub(crate) fn site(&mut self, id: EstateId) -> Site<'_> {
        self.touch();
        self.remember(id);
        Site {
            estate: &mut self.estates[id],
            fabric: &mut self.fabric,
        }
    }

    /// One estate to read from.
    pub(crate) fn view(&self, id: EstateId) -> View<'_> {
        View {
            estate: &self.estates[id],
            fabric: &self.fabric,
        }
    }

    /// The estate as it was at `moment`; `None` when it has not changed since.
    pub(crate) fn as_of(&self, id: EstateId, moment: Timestamp) -> Option<Arc<Estate>> {
        self.estates.as_of(id, moment)
    }

    fn remember(&mut self, id: EstateId) {
        let span = self
            .fabric
            .timing
            .read_lag
            .max(self.fabric.faults.longest_stale_read());
        self.estates.remember(id, self.fabric.now, span);
    }
}

impl CloudState for State {
    type Event = Event;

    fn revision(&self) -> u64 {
        self.revision
    }

    fn clock(&self) -> &SimClock {
        &self.fabric.clock
    }

    fn faults(&self) -> &Faults {
        &self.fabric.faults
    }

    fn course(&mut self) -> (&mut Timestamp, &mut EventQueue<Event>) {
        (&mut self.fabric.now, &mut self.fabric.events)
    }

    fn next_event(&self) -> Option<Timestamp> {
        self.fabric.events.next_at()
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::GroupWork(id, group) => self.site(id).group_work(&group),
            Event::Metric(id, group) => self.site(id).metric_period(&group),
            Event::HookDeadline {
                estate,
                group,
                instance,
            } => {
                self.site(estate).hook_deadline(&group, &instance);
            }
            Event::Proceeds {
                estate,
                group,
                instance,
            } => self.site(estate).member_proceeds(&group, &instance),
            Event::Running(id, instance) => self.site(id).instance_runs(&instance),
            Event::Stopped(id, instance) => self.site(id).instance_stopped(&instance),
            Event::Terminated(id, instance) => self.site(id).instance_terminated(&instance),
            Event::Forgotten(id, instance) => {
                self.kubelets.failures.remove(&instance);
                self.site(id).forget_instance(&instance);
            }
            Event::SpotEnds(id, instance) => self.site(id).spot_ends(&instance),
        }
    }
}
