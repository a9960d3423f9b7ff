//! The health verdict of a pool (AWS document 9, Azure document 8, captf document 2.3): one table
//! for both clouds. A cloud adds its own words.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::members::{Member, MemberState};

/// What a pool says of its health.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// The contract state.
    pub state: MemberState,
    /// Counts only with `state = running`.
    pub healthy: bool,
    /// For people.
    pub message: Option<String>,
    /// Machine-readable reasons, for example `InstancePending:i-0ccc0000000000003`.
    pub reasons: Vec<String>,
}

/// Which row of the table applies, before a cloud words it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Row 1: the group does not exist any more.
    Gone,
    /// Row 2: the group is to have no member.
    ScaledToZero,
    /// Row 3: the group has no member to report yet.
    NoMembers {
        /// Desired capacity.
        desired: i64,
    },
    /// Row 4: a member is degraded, stopped or unknown.
    Impaired {
        /// The worst of them, in this order.
        state: MemberState,
        /// `<Reason>:<name>` of every member that is not running, sorted.
        reasons: Vec<String>,
        /// How many members there are.
        members: usize,
        /// Desired capacity.
        desired: i64,
    },
    /// Row 5: everything else.
    Running {
        /// `<Reason>:<name>` of every member that is not running, sorted.
        reasons: Vec<String>,
        /// How many members there are.
        members: usize,
        /// Desired capacity.
        desired: i64,
    },
}

/// What the table looks at.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The group's desired capacity; `None` when the group does not exist.
    pub desired: Option<i64>,
    /// Members.
    pub members: &'a [Member],
    /// How reasons name a member: its instance id or its host name.
    pub name_of: fn(&Member) -> &str,
}

/// Reason of a group without a member to report.
pub const NO_MEMBERS: &str = "NoMembers";

/// Reason of a group whose count is not the desired one.
pub const SCALING_IN_PROGRESS: &str = "ScalingInProgress";

/// The first row that applies.
pub fn judge(scene: Scene<'_>) -> Verdict {
    let Some(desired) = scene.desired else {
        return Verdict::Gone;
    };
    if desired == 0 {
        return Verdict::ScaledToZero;
    }
    if scene.members.is_empty() {
        return Verdict::NoMembers { desired };
    }
    let reasons = reasons(scene);
    let members = scene.members.len();
    match worst(scene.members) {
        Some(state) => Verdict::Impaired {
            state,
            reasons,
            members,
            desired,
        },
        None => Verdict::Running {
            reasons,
            members,
            desired,
        },
    }
}

/// Whether as many members exist as are desired.
pub fn is_complete(members: usize, desired: i64) -> bool {
    i64::try_from(members) == Ok(desired)
}

fn reasons(scene: Scene<'_>) -> Vec<String> {
    let reasons: BTreeSet<String> = scene
        .members
        .iter()
        .filter(|member| member.state != MemberState::Running)
        .map(|member| {
            let reason = member.reason.as_deref().unwrap_or("UnknownState");
            format!("{reason}:{}", (scene.name_of)(member))
        })
        .collect();
    reasons.into_iter().collect()
}

fn worst(members: &[Member]) -> Option<MemberState> {
    [
        MemberState::Degraded,
        MemberState::Stopped,
        MemberState::Unknown,
    ]
    .into_iter()
    .find(|state| members.iter().any(|member| member.state == *state))
}
