//! The pool's Machines in small: what they would ask of the group, pass by pass. Drains are over at
//! once; whoever is ended stays asked for until Azure stops listing him, as its object would.

use std::collections::BTreeSet;

use remuda_plan::{
    driver::{self, Driver},
    machines::group::{GroupMember, GroupWish},
    pool::action::{Effect, Outlook, Plan, PlanStop},
};

use super::{
    cloud::{Cloud, End, applied},
    demo::Demo,
};

/// What a pass does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Towards the inputs, then what Machines ask for.
    Apply,
    /// What Machines ask for.
    Refresh,
}

/// A pool with Machines.
#[derive(Debug, Clone)]
pub(crate) struct Ranch {
    pub(crate) cloud: Cloud,
    pub(crate) demo: Demo,
    pub(crate) surge: i64,
    pub(crate) unavailable: i64,
    /// Instances whose Machines were deleted.
    pub(crate) ends: BTreeSet<String>,
}

impl Ranch {
    /// F with a test's changes and pool Machines on, applied until nothing is left to do.
    pub(crate) fn new(mut demo: Demo) -> Self {
        demo.machines_off = false;
        let (cloud, demo) = applied(demo);
        let mut ranch = Self {
            cloud,
            demo,
            surge: 1,
            unavailable: 0,
            ends: BTreeSet::new(),
        };
        ranch.settle();
        ranch.cloud.calls.clear();
        ranch.cloud.journal.clear();
        ranch
    }

    /// The same with other inputs.
    pub(crate) fn changed(mut self, change: impl FnOnce(Demo) -> Demo) -> Self {
        self.demo = change(self.demo);
        self
    }

    /// What the group shows of its members.
    pub(crate) fn members(&self) -> Vec<GroupMember> {
        self.members_seeing(|_| {}).expect("every read succeeded")
    }

    /// The same with a change of what is seen.
    pub(crate) fn members_seeing(
        &self,
        spoil: impl FnOnce(&mut remuda_plan::azure::observed::Observed),
    ) -> Result<Vec<GroupMember>, remuda_plan::error::CloudFailure> {
        let handle = Cloud::handle(&self.demo);
        let mut observed = self.cloud.observe(&handle);
        spoil(&mut observed);
        Driver::Azure.members(
            &driver::Handle::Azure(handle),
            &driver::Observed::Azure(Box::new(observed)),
            &self.demo.context(),
        )
    }

    /// Provider ids of the members that stay.
    pub(crate) fn staying(&self) -> Vec<String> {
        let members = self.members().into_iter();
        members
            .filter(|member| member.leaving.is_none())
            .map(|member| member.member.provider_id)
            .collect()
    }

    /// The Machine of this member is deleted.
    pub(crate) fn delete(&mut self, provider_id: &str) {
        self.ends.insert(provider_id.to_owned());
    }

    /// Decides what Machines ask for in this pass.
    pub(crate) fn decide(&mut self) {
        let members = self.members();
        let is_listed = |id: &String| members.iter().any(|it| it.member.provider_id == *id);
        self.ends.retain(is_listed);
        let replicas = if self.demo.inputs.autoscaling.enabled {
            let bounds = self.demo.inputs.autoscaling;
            let seen = self.cloud.outputs(&self.demo).replicas;
            seen.unwrap_or(bounds.min).clamp(bounds.min, bounds.max)
        } else {
            self.demo.inputs.replicas
        };
        self.demo.inputs.replicas = replicas;
        let stays = |it: &&GroupMember, ends: &BTreeSet<String>| {
            it.leaving.is_none() && !ends.contains(&it.member.provider_id)
        };
        let staying: Vec<&GroupMember> =
            members.iter().filter(|it| stays(it, &self.ends)).collect();
        let outdated = staying.iter().filter(|it| it.outdated);
        let goes_first = outdated.clone().chain(&staying).next();
        let least = if outdated.count() > 0 {
            replicas - self.unavailable
        } else {
            replicas
        };
        if i64::try_from(staying.len()).expect("small") > least
            && let Some(first) = goes_first
        {
            self.ends.insert(first.member.provider_id.clone());
        }
        let is_rolling = members
            .iter()
            .any(|it| it.outdated && stays(&it, &self.ends));
        let wished = replicas + if is_rolling { self.surge } else { 0 };
        self.demo.wish = Some(GroupWish {
            capacity: wished,
            ends: self.ends.clone(),
            ..GroupWish::default()
        });
    }

    /// The steps of a pass.
    pub(crate) fn plan(&self, operation: Operation) -> Result<Plan, PlanStop> {
        let context = self.demo.context();
        let plan = match operation {
            Operation::Apply => self.cloud.plan(&self.demo)?,
            Operation::Refresh => Plan {
                steps: Vec::new(),
                outlook: Outlook::Settled,
            },
        };
        let handle = match operation {
            Operation::Apply => driver::Handle::Azure(Cloud::handle(&self.demo)),
            Operation::Refresh => Driver::Azure
                .handle_from_record(&context)
                .expect("something was applied"),
        };
        let driver::Handle::Azure(of_azure) = &handle else {
            panic!("a handle of another cloud");
        };
        let observed = driver::Observed::Azure(Box::new(self.cloud.observe(of_azure)));
        match operation {
            Operation::Apply => Driver::Azure.tend_after(plan, &handle, &observed, &context),
            Operation::Refresh => Driver::Azure.tend(&handle, &observed, &context),
        }
    }

    /// One pass of as many steps as `crash_after` allows.
    pub(crate) fn pass(&mut self, operation: Operation, crash_after: usize) -> (Plan, End) {
        self.decide();
        self.pass_as_decided(operation, crash_after)
    }

    /// One pass with the wish as it is.
    pub(crate) fn pass_as_decided(
        &mut self,
        operation: Operation,
        crash_after: usize,
    ) -> (Plan, End) {
        self.demo.now += 10;
        let plan = self.plan(operation).expect("a plan can be made");
        let end = self.cloud.run(&mut self.demo, &plan, crash_after);
        (plan, end)
    }

    /// Passes and time until nothing is left to do; every call they made.
    pub(crate) fn settle(&mut self) -> Vec<String> {
        self.settle_watching(|_| {})
    }

    /// The same, with a look after each pass.
    pub(crate) fn settle_watching(&mut self, mut look: impl FnMut(&Self)) -> Vec<String> {
        let before = self.cloud.calls.len();
        for _ in 0..80 {
            let (plan, _) = self.pass(Operation::Apply, usize::MAX);
            look(self);
            let is_settled = plan.steps.is_empty() && plan.outlook == Outlook::Settled;
            if is_settled && self.cloud.running.is_none() && self.ends.is_empty() {
                return self.cloud.calls[before..].to_vec();
            }
            self.cloud.tick();
            look(self);
        }
        panic!("does not settle: {:?}", &self.cloud.calls[before..]);
    }

    /// Every instance that Azure chose itself.
    pub(crate) fn taken(&self) -> Vec<String> {
        let of_sets = self.cloud.sets.values().flat_map(|held| &held.taken);
        of_sets.chain(&self.cloud.taken).cloned().collect()
    }

    /// Whatever a plan does that takes machines away.
    pub(crate) fn removals(plan: &Plan) -> Vec<String> {
        plan.steps
            .iter()
            .filter(|step| step.effect == Effect::Removes)
            .map(|step| step.because.clone())
            .collect()
    }
}
