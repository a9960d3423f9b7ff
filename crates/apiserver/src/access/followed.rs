//! The policy of one instance, kept up with its store.
//!
//! A decision costs four flags and a few map look-ups; what changed since the last one is read
//! from the logs of the four shelves. A write is seen by every decision after its answer.

use std::sync::{Arc, RwLock};

use super::policy::Policy;
use crate::store::{Change, Cursor, Space};

const ROLES: &str = "roles.rbac.authorization.k8s.io";
/// The shelf of ClusterRoles.
pub(crate) const CLUSTER_ROLES: &str = "clusterroles.rbac.authorization.k8s.io";
const ROLE_BINDINGS: &str = "rolebindings.rbac.authorization.k8s.io";
/// The shelf of ClusterRoleBindings.
pub(crate) const CLUSTER_ROLE_BINDINGS: &str = "clusterrolebindings.rbac.authorization.k8s.io";

/// A policy and how far into the store it reaches.
pub(crate) struct Followed {
    space: Arc<Space>,
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    /// Empty until the first decision.
    shelves: Vec<Shelf>,
    policy: Policy,
}

struct Shelf {
    name: Arc<str>,
    cursor: Cursor,
}

impl Followed {
    /// The policy of the roles and bindings in `space`.
    pub(crate) fn new(space: Arc<Space>) -> Self {
        Self {
            space,
            state: RwLock::default(),
        }
    }

    /// Asks the policy as the store has it now.
    pub(crate) fn ask<R>(&self, question: impl FnOnce(&Policy) -> R) -> R {
        {
            let state = self.state.read().expect("no holder of this lock panics");
            if state.is_current() {
                return question(&state.policy);
            }
        }
        let mut state = self.state.write().expect("no holder of this lock panics");
        if state.shelves.is_empty() || !state.follow(&self.space) {
            *state = State::read(&self.space);
        }
        question(&state.policy)
    }
}

impl State {
    fn is_current(&self) -> bool {
        // A shelf whose sender is gone belongs to an instance that is being removed.
        let changed = |shelf: &Shelf| shelf.cursor.wake.has_changed().unwrap_or(false);
        !self.shelves.is_empty() && !self.shelves.iter().any(changed)
    }

    fn read(space: &Space) -> Self {
        let mut state = Self::default();
        for name in [ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS] {
            let name: Arc<str> = name.into();
            let (snapshot, cursor) = space.list_and_cursor(&name, None);
            for ((namespace, object), record) in snapshot.records {
                set(
                    &mut state.policy,
                    &name,
                    &namespace,
                    &object,
                    Some(&record.value()),
                );
            }
            state.shelves.push(Shelf { name, cursor });
        }
        state
    }

    /// Takes over what changed; `false` when the logs no longer tell.
    fn follow(&mut self, space: &Space) -> bool {
        for shelf in &mut self.shelves {
            let Ok((events, _)) = space.events(&shelf.name, &mut shelf.cursor) else {
                return false;
            };
            for event in events {
                let object = (event.change != Change::Deleted).then(|| event.record.value());
                let policy = &mut self.policy;
                set(
                    policy,
                    &shelf.name,
                    &event.namespace,
                    &event.name,
                    object.as_ref(),
                );
            }
        }
        true
    }
}

fn set(
    policy: &mut Policy,
    shelf: &str,
    namespace: &str,
    name: &str,
    object: Option<&serde_json::Value>,
) {
    if matches!(shelf, ROLES | CLUSTER_ROLES) {
        policy.set_role(namespace, name, object);
    } else {
        policy.set_binding(namespace, name, object);
    }
}
