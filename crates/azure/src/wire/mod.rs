//! Plan types to bodies of requests, and answers to plan types.
//!
//! Bodies are the Azure document's (section 4), to the letter. Answers are read with care for what
//! ARM leaves to itself: properties that may be missing, and IDs and states in any case.

pub(crate) mod address;
pub(crate) mod instance;
pub(crate) mod scale_set;
mod scale_set_read;
pub(crate) mod setting;

#[cfg(test)]
mod examples;
