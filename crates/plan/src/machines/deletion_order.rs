//! Who goes first (Cluster API document, 4.5). Deterministic: two passes on one state pick the
//! same.
//!
//! Those already on their way out are no candidates: they were counted before anybody is picked.

use std::{
    cmp::{Ordering, Reverse},
    collections::BTreeMap,
};

use jiff::Timestamp;
use serde::Serialize;

use super::slot::Slot;

/// Why a candidate was picked before the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Rank {
    /// Annotated: an autoscaler has emptied exactly this Node.
    Marked,
    /// Its instance failed or is stopped.
    Failed,
    /// A health check gave it up, or its Node is unhealthy.
    Unhealthy,
    /// Its Node takes no new Pods.
    Cordoned,
    /// Of an older model.
    Outdated,
    /// Nothing but its zone and its age speaks for it.
    Plain,
}

impl Rank {
    /// In a sentence.
    pub fn because(self) -> &'static str {
        match self {
            Self::Marked => "it is marked for deletion",
            Self::Failed => "its instance does not run",
            Self::Unhealthy => "it is unhealthy",
            Self::Cordoned => "its Node is cordoned",
            Self::Outdated => "it is of an older model",
            Self::Plain => "its zone has most members, and it is the oldest there",
        }
    }
}

/// A pick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pick {
    /// Place among the slots.
    pub(super) at: usize,
    pub(super) rank: Rank,
}

fn rank(slot: &Slot<'_>) -> Rank {
    let ranks = [
        (slot.is_marked(), Rank::Marked),
        (slot.has_failed(), Rank::Failed),
        (slot.is_unhealthy(), Rank::Unhealthy),
        (slot.is_cordoned, Rank::Cordoned),
        (slot.is_outdated(), Rank::Outdated),
    ];
    ranks
        .iter()
        .find_map(|(holds, rank)| holds.then_some(*rank))
        .unwrap_or(Rank::Plain)
}

/// Oldest first, then by name; whose age nobody knows comes last.
fn by_age(left: &Slot<'_>, right: &Slot<'_>) -> Ordering {
    let born = |slot: &Slot<'_>| slot.born().unwrap_or(Timestamp::MAX);
    born(left)
        .cmp(&born(right))
        .then_with(|| left.name().cmp(&right.name()))
}

/// Picks `count` of those who stay; zones are counted again after each pick.
pub(super) fn pick(slots: &[Slot<'_>], count: usize) -> Vec<Pick> {
    let mut left: Vec<usize> = (0..slots.len())
        .filter(|at| slots.get(*at).is_some_and(|slot| !slot.is_going()))
        .collect();
    let mut picks = Vec::new();
    while picks.len() < count {
        let Some(next) = first(slots, &left) else {
            break;
        };
        left.retain(|at| *at != next.at);
        picks.push(next);
    }
    picks
}

fn first(slots: &[Slot<'_>], left: &[usize]) -> Option<Pick> {
    let mut zones: BTreeMap<&str, usize> = BTreeMap::new();
    for slot in left.iter().filter_map(|at| slots.get(*at)) {
        *zones.entry(slot.zone()).or_default() += 1;
    }
    let population = |slot: &Slot<'_>| Reverse(zones.get(slot.zone()).copied().unwrap_or(0));
    left.iter()
        .filter_map(|at| slots.get(*at).map(|slot| (*at, slot)))
        .min_by(|(_, left), (_, right)| {
            rank(left)
                .cmp(&rank(right))
                .then_with(|| population(left).cmp(&population(right)))
                .then_with(|| by_age(left, right))
        })
        .map(|(at, slot)| Pick {
            at,
            rank: rank(slot),
        })
}

/// Members of older models in the order in which they go: those that do not serve anyway, then the
/// oldest model first, and within a model the order of a scale-in. A model is as old as its first
/// member.
pub(super) fn oldest_model_first(slots: &[Slot<'_>], outdated: &[usize]) -> Vec<usize> {
    let mut models: BTreeMap<Option<&str>, Timestamp> = BTreeMap::new();
    for slot in outdated.iter().filter_map(|at| slots.get(*at)) {
        let born = slot.born().unwrap_or(Timestamp::MAX);
        models
            .entry(slot.member.revision.as_deref())
            .and_modify(|oldest| *oldest = born.min(*oldest))
            .or_insert(born);
    }
    let mut left: Vec<usize> = outdated.to_vec();
    let mut order = Vec::new();
    loop {
        let group = left
            .iter()
            .filter_map(|at| slots.get(*at))
            .map(|slot| {
                let model = slot.member.revision.as_deref();
                let age = models.get(&model).copied().unwrap_or(Timestamp::MAX);
                (slot.is_available(), age, model)
            })
            .min();
        let Some(group) = group else {
            return order;
        };
        let within: Vec<usize> = left
            .iter()
            .copied()
            .filter(|at| {
                slots.get(*at).is_some_and(|slot| {
                    slot.is_available() == group.0 && slot.member.revision.as_deref() == group.2
                })
            })
            .collect();
        let Some(next) = first(slots, &within) else {
            return order;
        };
        left.retain(|at| *at != next.at);
        order.push(next.at);
    }
}
