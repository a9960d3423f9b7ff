//! Conditions, events, record and requeue: decided here and nowhere else.
//!
//! | file | what |
//! | --- | --- |
//! | `condition` | condition types and reasons |
//! | `event` | event reasons |
//! | `wire` | the status as written |
//! | `pass` | what happened in one pass |
//! | `publication` | what one pass writes |
//! | `fold` | pass to publication |

pub mod condition;
pub mod event;
pub mod fold;
pub mod pass;
pub mod publication;
pub mod wire;
