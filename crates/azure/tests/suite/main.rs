//! The backend under a pass as the controllers run it, against a simulated Azure in virtual time.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    unreachable_pub,
    reason = "tests and what they share"
)]

mod auth;
mod budget;
mod capacity;
mod crash;
mod errors;
mod harness;
mod image;
mod lifecycle;
mod machines;
mod membership;
mod model;
mod operation;
mod permissions;
mod roll;
mod teardown;
mod throttling;
