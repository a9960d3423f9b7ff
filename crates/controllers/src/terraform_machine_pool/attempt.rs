//! The middle of a pass: observe, diff, carry out. May stop at any line; never decides what a stop
//! means, that is `fold`'s.

use std::{sync::Arc, time::Duration};

use remuda_cloud::{Credentials, PoolSession, backend::CredentialSource};
use remuda_plan::{
    driver::{Desired, Driver, Handle, Observed, PoolContext},
    error::{CloudFailure, FailureClass},
    pool::{
        action::{Effect, Plan, PlanStop},
        gate::{Gate, Goal, Next, confirm_recovery},
        outputs::Outputs,
        read::{Depth, Freshness},
        record::Record,
    },
    status::{
        pass::{Pass, PassEnd},
        wire::Operation,
    },
};

use super::gather::Gathered;
use crate::{
    carry_out::{Site, carry_out},
    context::Context,
    record::RecordStore,
};

/// Why a pass stops before its end.
pub(crate) type Stop = PassEnd;

/// Carries the gate's decision as far as it goes.
///
/// # Cancellation
/// Ends as `Interrupted` on shutdown and as `DeadlineExceeded` after the operation's deadline; what
/// was done until then is in the pass.
pub(crate) async fn attempt(
    gathered: &Gathered,
    records: &RecordStore<'_>,
    gate: Gate,
    ctx: &Context,
) -> Pass {
    let next = gate.next.clone();
    let mut pass = Pass::at_gate(gate, ctx.now());
    let Next::Go(goal) = next else {
        return pass;
    };
    let left = goal.deadline.duration_since(pass.started);
    let deadline = Duration::try_from(left).unwrap_or_default();
    let ended = tokio::select! {
        biased;
        () = ctx.shutdown.cancelled() => Err(PassEnd::Interrupted),
        outcome = tokio::time::timeout(deadline, operate(gathered, records, &goal, ctx, &mut pass)) => {
            outcome.unwrap_or(Err(PassEnd::DeadlineExceeded))
        }
    };
    if let Err(stop) = ended {
        pass.end = stop;
    }
    pass
}

async fn operate(
    gathered: &Gathered,
    records: &RecordStore<'_>,
    goal: &Goal,
    ctx: &Context,
    pass: &mut Pass,
) -> Result<(), Stop> {
    let desired = desired(goal)?;
    let Some(handle) = handle(goal, desired.as_ref()) else {
        pass.end = PassEnd::Done;
        return Ok(());
    };
    let session = session(gathered, goal, ctx).await?;
    let session = session.as_ref();
    let observed = observe(session, &handle, goal.depth, goal.freshness).await?;
    if goal.recovering {
        confirm_recovery(goal, &observed).map_err(PassEnd::Unrecoverable)?;
    }
    pass.notices = Driver::notices(desired.as_ref(), &observed);
    pass.end = PassEnd::Done;
    let pool = Pool {
        goal,
        desired: desired.as_ref(),
        handle: &handle,
    };
    let shown = match goal.operation {
        Operation::Apply | Operation::Destroy => {
            let plan = pool.confirmed_plan(session, &observed).await?;
            let changes = !plan.steps.is_empty();
            let site = Site {
                session,
                handle: &handle,
                records,
                record: goal.record.as_ref(),
            };
            carry_out(plan, &site, pass).await;
            pool.after(session, observed, changes, pass).await
        }
        Operation::Drift => {
            pass.plan = pool.plan(&observed)?;
            Some(observed)
        }
        Operation::Refresh | Operation::Restore | Operation::Plan => Some(observed),
    };
    if let Some(shown) = shown {
        pass.outputs = Some(pool.outputs(&shown, pass.record.as_ref())?);
    }
    Ok(())
}

/// What should exist; `None` when only the record is there to act on. A refresh looks where the
/// last apply put things: bad inputs do not keep it from looking.
pub(crate) fn desired(goal: &Goal) -> Result<Option<Desired>, Stop> {
    let Some(inputs) = &goal.inputs else {
        return Ok(None);
    };
    if matches!(goal.operation, Operation::Destroy | Operation::Refresh) {
        return Ok(None);
    }
    goal.driver
        .desired(inputs, &goal.variables, &goal.context())
        .map(Some)
        .map_err(PassEnd::Refused)
}

/// What to look at; `None` when nothing was ever applied.
pub(crate) fn handle(goal: &Goal, desired: Option<&Desired>) -> Option<Handle> {
    let context = goal.context();
    match desired {
        Some(desired) => Some(Driver::handle(desired, &context)),
        None => goal.driver.handle_from_record(&context),
    }
}

/// A session with the credential as it was read at the start of this pass.
pub(crate) async fn session(
    gathered: &Gathered,
    goal: &Goal,
    ctx: &Context,
) -> Result<Arc<dyn PoolSession>, Stop> {
    let backend = ctx.backends.get(&goal.driver).ok_or_else(|| {
        PassEnd::Failed(CloudFailure {
            class: FailureClass::Bug,
            call: "session".to_owned(),
            code: String::new(),
            message: format!("this manager runs without a backend for {:?}", goal.driver),
            retry_after_seconds: None,
        })
    })?;
    let credentials = Credentials {
        cache_key: format!(
            "{}@{}/{}",
            goal.identity, goal.credentials.namespace, goal.credentials.resource_version
        ),
        source: CredentialSource::Keys(gathered.credentials.clone()),
    };
    backend
        .session(&credentials)
        .await
        .map_err(|error| PassEnd::Failed(error.failure))
}

/// Reads the cloud.
pub(crate) async fn observe(
    session: &dyn PoolSession,
    handle: &Handle,
    depth: Depth,
    freshness: Freshness,
) -> Result<Observed, Stop> {
    session
        .observe(handle, depth, freshness)
        .await
        .map_err(|error| PassEnd::Failed(error.failure))
}

/// One pool's goal with what follows from it.
pub(crate) struct Pool<'a> {
    pub goal: &'a Goal,
    pub desired: Option<&'a Desired>,
    pub handle: &'a Handle,
}

impl Pool<'_> {
    /// The steps from what is to what should be; `None` when nobody knows what should be.
    pub(crate) fn plan(&self, observed: &Observed) -> Result<Option<Plan>, Stop> {
        let context = self.goal.context();
        let plan = match (self.goal.operation, self.desired) {
            (Operation::Destroy, _) => self
                .goal
                .driver
                .teardown(self.handle, observed, &context)
                .map(Some),
            (_, Some(desired)) => Driver::diff(desired, observed, &context).map(Some),
            (_, None) => Ok(None),
        };
        plan.map_err(|stop| match stop {
            PlanStop::Refused(refusals) => PassEnd::Refused(refusals),
            PlanStop::Unreadable(failure) => PassEnd::Failed(failure),
        })
    }

    /// The plan, made once more from a fresh reading if it touches running machines: the sweep is
    /// never trusted for a decision that removes one.
    async fn confirmed_plan(
        &self,
        session: &dyn PoolSession,
        observed: &Observed,
    ) -> Result<Plan, Stop> {
        let plan = self.plan(observed)?;
        let touches_machines = plan
            .iter()
            .flat_map(|plan| &plan.steps)
            .any(|step| step.effect >= Effect::Rolls);
        let plan = if touches_machines && self.goal.freshness != Freshness::Fresh {
            let fresh = observe(session, self.handle, self.goal.depth, Freshness::Fresh).await?;
            self.plan(&fresh)?
        } else {
            plan
        };
        plan.ok_or_else(|| {
            PassEnd::Failed(CloudFailure {
                class: FailureClass::Bug,
                call: self.goal.operation.as_str().to_owned(),
                code: String::new(),
                message: "the operation has no inputs to act on".to_owned(),
                retry_after_seconds: None,
            })
        })
    }

    /// What the cloud shows after the steps; without steps, what it showed before. A read that
    /// fails here fails nothing: the refresh that follows every apply reads again.
    async fn after(
        &self,
        session: &dyn PoolSession,
        before: Observed,
        changed: bool,
        pass: &Pass,
    ) -> Option<Observed> {
        if pass.end != PassEnd::Done || self.goal.operation == Operation::Destroy {
            return None;
        }
        if !changed {
            return Some(before);
        }
        observe(session, self.handle, Depth::Members, Freshness::Converging)
            .await
            .ok()
    }

    /// What the pool publishes; `written` is the record as the steps left it.
    fn outputs(&self, observed: &Observed, written: Option<&Record>) -> Result<Outputs, Stop> {
        let goal = self.goal;
        let context = PoolContext {
            record: written.or(goal.record.as_ref()),
            ..goal.context()
        };
        goal.driver
            .outputs(
                self.handle,
                observed,
                &goal.dropped_node_labels,
                goal.input_replicas(),
                &context,
            )
            .map_err(PassEnd::Failed)
    }
}
