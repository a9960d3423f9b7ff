//! ARM's protocol: answers, refusals, resource ids, pages, JSON.

mod answer;
pub(crate) mod duration;
mod error;
pub(crate) mod id;
pub(crate) mod merge;
pub(crate) mod page;

pub(crate) use self::{
    answer::Answer,
    error::{ArmError, Shape},
};
