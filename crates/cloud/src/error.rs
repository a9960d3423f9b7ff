//! A failed cloud call with its class.

use remuda_plan::error::{CloudFailure, FailureClass};

/// A failed cloud call. The failure is plain data for `fold`; the source is for the log.
#[derive(Debug, thiserror::Error)]
#[error("{failure}")]
pub struct CloudError {
    /// Class, call, code and text.
    pub failure: CloudFailure,
    /// The SDK's error, for the log only.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl CloudError {
    /// The class decides what a caller does.
    pub fn class(&self) -> FailureClass {
        self.failure.class
    }
}

impl From<CloudFailure> for CloudError {
    fn from(failure: CloudFailure) -> Self {
        Self {
            failure,
            source: None,
        }
    }
}
