//! Instance refreshes: replacing members in a rolling way, launch before terminate where the
//! percentages allow it.
//!
//! Invariants: at most one refresh of a group is active; a refresh never takes the healthy members
//! below its minimum nor the group above its maximum.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    group::{Group, Lifecycle, Member, Replace, TemplateRef},
    turn::Turn,
};
use crate::clock::later;

/// How a refresh stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RefreshStatus {
    Pending,
    InProgress,
    Successful,
    Failed,
    Cancelling,
    Cancelled,
}

impl RefreshStatus {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::InProgress => "InProgress",
            Self::Successful => "Successful",
            Self::Failed => "Failed",
            Self::Cancelling => "Cancelling",
            Self::Cancelled => "Cancelled",
        }
    }

    pub(crate) fn is_active(self) -> bool {
        matches!(self, Self::Pending | Self::InProgress | Self::Cancelling)
    }
}

/// What happens to members protected from scale-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Protected {
    Refresh,
    Ignore,
    Wait,
}

impl Protected {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Refresh => "Refresh",
            Self::Ignore => "Ignore",
            Self::Wait => "Wait",
        }
    }
}

/// Preferences of a refresh.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Preferences {
    pub(crate) min_healthy_percent: u32,
    pub(crate) max_healthy_percent: u32,
    pub(crate) warmup_seconds: i64,
    pub(crate) protected: Protected,
    /// As sent; no member of a simulated group is ever in standby.
    pub(crate) standby: String,
    pub(crate) skip_matching: bool,
}

/// A refresh.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Refresh {
    pub(crate) id: String,
    pub(crate) status: RefreshStatus,
    pub(crate) reason: Option<String>,
    pub(crate) started: Timestamp,
    pub(crate) ended: Option<Timestamp>,
    /// When `Pending` or `Cancelling` is over.
    pub(crate) turns_at: Timestamp,
    pub(crate) preferences: Preferences,
    pub(crate) total: u32,
    pub(crate) remaining: u32,
    last_progress: Timestamp,
}

impl Refresh {
    pub(crate) fn new(
        id: String,
        preferences: Preferences,
        started: Timestamp,
        turns_at: Timestamp,
    ) -> Self {
        Self {
            id,
            status: RefreshStatus::Pending,
            reason: None,
            started,
            ended: None,
            turns_at,
            preferences,
            total: 0,
            remaining: 0,
            last_progress: started,
        }
    }

    /// Percent of the members replaced.
    pub(crate) fn percent(&self) -> u32 {
        if self.status == RefreshStatus::Successful {
            return 100;
        }
        (self.total - self.remaining.min(self.total)) * 100 / self.total.max(1)
    }

    /// Members that must stay healthy.
    pub(crate) fn floor(&self, desired: u32) -> u32 {
        (desired * self.preferences.min_healthy_percent).div_ceil(100)
    }

    /// Members beyond the desired capacity the refresh may have.
    pub(crate) fn surge(&self, desired: u32) -> u32 {
        let most = desired * self.preferences.max_healthy_percent / 100;
        let surge = most.saturating_sub(desired);
        // A full floor without room above it would never move: AWS then goes one by one.
        if surge == 0 && self.floor(desired) >= desired {
            1
        } else {
            surge
        }
    }

    fn end(&mut self, status: RefreshStatus, reason: Option<String>, now: Timestamp) {
        self.status = status;
        self.reason = reason;
        self.ended = Some(now);
    }
}

impl Turn<'_> {
    /// Moves the active refresh on; returns when it wants to be looked at again.
    pub(super) fn refresh(&mut self) -> Option<Timestamp> {
        let now = self.fabric.now;
        let patience = self.fabric.timing.refresh_patience;
        let refresh = self.group.active_refresh()?;
        match refresh.status {
            RefreshStatus::Pending | RefreshStatus::Cancelling if refresh.turns_at > now => {
                Some(refresh.turns_at)
            }
            RefreshStatus::Pending => {
                self.mark_for_refresh();
                self.refresh()
            }
            RefreshStatus::Cancelling => {
                self.unmark_refresh();
                let refresh = self.group.active_refresh_mut()?;
                refresh.end(
                    RefreshStatus::Cancelled,
                    Some("Cancelled by user.".into()),
                    now,
                );
                None
            }
            _ => {
                self.follow_refresh();
                let refresh = self.group.active_refresh()?;
                Some(later(refresh.last_progress, patience))
            }
        }
    }

    fn mark_for_refresh(&mut self) {
        let Some(refresh) = self.group.active_refresh() else {
            return;
        };
        let preferences = refresh.preferences.clone();
        let current = self.current_version();
        let template = self.group.template.clone();
        let matching = |member: &Member| {
            member
                .template
                .as_ref()
                .is_some_and(|t: &TemplateRef| t.id == template.id)
                && Some(member.version) == current
        };
        let mut marked = 0;
        for member in self
            .group
            .members
            .values_mut()
            .filter(|member| member.counts())
        {
            let ignored = member.protected && preferences.protected == Protected::Ignore;
            let skipped = preferences.skip_matching && matching(member);
            if !ignored && !skipped {
                member.replace = Some(Replace::Refresh);
                marked += 1;
            }
        }
        let now = self.fabric.now;
        if let Some(refresh) = self.group.active_refresh_mut() {
            refresh.status = RefreshStatus::InProgress;
            refresh.total = marked;
            refresh.remaining = marked;
            refresh.last_progress = now;
        }
    }

    /// Counts what is left, and ends the refresh when nothing is or nothing moves.
    fn follow_refresh(&mut self) {
        let now = self.fabric.now;
        let patience = self.fabric.timing.refresh_patience;
        let marked = |m: &&Member| m.replace == Some(Replace::Refresh);
        let left = super::group::count(self.group.members.values().filter(marked));
        let warm = self
            .group
            .members
            .values()
            .filter(|member| member.counts())
            .all(|member| member.serves() && self.warm_at(member).is_some_and(|at| at <= now));
        let full = self.group.active() == self.group.desired;
        let Some(refresh) = self.group.active_refresh_mut() else {
            return;
        };
        if left < refresh.remaining {
            refresh.remaining = left;
            refresh.last_progress = now;
        }
        if left == 0 && warm && full {
            refresh.end(RefreshStatus::Successful, None, now);
        } else if later(refresh.last_progress, patience) <= now {
            let reason = "The instance refresh did not make progress in time: instances failed to \
                          launch, did not become healthy, or are protected from scale-in.";
            refresh.end(RefreshStatus::Failed, Some(reason.into()), now);
            self.unmark_refresh();
        }
    }

    fn unmark_refresh(&mut self) {
        for member in self.group.members.values_mut() {
            member.replace.take_if(|reason| *reason == Replace::Refresh);
        }
    }

    /// When a member counts as replaced for a refresh: in service and past the warmup. Members
    /// from before the refresh count at once.
    pub(super) fn warm_at(&self, member: &Member) -> Option<Timestamp> {
        let since = member
            .in_service_since
            .filter(|_| member.lifecycle == Lifecycle::InService)?;
        let Some(refresh) = self.group.active_refresh() else {
            return Some(since);
        };
        if member.launched < refresh.started || !self.fabric.timing.keep_warmup {
            return Some(since);
        }
        let seconds = u64::try_from(refresh.preferences.warmup_seconds).unwrap_or(0);
        Some(later(since, Duration::from_secs(seconds)))
    }
}

impl Group {
    /// Whether a refresh works on the members.
    pub(super) fn refresh_in_progress(&self) -> Option<&Refresh> {
        self.active_refresh()
            .filter(|refresh| refresh.status == RefreshStatus::InProgress)
    }
}
