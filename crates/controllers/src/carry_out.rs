//! Carries out the steps of a plan in order: cloud calls, and record writes where the plan put
//! them. The first failure, and the first call that takes time, ends it.

use remuda_cloud::{Applied, PoolSession};
use remuda_plan::{
    driver::Handle,
    pool::action::{Action, Outlook, Plan},
    status::pass::{Pass, PassEnd},
};

use crate::record::RecordStore;

/// Where steps are carried out.
pub(crate) struct Site<'a> {
    /// The cloud.
    pub session: &'a dyn PoolSession,
    /// The pool in it.
    pub handle: &'a Handle,
    /// The pool's record.
    pub records: &'a RecordStore<'a>,
}

/// Carries out `plan` and writes into `pass` how far it came.
///
/// # Idempotence
/// Every step is safe to repeat; a pass that ends in the middle is resumed by the next one.
///
/// # Cancellation
/// Dropping it between two writes leaves what a crash would leave.
pub(crate) async fn carry_out(plan: Plan, site: &Site<'_>, pass: &mut Pass) {
    let steps = plan.steps.clone();
    pass.plan = Some(plan);
    pass.end = PassEnd::Done;
    for step in &steps {
        match &step.action {
            Action::Remember(record) => match site.records.save(record).await {
                Ok(()) => pass.record = Some(record.as_ref().clone()),
                Err(error) => {
                    pass.end = PassEnd::RecordUnwritable(error.to_string());
                    return;
                }
            },
            action => match site.session.apply(site.handle, action).await {
                Ok(Applied::Done | Applied::AlreadySo) => {
                    tracing::info!(object = %step.object, because = %step.because, "done");
                }
                Ok(Applied::Pending {
                    what,
                    look_again_seconds,
                }) => {
                    pass.carried_out += 1;
                    look_again(pass, what, look_again_seconds);
                    return;
                }
                Err(error) => {
                    tracing::warn!(
                        object = %step.object,
                        source = error.source.as_ref().map(tracing::field::display),
                        "{}", error.failure
                    );
                    pass.end = PassEnd::Failed(error.failure);
                    return;
                }
            },
        }
        pass.carried_out += 1;
    }
}

/// A call was accepted but takes time: the rest of the plan waits for the next pass.
fn look_again(pass: &mut Pass, what: String, after_seconds: u32) {
    if let Some(plan) = &mut pass.plan {
        plan.outlook = Outlook::LookAgain {
            what,
            after_seconds,
        };
    }
}
