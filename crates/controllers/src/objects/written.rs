//! What a write answers with: the object as it is stored now. Most writers do not look at it, so that
//! it is read only when somebody asks.

use std::fmt;

use remuda_plan::pool::objects::Metadata;
use serde::Deserialize;
use serde_json::Value;

use super::{ApiError, failed, unmanaged::Unmanaged};

/// An object as a write left it, not yet read.
#[derive(Clone)]
pub struct Written {
    pub(super) what: String,
    pub(super) text: String,
    pub(super) keeps_managers: bool,
}

impl fmt::Debug for Written {
    // It may be a Secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Written({})", self.what)
    }
}

impl Written {
    /// The object; without `metadata.managedFields` unless whoever wrote it keeps them.
    ///
    /// # Errors
    /// The server's answer is no object.
    pub fn object(&self) -> Result<Value, ApiError> {
        let read = if self.keeps_managers {
            serde_json::from_str(&self.text)
        } else {
            serde_json::from_str(&self.text).map(|read: Unmanaged| read.0)
        };
        read.map_err(|error| failed(&self.what, &error))
    }

    /// Its metadata.
    ///
    /// # Errors
    /// As [`Self::object`].
    pub fn metadata(&self) -> Result<Metadata, ApiError> {
        #[derive(Deserialize)]
        struct Envelope {
            metadata: Metadata,
        }
        let read: Result<Envelope, _> = serde_json::from_str(&self.text);
        let envelope = read.map_err(|error| failed(&self.what, &error))?;
        Ok(envelope.metadata)
    }
}
