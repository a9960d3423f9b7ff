//! Whole passes: gate, driver, fold, and everything written fed back. What a controller does, with
//! the model of the cloud in the place of AWS.

use jiff::{SignedDuration, Timestamp};
use remuda_plan::{
    driver::{self, Driver},
    error::{CloudFailure, FailureClass},
    pool::{
        action::{Action, Outlook, PlanStop},
        gate::{Gate, Goal, Next, confirm_recovery, gate},
        outputs::Outputs,
        record::Record,
        world::{RecordRead, World},
    },
    status::{
        condition::{ConditionStatus, ConditionType, Reason},
        event::EventReason,
        fold::fold,
        pass::{Pass, PassEnd},
        publication::{MetadataWrite, Publication, RecordWrite, Requeue, SpecWrite},
        wire::Operation,
    },
};

use super::{
    cloud::{Cloud, End},
    demo,
    world::{self, Edit as _, condition, feed, start},
};

/// A pool, its cloud and a clock.
pub(crate) struct Lab {
    pub(crate) world: World,
    pub(crate) cloud: Cloud,
    pub(crate) now: Timestamp,
    /// Reads of the cloud fail with this.
    pub(crate) reads_fail: Option<CloudFailure>,
    /// Writes to the cloud fail with this.
    pub(crate) writes_fail: Option<CloudFailure>,
    /// The process dies after so many steps of a plan.
    pub(crate) dies_after: Option<usize>,
    /// Every event so far.
    pub(crate) events: Vec<EventReason>,
    /// Operations that started, with the time.
    pub(crate) started: Vec<(Operation, Timestamp)>,
    /// Passes that wrote to Kubernetes.
    pub(crate) writes: usize,
}

impl Lab {
    pub(crate) fn new(world: World) -> Self {
        Self {
            world,
            cloud: Cloud::new(),
            now: start(),
            reads_fail: None,
            writes_fail: None,
            dies_after: None,
            events: Vec::new(),
            started: Vec::new(),
            writes: 0,
        }
    }

    /// The reference pool, applied, with three running members, provisioned and quiet.
    pub(crate) fn ready() -> Self {
        Self::ready_with(world::world())
    }

    /// The same from another world.
    pub(crate) fn ready_with(world: World) -> Self {
        let mut lab = Self::new(world);
        lab.settle();
        lab.cloud.tick();
        lab.run_for(120);
        assert_eq!(
            lab.condition(ConditionType::Ready),
            Some((ConditionStatus::True, Reason::Ready)),
            "{:#?}",
            lab.world.pool.status.conditions
        );
        lab.events.clear();
        lab.started.clear();
        lab.writes = 0;
        lab
    }

    pub(crate) fn edit(&mut self, edit: impl FnOnce(World) -> World) {
        self.world = edit(std::mem::take(&mut self.world));
    }

    pub(crate) fn condition(&self, kind: ConditionType) -> Option<(ConditionStatus, Reason)> {
        condition(&self.world, kind)
    }

    /// What the gate says now.
    pub(crate) fn gate(&self) -> Gate {
        gate(&self.world, self.now)
    }

    /// One pass.
    pub(crate) fn pass(&mut self) -> Publication {
        let gate = self.gate();
        let pass = match gate.next.clone() {
            Next::Go(goal) => self.carry_out(gate, &goal),
            _ => Pass::at_gate(gate, self.now),
        };
        self.judge(pass)
    }

    /// A pass that dies after so many steps of its plan; nothing is judged or published.
    pub(crate) fn die_after(&mut self, steps: usize) {
        self.dies_after = Some(steps);
        let gate = self.gate();
        if let Next::Go(goal) = gate.next.clone() {
            let pass = self.carry_out(gate, &goal);
            self.store(pass.record);
        }
        self.dies_after = None;
        self.world.memory = None;
    }

    /// A pass that dies while it publishes: only so many of its writes reach the API server.
    pub(crate) fn die_publishing(&mut self, writes: usize) {
        let gate = self.gate();
        let pass = match gate.next.clone() {
            Next::Go(goal) => self.carry_out(gate, &goal),
            _ => Pass::at_gate(gate, self.now),
        };
        let mut publication = fold(&self.world, &pass, self.now);
        self.store(pass.record);
        // In the order of publication.
        if writes < 1 && matches!(publication.record, Some(RecordWrite::Save(_))) {
            publication.record = None;
        }
        if writes < 2 {
            publication.owner = None;
        }
        if writes < 3 {
            publication.spec = SpecWrite::default();
        }
        if writes < 4 {
            publication.status = None;
        }
        if writes < 5 {
            publication.metadata = MetadataWrite::default();
            publication.record = publication
                .record
                .filter(|write| matches!(write, RecordWrite::Save(_)));
        }
        feed(&mut self.world, &publication);
        self.world.memory = None;
    }

    fn store(&mut self, record: Option<Record>) {
        if let Some(record) = record {
            self.world.record = RecordRead::Found {
                record: Box::new(record),
                retained_from: None,
                owned: true,
            };
        }
    }

    /// Judges a pass and writes what follows.
    pub(crate) fn judge(&mut self, pass: Pass) -> Publication {
        let publication = fold(&self.world, &pass, self.now);
        if !world::writes_nothing(&publication) {
            self.writes += 1;
        }
        self.store(pass.record);
        feed(&mut self.world, &publication);
        self.events
            .extend(publication.events.iter().map(|event| event.reason));
        publication
    }

    /// A refresh that is due and shows these outputs.
    pub(crate) fn refresh_showing(&mut self, outputs: Outputs) -> Publication {
        let gate = self.gate();
        assert!(
            matches!(&gate.next, Next::Go(goal) if goal.operation == Operation::Refresh),
            "a refresh is due: {:#?}",
            gate.next
        );
        let mut pass = Pass::at_gate(gate, self.now);
        pass.outputs = Some(outputs);
        pass.end = PassEnd::Done;
        self.judge(pass)
    }

    /// Passes until nothing is to be done at this very moment; how long until the next one.
    pub(crate) fn settle(&mut self) -> Requeue {
        for _ in 0..20 {
            let requeue = self.pass().requeue;
            if requeue != Requeue::After(std::time::Duration::ZERO) {
                return requeue;
            }
        }
        panic!("does not come to rest: {:#?}", self.gate().next);
    }

    /// Lets so many seconds go by, with a pass whenever one is due.
    pub(crate) fn run_for(&mut self, seconds: i64) {
        let end = self.now + SignedDuration::from_secs(seconds);
        loop {
            let Requeue::After(wait) = self.settle() else {
                self.now = end;
                return;
            };
            let next = self.now + SignedDuration::try_from(wait).expect("a short wait");
            if next > end {
                self.now = end;
                return;
            }
            self.now = next;
        }
    }

    /// Lets the clock run without any pass.
    pub(crate) fn wait(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    pub(crate) fn delete(&mut self) {
        let now = self.now;
        self.edit(|world| world.deleting(now));
    }

    pub(crate) fn operations(&self, operation: Operation) -> usize {
        self.started
            .iter()
            .filter(|(started, _)| *started == operation)
            .count()
    }

    fn carry_out(&mut self, gate: Gate, goal: &Goal) -> Pass {
        self.started.push((goal.operation, self.now));
        let mut pass = Pass::at_gate(gate, self.now);
        pass.end = match self.attempt(goal, &mut pass) {
            Ok(()) => PassEnd::Done,
            Err(end) => end,
        };
        pass
    }

    fn attempt(&mut self, goal: &Goal, pass: &mut Pass) -> Result<(), PassEnd> {
        let context = goal.context();
        let driver = goal.driver;
        let desired = match (&goal.inputs, goal.operation) {
            (Some(inputs), Operation::Apply | Operation::Drift | Operation::Destroy) => Some(
                driver
                    .desired(inputs, &goal.variables, &context)
                    .map_err(PassEnd::Refused)?,
            ),
            _ => None,
        };
        let handle = driver
            .handle_from_record(&context)
            .filter(|_| goal.operation != Operation::Apply && goal.operation != Operation::Drift)
            .or_else(|| {
                desired
                    .as_ref()
                    .map(|desired| Driver::handle(desired, &context))
            })
            .expect("the gate gives a goal only with something to look at");
        if let Some(failure) = &self.reads_fail {
            return Err(PassEnd::Failed(failure.clone()));
        }
        let driver::Handle::Aws(inner) = &handle else {
            panic!("an AWS pool");
        };
        let observed = driver::Observed::Aws(Box::new(self.cloud.observe(inner)));
        pass.notices = Driver::notices(desired.as_ref(), &observed);
        confirm_recovery(goal, &observed).map_err(PassEnd::Unrecoverable)?;
        let plan = match goal.operation {
            Operation::Apply | Operation::Drift => {
                let desired = desired.as_ref().expect("inputs are there");
                Some(Driver::diff(desired, &observed, &context).map_err(stopped)?)
            }
            Operation::Destroy => Some(
                driver
                    .teardown(&handle, &observed, &context)
                    .map_err(stopped)?,
            ),
            _ => None,
        };
        if matches!(goal.operation, Operation::Refresh | Operation::Drift) {
            let outputs = driver
                .outputs(
                    &handle,
                    &observed,
                    &goal.dropped_node_labels,
                    goal.input_replicas(),
                    &context,
                )
                .map_err(PassEnd::Failed)?;
            pass.outputs = Some(outputs);
        }
        pass.plan = plan;
        if matches!(goal.operation, Operation::Apply | Operation::Destroy) {
            self.write(goal, pass)?;
        }
        Ok(())
    }

    fn write(&mut self, goal: &Goal, pass: &mut Pass) -> Result<(), PassEnd> {
        let Some(plan) = pass.plan.clone() else {
            return Ok(());
        };
        if let Some(failure) = &self.writes_fail
            && plan
                .steps
                .iter()
                .any(|step| matches!(step.action, Action::Aws(_)))
        {
            return Err(PassEnd::Failed(failure.clone()));
        }
        let mut scratch = demo::demo();
        scratch.record.clone_from(&goal.record);
        scratch.now = self.now.as_second();
        let steps = self.dies_after.unwrap_or(usize::MAX);
        let end = self.cloud.run(&mut scratch, &plan, steps);
        if scratch.record != goal.record {
            pass.record = scratch.record;
        }
        pass.carried_out = plan.steps.len();
        match end {
            End::Done(_) => Ok(()),
            End::Crashed => Err(PassEnd::Interrupted),
            End::Pending => {
                if let Some(plan) = &mut pass.plan {
                    plan.outlook = Outlook::LookAgain {
                        what: "a call that takes time".to_owned(),
                        after_seconds: 10,
                    };
                }
                Ok(())
            }
            End::Refused(code) => Err(PassEnd::Failed(CloudFailure {
                class: FailureClass::Contended,
                call: "apply".to_owned(),
                code,
                message: "refused".to_owned(),
                retry_after_seconds: None,
            })),
        }
    }
}

fn stopped(stop: PlanStop) -> PassEnd {
    match stop {
        PlanStop::Refused(refusals) => PassEnd::Refused(refusals),
        PlanStop::Unreadable(failure) => PassEnd::Failed(failure),
    }
}

/// The goal of the apply that a world calls for.
pub(crate) fn apply_goal(world: World) -> Goal {
    let mut lab = Lab::new(world);
    lab.now += SignedDuration::from_hours(1);
    for _ in 0..3 {
        if let Next::Go(goal) = lab.gate().next
            && goal.operation == Operation::Apply
        {
            return *goal;
        }
        lab.pass();
    }
    panic!("no apply starts: {:#?}", lab.gate())
}
