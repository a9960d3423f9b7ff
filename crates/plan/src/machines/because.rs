//! Why a Machine goes, in words that events, plans and pages share.

use std::fmt;

use serde::Serialize;

use super::deletion_order::Rank;

/// Why a Machine goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Because {
    /// Its instance is gone.
    InstanceGone,
    /// The cloud is about to end its instance.
    Held {
        /// Why, in the cloud's words.
        because: String,
    },
    /// Somebody deleted the object it stands for.
    ObjectDeleted,
    /// The object it stands for does not exist.
    ObjectMissing,
    /// The pool has more members than are wanted.
    ScaleIn {
        /// Members there are.
        from: i64,
        /// Members wanted.
        to: i64,
        /// Why this one.
        rank: Rank,
    },
    /// It is of an older model.
    Outdated {
        /// The model.
        revision: Option<String>,
    },
    /// A health check gave it up.
    Unhealthy,
    /// Its pool is being deleted.
    PoolDeleted,
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InstanceGone => f.write_str("its instance is gone"),
            Self::Held { because } => write!(f, "the cloud ends its instance ({because})"),
            Self::ObjectDeleted => f.write_str("the object of its instance was deleted"),
            Self::ObjectMissing => f.write_str("the object of its instance does not exist"),
            Self::ScaleIn { from, to, rank } => {
                write!(f, "members {from} -> {to}: {}", rank.because())
            }
            Self::Outdated { revision } => match revision {
                Some(revision) => write!(f, "it is made from the older model {revision}"),
                None => f.write_str("it is made from an older model"),
            },
            Self::Unhealthy => f.write_str("a health check gave it up"),
            Self::PoolDeleted => f.write_str("its pool is being deleted"),
        }
    }
}
