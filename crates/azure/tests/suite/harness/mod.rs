//! A pass as the controllers run it, over a simulated Azure: desired, observe, diff, carry out; the
//! record is kept in memory, refused plans are returned.

pub mod demo;
pub mod wire;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use remuda_azure::{AzureBackend, Clock, Options};
use remuda_cloud::{Applied, Credentials, PoolBackend, PoolSession, backend::CredentialSource};
use remuda_plan::{
    azure::observed,
    driver::{Driver, Handle, Observed, PoolContext},
    error::{CloudFailure, Refusal},
    machines::group::{GroupMember, Machines},
    pool::{
        action::{Action, Outlook, Plan, PlanStop, Step},
        outputs::Outputs,
        read::{Depth, Freshness},
        secret::Secret,
    },
};
use remuda_sim::azure::{
    AzureSim, AzureSimBuilder, DEMO_CLIENT_ID, DEMO_CLIENT_SECRET, DEMO_SUBSCRIPTION, DEMO_TENANT,
};

use self::{
    demo::{INSTALLATION, Pool},
    wire::{Recorded, Recorder, writes},
};

/// Passes that a settled end may take: a roll deletes a set for eight minutes, ten seconds a look.
const MOST_PASSES: usize = 150;

/// A simulated Azure with a backend on it.
pub struct World {
    /// What the backend sent.
    pub recorder: Recorder,
    /// The simulator.
    pub sim: AzureSim,
    /// Pool Machines are off: the module's exact behaviour.
    pub machines_off: bool,
    backend: AzureBackend,
    options: Options,
    credentials: CredentialSource,
}

/// What became of a pass.
#[derive(Debug, Default)]
pub struct Pass {
    /// The user must act.
    pub refused: Vec<Refusal>,
    /// A read or a call failed.
    pub failed: Option<CloudFailure>,
    /// The planned steps.
    pub steps: Vec<Step>,
    /// What follows when all went well.
    pub outlook: Option<Outlook>,
    /// A call was accepted and takes time.
    pub pending: Option<u32>,
    /// Requests of this pass.
    pub calls: Vec<Recorded>,
}

impl Pass {
    /// What was written to, in order.
    pub fn writes(&self) -> Vec<String> {
        writes(&self.calls)
    }

    /// The only request of a name.
    pub fn call(&self, name: &str) -> &Recorded {
        only(&self.calls, name)
    }

    /// Nothing was left to do.
    pub fn is_settled(&self) -> bool {
        self.outlook == Some(Outlook::Settled) && self.steps.is_empty()
    }

    fn look_again(&self) -> u32 {
        let outlook = match &self.outlook {
            Some(Outlook::LookAgain { after_seconds, .. }) => *after_seconds,
            Some(Outlook::Settled | Outlook::Failed(_)) | None => 0,
        };
        let failed = self.failed.as_ref().map_or(0, |failure| {
            failure.retry_after_seconds.unwrap_or(0).max(10)
        });
        self.pending.unwrap_or(outlook).max(failed)
    }
}

/// The only request of a name.
pub fn only<'a>(calls: &'a [Recorded], name: &str) -> &'a Recorded {
    let found: Vec<&Recorded> = calls.iter().filter(|call| call.name == name).collect();
    assert_eq!(found.len(), 1, "{name} in {:?}", wire::names(calls));
    found[0]
}

/// The keys of the demo's application with its secret.
pub fn secret_keys() -> CredentialSource {
    keys(&[
        ("ARM_TENANT_ID", DEMO_TENANT),
        ("ARM_SUBSCRIPTION_ID", DEMO_SUBSCRIPTION),
        ("ARM_CLIENT_ID", DEMO_CLIENT_ID),
        ("ARM_CLIENT_SECRET", DEMO_CLIENT_SECRET),
        ("ARM_USE_CLI", "false"),
    ])
}

/// An identity Secret.
pub fn keys(pairs: &[(&str, &str)]) -> CredentialSource {
    CredentialSource::Keys(
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), Secret::new(value.as_bytes().to_vec())))
            .collect(),
    )
}

impl World {
    /// The simulated world of F, in the virtual time of a paused runtime.
    pub fn new() -> Self {
        Self::with(|sim| sim, |options| options)
    }

    /// The same with another simulator or other options.
    pub fn with(
        sim: impl FnOnce(AzureSimBuilder) -> AzureSimBuilder,
        options: impl FnOnce(Options) -> Options,
    ) -> Self {
        let sim = sim(AzureSim::builder()).demo();
        let clock = sim.clock();
        let recorder = Recorder::default();
        let options = options(Options {
            clock: Clock::new(move || clock.now()),
            ..Options::default()
        })
        .in_process(recorder.before(&sim));
        Self {
            backend: AzureBackend::new(options.clone()),
            recorder,
            options,
            credentials: secret_keys(),
            machines_off: true,
            sim,
        }
    }

    /// The same with other credentials.
    #[must_use]
    pub fn signed_in_with(mut self, credentials: CredentialSource) -> Self {
        self.credentials = credentials;
        self
    }

    /// The process ended and another starts: nothing is remembered but the record.
    pub fn restart(&mut self) {
        self.recorder.stop_after(None);
        self.backend = AzureBackend::new(self.options.clone());
    }

    /// A session with the world's credentials.
    pub async fn session(&self) -> Arc<dyn PoolSession> {
        self.try_session().await.unwrap()
    }

    /// A session, or why there is none.
    pub async fn try_session(&self) -> Result<Arc<dyn PoolSession>, CloudFailure> {
        let credentials = Credentials {
            cache_key: "test".to_owned(),
            source: self.credentials.clone(),
        };
        self.backend
            .session(&credentials)
            .await
            .map_err(|error| error.failure)
    }

    /// Seconds since the epoch, as a controller's clock shows them.
    pub fn now(&self) -> i64 {
        self.sim.clock().now().as_second()
    }

    /// What should exist of a pool.
    pub fn desired(&self, pool: &Pool) -> remuda_plan::driver::Desired {
        let ownership = pool.ownership();
        let context = self.context(pool, &ownership);
        let desired = Driver::Azure.desired(&pool.inputs, &pool.variables, &context);
        desired.unwrap()
    }

    /// One pass towards what the inputs ask for.
    pub async fn pass(&self, pool: &mut Pool) -> Pass {
        self.recorded(pool, Goal::Inputs).await
    }

    /// One pass of what the Machines ask for alone, as a refresh makes it.
    pub async fn tend_pass(&self, pool: &mut Pool) -> Pass {
        self.recorded(pool, Goal::Machines).await
    }

    /// The members that Machines see.
    pub async fn members(&self, pool: &Pool) -> Vec<GroupMember> {
        let ownership = pool.ownership();
        let context = self.context(pool, &ownership);
        let handle = handle_of(pool, &context);
        let session = self.session().await;
        let observed = session
            .observe(&handle, Depth::Members, Freshness::Fresh)
            .await
            .unwrap();
        Driver::Azure.members(&handle, &observed, &context).unwrap()
    }

    /// One pass towards nothing.
    pub async fn teardown_pass(&self, pool: &mut Pool) -> Pass {
        self.recorded(pool, Goal::Nothing).await
    }

    /// Passes until nothing is left to do; all their requests.
    pub async fn settle(&self, pool: &mut Pool) -> Vec<Recorded> {
        self.run(pool, Goal::Inputs).await
    }

    /// Passes until nothing is left to do, then until all members run.
    pub async fn settle_and_boot(&self, pool: &mut Pool) -> Vec<Recorded> {
        let calls = self.settle(pool).await;
        self.wait(120).await;
        self.refresh(pool).await.unwrap();
        calls
    }

    /// Passes until the pool is gone; all their requests.
    pub async fn delete(&self, pool: &mut Pool) -> Vec<Recorded> {
        self.run(pool, Goal::Nothing).await
    }

    async fn run(&self, pool: &mut Pool, goal: Goal) -> Vec<Recorded> {
        let mut calls = Vec::new();
        for _ in 0..MOST_PASSES {
            let pass = self.recorded(pool, goal).await;
            let is_settled = pass.is_settled();
            assert!(pass.refused.is_empty(), "refused: {:?}", pass.refused);
            self.wait(pass.look_again()).await;
            calls.extend(pass.calls);
            if is_settled {
                return calls;
            }
        }
        panic!(
            "not settled after {MOST_PASSES} passes: {:?}",
            writes(&calls)
        );
    }

    /// Lets time pass.
    pub async fn wait(&self, seconds: u32) {
        tokio::time::sleep(Duration::from_secs(u64::from(seconds))).await;
    }

    /// One read of members and set, as a refresh makes it, published when it succeeds.
    pub async fn refresh(&self, pool: &mut Pool) -> Result<Outputs, CloudFailure> {
        self.wait(31).await;
        self.refresh_with(pool, Freshness::Steady).await
    }

    /// The same with a freshness of one's own choice.
    pub async fn refresh_with(
        &self,
        pool: &mut Pool,
        freshness: Freshness,
    ) -> Result<Outputs, CloudFailure> {
        let copy = pool.clone();
        let ownership = copy.ownership();
        let context = self.context(&copy, &ownership);
        let handle = handle_of(&copy, &context);
        let session = self.session().await;
        let observed = session
            .observe(&handle, Depth::Members, freshness)
            .await
            .unwrap();
        let outputs = Driver::Azure.outputs(
            &handle,
            &observed,
            &[],
            Some(pool.inputs.replicas),
            &context,
        )?;
        pool.published = Some(outputs.clone());
        Ok(outputs)
    }

    /// What the backend looks at for a pool.
    pub fn handle(&self, pool: &Pool) -> Handle {
        let ownership = pool.ownership();
        handle_of(pool, &self.context(pool, &ownership))
    }

    /// Looks at a pool.
    pub async fn observe(
        &self,
        handle: &Handle,
        depth: Depth,
        freshness: Freshness,
    ) -> observed::Observed {
        let session = self.session().await;
        match session.observe(handle, depth, freshness).await.unwrap() {
            Observed::Azure(observed) => *observed,
            Observed::Aws(_) => panic!("the session is Azure's"),
        }
    }

    async fn recorded(&self, pool: &mut Pool, goal: Goal) -> Pass {
        let mark = self.recorder.mark();
        let mut pass = Pass::default();
        tokio::select! {
            biased;
            () = self.recorder.stopped() => {}
            () = self.attempt(pool, goal, &mut pass) => {}
        }
        pass.calls = self.recorder.since(mark);
        pass
    }

    async fn attempt(&self, pool: &mut Pool, goal: Goal, pass: &mut Pass) {
        let copy = pool.clone();
        let ownership = copy.ownership();
        let context = self.context(&copy, &ownership);
        let Some((handle, plan)) = self.plan(&copy, &context, goal, pass).await else {
            return;
        };
        pass.steps.clone_from(&plan.steps);
        pass.outlook = Some(plan.outlook.clone());
        let went_through = self.carry_out(pool, &handle, &plan, pass).await;
        if let Outlook::Failed(failure) = &plan.outlook
            && went_through
        {
            pass.failed = Some(failure.clone());
        }
        if goal == Goal::Inputs && went_through {
            match self.refresh_with(pool, Freshness::Converging).await {
                Ok(_) => {}
                Err(failure) => pass.failed = Some(failure),
            }
        }
    }

    async fn plan(
        &self,
        pool: &Pool,
        context: &PoolContext<'_>,
        goal: Goal,
        pass: &mut Pass,
    ) -> Option<(Handle, Plan)> {
        let session = match self.try_session().await {
            Ok(session) => session,
            Err(failure) => {
                pass.failed = Some(failure);
                return None;
            }
        };
        let (handle, plan) = match goal {
            Goal::Inputs => {
                let desired = Driver::Azure
                    .desired(&pool.inputs, &pool.variables, context)
                    .map_err(|refused| pass.refused = refused)
                    .ok()?;
                let handle = Driver::handle(&desired, context);
                let observed = session
                    .observe(&handle, Depth::Full, Freshness::Fresh)
                    .await;
                let observed = observed.unwrap();
                let plan = Driver::diff(&desired, &observed, context)
                    .and_then(|plan| Driver::Azure.tend_after(plan, &handle, &observed, context));
                (handle, plan)
            }
            Goal::Machines => {
                let handle = Driver::Azure.handle_from_record(context)?;
                let observed = session
                    .observe(&handle, Depth::Members, Freshness::Fresh)
                    .await;
                let plan = Driver::Azure.tend(&handle, &observed.unwrap(), context);
                (handle, plan)
            }
            Goal::Nothing => {
                let Some(handle) = Driver::Azure.handle_from_record(context) else {
                    pass.outlook = Some(Outlook::Settled);
                    return None;
                };
                let observed = session
                    .observe(&handle, Depth::Full, Freshness::Fresh)
                    .await;
                let plan = Driver::Azure.teardown(&handle, &observed.unwrap(), context);
                (handle, plan)
            }
        };
        match plan {
            Ok(plan) => Some((handle, plan)),
            Err(PlanStop::Refused(refused)) => {
                pass.refused = refused;
                None
            }
            Err(PlanStop::Unreadable(failure)) => {
                pass.failed = Some(failure);
                None
            }
        }
    }

    /// Whether every step was carried out.
    async fn carry_out(
        &self,
        pool: &mut Pool,
        handle: &Handle,
        plan: &Plan,
        pass: &mut Pass,
    ) -> bool {
        let session = self.session().await;
        for step in &plan.steps {
            if let Action::Remember(record) = &step.action {
                pool.record = Some((**record).clone());
                self.recorder.wrote().await;
                continue;
            }
            match session.apply(handle, &step.action).await {
                Ok(Applied::Done | Applied::AlreadySo) => {}
                Ok(Applied::Pending {
                    look_again_seconds, ..
                }) => {
                    pass.pending = Some(look_again_seconds);
                    return false;
                }
                Ok(Applied::Started {
                    address,
                    look_again_seconds,
                    ..
                }) => {
                    let record = pool.record.as_mut().expect("written before the call");
                    record.driver.follow_operation(address);
                    record.revision += 1;
                    pass.pending = Some(look_again_seconds);
                    self.recorder.wrote().await;
                    return false;
                }
                Err(error) => {
                    pass.failed = Some(error.failure);
                    return false;
                }
            }
        }
        true
    }

    fn context<'a>(
        &self,
        pool: &'a Pool,
        ownership: &'a BTreeMap<String, String>,
    ) -> PoolContext<'a> {
        PoolContext {
            bootstrap_secret: None,
            namespace: &pool.inputs.captf_object.namespace,
            pool_name: &pool.inputs.captf_object.name,
            machinepool_name: &pool.inputs.machinepool_name,
            ownership,
            installation: INSTALLATION,
            record: pool.record.as_ref(),
            machines: match (self.machines_off, &pool.wish) {
                (true, _) => Machines::Off,
                (false, None) => Machines::On,
                (false, Some(wish)) => Machines::Asking(wish),
            },
            now_epoch_seconds: self.now(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goal {
    Inputs,
    Machines,
    Nothing,
}

fn handle_of(pool: &Pool, context: &PoolContext<'_>) -> Handle {
    Driver::Azure
        .handle_from_record(context)
        .unwrap_or_else(|| {
            let desired = Driver::Azure
                .desired(&pool.inputs, &pool.variables, context)
                .expect("good inputs");
            Driver::handle(&desired, context)
        })
}
