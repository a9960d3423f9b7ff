//! What the Machines of a pool ask for, without any cloud or Kubernetes: who goes first, how a roll
//! goes on, what every kind of loss leads to. `fleet` is a pool as both sides show it.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a builder that meets the unexpected fails the test"
)]

mod fleet;

mod deleting;
mod names;
mod order;
mod roll;
mod scaling;
mod surface;
