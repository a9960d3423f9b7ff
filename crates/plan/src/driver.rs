//! Which cloud a pool runs on. Chosen once, from the image (captf document 6.2); the only place
//! where the clouds' plans meet. Controllers and the command line see only these types.

use serde::Serialize;

use crate::aws;
pub use crate::aws::observed::{Depth, Freshness};

/// A native driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Driver {
    /// `aws-machinepool`.
    Aws,
}

/// What should exist.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Desired {
    /// On AWS.
    Aws(Box<aws::desired::Desired>),
}

/// What to look at.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Handle {
    /// On AWS.
    Aws(aws::observed::Handle),
}

/// What does exist.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Observed {
    /// On AWS.
    Aws(Box<aws::observed::Observed>),
}
