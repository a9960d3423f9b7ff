//! The one seam between controllers and clouds.
//!
//! | file | what |
//! | --- | --- |
//! | `backend` | what a cloud must be able to do |
//! | `guest` | what a machine is told by its own cloud |
//! | `error` | a failed call with its class |
//! | `retry` | when to try again, a pure schedule |
//! | `budget` | how many calls may leave, and how many did |
//! | `examined` | what a cloud says about what a pool needs |
//! | `measured` | what is told of every call |

pub mod backend;
pub mod budget;
pub mod error;
pub mod examined;
pub mod guest;
pub mod measured;
pub mod retry;

pub use backend::{Applied, Credentials, PoolBackend, PoolSession};
pub use error::CloudError;
pub use guest::GuestService;
