//! A simulated cloud but for its services: how it is made, saved, served, watched and moved.

use std::{fmt, sync::Arc, time::Duration};

use axum::{Router, extract::Request, response::Response};
use jiff::Timestamp;
use tokio::{sync::watch, task::JoinHandle};

use crate::{
    Faults, Journal, RestoreError, SimClock,
    cloud::{Cloud, CloudState},
    control,
    kubelet::{NodeOptions, WorkloadApis},
};

/// What one cloud adds to a [`Sim`].
pub trait Simulated: fmt::Debug + Sized + 'static {
    /// `AWS`.
    const NAME: &'static str;
    /// How long its processes take.
    type Timing: fmt::Debug;
    /// How its services behave.
    type Behaviour: fmt::Debug + Default;
    /// Its world.
    #[doc(hidden)]
    type State: CloudState;

    /// The timing of a clock that runs, or of an immediate one.
    #[doc(hidden)]
    fn timing(immediate: bool) -> Self::Timing;

    /// An empty world.
    #[doc(hidden)]
    fn begin(start: Start<Self>) -> Self::State;

    /// The world of the bytes.
    #[doc(hidden)]
    fn restore(start: Start<Self>, saved: &[u8]) -> Result<Self::State, RestoreError>;

    /// The world as bytes.
    #[doc(hidden)]
    fn save(state: &Self::State) -> Vec<u8>;

    /// Puts the demo into an empty world.
    #[doc(hidden)]
    fn furnish(sim: &Sim<Self>);

    /// Answers one request.
    #[doc(hidden)]
    fn serve(
        cloud: Arc<Cloud<Self::State>>,
        request: Request,
    ) -> impl Future<Output = Response> + Send;

    /// What of the control API is its own.
    #[doc(hidden)]
    fn control(sim: &Sim<Self>) -> Router;

    /// Runs the nodes on its machines.
    #[doc(hidden)]
    fn run(sim: Sim<Self>, apis: Arc<dyn WorkloadApis>, options: NodeOptions) -> JoinHandle<()>;
}

/// What a world begins with.
#[derive(Debug)]
pub struct Start<C: Simulated> {
    pub(crate) clock: SimClock,
    pub(crate) random: fastrand::Rng,
    pub(crate) timing: C::Timing,
    pub(crate) behaviour: C::Behaviour,
}

/// A simulated cloud. Clones share the world.
pub struct Sim<C: Simulated> {
    pub(crate) inner: Arc<Cloud<C::State>>,
}

impl<C: Simulated> Clone for Sim<C> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<C: Simulated> fmt::Debug for Sim<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sim({})", C::NAME)
    }
}

/// What a [`Sim`] is made of.
#[derive(Debug)]
pub struct SimBuilder<C: Simulated> {
    clock: Option<SimClock>,
    seed: u64,
    timing: Option<C::Timing>,
    pub(crate) behaviour: C::Behaviour,
}

impl<C: Simulated> SimBuilder<C> {
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

    /// How long processes take; without it as in reality, or no time at all on an immediate clock.
    #[must_use]
    pub fn timing(mut self, timing: C::Timing) -> Self {
        self.timing = Some(timing);
        self
    }

    /// An empty world.
    pub fn build(self) -> Sim<C> {
        Sim::of(C::begin(self.start()))
    }

    /// The world that [`Sim::save`] saved. It goes on from the moment it was saved at: on a clock
    /// that is ahead, time has passed in which nobody looked; one that is behind is set to that
    /// moment. Ids are drawn from what the saved world would have drawn from, shifted by the seed.
    /// Timing and behaviour are the builder's; faults, budgets, the journal and earlier states are
    /// not restored.
    ///
    /// # Errors
    /// The bytes are no saved world, or one of another format.
    pub fn restore(self, saved: &[u8]) -> Result<Sim<C>, RestoreError> {
        C::restore(self.start(), saved).map(Sim::of)
    }

    /// The demo world of the cloud's document and of `examples/demo`.
    pub fn demo(self) -> Sim<C> {
        let sim = self.build();
        C::furnish(&sim);
        sim
    }

    fn start(self) -> Start<C> {
        let clock = self.clock.unwrap_or_else(|| {
            let start = Timestamp::from_second(1_790_812_800).unwrap_or(Timestamp::UNIX_EPOCH);
            SimClock::starting_at(start)
        });
        Start {
            timing: self
                .timing
                .unwrap_or_else(|| C::timing(clock.is_immediate())),
            clock,
            random: fastrand::Rng::with_seed(self.seed),
            behaviour: self.behaviour,
        }
    }
}

impl<C: Simulated> Sim<C> {
    /// Starts with nothing decided.
    pub fn builder() -> SimBuilder<C> {
        SimBuilder {
            clock: None,
            seed: 0,
            timing: None,
            behaviour: C::Behaviour::default(),
        }
    }

    fn of(state: C::State) -> Self {
        let (clock, faults) = (state.clock().clone(), state.faults().clone());
        Self {
            inner: Arc::new(Cloud::new(state, clock, faults)),
        }
    }

    /// The world as bytes, for [`SimBuilder::restore`]. They hold secrets: keys and tokens, and
    /// what customers gave to their machines.
    pub fn save(&self) -> Vec<u8> {
        C::save(&self.inner.lock())
    }

    /// A number that moves with each change: requests that write, events, hands on the world,
    /// nodes that join.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }

    /// All services: for calls in process and for a listener. Addresses in answers begin with the
    /// scheme and host of the request; behind TLS set `X-Forwarded-Proto: https`.
    pub fn router(&self) -> Router {
        let inner = Arc::clone(&self.inner);
        Router::new().fallback(move |request: Request| C::serve(Arc::clone(&inner), request))
    }

    /// The control API. `sim.router().nest("/_sim", sim.control_router())` serves it beside the
    /// services: neither cloud has anything of that name.
    pub fn control_router(&self) -> Router {
        C::control(self).merge(control::router(self.faults(), self.journal()))
    }

    /// Starts simulated nodes for all instances, those that already run included, and moves the
    /// world in the background from then on. Nodes that had joined before, in a world that was
    /// restored, stay joined. The task runs until it is aborted.
    pub fn run_nodes(&self, apis: Arc<dyn WorkloadApis>) -> JoinHandle<()> {
        self.run_nodes_with(apis, NodeOptions::default())
    }

    /// As [`Self::run_nodes`], with options.
    pub fn run_nodes_with(
        &self,
        apis: Arc<dyn WorkloadApis>,
        options: NodeOptions,
    ) -> JoinHandle<()> {
        C::run(self.clone(), apis, options)
    }

    /// The record of calls.
    pub fn journal(&self) -> Journal {
        self.inner.journal.clone()
    }

    /// The fault scripts.
    pub fn faults(&self) -> Faults {
        self.inner.faults.clone()
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
