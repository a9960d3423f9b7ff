//! Simulated clouds at the wire, and simulated nodes.
//!
//! In: signed requests in a cloud's own protocol, and hands on the world (capacity, faults, time).
//! Out: answers as the cloud would give them, a journal of calls, and Nodes that join a workload
//! API. Time runs on [`SimClock`], randomness comes from a seed: a scenario can be replayed.
//!
//! The crate depends on nothing of ours. A simulator that shared code with the backend it checks
//! would share its mistakes.
#![warn(missing_docs)]

pub mod aws;
mod clock;
mod faults;
mod journal;
pub mod kubelet;

pub use clock::SimClock;
pub use faults::{Effect, Fault, Faults};
pub use journal::{Call, Journal, Outcome};
