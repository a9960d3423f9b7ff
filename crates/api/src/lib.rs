//! Kubernetes kinds that Remuda serves, one kind a file, no logic.

pub mod capi;
pub mod captf;
pub mod condition;
mod crd;
mod pattern;
