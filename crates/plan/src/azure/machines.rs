//! Members as the pool's Machines see them, and the steps these ask for.

use super::{
    observed::{Handle, Observed},
    outputs,
};
use crate::{
    driver::PoolContext,
    error::CloudFailure,
    machines::group::GroupMember,
    pool::action::{Outlook, Plan, PlanStop},
};

/// The instances of the pool, those on their way out included, by provider id.
///
/// # Errors
/// The failed read.
pub fn members(
    handle: &Handle,
    observed: &Observed,
    context: &PoolContext<'_>,
) -> Result<Vec<GroupMember>, CloudFailure> {
    let seen = outputs::outputs(handle, observed, &[], context)?;
    let of = |member| GroupMember {
        member,
        revision: None,
        outdated: false,
        leaving: None,
        interruptible: false,
        launched_at: None,
    };
    Ok(seen.instances.into_iter().map(of).collect())
}

/// The steps that Machines ask for and that need no inputs.
///
/// # Errors
/// The read that failed.
pub fn tend(
    _handle: &Handle,
    _observed: &Observed,
    _context: &PoolContext<'_>,
) -> Result<Plan, PlanStop> {
    Ok(Plan {
        steps: Vec::new(),
        outlook: Outlook::Settled,
    })
}
