//! A simulated AWS: Auto Scaling, EC2, S3 and STS at the wire, over one world.
//!
//! ```text
//! router ── service  authenticate, fault?, dispatch, journal
//!              ├─ protocol     signatures, parameters, XML, refusals
//!              ├─ autoscaling  ec2  s3  sts      one folder a service
//!              └─ state        the world: time, events, capacity, estates
//! world  ── the hands on it, for tests; control ── the same as JSON, for people
//! ```
//!
//! The world moves when somebody looks: each request first handles the events due by then.
//! [`AwsSim::run_nodes`] also moves it in the background, since nodes act by themselves.

mod autoscaling;
mod control;
mod demo;
mod ec2;
mod protocol;
mod s3;
mod saved;
mod service;
mod state;
mod sts;
mod world;

use std::{sync::Arc, time::Duration};

use axum::Router;
use jiff::Timestamp;
use tokio::sync::watch;

pub use demo::{
    DEMO_ACCESS_KEY_ID, DEMO_ACCOUNT, DEMO_BUCKET, DEMO_CONTROLLER_ROLE_ARN, DEMO_REGION,
    DEMO_SECRET_ACCESS_KEY, DEMO_WORKER_PROFILE,
};
pub use ec2::instance::InstanceState;
pub(crate) use ec2::instance::vcpus;
pub(crate) use protocol::sigv4::Signer;
pub use state::Timing;
pub(crate) use state::{State, region::Image};
pub use world::{
    GroupInfo, ImageSpec, InstanceInfo, MemberInfo, PlacedInstance, SubnetSpec, TemplateInfo, World,
};

use self::state::Fabric;
use crate::{Faults, Journal, RestoreError, SimClock, cloud::Cloud, events::EventQueue};

/// A simulated AWS. Clones share the world.
#[derive(Clone)]
pub struct AwsSim {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) type Inner = Cloud<State>;

/// What an [`AwsSim`] is made of.
#[derive(Debug)]
pub struct AwsSimBuilder {
    clock: Option<SimClock>,
    seed: u64,
    timing: Option<Timing>,
}

impl AwsSimBuilder {
    /// The world's clock; without one it starts at 2026-10-01 and runs at normal speed.
    #[must_use]
    pub fn clock(mut self, clock: SimClock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// What ids and addresses are drawn from: equal seeds, equal worlds.
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

    /// An empty world.
    pub fn build(self) -> AwsSim {
        AwsSim::of(State::new(self.fabric()))
    }

    /// The world that [`AwsSim::save`] saved. It goes on from the moment it was saved at: on a
    /// clock that is ahead, time has passed in which nobody looked; one that is behind is set to
    /// that moment. Ids are drawn from what the saved world would have drawn from, shifted by the
    /// seed. Timing is the builder's; faults, the journal and earlier states are not restored.
    ///
    /// # Errors
    /// The bytes are no saved world, or one of another format.
    pub fn restore(self, saved: &[u8]) -> Result<AwsSim, RestoreError> {
        saved::restore(self.fabric(), saved).map(AwsSim::of)
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
            events: EventQueue::default(),
            regions: std::collections::BTreeMap::new(),
            faults: Faults::default(),
            nodes: None,
        }
    }

    /// The DEMO world of the AWS document: region, zones, subnets, security groups, profile,
    /// bucket, images and one account key.
    pub fn demo(self) -> AwsSim {
        let sim = self.build();
        demo::furnish(&sim.world());
        sim
    }
}

impl AwsSim {
    /// Starts with nothing decided.
    pub fn builder() -> AwsSimBuilder {
        AwsSimBuilder {
            clock: None,
            seed: 0,
            timing: None,
        }
    }

    fn of(state: State) -> Self {
        let (clock, faults) = (state.fabric.clock.clone(), state.fabric.faults.clone());
        Self {
            inner: Arc::new(Cloud::new(state, clock, faults)),
        }
    }

    /// The world as bytes, for [`AwsSimBuilder::restore`]. They hold secrets: keys of accounts and
    /// sessions, and what lies in buckets.
    pub fn save(&self) -> Vec<u8> {
        saved::save(&self.inner.lock())
    }

    /// A number that moves with each change: requests that write, events, hands on the world,
    /// nodes that join.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }

    /// All four services: for calls in process and for a listener.
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

impl std::fmt::Debug for AwsSim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AwsSim").finish_non_exhaustive()
    }
}
