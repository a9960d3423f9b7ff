//! The middle of a pass: observe, diff, carry out. May stop at any line; never decides what a stop
//! means, that is `fold`'s.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use remuda_cloud::{Credentials, PoolSession, backend::CredentialSource};
use remuda_plan::{
    driver::{Desired, Driver, Handle, Observed, PoolContext},
    error::{CloudFailure, FailureClass},
    machines::pool::PoolDecision,
    pool::{
        action::{Effect, Outlook, Plan, PlanStop},
        gate::{Gate, Goal, Next, confirm_recovery},
        identity::AMBIENT_KEY,
        machines::{Seen, decide},
        outputs::Outputs,
        read::{Depth, Freshness},
        record::Record,
        secret::Secret,
        world::{CredentialSecret, World},
    },
    status::{
        pass::{Pass, PassEnd},
        wire::Operation,
    },
};

use super::{
    gather::{Gathered, machine_objects},
    machines,
};
use crate::{
    carry_out::{Site, carry_out},
    context::Context,
    record::RecordStore,
};

/// How soon a pool whose group is gone looks for the objects that it has released. Ours: their
/// going wakes it, too.
const AFTER_RELEASE_SECONDS: u32 = 1;

/// Why a pass stops before its end.
pub(crate) type Stop = PassEnd;

/// Carries the gate's decision as far as it goes.
///
/// # Cancellation
/// Ends as `Interrupted` on shutdown and as `DeadlineExceeded` after the operation's deadline; what
/// was done until then is in the pass, and beside it what the cloud showed at its end.
pub(crate) async fn attempt(
    gathered: &Gathered,
    records: &RecordStore<'_>,
    gate: Gate,
    ctx: &Context,
) -> (Pass, Option<Shown>) {
    let next = gate.next.clone();
    let mut pass = Pass::at_gate(gate, ctx.now());
    let Next::Go(goal) = next else {
        return (pass, None);
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
    let shown = ended.unwrap_or_else(|stop| {
        pass.end = stop;
        None
    });
    (pass, shown)
}

/// What the cloud showed where.
pub(crate) struct Shown {
    pub handle: Handle,
    pub observed: Observed,
}

async fn operate(
    gathered: &Gathered,
    records: &RecordStore<'_>,
    goal: &Goal,
    ctx: &Context,
    pass: &mut Pass,
) -> Result<Option<Shown>, Stop> {
    let desired = desired(goal)?;
    let Some(handle) = handle(goal, desired.as_ref()) else {
        pass.end = PassEnd::Done;
        return Ok(None);
    };
    let session = session(&Access::of(goal), &gathered.credentials, ctx).await?;
    let session = session.as_ref();
    let observed = observe(session, &handle, goal.depth, goal.freshness).await?;
    if goal.recovering {
        confirm_recovery(goal, &observed).map_err(PassEnd::Unrecoverable)?;
    }
    pass.notices = Driver::notices(desired.as_ref(), &observed);
    pass.end = PassEnd::Done;
    let pool = Pool {
        world: &gathered.world,
        goal,
        desired: desired.as_ref(),
        handle: &handle,
    };
    let shown = if goal.operation == Operation::Drift {
        pass.plan = pool.plan(&observed, None)?;
        Some(observed)
    } else {
        let view = pool
            .confirmed(session, observed, gathered.glanced, ctx)
            .await?;
        pass.machines = view.decision.map(Box::new);
        match view.plan {
            None => Some(view.observed),
            Some(plan) => {
                let changes = !plan.steps.is_empty();
                let site = Site {
                    session,
                    handle: &handle,
                    records,
                    record: goal.record.as_ref(),
                    driver: goal.driver,
                    metrics: &ctx.metrics,
                };
                carry_out(plan, &site, pass).await;
                pool.after(session, view.observed, changes, pass).await
            }
        }
    };
    let Some(observed) = shown else {
        return Ok(None);
    };
    let outputs = pool.outputs(&observed, pass.record.as_ref())?;
    pass.outputs = Some(match &pass.machines {
        Some(decision) => decision.published(outputs),
        None => outputs,
    });
    Ok(Some(Shown { handle, observed }))
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

/// Values of a credential Secret by key.
pub(crate) type Keys = BTreeMap<String, Secret<Vec<u8>>>;

/// Through which credential a cloud is asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Access {
    pub driver: Driver,
    /// How it was named, `TerraformClusterIdentity/aws`.
    pub identity: String,
    pub secret: CredentialSecret,
}

impl Access {
    pub(crate) fn of(goal: &Goal) -> Self {
        Self {
            driver: goal.driver,
            identity: goal.identity.clone(),
            secret: goal.credentials.clone(),
        }
    }

    /// Where the credential comes from: the Secret's keys, or the manager's own identity where the
    /// Secret asks for it by name. Who may ask was decided before (`identity::credentials_problem`).
    fn source(&self, keys: &Keys) -> Result<CredentialSource, CloudFailure> {
        let asks = keys.get(AMBIENT_KEY).map(|value| value.reveal().as_slice());
        match asks {
            None => Ok(CredentialSource::Keys(keys.clone())),
            Some(b"true") => Ok(CredentialSource::Ambient),
            Some(_) => Err(CloudFailure {
                class: FailureClass::NoCredentials,
                call: "session".to_owned(),
                code: String::new(),
                message: format!(
                    "key {AMBIENT_KEY} of Secret {}/{} is not `true`: correct or remove it",
                    self.secret.namespace, self.secret.name
                ),
                retry_after_seconds: None,
            }),
        }
    }
}

/// A session with the credential as it was read at the start of this pass.
pub(crate) async fn session(
    access: &Access,
    keys: &Keys,
    ctx: &Context,
) -> Result<Arc<dyn PoolSession>, Stop> {
    let driver = access.driver;
    let backend = ctx.backends.get(&driver).ok_or_else(|| {
        PassEnd::Failed(CloudFailure {
            class: FailureClass::Bug,
            call: "session".to_owned(),
            code: String::new(),
            message: format!("this manager runs without a backend for {driver:?}"),
            retry_after_seconds: None,
        })
    })?;
    let Access {
        identity, secret, ..
    } = access;
    let credentials = Credentials {
        cache_key: format!(
            "{identity}@{}/{}",
            secret.namespace, secret.resource_version
        ),
        source: access.source(keys).map_err(PassEnd::Failed)?,
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
    pub world: &'a World,
    pub goal: &'a Goal,
    pub desired: Option<&'a Desired>,
    pub handle: &'a Handle,
}

/// What a pass acts on.
pub(crate) struct View {
    pub observed: Observed,
    /// `None`: the pool has no Machines.
    pub decision: Option<PoolDecision>,
    /// `None`: nothing is to be written.
    pub plan: Option<Plan>,
}

impl View {
    /// Somebody goes or is replaced.
    fn touches_machines(&self) -> bool {
        self.decision.as_ref().is_some_and(PoolDecision::removes)
            || self
                .plan
                .iter()
                .flat_map(|plan| &plan.steps)
                .any(|step| step.effect >= Effect::Rolls)
    }
}

impl Pool<'_> {
    /// The steps from what is to what should be, and what the pool's Machines ask for; `None` when
    /// nobody knows what should be and nobody asks.
    pub(crate) fn plan(
        &self,
        observed: &Observed,
        decision: Option<&PoolDecision>,
    ) -> Result<Option<Plan>, Stop> {
        let goal = self.goal;
        let driver = goal.driver;
        let context = goal.asking(decision.map(|decision| &decision.wish));
        let plan = match (goal.operation, self.desired, decision) {
            (Operation::Destroy, _, _) => driver
                .teardown(self.handle, observed, &context)
                .map(|plan| Some(self.until_objects_are_gone(plan))),
            (_, Some(desired), None) => Driver::diff(desired, observed, &context).map(Some),
            (_, Some(desired), Some(_)) => Driver::diff(desired, observed, &context)
                .and_then(|plan| driver.tend_after(plan, self.handle, observed, &context))
                .map(Some),
            (_, None, Some(_)) => driver.tend(self.handle, observed, &context).map(Some),
            (_, None, None) => Ok(None),
        };
        plan.map_err(|stop| match stop {
            PlanStop::Refused(refusals) => PassEnd::Refused(refusals),
            PlanStop::Unreadable(failure) => PassEnd::Failed(failure),
        })
    }

    /// The pool stays as long as an object of a member does: nobody else would release it.
    fn until_objects_are_gone(&self, mut plan: Plan) -> Plan {
        let objects = self.world.machines.found();
        let left = objects.map_or(0, |objects| objects.infra.len());
        if plan.outlook == Outlook::Settled && left > 0 {
            plan.outlook = Outlook::LookAgain {
                what: format!("{left} objects of members to go"),
                after_seconds: AFTER_RELEASE_SECONDS,
            };
        }
        plan
    }

    /// What the pool's Machines ask for, from one observation; `None`: it has none.
    fn decided(
        &self,
        observed: &Observed,
        freshness: Freshness,
        cordoned: &BTreeSet<String>,
        ctx: &Context,
    ) -> Result<Option<PoolDecision>, Stop> {
        let goal = self.goal;
        if !goal.has_machines {
            return Ok(None);
        }
        let members = goal
            .driver
            .members(self.handle, observed, &goal.context())
            .map_err(PassEnd::Failed)?;
        let seen = Seen {
            members: &members,
            outputs: &self.outputs(observed, None)?,
            freshness,
            at: goal.now,
            cordoned,
            taken: &machines::taken(self.world, &members, ctx),
        };
        Ok(decide(self.world, goal, &seen))
    }

    /// Decision and plan, made once more from a fresh reading if they touch running machines: neither
    /// the sweep nor the watch, where the Machines were only `glanced` at, is ever trusted for a
    /// decision that removes one. Who is chosen among several is decided with the Nodes at hand.
    pub(crate) async fn confirmed(
        &self,
        session: &dyn PoolSession,
        observed: Observed,
        glanced: bool,
        ctx: &Context,
    ) -> Result<View, Stop> {
        let goal = self.goal;
        let mut cordoned = BTreeSet::new();
        let view = self.view(observed, goal.freshness, &cordoned, ctx)?;
        let chooses = view.decision.as_ref().is_some_and(PoolDecision::chooses);
        let is_fresh = goal.freshness == Freshness::Fresh;
        if is_fresh && !chooses && !glanced || !view.touches_machines() {
            return Ok(view);
        }
        let observed = if is_fresh {
            view.observed
        } else {
            observe(session, self.handle, goal.depth, Freshness::Fresh).await?
        };
        if chooses {
            cordoned = machines::cordoned(self.world, ctx).await;
        }
        if !glanced {
            return self.view(observed, Freshness::Fresh, &cordoned, ctx);
        }
        let world = World {
            machines: machine_objects(&ctx.objects, self.world).await,
            ..self.world.clone()
        };
        let read = Pool {
            world: &world,
            ..*self
        };
        read.view(observed, Freshness::Fresh, &cordoned, ctx)
    }

    fn view(
        &self,
        observed: Observed,
        freshness: Freshness,
        cordoned: &BTreeSet<String>,
        ctx: &Context,
    ) -> Result<View, Stop> {
        let decision = self.decided(&observed, freshness, cordoned, ctx)?;
        let plan = self.plan(&observed, decision.as_ref())?;
        let writes = matches!(self.goal.operation, Operation::Apply | Operation::Destroy);
        if writes && plan.is_none() {
            return Err(PassEnd::Failed(CloudFailure {
                class: FailureClass::Bug,
                call: self.goal.operation.as_str().to_owned(),
                code: String::new(),
                message: "the operation has no inputs to act on".to_owned(),
                retry_after_seconds: None,
            }));
        }
        Ok(View {
            observed,
            decision,
            plan,
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
