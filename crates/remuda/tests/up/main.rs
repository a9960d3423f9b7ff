//! `remuda up` as a person runs it: the program, a data directory, real kubectl.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "what a test cannot start, it cannot test; skip lines go to standard error"
)]

mod admission;
mod azure;
mod backup;
mod book;
mod browser;
mod dashboard;
mod data_dir;
mod doctor;
#[path = "../pages/mod.rs"]
mod pages;
mod prometheus;
mod running;
mod tour;
