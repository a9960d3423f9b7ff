//! Machines of a pool: made, kept true, counted, replaced when unhealthy.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test reports by panicking"
)]

mod health;
mod herd;
mod members;
mod native;
