//! The one seam between controllers and clouds, and what every cloud's backend is made of.
//!
//! | file | what |
//! | --- | --- |
//! | `backend` | what a cloud must be able to do |
//! | `guest` | what a machine is told by its own cloud |
//! | `error` | a failed call with its class |
//! | `accounts` | a backend but for its cloud: credentials to regions |
//! | `identity` | identity Secrets, read key by key |
//! | `calls` | calls as data, with the permissions they need |
//! | `permissions` | what an identity needs, derived from the calls |
//! | `outlet` | the one place where a call leaves |
//! | `limits`, `budget` | how many calls may leave, and how many did |
//! | `retry` | when to try again, a pure schedule |
//! | `examined` | what a cloud says about what a pool needs |
//! | `sweep`, `shared`, `lookups` | reads that many pools share |
//! | `answer` | what an answer means where only its class counts |
//! | `in_process` | a service in this process as a cloud |
//! | `measured` | what is told of every call |

pub mod accounts;
pub mod answer;
pub mod backend;
pub mod budget;
pub mod calls;
pub mod error;
pub mod examined;
pub mod guest;
pub mod identity;
pub mod in_process;
pub mod limits;
pub mod lookups;
pub mod measured;
pub mod outlet;
pub mod permissions;
pub mod retry;
pub mod shared;
pub mod sweep;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use accounts::Backend;
pub use backend::{Applied, Credentials, PoolBackend, PoolSession};
pub use error::CloudError;
pub use guest::GuestService;

/// The value behind a mutex that no code of ours leaves half changed.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
