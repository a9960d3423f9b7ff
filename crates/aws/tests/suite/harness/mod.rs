//! A pass as the controllers run it, over a simulated AWS: desired, observe, diff, carry out; the
//! record is kept in memory, refused plans are returned.

pub mod demo;
pub mod moto;
pub mod probe;
pub mod sim;
pub mod wire;

use std::{collections::BTreeMap, time::Duration};

use aws_smithy_async::time::SharedTimeSource;
use remuda_aws::{AwsBackend, Options, SweepTiming};
use remuda_cloud::{Applied, Credentials, PoolBackend, PoolSession, backend::CredentialSource};
use remuda_plan::{
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
use remuda_sim::aws::AwsSim;

use self::{
    demo::{Cluster, Pool},
    probe::{ACCESS_KEY_ID, Probe, SECRET_ACCESS_KEY},
    wire::{Recorded, Recorder, Wire},
};

/// Passes that a settled end may take.
const MOST_PASSES: usize = 40;

/// A simulated AWS with a backend on it.
pub struct World {
    /// What the backend sent.
    pub recorder: Recorder,
    /// An independent look.
    pub probe: Probe,
    /// DEMO's surroundings.
    pub cluster: Cluster,
    backend: AwsBackend,
    options: Options,
    sim: Option<AwsSim>,
    is_virtual: bool,
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
    /// Calls of this pass.
    pub calls: Vec<Recorded>,
}

impl Pass {
    /// Names of the mutating calls that the target accepted or refused, in order.
    pub fn writes(&self) -> Vec<&str> {
        self.calls
            .iter()
            .filter(|call| call.is_write())
            .map(|call| call.name.as_str())
            .collect()
    }

    /// The only call of a name.
    pub fn call(&self, name: &str) -> &Recorded {
        let calls: Vec<&Recorded> = self.calls.iter().filter(|call| call.name == name).collect();
        assert_eq!(calls.len(), 1, "{name} in {:?}", self.names());
        calls[0]
    }

    /// Names of all calls.
    pub fn names(&self) -> Vec<&str> {
        self.calls.iter().map(|call| call.name.as_str()).collect()
    }

    /// Codes of the refusals.
    pub fn codes(&self) -> Vec<&str> {
        self.refused.iter().map(|refusal| refusal.code).collect()
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
        self.pending.unwrap_or(outlook)
    }
}

impl World {
    /// The simulated DEMO world, in the virtual time of a paused runtime.
    pub fn simulated() -> Self {
        Self::simulated_with(|options| options)
    }

    /// The simulated DEMO world and a backend with other options.
    pub fn simulated_with(change: impl FnOnce(Options) -> Options) -> Self {
        let sim = AwsSim::builder().demo();
        let options = change(Options {
            time_source: SharedTimeSource::new(sim::WorldTime(sim.clock())),
            ..Options::default()
        });
        let mut world = Self::new(&sim::wire(&sim), sim::cluster(), options, true);
        world.sim = Some(sim);
        world
    }

    /// The simulator behind the wire; only for scenarios that are written for it.
    pub fn sim(&self) -> &AwsSim {
        self.sim
            .as_ref()
            .expect("the scenario runs on the simulator")
    }

    /// The target is the simulator.
    pub fn is_simulated(&self) -> bool {
        self.sim.is_some()
    }

    /// What the backend is made of.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// DEMO in this world.
    pub fn demo_pool(&self) -> Pool {
        Pool::demo(&self.cluster.demo())
    }

    /// A world on a target that lives in real time (moto).
    pub fn real_time(wire: &Wire, cluster: Cluster) -> Self {
        let none = Duration::ZERO;
        let options = Options {
            ceilings: Vec::new(),
            sweep: SweepTiming {
                cycle_spacing: none,
                supplement_spacing: none,
                gather: none,
                ..SweepTiming::default()
            },
            ..Options::default()
        };
        Self::new(wire, cluster, options, false)
    }

    fn new(wire: &Wire, cluster: Cluster, options: Options, is_virtual: bool) -> Self {
        let recorder = Recorder::default();
        let options = options.in_process(recorder.before(wire.clone()));
        Self {
            backend: AwsBackend::new(options.clone()),
            probe: Probe::new(wire),
            recorder,
            cluster,
            options,
            sim: None,
            is_virtual,
        }
    }

    /// The process ended and another starts: nothing is remembered but the record.
    pub fn restart(&mut self) {
        self.recorder.stop_after(None);
        self.backend = AwsBackend::new(self.options.clone());
    }

    /// A session with the test account's keys.
    pub async fn session(&self) -> std::sync::Arc<dyn PoolSession> {
        let keys = [
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY_ID),
            ("AWS_SECRET_ACCESS_KEY", SECRET_ACCESS_KEY),
        ];
        self.backend
            .session(&Credentials {
                cache_key: "test".to_owned(),
                source: CredentialSource::Keys(
                    keys.into_iter()
                        .map(|(key, value)| (key.to_owned(), Secret::new(value.into())))
                        .collect(),
                ),
            })
            .await
            .unwrap()
    }

    /// Seconds since the epoch, as a controller's clock shows them.
    pub fn now(&self) -> i64 {
        let now = self.options.time_source.now();
        let since = now.duration_since(std::time::UNIX_EPOCH).unwrap();
        i64::try_from(since.as_secs()).unwrap()
    }

    /// One pass towards what the inputs ask for.
    pub async fn pass(&self, pool: &mut Pool) -> Pass {
        self.recorded(pool, Goal::Inputs).await
    }

    /// One pass towards nothing.
    pub async fn teardown_pass(&self, pool: &mut Pool) -> Pass {
        self.recorded(pool, Goal::Nothing).await
    }

    /// One pass that only looks, and does what the pool's Machines ask for.
    pub async fn tend(&self, pool: &mut Pool) -> Pass {
        self.recorded(pool, Goal::Members).await
    }

    /// Such passes until nothing is left to do; all their calls.
    pub async fn tend_all(&self, pool: &mut Pool) -> Vec<Recorded> {
        self.run(pool, Goal::Members).await
    }

    /// Members as the pool's Machines see them.
    pub async fn group_members(&self, pool: &Pool) -> Vec<GroupMember> {
        let ownership = pool.ownership();
        let context = context(pool, &ownership, self.now());
        let handle = handle_of(pool, &context);
        let observed = self.observe_now(&handle).await;
        Driver::Aws.members(&handle, &observed, &context).unwrap()
    }

    async fn observe_now(&self, handle: &Handle) -> Observed {
        let session = self.session().await;
        session
            .observe(handle, Depth::Members, Freshness::Fresh)
            .await
            .unwrap()
    }

    /// Passes until nothing is left to do; all their calls.
    pub async fn settle(&self, pool: &mut Pool) -> Vec<Recorded> {
        self.run(pool, Goal::Inputs).await
    }

    /// Passes until the pool is gone; all their calls.
    pub async fn delete(&self, pool: &mut Pool) -> Vec<Recorded> {
        self.run(pool, Goal::Nothing).await
    }

    async fn run(&self, pool: &mut Pool, goal: Goal) -> Vec<Recorded> {
        let mut calls = Vec::new();
        for _ in 0..MOST_PASSES {
            let pass = self.recorded(pool, goal).await;
            let is_settled = pass.is_settled();
            assert!(pass.refused.is_empty(), "refused: {:?}", pass.refused);
            self.wait(pass.look_again().max(u32::from(pass.failed.is_some()) * 10))
                .await;
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

    /// Lets the pool's own time pass: virtual time runs, moto needs none.
    pub async fn wait(&self, seconds: u32) {
        if self.is_virtual {
            tokio::time::sleep(Duration::from_secs(u64::from(seconds))).await;
        }
    }

    /// One read of members and group, as a refresh makes it, published when it succeeds.
    pub async fn refresh(&self, pool: &mut Pool) -> Result<Outputs, CloudFailure> {
        self.wait(31).await;
        self.refresh_with(pool, self.freshness()).await
    }

    /// The same without letting time pass.
    pub async fn refresh_now(&self, pool: &mut Pool) -> Result<Outputs, CloudFailure> {
        self.refresh_with(pool, Freshness::Fresh).await
    }

    /// The same with a freshness of one's own choice.
    pub async fn refresh_with(
        &self,
        pool: &mut Pool,
        freshness: Freshness,
    ) -> Result<Outputs, CloudFailure> {
        let copy = pool.clone();
        let ownership = copy.ownership();
        let context = context(&copy, &ownership, self.now());
        let handle = handle_of(&copy, &context);
        let session = self.session().await;
        let observed = session
            .observe(&handle, Depth::Members, freshness)
            .await
            .unwrap();
        let outputs = Driver::Aws.outputs(
            &handle,
            &observed,
            &[],
            Some(pool.inputs.replicas),
            &context,
        )?;
        pool.published = Some(outputs.clone());
        Ok(outputs)
    }

    /// What the backend looks at for an applied pool.
    pub fn handle(&self, pool: &Pool) -> Handle {
        let ownership = pool.ownership();
        handle_of(pool, &context(pool, &ownership, self.now()))
    }

    /// What should exist of a pool.
    pub fn desired(&self, pool: &Pool) -> remuda_plan::driver::Desired {
        let ownership = pool.ownership();
        let context = context(pool, &ownership, self.now());
        let desired = Driver::Aws.desired(&pool.inputs, &pool.variables, &context);
        desired.unwrap()
    }

    /// Stops an instance behind its group's back.
    pub async fn stop_instance(&self, id: &str) {
        self.probe
            .ec2("StopInstances", &[("InstanceId.1", id)])
            .await
            .unwrap();
    }

    /// Terminates an instance behind its group's back.
    pub async fn terminate_instance(&self, id: &str) {
        self.probe
            .ec2("TerminateInstances", &[("InstanceId.1", id)])
            .await
            .unwrap();
    }

    fn freshness(&self) -> Freshness {
        if self.is_virtual {
            Freshness::Steady
        } else {
            Freshness::Fresh
        }
    }

    async fn outputs(
        &self,
        pool: &Pool,
        handle: &Handle,
        context: &PoolContext<'_>,
    ) -> Result<Outputs, CloudFailure> {
        let observed = self.observe(handle, Depth::Members).await;
        Driver::Aws.outputs(handle, &observed, &[], Some(pool.inputs.replicas), context)
    }

    /// Looks at a pool. In virtual time a sweep is given the time to be due.
    pub async fn observe(&self, handle: &Handle, depth: Depth) -> Observed {
        self.wait(31).await;
        let freshness = self.freshness();
        let session = self.session().await;
        session.observe(handle, depth, freshness).await.unwrap()
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
        let context = context(&copy, &ownership, self.now());
        let Some((handle, plan)) = self.plan(&copy, &context, goal, pass).await else {
            return;
        };
        pass.steps.clone_from(&plan.steps);
        pass.outlook = Some(plan.outlook.clone());
        self.carry_out(pool, &handle, &plan, pass).await;
        if goal == Goal::Inputs {
            let copy = pool.clone();
            let context = self::context(&copy, &ownership, self.now());
            match self.outputs(&copy, &handle, &context).await {
                Ok(outputs) => pool.published = Some(outputs),
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
        let (handle, plan) = match goal {
            Goal::Inputs => {
                let desired = Driver::Aws
                    .desired(&pool.inputs, &pool.variables, context)
                    .map_err(|refused| pass.refused = refused)
                    .ok()?;
                let handle = Driver::handle(&desired, context);
                let observed = self.observe(&handle, Depth::Full).await;
                let plan = Driver::diff(&desired, &observed, context)
                    .and_then(|plan| Driver::Aws.tend_after(plan, &handle, &observed, context));
                (handle, plan)
            }
            Goal::Members => {
                let handle = Driver::Aws.handle_from_record(context)?;
                let observed = self.observe_now(&handle).await;
                let plan = Driver::Aws.tend(&handle, &observed, context);
                (handle, plan)
            }
            Goal::Nothing => {
                let Some(handle) = Driver::Aws.handle_from_record(context) else {
                    pass.outlook = Some(Outlook::Settled);
                    return None;
                };
                let observed = self.observe(&handle, Depth::Full).await;
                let plan = Driver::Aws.teardown(&handle, &observed, context);
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

    async fn carry_out(&self, pool: &mut Pool, handle: &Handle, plan: &Plan, pass: &mut Pass) {
        let session = self.session().await;
        for step in &plan.steps {
            match &step.action {
                Action::Remember(record) => {
                    pool.record = Some((**record).clone());
                    self.recorder.wrote().await;
                }
                action @ (Action::Aws(_) | Action::Azure(_)) => {
                    match session.apply(handle, action).await {
                        Ok(Applied::Done | Applied::AlreadySo) => {}
                        Ok(
                            Applied::Pending {
                                look_again_seconds, ..
                            }
                            | Applied::Started {
                                look_again_seconds, ..
                            },
                        ) => {
                            pass.pending = Some(look_again_seconds);
                            return;
                        }
                        Err(error) => {
                            pass.failed = Some(error.failure);
                            return;
                        }
                    }
                }
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goal {
    Inputs,
    Members,
    Nothing,
}

fn handle_of(pool: &Pool, context: &PoolContext<'_>) -> Handle {
    Driver::Aws.handle_from_record(context).unwrap_or_else(|| {
        let desired = Driver::Aws
            .desired(&pool.inputs, &pool.variables, context)
            .expect("good inputs");
        Driver::handle(&desired, context)
    })
}

fn context<'a>(
    pool: &'a Pool,
    ownership: &'a BTreeMap<String, String>,
    now_epoch_seconds: i64,
) -> PoolContext<'a> {
    PoolContext {
        bootstrap_secret: None,
        namespace: &pool.inputs.captf_object.namespace,
        pool_name: &pool.inputs.captf_object.name,
        machinepool_name: &pool.inputs.machinepool_name,
        ownership,
        installation: &pool.installation,
        record: pool.record.as_ref(),
        machines: match &pool.wish {
            Some(wish) => Machines::Asking(wish),
            None => Machines::Off,
        },
        now_epoch_seconds,
    }
}

/// Names of calls.
pub fn names(calls: &[Recorded]) -> Vec<&str> {
    calls.iter().map(|call| call.name.as_str()).collect()
}

/// Names of the mutating calls.
pub fn writes(calls: &[Recorded]) -> Vec<&str> {
    calls
        .iter()
        .filter(|call| call.is_write())
        .map(|call| call.name.as_str())
        .collect()
}
