//! How members of an older model go: within which bounds, in which order, and what stops it.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{deletion_order, slot::Slot};
use crate::{limits, pool::members::MemberState};

/// `TerraformMachinePool.spec.rollout` as written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RolloutSpec {
    /// What makes a machine go.
    pub strategy: Option<Strategy>,
    /// Above the desired count: a count or a percentage.
    pub max_surge: Option<Value>,
    /// Missing from the desired count: a count or a percentage.
    pub max_unavailable: Option<Value>,
}

/// What makes a machine of an older model go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Strategy {
    /// The pool, within bounds.
    #[default]
    RollingUpdate,
    /// A person.
    OnDelete,
}

/// The bounds of a roll for one desired count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rollout {
    /// What makes a machine go.
    pub strategy: Strategy,
    /// Machines above the desired count.
    pub surge: i64,
    /// Machines that may be missing.
    pub unavailable: i64,
}

impl Rollout {
    /// The bounds for `wanted` machines: one more and none missing by default. Where both bounds
    /// come out as 0 nothing could ever move, so one may be missing. A count that something else
    /// owns has no surge: it would take the surge for its own.
    pub fn of(spec: Option<&RolloutSpec>, wanted: i64, is_managed: bool) -> Self {
        let surge = match spec.and_then(|spec| spec.max_surge.as_ref()) {
            _ if is_managed => 0,
            Some(surge) => count(surge, wanted, Rounding::Up).unwrap_or(1),
            None => 1,
        };
        let unavailable = spec
            .and_then(|spec| spec.max_unavailable.as_ref())
            .and_then(|value| count(value, wanted, Rounding::Down))
            .unwrap_or(0);
        Self {
            strategy: spec.and_then(|spec| spec.strategy).unwrap_or_default(),
            surge,
            unavailable: if surge == 0 {
                unavailable.max(1)
            } else {
                unavailable
            },
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounding {
    Up,
    Down,
}

/// A count, or a percentage of `whole`; `None` for what is neither.
fn count(value: &Value, whole: i64, rounding: Rounding) -> Option<i64> {
    if let Some(count) = value.as_i64() {
        return Some(count.max(0));
    }
    let text = value.as_str()?.trim();
    let Some(percent) = text.strip_suffix('%') else {
        return text.parse::<i64>().ok().map(|count| count.max(0));
    };
    let share = percent.trim().parse::<i64>().ok()?.max(0) * whole.max(0);
    Some(match rounding {
        Rounding::Up => (share + 99) / 100,
        Rounding::Down => share / 100,
    })
}

/// Where a roll stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub enum Rolling {
    /// Every member is made as a new one would be.
    #[default]
    No,
    /// Members of an older model wait for a person to delete their Machines.
    OnDelete {
        /// How many.
        outdated: usize,
    },
    /// Members of an older model are being replaced.
    Yes {
        /// How many are left, those on their way out included.
        outdated: usize,
    },
    /// A new member failed: no further old one goes.
    Stopped {
        /// How many are left.
        outdated: usize,
        /// The new member's name.
        machine: String,
        /// What is wrong with it.
        why: String,
    },
}

/// What a roll asks for in one pass.
pub(super) struct Roll {
    /// Members above the desired count for now.
    pub(super) surge: i64,
    /// Whose Machines go, by their place among the slots.
    pub(super) victims: Vec<usize>,
    pub(super) rolling: Rolling,
}

/// Decides which members of an older model go now. `slots` are all members; those on their way out
/// count neither as available nor as candidates.
pub(super) fn roll(slots: &[Slot<'_>], wanted: i64, rollout: Rollout, now: Timestamp) -> Roll {
    let outdated = slots.iter().filter(|slot| slot.is_outdated()).count();
    let mut roll = Roll {
        surge: 0,
        victims: Vec::new(),
        rolling: Rolling::No,
    };
    if outdated == 0 {
        return roll;
    }
    if rollout.strategy == Strategy::OnDelete {
        roll.rolling = Rolling::OnDelete { outdated };
        return roll;
    }
    let staying: Vec<usize> = (0..slots.len())
        .filter(|at| slots.get(*at).is_some_and(|slot| !slot.is_going()))
        .collect();
    let of = |check: &dyn Fn(&Slot<'_>) -> bool| -> Vec<usize> {
        let holds = |at: &usize| slots.get(*at).is_some_and(check);
        staying.iter().copied().filter(holds).collect()
    };
    let old = of(&|slot| slot.is_outdated());
    roll.surge = rollout.surge.min(len(&old));
    roll.rolling = Rolling::Yes { outdated };
    let failed = staying
        .iter()
        .filter_map(|at| slots.get(*at))
        .filter(|slot| !slot.is_outdated())
        .find_map(|slot| failure(slot, now).map(|why| (slot.name(), why)));
    if let Some((machine, why)) = failed {
        roll.rolling = Rolling::Stopped {
            outdated,
            machine,
            why,
        };
        return roll;
    }
    let least = wanted - rollout.unavailable;
    let new_unavailable = len(&of(&|slot| !slot.is_outdated() && !slot.is_available()));
    let mut room = len(&staying) - least - new_unavailable;
    let mut spare = len(&of(&|slot| slot.is_available())) - least;
    for at in deletion_order::oldest_model_first(slots, &old) {
        if room <= 0 {
            break;
        }
        if slots.get(at).is_some_and(Slot::is_available) {
            if spare <= 0 {
                continue;
            }
            spare -= 1;
        }
        room -= 1;
        roll.victims.push(at);
    }
    roll
}

fn len(list: &[usize]) -> i64 {
    i64::try_from(list.len()).unwrap_or(i64::MAX)
}

/// What is wrong with a member of the newest model, if something is.
fn failure(slot: &Slot<'_>, now: Timestamp) -> Option<String> {
    match slot.member.member.state {
        MemberState::Stopped => return Some("its instance is stopped".to_owned()),
        MemberState::Degraded => return Some("its instance runs badly".to_owned()),
        MemberState::Pending
        | MemberState::Running
        | MemberState::Terminated
        | MemberState::Unknown => {}
    }
    if slot.machine.is_some_and(|machine| {
        machine
            .condition("HealthCheckSucceeded")
            .is_some_and(|it| it.status == "False")
    }) {
        return Some("a health check failed".to_owned());
    }
    let patience = SignedDuration::from_secs(i64::from(limits::ROLL_PATIENCE_SECONDS));
    let is_late = slot.born().is_some_and(|born| born + patience <= now);
    (is_late && !slot.is_available()).then(|| {
        format!(
            "it is not available {} minutes after its launch",
            limits::ROLL_PATIENCE_SECONDS / 60
        )
    })
}
