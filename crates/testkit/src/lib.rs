//! Test worlds: an API server in memory, simulated clouds, the controllers, all in virtual time.
//!
//! | file | what |
//! | --- | --- |
//! | `demo` | the DEMO objects of the clouds' documents, from `examples/demo` |
//! | `cloud` | one story on either cloud |
//! | `foreign` | kinds of other providers |
//! | `world` | one world: apply objects, start, stop and crash the controllers, look at everything |
//! | `tripwire` | ends a process right after its n-th write |
//! | `journals` | what was asked of the API server and of the clouds |
//! | `requests` | what the manager asks of the management API, and what it may |
//! | `moved` | the same clouds under another management cluster |
//! | `rights` | the manager's rights, and that it never asks for more |
//! | `workload` | plain requests to the workload cluster |
//! | `scrape` | what a scrape of `/metrics` shows |
//! | `expect` | expectations in words |
//! | `soak` | simulated days from a seed, with what must always hold |
//!
//! Use it under `#[tokio::test(start_paused = true)]`: time then moves only when nothing else can.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test kit reports by panicking, with the whole story in the message"
)]

mod admission;
mod cloud;
mod demo;
mod expect;
mod foreign;
mod journals;
mod moved;
mod requests;
mod rights;
mod scrape;
pub mod soak;
mod tripwire;
mod workload;
mod world;

pub use self::{
    cloud::Cloud,
    demo::{AZURE_POOL, Demo, NAMESPACE, POOL},
    expect::{condition, holds},
    foreign::{foreign_crd, foreign_resource},
    journals::Mark,
    requests::{Asked, Requests},
    scrape::Scrape,
    tripwire::Tripwire,
    workload::Answer,
    world::{Builder, World},
};
