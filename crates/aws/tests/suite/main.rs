//! The backend under a pass as the controllers run it, against two targets: the simulator in
//! virtual time, and moto's server where `REMUDA_MOTO_PYTHON` names a python that has it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::missing_panics_doc,
    reason = "tests and what they share"
)]

mod capacity;
mod harness;
mod moto;
mod template;
