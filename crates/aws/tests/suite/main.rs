//! The backend under a pass as the controllers run it, against two targets: the simulator in
//! virtual time, and moto's server where `REMUDA_MOTO_PYTHON` names a python that has it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    unreachable_pub,
    reason = "tests and what they share"
)]

mod ambient;
mod budget;
mod capacity;
mod crash;
mod harness;
mod identity;
mod image;
mod lifecycle;
mod machines;
mod membership;
mod moto;
mod oracle;
mod permissions;
mod roll;
mod teardown;
mod template;
