//! Refusals (the user must act) and cloud failures (a call went wrong), as plain data.

use std::fmt;

use serde::Serialize;

/// One reason why an input cannot be acted on. All refusals of one input are reported together,
/// sorted by code and subject.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Refusal {
    /// Stable code of the cloud document, for example `V-8`, `R-7`. Never changes meaning.
    pub code: &'static str,
    /// What is wrong: a variable or field, for example `node_labels`, `machine_image.id`.
    pub subject: String,
    /// What is wrong with it, without secret values.
    pub message: String,
    /// What to do about it, where that is not obvious from the message.
    pub remedy: Option<String>,
}

impl Refusal {
    /// A refusal without a remedy of its own.
    pub fn new(code: &'static str, subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code,
            subject: subject.into(),
            message: message.into(),
            remedy: None,
        }
    }

    /// The same refusal with what to do about it.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.code, self.subject, self.message)?;
        match &self.remedy {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}

/// What a caller does about a failed cloud call (AWS document 10.3, Azure document 10.3). A class
/// exists because a caller acts differently on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum FailureClass {
    /// back off with full jitter; no failure count before 5 minutes.
    Throttled,
    /// the same with a longer base.
    Transient,
    /// something else is at work on the object; look again in 5 to 15 s.
    Contended,
    /// the name is taken; check who owns it.
    AlreadyExists,
    /// the object is not there.
    NotFound,
    /// after one fresh credential: an operator must grant something.
    Denied,
    /// a quota of our own call; look again every 5 minutes.
    Quota,
    /// Azure document 10.3: a region or zone has no room for what was asked; nobody's mistake, so
    /// it is tried again, ever more seldom.
    Capacity,
    /// Azure document 10.3: what was asked for can't be met together; looked at every half hour,
    /// for a user must change it.
    Constraint,
    /// Azure document 10.3: an operator's lock holds the object; looked at every ten minutes.
    Locked,
    /// the cloud refuses a parameter; nothing changes until the inputs do.
    Rejected,
    /// the cloud needs a moment (IAM propagation); 2 minutes, then `Rejected`/`Denied`.
    NotReadyYet,
    /// No usable credential in the identity: nothing was sent.
    NoCredentials,
    /// A fault of ours: an answer that cannot be read, an action for another cloud.
    Bug,
}

/// A failed cloud call as data: what `fold` and the requeue rules need to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CloudFailure {
    /// What to do about it.
    pub class: FailureClass,
    /// The call, in the cloud's words: `autoscaling:UpdateAutoScalingGroup`.
    pub call: String,
    /// The provider's error code, for example `RequestLimitExceeded`; empty when none came.
    pub code: String,
    /// The provider's text. Deterministic: no request ids, no times, no credentials.
    pub message: String,
    /// The provider's own wish (`Retry-After`), in seconds.
    pub retry_after_seconds: Option<u32>,
}

impl fmt::Display for CloudFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.call)?;
        if !self.code.is_empty() {
            write!(f, ": {}", self.code)?;
        }
        write!(f, ": {}", self.message)
    }
}
