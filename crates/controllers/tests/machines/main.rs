//! Machines of a pool from the pool's side, on a simulated AWS: members become objects, deleted
//! Machines end exactly their instances, pools scale, roll, move and go.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test reports by panicking"
)]

mod ranch;

mod autoscaled;
mod moving;
mod removal;
mod rest;
mod rolling;
mod surfacing;
mod taints;
