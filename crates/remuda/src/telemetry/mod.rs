//! What a running process tells of itself: health checks, metrics, its log,
//! traces.

pub(crate) mod health;
pub(crate) mod log;
mod trace;
