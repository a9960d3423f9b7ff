//! How members come into service and leave it, with lifecycle hooks in between.
//!
//! ```text
//! Pending → [Pending:Wait → Pending:Proceed] → InService
//!         → Terminating, or [Terminating:Wait → Terminating:Proceed] → gone
//! ```

use std::time::Duration;

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
            turn.wait_or_pass(id, Transition::Launching);
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

    /// A member that was let go by its hooks comes into service.
    pub(crate) fn member_proceeds(&mut self, group: &str, id: &Name) {
        let Some(mut turn) = self.turn(group) else {
            return;
        };
        let member = turn.group.members.get(id);
        if member.is_some_and(|member| member.lifecycle == Lifecycle::PendingProceed) {
            turn.enter_service(id);
        }
    }

    pub(crate) fn hook_deadline(&mut self, group: &Name, id: &Name) {
        let now = self.fabric.now;
        let Some(mut turn) = self.turn(group) else {
            return;
        };
        let Some(member) = turn.group.members.get(id) else {
            return;
        };
        let over: Vec<String> = member
            .waits
            .iter()
            .filter(|wait| wait.deadline <= now)
            .map(|wait| wait.hook.clone())
            .collect();
        for hook in over {
            let known = turn.group.hooks.get(&hook);
            let go_on = known.is_some_and(|hook| hook.default_continue);
            turn.complete_hook(id, &hook, go_on);
        }
    }
}

impl Turn<'_> {
    /// Holds the member at all hooks of a transition at once, or lets it pass when there is none.
    fn wait_or_pass(&mut self, id: &Name, transition: Transition) {
        let now = self.fabric.now;
        let longest = Duration::from_secs(LONGEST_WAIT_SECONDS);
        let waits: Vec<HookWait> = self
            .group
            .hooks
            .values()
            .filter(|hook| hook.transition == transition)
            .map(|hook| HookWait {
                hook: hook.name.clone(),
                token: self.fabric.new_uuid(),
                deadline: later(now, hook.heartbeat),
                last_deadline: later(now, (hook.heartbeat * MOST_HEARTBEATS).min(longest)),
            })
            .collect();
        if waits.is_empty() {
            return match transition {
                Transition::Launching => self.enter_service(id),
                Transition::Terminating => self.end_instance(id),
            };
        }
        let Some(member) = self.group.members.get_mut(id) else {
            return;
        };
        member.lifecycle = match transition {
            Transition::Launching => Lifecycle::PendingWait,
            Transition::Terminating => Lifecycle::TerminatingWait,
        };
        member.waits = waits;
        self.await_deadlines(id);
    }

    /// Makes the world look at the deadlines of a member's hooks.
    pub(super) fn await_deadlines(&mut self, id: &Name) {
        let Some(member) = self.group.members.get(id) else {
            return;
        };
        for wait in &member.waits {
            let event = Event::HookDeadline {
                estate: self.compute.id,
                group: self.group.name.clone(),
                instance: id.clone(),
            };
            self.fabric.events.push(wait.deadline, event);
        }
    }

    /// Ends the wait at one hook: on with the transition once no other holds the member, or not.
    pub(super) fn complete_hook(&mut self, id: &Name, hook: &str, go_on: bool) {
        let Some(member) = self.group.members.get_mut(id) else {
            return;
        };
        if !member.waits.iter().any(|wait| wait.hook == hook) {
            return;
        }
        // Abandoning ends the wait at all hooks; a termination goes on all the same.
        member.waits.retain(|wait| go_on && wait.hook != hook);
        let launching = member.lifecycle == Lifecycle::PendingWait;
        if launching && !go_on {
            let cause = "The lifecycle action of a launching instance was abandoned.";
            return self.terminate(id, cause, false);
        }
        if !member.waits.is_empty() {
            return;
        }
        if launching {
            member.lifecycle = Lifecycle::PendingProceed;
            let event = Event::Proceeds {
                estate: self.compute.id,
                group: self.group.name.clone(),
                instance: id.clone(),
            };
            self.fabric.after(self.fabric.timing.group_reaction, event);
        } else {
            member.lifecycle = Lifecycle::TerminatingProceed;
            self.end_instance(id);
        }
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
            .poke(self.fabric, self.compute.id, Duration::ZERO);
    }

    /// Takes a member out of the group: hooks first if asked for, then its instance.
    pub(crate) fn terminate(&mut self, id: &Name, cause: &str, with_hooks: bool) {
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
        member.waits.clear();
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
        if with_hooks && lives {
            self.wait_or_pass(id, Transition::Terminating);
        } else {
            self.end_instance(id);
        }
    }

    fn end_instance(&mut self, id: &Name) {
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
                .poke(self.fabric, self.compute.id, Duration::ZERO);
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
            .poke(self.fabric, self.compute.id, Duration::ZERO);
        Some(member)
    }
}
