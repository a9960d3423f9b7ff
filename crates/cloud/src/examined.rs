//! What a cloud says about what a pool needs of it, before anything is done: for `remuda doctor`.

use remuda_plan::error::{CloudFailure, FailureClass};

/// One thing that a pool needs, and what the cloud said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What kind of thing.
    pub need: Need,
    /// Which one, in the cloud's words: `ec2:CreateLaunchTemplate`, `subnet-0a1b`.
    pub subject: String,
    /// What the cloud said.
    pub answer: Answer,
}

/// What a pool needs of its cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// The identity may make a call.
    Permission,
    /// The image of its machines is there.
    Image,
    /// There is room below a quota.
    Quota,
    /// A subnet has free addresses.
    Addresses,
}

/// What the cloud said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It is so; in words.
    Yes(String),
    /// It is not so; in words.
    No(String),
    /// So much is left.
    Left {
        /// What can still be had.
        left: i64,
        /// Of how much; `None`: the cloud does not say.
        of: Option<i64>,
    },
    /// It could not be asked.
    Unknown(CloudFailure),
}

impl Fact {
    /// A fact.
    pub fn new(need: Need, subject: impl Into<String>, answer: Answer) -> Self {
        Self {
            need,
            subject: subject.into(),
            answer,
        }
    }

    /// What a call shows about the right to make it.
    pub fn permission<T>(call: &str, outcome: Result<T, &CloudFailure>) -> Self {
        let answer = match outcome {
            Ok(_) => Answer::Yes("allowed".to_owned()),
            Err(failure) if failure.class == FailureClass::Denied => {
                Answer::No(failure.message.clone())
            }
            Err(failure) => Answer::Unknown(failure.clone()),
        };
        Self::new(Need::Permission, call, answer)
    }
}
