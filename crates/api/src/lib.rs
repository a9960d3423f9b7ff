//! Kubernetes kinds that Remuda serves, one kind a file, no logic.
//!
//! In: nothing. Out: types that read and write the wire shape, their definitions ([`crds`],
//! [`crd_yaml`]) and every key that is set on an object ([`keys`]).
//!
//! Invariants: an optional field is an `Option` that is left out when unset, so that an unset
//! field is never written as a value; a field that is set to 0, false or an empty string is
//! written. A word a newer version adds to an enum of observed state is read as `Unknown` where
//! the enum has such a variant.

#![allow(
    clippy::duplicated_attributes,
    reason = "the lint takes two printer columns of one type for a repetition"
)]

pub mod capi;
pub mod captf;
pub mod condition;
mod crd;
pub mod keys;
mod pattern;

pub use crd::{crd_yaml, crds};
