//! The simulated Azure, from the wire, in virtual time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod capacity;
mod client;
mod lifecycle;
mod node;
mod refusal;
