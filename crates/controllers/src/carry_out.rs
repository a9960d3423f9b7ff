//! Carries out the steps of a plan in order: cloud calls, and record writes where the plan put
//! them. The first failure, and the first call that takes time, ends it.

use remuda_cloud::{Applied, PoolSession};
use remuda_plan::{
    driver::{Driver, Handle},
    pool::{
        action::{Action, Outlook, Plan, Step},
        record::Record,
    },
    status::pass::{Pass, PassEnd},
};

use crate::{
    metrics::{Metrics, StepEnd},
    record::RecordStore,
};

/// Where steps are carried out.
pub(crate) struct Site<'a> {
    /// The cloud.
    pub session: &'a dyn PoolSession,
    /// The pool in it.
    pub handle: &'a Handle,
    /// Where the pool's record is kept.
    pub records: &'a RecordStore<'a>,
    /// The record the pass began with.
    pub record: Option<&'a Record>,
    /// Which cloud it is.
    pub driver: Driver,
    /// What is counted.
    pub metrics: &'a Metrics,
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
        let going_on = if let Action::Remember(record) = &step.action {
            remember(record, site, pass).await
        } else {
            call(step, site, pass).await
        };
        if !going_on {
            return;
        }
    }
}

/// Stores the record; `false`: the pass ends here.
async fn remember(record: &Record, site: &Site<'_>, pass: &mut Pass) -> bool {
    match site.records.save(record).await {
        Ok(()) => {
            pass.record = Some(record.clone());
            pass.carried_out += 1;
            true
        }
        Err(error) => {
            pass.end = PassEnd::RecordUnwritable(error.to_string());
            false
        }
    }
}

/// Makes the step's cloud call; `false`: the pass ends here.
async fn call(step: &Step, site: &Site<'_>, pass: &mut Pass) -> bool {
    let applied = site.session.apply(site.handle, &step.action).await;
    let end = match &applied {
        Ok(Applied::Done | Applied::AlreadySo) => StepEnd::Done,
        Ok(Applied::Pending { .. } | Applied::Started { .. }) => StepEnd::Pending,
        Err(_) => StepEnd::Failed,
    };
    site.metrics.step(site.driver, step.effect, end);
    match applied {
        Ok(Applied::Done | Applied::AlreadySo) => {
            tracing::info!(object = %step.object, because = %step.because, "done");
            pass.carried_out += 1;
            true
        }
        Ok(Applied::Pending {
            what,
            look_again_seconds,
        }) => {
            pass.carried_out += 1;
            look_again(pass, what, look_again_seconds);
            false
        }
        Ok(Applied::Started {
            address,
            what,
            look_again_seconds,
        }) => {
            pass.carried_out += 1;
            if follow(address, site, pass).await {
                look_again(pass, what, look_again_seconds);
            }
            false
        }
        Err(error) => {
            tracing::warn!(object = %step.object, ?error.source, "{}", error.failure);
            pass.end = PassEnd::Failed(error.failure);
            false
        }
    }
}

/// Remembers where an accepted operation can be followed; `false`: the pass ends here. Should that
/// fail, the cloud object itself tells how the operation goes.
async fn follow(address: Option<String>, site: &Site<'_>, pass: &mut Pass) -> bool {
    let Some(mut record) = pass.record.clone().or_else(|| site.record.cloned()) else {
        return true;
    };
    record.driver.follow_operation(address);
    record.revision += 1;
    let carried_out = pass.carried_out;
    let is_stored = remember(&record, site, pass).await;
    pass.carried_out = carried_out;
    is_stored
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
