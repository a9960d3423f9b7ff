//! What an answer means where only its class counts.

use remuda_plan::{error::FailureClass, pool::read::Read};

use crate::{Applied, CloudError};

/// An answer, or why there is none.
pub trait Answer<T> {
    /// A missing object is an answer, not a failure.
    ///
    /// # Errors
    /// Every other failure.
    fn or_absent(self, absent: T) -> Result<T, CloudError>;

    /// The answer as a read: a failed one is `Unknown`, never absence.
    fn into_read(self) -> Read<T>;
}

impl<T> Answer<T> for Result<T, CloudError> {
    fn or_absent(self, absent: T) -> Self {
        match self {
            Err(error) if error.class() == FailureClass::NotFound => Ok(absent),
            answer => answer,
        }
    }

    fn into_read(self) -> Read<T> {
        self.map_or_else(|error| Read::Unknown(error.failure), Read::Known)
    }
}

/// Deleting or emptying what is not there has succeeded before.
///
/// # Errors
/// Every failure but a missing object.
pub fn gone_already(sent: Result<Applied, CloudError>) -> Result<Applied, CloudError> {
    sent.or_absent(Applied::AlreadySo)
}
