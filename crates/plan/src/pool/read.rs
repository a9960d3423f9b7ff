//! Reads of a cloud: what a driver asks for, and what an answer may be. `Known` or `Unknown`, never
//! a guess: a failed read is not absence.

use serde::Serialize;

use super::action::PlanStop;
use crate::error::{CloudFailure, FailureClass};

/// The answer of a read, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Read<T> {
    /// The read succeeded, all pages of it.
    Known(T),
    /// The read failed.
    Unknown(CloudFailure),
    /// The read was not asked for at this depth.
    NotAsked,
}

impl<T> Read<T> {
    /// The value, if the read succeeded.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Unknown(_) | Self::NotAsked => None,
        }
    }

    /// The value of a read that a decision needs.
    ///
    /// # Errors
    /// The failed read; a read that was not asked for is a fault of ours.
    pub fn needed(&self, what: &str) -> Result<&T, CloudFailure> {
        match self {
            Self::Known(value) => Ok(value),
            Self::Unknown(failure) => Err(failure.clone()),
            Self::NotAsked => Err(CloudFailure {
                class: FailureClass::Bug,
                call: format!("observe {what}"),
                code: String::new(),
                message: format!("a decision needs the {what}, and they were not read"),
                retry_after_seconds: None,
            }),
        }
    }
}

/// The value of a read that a plan needs.
///
/// # Errors
/// As [`Read::needed`], in a plan's words.
pub fn need<'a, T>(read: &'a Read<T>, what: &str) -> Result<&'a T, PlanStop> {
    read.needed(what).map_err(PlanStop::Unreadable)
}

/// How much to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Depth {
    /// Group and members, from the sweep: a refresh.
    Members,
    /// As `Members`, and whatever could refill the group: a pool that goes drains its Machines.
    Leaving,
    /// Everything owned: an apply, drift check or destroy.
    Full,
}

/// How old an answer of the sweep may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Freshness {
    /// Up to 30 s.
    Steady,
    /// Up to 10 s: something converges.
    Converging,
    /// The group changed since it was last read, as its Nodes tell: read it soon, together with
    /// others that changed.
    Changed,
    /// Read now: the answer decides on removing a machine or emptying a list.
    Fresh,
}
