//! Conditions, events, record and requeue: decided here and nowhere else.
//!
//! | file | what |
//! | --- | --- |
//! | `condition` | condition types and reasons |
//! | `event` | event reasons |
//! | `wire` | the status as written |
//! | `pass` | what happened in one pass |
//! | `publication` | what one pass writes |
//! | `fold` | pass to publication; the order of the parts below |
//! | `draft` | the publication while it is made |
//! | `conditions` | transition times, and what changed |
//! | `standing` | what the gate found, as conditions |
//! | `outcome` | how an apply or destroy went |
//! | `failure` | how one failed, and when the next try is |
//! | `run` | one run, as the status shows it |
//! | `reading` | what a refresh or drift check read |
//! | `ready` | the latch, `InputsApplied`, and the summary |
//! | `machines` | what is told of the pool's Machines |
//! | `transitions` | events of changed conditions |
//! | `requeue` | when to look again |
//! | `rest` | whether a look at the cloud is enough until then |

pub mod condition;
mod conditions;
mod draft;
pub mod event;
mod failure;
pub mod fold;
mod machines;
mod notices;
mod outcome;
pub mod pass;
pub mod publication;
mod reading;
mod ready;
mod requeue;
pub mod rest;
mod run;
mod standing;
mod transitions;
pub mod wire;
