//! One member with the objects that stand for it.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{
    group::{GroupMember, Leaving},
    names::{instance_key, member_name},
    objects::{InfraMachine, Machine},
};
use crate::pool::members::MemberState;

/// One member with the objects that stand for it.
#[derive(Debug, Clone)]
pub(super) struct Slot<'a> {
    pub(super) member: &'a GroupMember,
    pub(super) infra: Option<&'a InfraMachine>,
    pub(super) machine: Option<&'a Machine>,
    pub(super) is_cordoned: bool,
    name: String,
}

impl<'a> Slot<'a> {
    pub(super) fn new(
        pool: &str,
        member: &'a GroupMember,
        infra: Option<&'a InfraMachine>,
        machine: Option<&'a Machine>,
        cordoned: &BTreeSet<String>,
    ) -> Self {
        let id = &member.member.provider_id;
        Self {
            member,
            infra,
            machine,
            is_cordoned: cordoned.contains(&instance_key(id)),
            name: infra.map_or_else(
                || member_name(pool, id),
                |infra| infra.metadata.name.clone(),
            ),
        }
    }

    /// Name of its objects.
    pub(super) fn name(&self) -> String {
        self.name.clone()
    }

    /// It is on its way out, whoever decided that: it is no candidate, and is missing already.
    pub(super) fn is_going(&self) -> bool {
        self.member.leaving.is_some()
            || self.infra.is_some_and(InfraMachine::is_deleting)
            || self.machine.is_some_and(Machine::is_deleting)
    }

    /// Nothing can keep it.
    pub(super) fn is_ending(&self) -> bool {
        self.member.leaving == Some(Leaving::Ending)
    }

    pub(super) fn is_outdated(&self) -> bool {
        self.member.outdated && !self.is_ending()
    }

    pub(super) fn is_available(&self) -> bool {
        !self.is_going() && self.machine.is_some_and(Machine::is_available)
    }

    pub(super) fn is_marked(&self) -> bool {
        self.machine.is_some_and(Machine::is_marked)
    }

    /// Its instance failed or is stopped.
    pub(super) fn has_failed(&self) -> bool {
        matches!(
            self.member.member.state,
            MemberState::Stopped | MemberState::Terminated | MemberState::Degraded
        )
    }

    pub(super) fn is_unhealthy(&self) -> bool {
        self.machine
            .is_some_and(|machine| machine.is_unhealthy() || machine.waits_for_remediation())
    }

    pub(super) fn zone(&self) -> &str {
        self.member
            .member
            .failure_domain
            .as_deref()
            .unwrap_or_default()
    }

    /// When it came to be, as far as anybody knows.
    pub(super) fn born(&self) -> Option<Timestamp> {
        self.member
            .launched_at
            .or_else(|| self.infra?.metadata.creation_timestamp)
            .or_else(|| self.machine?.metadata.creation_timestamp)
    }
}
