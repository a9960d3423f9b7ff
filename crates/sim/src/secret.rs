//! Texts that are never printed.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A text that is never printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hidden(pub(crate) String);

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}
