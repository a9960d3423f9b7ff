//! The hands on the world: furnish it, look at it, and do to it what a cloud or a person does
//! behind the controller's back. Nothing here is recorded in the journal.

mod furnish;
mod look;
mod meddle;

use std::sync::Arc;

pub use look::{InstanceInfo, OperationInfo, ScaleSetInfo, SettingInfo};

use super::{
    Inner,
    state::{Behaviour, State, Timing, events::SetRef},
};
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

    /// Changes how the services behave from now on.
    pub fn set_behaviour(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.state().fabric.behaviour);
    }

    /// The present state.
    fn state(&self) -> Held<'_, State> {
        let mut state = self.inner.lock();
        state.advance();
        state
    }

    /// Changes the state and wakes who waits for what comes next.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = {
            let mut state = self.state();
            state.touch();
            change(&mut state)
        };
        self.inner.wake.notify_one();
        result
    }
}

/// The scale set of a name; the first one where several groups use it.
fn find_set(state: &State, name: &str) -> Option<SetRef> {
    let groups = state
        .subscriptions
        .iter()
        .flat_map(|subscription| subscription.groups.values());
    groups
        .flat_map(|group| group.sets.values())
        .find(|set| set.name.eq_ignore_ascii_case(name))
        .map(|set| set.at.clone())
}
