//! The world model of one simulated Azure.
//!
//! ```text
//! State ── fabric         time, randomness, events, regions (zones, capacity), images, faults
//!       ├─ subscriptions  groups, with scale sets and autoscale settings; what sets refer to;
//!       │                 operations, quotas, locks
//!       ├─ directory      applications, managed identities, tokens
//!       └─ budgets        what is left of the throttling budgets
//! ```
//!
//! Invariants: everything that happens by itself is an event in the queue; a state is only read
//! after the events due by then were handled.

mod directory;
pub(crate) mod events;
mod fabric;
pub(crate) mod region;
mod subscription;
mod timing;

use std::sync::Arc;

use jiff::Timestamp;

use self::events::Event;
pub(crate) use self::{
    directory::{Application, Directory, Federation},
    fabric::Fabric,
    subscription::{Ghost, Group, Subscription, Thing},
};
pub use self::{
    subscription::Lock,
    timing::{Behaviour, OperationHeaders, Timing},
};
use super::service::Budgets;
use crate::{
    Faults, SimClock,
    cloud::CloudState,
    events::EventQueue,
    kubelet::{Kubelets, Place},
    parts::Parts,
};

/// A name or id that many places hold.
pub(crate) type Name = Arc<str>;

/// Everything a write may touch in one subscription.
pub(crate) struct Site<'a> {
    pub(crate) subscription: &'a mut Subscription,
    pub(crate) fabric: &'a mut Fabric,
}

/// Everything a read may see in one subscription.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) subscription: &'a Subscription,
    pub(crate) fabric: &'a Fabric,
}

/// The whole world.
pub struct State {
    pub(crate) fabric: Fabric,
    /// With their earlier states, for stale reads.
    pub(crate) subscriptions: Parts<Subscription>,
    pub(crate) directory: Directory,
    pub(crate) budgets: Budgets,
    pub(crate) kubelets: Kubelets,
    revision: u64,
}

impl State {
    pub(crate) fn new(fabric: Fabric) -> Self {
        Self {
            fabric,
            subscriptions: Parts::default(),
            directory: Directory::default(),
            budgets: Budgets::default(),
            kubelets: Kubelets::default(),
            revision: 0,
        }
    }

    /// Says that something changes.
    pub(crate) fn touch(&mut self) {
        self.revision += 1;
    }

    /// Where a subscription is; `None` when there is none of that id.
    pub(crate) fn place_of(&self, subscription: &str) -> Option<Place> {
        self.subscriptions
            .iter()
            .position(|known| known.id.eq_ignore_ascii_case(subscription))
    }

    /// Adds a subscription that is not there yet.
    pub(crate) fn add_subscription(&mut self, id: &str, tenant: &str) -> Place {
        if let Some(place) = self.place_of(id) {
            return place;
        }
        self.touch();
        let place = self.subscriptions.len();
        self.subscriptions
            .push(Subscription::new(place, id, tenant));
        place
    }

    /// One subscription to write to. Its present state is remembered for stale reads.
    pub(crate) fn site(&mut self, place: Place) -> Site<'_> {
        self.touch();
        let lag = self.fabric.timing.read_lag;
        let span = lag.max(self.fabric.faults.longest_stale_read());
        self.subscriptions.remember(place, self.fabric.now, span);
        Site {
            subscription: &mut self.subscriptions[place],
            fabric: &mut self.fabric,
        }
    }

    /// One subscription to read from.
    pub(crate) fn view(&self, place: Place) -> View<'_> {
        View {
            subscription: &self.subscriptions[place],
            fabric: &self.fabric,
        }
    }

    /// The subscription as it was at `moment`; `None` when it has not changed since.
    pub(crate) fn as_of(&self, place: Place, moment: Timestamp) -> Option<Arc<Subscription>> {
        self.subscriptions.as_of(place, moment)
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
            Event::Instance {
                set,
                instance,
                turn,
            } => {
                if let Some(gone) = self.site(set.place).instance_step(&set, instance, turn) {
                    self.kubelets.failures.remove(&gone);
                }
            }
            Event::Operation(place, id) => self.site(place).operation_step(&id),
            Event::Autoscale {
                place,
                group,
                setting,
                serial,
            } => self.autoscale(place, &group, &setting, serial),
        }
    }
}
