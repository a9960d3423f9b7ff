//! How members come into service and leave it, with lifecycle hooks in between.
//!
//! ```text
//! Pending → [Pending:Wait] → InService → Terminating → [Terminating:Wait] → gone
//! ```

use super::{
    activity::ActivityStatus,
    group::{HookWait, Lifecycle, Member, Transition},
    turn::Turn,
};
use crate::{
    aws::state::{Name, Site, events::Event},
    clock::later,
};

/// AWS's limit of a hook's wait: 100 heartbeats or 48 hours, whichever is less.
const MOST_HEARTBEATS: u32 = 100;
const LONGEST_WAIT_SECONDS: u64 = 48 * 3600;

impl Site<'_> {
    /// A member's instance runs.
    pub(crate) fn member_runs(&mut self, group: &str, id: &Name) {
        let Some(mut turn) = self.turn(group) else {
            return;
        };
        let Some(member) = turn.group.members.get_mut(id) else {
            return;
        };
        member.unwell_since = None;
        if member.lifecycle == Lifecycle::Pending {
            let hooks = turn.group.hooks_of(Transition::Launching);
            turn.wait_or_proceed(id, hooks);
        }
    }

    /// A member's instance ended or stopped without the group's doing.
    pub(crate) fn member_unwell(&mut self, group: &str, id: &Name) {
        let (now, span) = (self.fabric.now, self.fabric.timing.health_check);
        let Some(turn) = self.turn(group) else { return };
        let Some(member) = turn.group.members.get_mut(id).filter(|m| m.counts()) else {
            return;
        };
        member.unwell_since.get_or_insert(now);
        turn.group.poke(turn.fabric, turn.compute.id, span);
    }

    /// A member's instance is gone.
    pub(crate) fn member_terminated(&mut self, group: &str, id: &Name) {
        let Some(mut turn) = self.turn(group) else {
            return;
        };
        let Some(member) = turn.group.members.get(id) else {
            return;
        };
        if member.counts() {
            // Ended from outside: the health check takes it from here.
            return;
        }
        turn.remove(id);
    }

    pub(crate) fn hook_deadline(&mut self, group: &Name, id: &Name) {
        let now = self.fabric.now;
        let Some(mut turn) = self.turn(group) else {
            return;
        };
        let wait = turn
            .group
            .members
            .get(id)
            .and_then(|member| member.hook.as_ref());
        let Some(wait) = wait.filter(|wait| wait.deadline <= now) else {
            return;
        };
        let go_on = turn
            .group
            .hooks
            .get(&wait.hook)
            .is_some_and(|hook| hook.default_continue);
        turn.complete_hook(id, go_on);
    }
}

impl Turn<'_> {
    /// Holds the member at the first of `hooks`, or lets it proceed when there is none.
    fn wait_or_proceed(&mut self, id: &Name, mut hooks: Vec<String>) {
        let now = self.fabric.now;
        let Some(member) = self.group.members.get_mut(id) else {
            return;
        };
        if hooks.is_empty() {
            member.hook = None;
            if member.counts() {
                self.enter_service(id);
            } else {
                self.end_instance(id);
            }
            return;
        }
        let name = hooks.remove(0);
        let Some(hook) = self.group.hooks.get(&name) else {
            return self.wait_or_proceed(id, hooks);
        };
        let longest = std::time::Duration::from_secs(LONGEST_WAIT_SECONDS);
        let deadline = later(now, hook.heartbeat);
        member.lifecycle = if member.counts() {
            Lifecycle::PendingWait
        } else {
            Lifecycle::TerminatingWait
        };
        member.hook = Some(HookWait {
            hook: name,
            token: self.fabric.new_uuid(),
            deadline,
            last_deadline: later(now, (hook.heartbeat * MOST_HEARTBEATS).min(longest)),
            left: hooks,
        });
        self.await_deadline(id);
    }

    /// Makes the world look at a hook's deadline.
    pub(super) fn await_deadline(&mut self, id: &Name) {
        let wait = self
            .group
            .members
            .get(id)
            .and_then(|member| member.hook.as_ref());
        let Some(deadline) = wait.map(|wait| wait.deadline) else {
            return;
        };
        let (estate, group) = (self.compute.id, self.group.name.clone());
        self.fabric.events.push(
            deadline,
            Event::HookDeadline {
                estate,
                group,
                instance: id.clone(),
            },
        );
    }

    /// Ends a hook's wait: on with the transition, or not.
    pub(super) fn complete_hook(&mut self, id: &Name, go_on: bool) {
        let Some(member) = self.group.members.get_mut(id) else {
            return;
        };
        let Some(wait) = member.hook.take() else {
            return;
        };
        if member.lifecycle == Lifecycle::PendingWait && !go_on {
            let cause = "The lifecycle action of a launching instance was abandoned.";
            return self.terminate(id, cause, false);
        }
        // Abandoning a termination only skips the hooks that are left: it goes on.
        let left = if go_on { wait.left } else { Vec::new() };
        self.wait_or_proceed(id, left);
    }

    fn enter_service(&mut self, id: &Name) {
        let now = self.fabric.now;
        let Some(member) = self.group.members.get_mut(id) else {
            return;
        };
        member.lifecycle = Lifecycle::InService;
        member.in_service_since = Some(now);
        let activity = member.activity;
        self.group
            .activities
            .end(activity, ActivityStatus::Successful, None, now);
        self.group
            .poke(self.fabric, self.compute.id, std::time::Duration::ZERO);
    }

    /// Takes a member out of the group: hooks first if asked for, then its instance.
    pub(super) fn terminate(&mut self, id: &Name, cause: &str, with_hooks: bool) {
        let now = self.fabric.now;
        let lives = self.instance_lives(id);
        let Some(member) = self
            .group
            .members
            .get_mut(id)
            .filter(|member| member.counts())
        else {
            return;
        };
        member.lifecycle = Lifecycle::Terminating;
        member.replace = None;
        member.hook = None;
        self.group
            .activities
            .end(member.activity, ActivityStatus::Successful, None, now);
        member.activity = self.group.activities.begin(
            self.fabric.new_uuid(),
            format!("Terminating EC2 instance: {id}"),
            cause.to_owned(),
            now,
        );
        // A hook cannot hold up an instance that has already ended or stopped.
        let hooks = if with_hooks && lives {
            self.group.hooks_of(Transition::Terminating)
        } else {
            Vec::new()
        };
        self.wait_or_proceed(id, hooks);
    }

    fn end_instance(&mut self, id: &Name) {
        if let Some(member) = self.group.members.get_mut(id) {
            member.lifecycle = Lifecycle::Terminating;
        }
        let gone = |turn: &Self| {
            let instance = turn.compute.instances.get(id);
            instance.is_none_or(|i| i.state == crate::aws::InstanceState::Terminated)
        };
        let reason = (
            "Client.UserInitiatedShutdown",
            "Client.UserInitiatedShutdown: User initiated shutdown",
        );
        self.compute.terminate(self.fabric, id, reason);
        if gone(self) {
            self.remove(id);
        } else {
            self.group
                .poke(self.fabric, self.compute.id, std::time::Duration::ZERO);
        }
    }

    /// Drops a member whose instance is gone.
    fn remove(&mut self, id: &Name) -> Option<Member> {
        let now = self.fabric.now;
        let member = self.group.members.remove(id)?;
        self.group
            .activities
            .end(member.activity, ActivityStatus::Successful, None, now);
        self.group
            .poke(self.fabric, self.compute.id, std::time::Duration::ZERO);
        Some(member)
    }
}
