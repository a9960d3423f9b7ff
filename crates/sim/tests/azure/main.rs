//! The simulated Azure, from the wire, in virtual time.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests fail by panicking, and say when they skip"
)]

mod capacity;
mod client;
mod control;
mod events;
mod examples;
mod lifecycle;
mod login;
mod node;
mod reads;
mod refusal;
mod saved;
mod scale;
