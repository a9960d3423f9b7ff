//! The hands on the world: furnish it, look at it, and do to it what a cloud or a person does
//! behind the controller's back. Nothing here is recorded in the journal.

mod furnish;
mod look;
mod meddle;

use std::{sync::Arc, time::Duration};

pub use furnish::{ImageSpec, PlacedInstance, SubnetSpec};
pub use look::{GroupInfo, InstanceInfo, MemberInfo, TemplateInfo};

use super::{Inner, State, Timing, state::events::EstateId};
use crate::cloud::{CloudState, Held};

/// A handle on the world. Clones are the same world.
#[derive(Clone)]
pub struct World {
    inner: Arc<Inner>,
}

impl World {
    pub(super) fn new(inner: Arc<Inner>) -> Self {
        Self { inner }
    }

    /// Changes how long processes take from now on.
    pub fn set_timing(&self, change: impl FnOnce(&mut Timing)) {
        change(&mut self.state().fabric.timing);
    }

    /// Makes reads of EC2 and Auto Scaling show the world as it was `lag` ago.
    pub fn set_read_lag(&self, lag: Duration) {
        self.set_timing(|timing| timing.read_lag = lag);
    }

    /// The present state.
    fn state(&self) -> Held<'_, State> {
        let mut state = self.inner.lock();
        state.advance();
        state
    }

    /// The present state, to change it.
    fn hand(&self) -> Held<'_, State> {
        let mut state = self.state();
        state.touch();
        state
    }

    /// Changes the state and wakes who waits for what comes next.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.hand());
        self.inner.wake.notify_one();
        result
    }
}

/// The estate that holds an instance.
fn estate_of_instance(state: &State, id: &str) -> Option<EstateId> {
    state
        .estates
        .iter()
        .position(|estate| estate.compute.instances.contains_key(id))
}

/// The estate that holds a group; the first one where several accounts use the name.
fn estate_of_group(state: &State, name: &str) -> Option<EstateId> {
    state
        .estates
        .iter()
        .position(|estate| estate.groups.contains_key(name))
}
