//! The one seam between controllers and clouds.

pub mod backend;
pub mod error;

pub use backend::{Applied, Credentials, PoolBackend, PoolSession};
pub use error::CloudError;
