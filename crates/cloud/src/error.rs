//! A failed cloud call with its class.

use std::time::Duration;

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

/// A failure that no call was made for, or whose answer makes no sense.
pub fn failure(class: FailureClass, call: &str, message: impl Into<String>) -> CloudFailure {
    CloudFailure {
        class,
        call: call.to_owned(),
        code: String::new(),
        message: message.into(),
        retry_after_seconds: None,
    }
}

/// A failed attempt of a call.
#[derive(Debug)]
pub struct Fault {
    /// The failure, as the caller will see it if nothing helps.
    pub error: CloudError,
    /// A fresh credential may help.
    pub stale_credential: bool,
    /// The ceiling that was exceeded, where the answer tells; else it is the call's last.
    pub bucket: Option<&'static str>,
}

impl Fault {
    /// A fault that a fresh credential does not help.
    pub fn new(error: impl Into<CloudError>) -> Self {
        Self {
            error: error.into(),
            stale_credential: false,
            bucket: None,
        }
    }

    /// The class of the failure.
    pub fn class(&self) -> FailureClass {
        self.error.class()
    }

    /// The provider's own wish.
    pub fn retry_after(&self) -> Option<Duration> {
        self.error
            .failure
            .retry_after_seconds
            .map(|seconds| Duration::from_secs(u64::from(seconds)))
    }
}
