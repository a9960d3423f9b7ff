//! A simulated Azure: Resource Manager (scale sets, instances, interfaces, Autoscale, groups), the
//! login host and the metadata service at the wire, over one world.
//!
//! ```text
//! router ── service  route, authenticate, throttle, fault?, dispatch, journal
//!              ├─ protocol     answers, refusals, ids, pages
//!              ├─ login        tokens
//!              ├─ metadata     what the guest of one instance is told
//!              ├─ compute  network  insights  resources      one folder a provider
//!              └─ state        the world: time, events, capacity, subscriptions
//! world  ── the hands on it, for tests; control ── the same as JSON, for people
//! ```
//!
//! The world moves when somebody looks: each request first handles the events due by then.
//! [`AzureSim::run_nodes`] also moves it in the background, since nodes act by themselves.

pub(crate) mod compute;
mod control;
mod demo;
mod insights;
mod login;
mod metadata;
mod network;
pub(crate) mod protocol;
mod resources;
mod saved;
mod service;
pub(crate) mod state;
mod world;

use std::{sync::Arc, time::Duration};

use axum::Router;
use jiff::Timestamp;
use tokio::sync::watch;

pub use demo::{
    DEMO_CLIENT_ID, DEMO_CLIENT_SECRET, DEMO_GALLERY, DEMO_GROUP, DEMO_REGION, DEMO_SUBSCRIPTION,
    DEMO_TENANT, DEMO_WORKER_CLIENT_ID, DEMO_WORKER_IDENTITY, DEMO_WORKER_SUBNET,
};
pub use insights::Activity;
pub use state::{Behaviour, Lock, OperationHeaders, Timing};
pub use world::{InstanceInfo, OperationInfo, ScaleSetInfo, SettingInfo, World};

use self::state::{Fabric, State};
use crate::{Faults, Journal, RestoreError, SimClock, cloud::Cloud, events::EventQueue};

/// A simulated Azure. Clones share the world.
#[derive(Clone)]
pub struct AzureSim {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) type Inner = Cloud<State>;

/// What an [`AzureSim`] is made of.
#[derive(Debug)]
pub struct AzureSimBuilder {
    clock: Option<SimClock>,
    seed: u64,
    timing: Option<Timing>,
    behaviour: Behaviour,
}

impl AzureSimBuilder {
    /// The world's clock; without one it starts at 2026-10-01 and runs at normal speed.
    #[must_use]
    pub fn clock(mut self, clock: SimClock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// What ids are drawn from: equal seeds, equal worlds.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How long processes take; without it [`Timing::realistic`], or [`Timing::immediate`] on an
    /// immediate clock.
    #[must_use]
    pub fn timing(mut self, timing: Timing) -> Self {
        self.timing = Some(timing);
        self
    }

    /// How the services behave.
    #[must_use]
    pub fn behaviour(mut self, behaviour: Behaviour) -> Self {
        self.behaviour = behaviour;
        self
    }

    /// An empty world.
    pub fn build(self) -> AzureSim {
        AzureSim::of(State::new(self.fabric()))
    }

    /// The world that [`AzureSim::save`] saved. It goes on from the moment it was saved at: on a
    /// clock that is ahead, time has passed in which nobody looked; one that is behind is set to
    /// that moment. Timing and behaviour are the builder's; faults, budgets, the journal and
    /// earlier states are not restored.
    ///
    /// # Errors
    /// The bytes are no saved world, or one of another format.
    pub fn restore(self, saved: &[u8]) -> Result<AzureSim, RestoreError> {
        saved::restore(self.fabric(), saved).map(AzureSim::of)
    }

    /// The demo world: the cluster of the Azure document's fixture and of `examples/demo`.
    pub fn demo(self) -> AzureSim {
        let sim = self.build();
        demo::furnish(&sim.world());
        sim
    }

    fn fabric(self) -> Fabric {
        let clock = self.clock.unwrap_or_else(|| {
            let start = Timestamp::from_second(1_790_812_800).unwrap_or(Timestamp::UNIX_EPOCH);
            SimClock::starting_at(start)
        });
        let timing = self.timing.unwrap_or_else(|| {
            if clock.is_immediate() {
                Timing::immediate()
            } else {
                Timing::realistic()
            }
        });
        Fabric {
            now: clock.now(),
            clock,
            rng: fastrand::Rng::with_seed(self.seed),
            timing,
            behaviour: self.behaviour,
            events: EventQueue::default(),
            regions: std::collections::BTreeMap::new(),
            images: state::region::Images::default(),
            faults: Faults::default(),
            nodes: None,
            serial: 0,
        }
    }
}

impl AzureSim {
    /// Starts with nothing decided.
    pub fn builder() -> AzureSimBuilder {
        AzureSimBuilder {
            clock: None,
            seed: 0,
            timing: None,
            behaviour: Behaviour::default(),
        }
    }

    fn of(state: State) -> Self {
        let (clock, faults) = (state.fabric.clock.clone(), state.fabric.faults.clone());
        Self {
            inner: Arc::new(Cloud::new(state, clock, faults)),
        }
    }

    /// The world as bytes, for [`AzureSimBuilder::restore`]. They hold secrets: those of
    /// applications, tokens, and custom data.
    pub fn save(&self) -> Vec<u8> {
        saved::save(&self.inner.lock())
    }

    /// A number that moves with each change: requests that write, events, hands on the world,
    /// nodes that join.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }

    /// ARM, the login host and the metadata service: for calls in process and for a listener.
    /// Addresses in answers (`nextLink`, operations) begin with the scheme and host of the
    /// request; behind TLS set `X-Forwarded-Proto: https`.
    pub fn router(&self) -> Router {
        let inner = self.inner.clone();
        Router::new()
            .fallback(move |request: axum::extract::Request| service::serve(inner.clone(), request))
    }

    /// The record of calls.
    pub fn journal(&self) -> Journal {
        self.inner.journal.clone()
    }

    /// The fault scripts.
    pub fn faults(&self) -> Faults {
        self.inner.faults.clone()
    }

    /// The hands on the world.
    pub fn world(&self) -> World {
        World::new(self.inner.clone())
    }

    /// The world's clock.
    pub fn clock(&self) -> SimClock {
        self.inner.clock.clone()
    }

    /// Handles the events that are due; when the next one comes. Requests do this by themselves.
    pub fn tick(&self) -> Option<Timestamp> {
        self.inner.tick()
    }

    /// Lets `span` of simulated time pass and handles what comes due in it.
    pub async fn pass(&self, span: Duration) {
        self.inner.pass(span).await;
    }
}

impl std::fmt::Debug for AzureSim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AzureSim").finish_non_exhaustive()
    }
}
