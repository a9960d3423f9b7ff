//! What people should be told beside outputs and failed calls. Autoscale tells of failed scaling in
//! the activity log only, which is not read: so there is nothing yet but what a driver must answer.

use super::observed::Observed;
use crate::pool::notice::Notice;

/// Nothing: what goes wrong on Azure is an operation's failure or a member's state.
pub fn notices(_observed: &Observed) -> Vec<Notice> {
    Vec::new()
}
