//! Auto Scaling groups as AWS keeps them.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{activity::Activities, policy::Policy, process_calls, refresh::Refresh};
use crate::{
    aws::state::{
        Fabric, Name,
        events::{EstateId, Event},
    },
    clock::later,
};

/// A group.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Group {
    pub(crate) name: Name,
    pub(crate) arn: String,
    pub(crate) created: Timestamp,
    pub(crate) min: u32,
    pub(crate) max: u32,
    pub(crate) desired: u32,
    pub(crate) template: TemplateRef,
    pub(crate) subnets: Vec<Name>,
    pub(crate) capacity_rebalance: bool,
    pub(crate) health_check_type: String,
    pub(crate) grace_seconds: i64,
    pub(crate) protect_new: bool,
    pub(crate) cooldown_seconds: i64,
    pub(crate) default_warmup_seconds: Option<i64>,
    pub(crate) termination_policies: Vec<String>,
    pub(crate) tags: BTreeMap<String, GroupTag>,
    /// Suspended processes and since when.
    #[serde(deserialize_with = "process_calls::known")]
    pub(crate) suspended: BTreeMap<&'static str, Timestamp>,
    pub(crate) members: BTreeMap<Name, Member>,
    pub(crate) hooks: BTreeMap<String, Hook>,
    pub(crate) policies: BTreeMap<String, Policy>,
    /// Newest last.
    pub(crate) refreshes: VecDeque<Refresh>,
    pub(crate) activities: Activities,
    pub(crate) deletion: Option<Deletion>,
    /// Demand in percent points of one instance's CPU, summed over the group.
    pub(crate) load: Option<f64>,
    /// Periods in a row in which the policy wanted fewer instances.
    pub(crate) idle_periods: u32,
    pub(crate) metric_due: bool,
    pub(crate) retry: Option<Retry>,
    work_at: Option<Timestamp>,
}

/// The launch template a group names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TemplateRef {
    pub(crate) id: Name,
    pub(crate) name: Name,
    /// `$Latest`, `$Default` or a number, as written.
    pub(crate) version: String,
}

/// A tag of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GroupTag {
    pub(crate) value: String,
    pub(crate) propagate: bool,
}

/// A deletion under way.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Deletion {
    /// When the group vanishes, once it is empty.
    pub(crate) ends: Option<Timestamp>,
}

/// When the next launch attempt may come, after a failure.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Retry {
    pub(crate) at: Timestamp,
    pub(crate) pause: Duration,
}

/// A lifecycle hook.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Hook {
    pub(crate) name: String,
    pub(crate) transition: Transition,
    pub(crate) heartbeat: Duration,
    /// `CONTINUE` rather than `ABANDON` when nobody answers.
    pub(crate) default_continue: bool,
    pub(crate) target_arn: Option<String>,
    pub(crate) role_arn: Option<String>,
    pub(crate) metadata: Option<String>,
}

/// What a hook holds up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Transition {
    Launching,
    Terminating,
}

impl Transition {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Launching => "autoscaling:EC2_INSTANCE_LAUNCHING",
            Self::Terminating => "autoscaling:EC2_INSTANCE_TERMINATING",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::Launching, Self::Terminating]
            .into_iter()
            .find(|known| known.name() == name)
    }
}

/// A hook that holds up a member.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct HookWait {
    pub(crate) hook: String,
    pub(crate) token: String,
    pub(crate) deadline: Timestamp,
    /// Heartbeats extend the wait to at most this.
    pub(crate) last_deadline: Timestamp,
}

/// Where a member stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Lifecycle {
    Pending,
    PendingWait,
    PendingProceed,
    InService,
    Terminating,
    TerminatingWait,
    TerminatingProceed,
}

impl Lifecycle {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::PendingWait => "Pending:Wait",
            Self::PendingProceed => "Pending:Proceed",
            Self::InService => "InService",
            Self::Terminating => "Terminating",
            Self::TerminatingWait => "Terminating:Wait",
            Self::TerminatingProceed => "Terminating:Proceed",
        }
    }
}

/// Why a member is to be replaced by another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Replace {
    /// Its zone left the group.
    ZoneLeft,
    /// Its zone has too many members.
    Rebalance,
    /// Its Spot capacity is called back.
    AtRisk,
    /// An instance refresh works on it.
    Refresh,
}

/// An instance of a group.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Member {
    pub(crate) id: Name,
    pub(crate) zone: Name,
    pub(crate) instance_type: Name,
    pub(crate) image_id: Name,
    pub(crate) template: Option<TemplateRef>,
    pub(crate) version: u64,
    pub(crate) launched: Timestamp,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) healthy: bool,
    /// When its instance ended or stopped without the group's doing.
    pub(crate) unwell_since: Option<Timestamp>,
    pub(crate) protected: bool,
    pub(crate) in_service_since: Option<Timestamp>,
    /// Hooks that hold it up, all at once.
    pub(crate) waits: Vec<HookWait>,
    pub(crate) replace: Option<Replace>,
    /// The activity that launches or terminates it.
    pub(crate) activity: u64,
}

impl Member {
    /// Whether the member counts towards the group's capacity.
    pub(crate) fn counts(&self) -> bool {
        !matches!(
            self.lifecycle,
            Lifecycle::Terminating | Lifecycle::TerminatingWait | Lifecycle::TerminatingProceed
        )
    }

    /// Whether it serves and is well.
    pub(crate) fn serves(&self) -> bool {
        self.lifecycle == Lifecycle::InService && self.healthy && self.unwell_since.is_none()
    }
}

/// What a group is created with.
pub(crate) struct Creation {
    pub(crate) name: Name,
    pub(crate) arn: String,
    pub(crate) bounds: Bounds,
    pub(crate) template: TemplateRef,
    pub(crate) subnets: Vec<Name>,
}

/// Sizes of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) min: u32,
    pub(crate) max: u32,
    pub(crate) desired: u32,
}

impl Group {
    /// A group with AWS's defaults for everything that is not told.
    pub(crate) fn new(creation: Creation, created: Timestamp) -> Self {
        Self {
            name: creation.name,
            arn: creation.arn,
            created,
            min: creation.bounds.min,
            max: creation.bounds.max,
            desired: creation.bounds.desired,
            template: creation.template,
            subnets: creation.subnets,
            capacity_rebalance: false,
            health_check_type: "EC2".into(),
            grace_seconds: 0,
            protect_new: false,
            cooldown_seconds: 300,
            default_warmup_seconds: None,
            termination_policies: vec!["Default".into()],
            tags: BTreeMap::new(),
            suspended: BTreeMap::new(),
            members: BTreeMap::new(),
            hooks: BTreeMap::new(),
            policies: BTreeMap::new(),
            refreshes: VecDeque::new(),
            activities: Activities::default(),
            deletion: None,
            load: None,
            idle_periods: 0,
            metric_due: false,
            retry: None,
            work_at: None,
        }
    }

    /// Members that count towards capacity.
    pub(crate) fn active(&self) -> u32 {
        count(self.members.values().filter(|member| member.counts()))
    }

    /// Members in service.
    pub(crate) fn in_service(&self) -> u32 {
        count(
            self.members
                .values()
                .filter(|m| m.lifecycle == Lifecycle::InService),
        )
    }

    /// Whether a process runs.
    pub(crate) fn runs(&self, process: &str) -> bool {
        !self.suspended.contains_key(process)
    }

    /// The refresh that is not over yet.
    pub(crate) fn active_refresh(&self) -> Option<&Refresh> {
        self.refreshes
            .back()
            .filter(|refresh| refresh.status.is_active())
    }

    /// The refresh that is not over yet.
    pub(crate) fn active_refresh_mut(&mut self) -> Option<&mut Refresh> {
        self.refreshes
            .back_mut()
            .filter(|refresh| refresh.status.is_active())
    }

    /// Makes the group act `span` from now at the latest.
    pub(crate) fn poke(&mut self, fabric: &mut Fabric, estate: EstateId, span: Duration) {
        let at = later(fabric.now, span);
        self.poke_at(fabric, estate, at);
    }

    /// Makes the group act at that moment at the latest. Each turn works out its next one anew,
    /// so an earlier turn that is already due makes a later one unnecessary.
    pub(crate) fn poke_at(&mut self, fabric: &mut Fabric, estate: EstateId, at: Timestamp) {
        if self.work_at.is_some_and(|due| due <= at) {
            return;
        }
        self.work_at = Some(at);
        fabric
            .events
            .push(at, Event::GroupWork(estate, self.name.clone()));
    }

    /// Whether a turn is due; it is then taken.
    pub(crate) fn take_due_turn(&mut self, now: Timestamp) -> bool {
        let due = self.work_at.is_some_and(|at| at <= now);
        if due {
            self.work_at = None;
        }
        due
    }
}

/// A count that fits the sizes of groups.
pub(crate) fn count<T>(entries: impl Iterator<Item = T>) -> u32 {
    u32::try_from(entries.count()).unwrap_or(u32::MAX)
}
