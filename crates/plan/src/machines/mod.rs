//! Machines of a pool as objects: who they are, who goes first, how they are drained and replaced.
//!
//! In a pool the cloud makes an instance first and Kubernetes objects surface it:
//!
//! ```text
//! instance ── seen by the pool's pass ──▶ TerraformMachinePoolMachine ── seen by the MachinePool ──▶ Machine
//! instance ◀── ended by the pool's pass ── its object is being deleted ◀── drained by the Machine ── deleted
//! ```
//!
//! The pool's pass alone writes to the group: it ends an instance once its object is being deleted,
//! which happens only after the drain.

pub mod agent;
pub mod applied;
pub mod because;
pub mod budget;
pub mod condition;
pub mod conditions;
pub mod deletion;
pub mod deletion_order;
pub mod drain;
pub mod drain_rule;
pub mod gate;
pub mod group;
pub mod names;
pub mod node;
pub mod node_sync;
pub mod objects;
pub mod phase;
pub mod pod;
pub mod pool;
pub mod pool_machine;
pub mod progress;
pub mod remediation;
pub mod rollout;
mod slot;
mod summary;
pub mod surface;
pub mod view;
pub mod volumes;
