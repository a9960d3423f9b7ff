//! Simulated clouds at the wire, and simulated nodes.
//!
//! In: requests in a cloud's own protocol, and hands on the world (capacity, faults, time). Out:
//! answers as the cloud would give them, a journal of calls, and Nodes that join a workload API.
//! Time runs on [`SimClock`], randomness comes from a seed: a scenario can be replayed.
//!
//! The crate depends on nothing of ours. A simulator that shared code with the backend it checks
//! would share its mistakes.
#![warn(missing_docs)]

mod addresses;
pub mod aws;
pub mod azure;
mod capacity;
mod clock;
mod cloud;
pub mod cluster;
mod control;
mod events;
mod faults;
mod history;
mod ids;
mod journal;
pub mod kubelet;
mod parts;
mod saved;
mod secret;
mod sim;
mod transport;

pub use clock::SimClock;
pub use faults::{Effect, Fault, Faults};
pub use journal::{Call, Journal, Outcome, Sent};
pub use saved::RestoreError;
pub use sim::{Sim, SimBuilder, Simulated};
