//! The Machine controller: a Machine, its infrastructure object, its Node and Pods, in virtual
//! time; the infrastructure object and the Node are made by hand.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test reports by panicking"
)]

mod bad_input;
mod drain;
mod hooks;
mod life;
mod outage;
mod stage;
