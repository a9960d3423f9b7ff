//! The Azure backend: pools on uniform scale sets and Autoscale settings, through ARM.
//!
//! Plan types come in as handles and actions, observations and outcomes go out. No decision about
//! a pool is made here: what a call means for a pool is the plan's.
//!
//! | file | what |
//! | --- | --- |
//! | `backend` | credentials to sessions, handles to subscriptions and regions |
//! | `credentials`, `certificate` | identities to what a token is asked for with |
//! | `tokens`, `metadata` | tokens: asked for, kept, renewed |
//! | `clients`, `headroom` | ARM for one subscription and region; the one place where a call leaves |
//! | `calls` | every call as data |
//! | `transport`, `in_process` | how requests travel |
//! | `batch`, `shared` | sweeps: many pools, few calls |
//! | `observe`, `images` | reads only |
//! | `guest` | Scheduled Events, as the machine itself is told them |
//! | `apply`, `operations` | one arm per action; what outlives a call |
//! | `wire` | plan types to bodies, answers to plan types |
//! | `errors`, `error_body` | provider codes to classes, a table |

mod apply;
mod backend;
mod batch;
pub mod calls;
mod certificate;
mod clients;
mod credentials;
mod error_body;
mod errors;
mod examine;
mod guest;
mod headroom;
mod images;
mod in_process;
mod metadata;
mod observe;
mod operations;
mod shared;
mod tokens;
mod transport;
mod wire;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use backend::{AzureBackend, Clock, Endpoints, Options};
pub use batch::SweepTiming;
pub use credentials::Ambient;
pub use guest::Guest;
pub use in_process::InProcess;

/// The value behind a mutex that no code of ours leaves half changed.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
