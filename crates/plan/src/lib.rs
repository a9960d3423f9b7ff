//! Pure decisions of Remuda.
//!
//! ```text
//! World --gate--> Goal --desired--> Desired
//!                                      \
//!                          Observed ----diff----> Vec<Step> --(carried out)--> Pass --fold--> PoolStatus
//! ```
//!
//! Everything here is a function on plain data. What must never enter this crate: async, a clock
//! (time is a parameter), randomness, the network, a Kubernetes client, a cloud SDK, hash maps
//! whose order could reach an output.

mod documented;

pub mod admission;
pub mod aws;
pub mod azure;
pub mod driver;
pub mod error;
pub mod limits;
pub mod machines;
pub mod pool;
pub mod share;
pub mod status;
