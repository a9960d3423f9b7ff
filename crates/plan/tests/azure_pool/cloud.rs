//! A model of what the ARM calls of one pool do, and of the Secret that holds the record. It runs
//! the steps of a plan one by one, can stop after any of them, and writes down every call.
//!
//! Faithful where decisions depend on it: writes to a set are long-running and refused while
//! another runs, the operation is found again by its address, a create with `If-None-Match` meets
//! what exists, Autoscale fills a set to its setting's bounds, instances keep the custom data they
//! were made with.

use std::collections::{BTreeMap, BTreeSet};

use remuda_plan::{
    azure::{
        action::{Action as Call, SetPatch},
        desired::SetSpec,
        names,
        observed::{
            self, Handle, Observed, OperationState, Presence, ProvisioningState, ScaleSet, Setting,
        },
        outputs::member_state,
    },
    driver::{self, Driver},
    error::{CloudFailure, FailureClass},
    pool::{
        action::{Action, Outlook, Plan, PlanStop},
        members::{Address, Member},
        outputs::Outputs,
        read::Read,
        record::OperationKind,
    },
};

use super::demo::Demo;

#[path = "calls.rs"]
mod calls;

/// An instance of a set.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Instance {
    pub(crate) zone: Option<String>,
    pub(crate) power: Option<String>,
    /// Digest of the custom data it was made with.
    pub(crate) custom_data: String,
    /// It was ended, and is gone with the next tick.
    pub(crate) is_deleting: bool,
}

/// A set with what ARM does not show.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Held {
    pub(crate) set: ScaleSet,
    pub(crate) custom_data: String,
    pub(crate) instances: BTreeMap<u32, Instance>,
    /// Instances that Azure took to make a count or to delete the set.
    pub(crate) taken: Vec<String>,
    next_id: u32,
}

/// What Azure is working on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Running {
    pub(crate) address: String,
    kind: OperationKind,
    set: String,
    capacity: Option<i64>,
}

/// Everything of one resource group that a pool can touch.
#[derive(Debug, Clone)]
pub(crate) struct Cloud {
    pub(crate) sets: BTreeMap<String, Held>,
    pub(crate) settings: BTreeMap<String, Setting>,
    pub(crate) running: Option<Running>,
    /// What it works on besides, at other sets.
    pub(crate) beside: Vec<Running>,
    /// How operations ended, by address.
    pub(crate) ended: BTreeMap<String, OperationState>,
    /// The next operation ends with this.
    pub(crate) next_failure: Option<CloudFailure>,
    /// The next write to a set is refused with this code.
    pub(crate) refusing: Option<&'static str>,
    /// Writes answer at once, without an operation.
    pub(crate) is_instant: bool,
    /// Operations have no address.
    pub(crate) hides_addresses: bool,
    /// Sets that the listing lacks although they exist.
    pub(crate) lagging: BTreeSet<String>,
    /// Whether the image exists.
    pub(crate) has_image: bool,
    /// Instances that Azure took when it deleted their set.
    pub(crate) taken: Vec<String>,
    /// New instances do not come up in time: sets grow, but nothing is made.
    pub(crate) has_no_room: bool,
    /// Every call, in order, by its name and object.
    pub(crate) calls: Vec<String>,
    /// Every call with its content.
    pub(crate) journal: Vec<Call>,
    started: u32,
}

/// How a pass ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum End {
    /// All steps ran.
    Done(Outlook),
    /// A call was refused: the rest did not run.
    Refused(String),
    /// A call takes time: the rest did not run.
    Started,
    /// The process died after this many steps.
    Crashed,
}

pub(crate) fn name_of(call: &Call) -> String {
    match call {
        Call::CreateSet { set, .. } => format!("PUT {}", set.name),
        Call::UpdateSet(patch) => format!("PATCH {}", patch.set),
        Call::EmptySet { set, .. } => format!("EMPTY {set}"),
        Call::DeleteSet { set } => format!("DELETE {set}"),
        Call::DeleteInstances { set, instance_ids } => {
            let ids: Vec<&str> = instance_ids.iter().map(String::as_str).collect();
            format!("END {set} {}", ids.join(","))
        }
        Call::ResizeSet { set, from, to, .. } => format!("SIZE {set} {from} -> {to}"),
        Call::PutSetting(setting) => format!("PUT {}", setting.name),
        Call::DeleteSetting { name } => format!("DELETE {name}"),
    }
}

impl Cloud {
    pub(crate) fn new() -> Self {
        Self {
            sets: BTreeMap::new(),
            settings: BTreeMap::new(),
            running: None,
            beside: Vec::new(),
            ended: BTreeMap::new(),
            next_failure: None,
            refusing: None,
            is_instant: false,
            hides_addresses: false,
            lagging: BTreeSet::new(),
            has_image: true,
            taken: Vec::new(),
            has_no_room: false,
            calls: Vec::new(),
            journal: Vec::new(),
            started: 0,
        }
    }

    /// What a full read shows.
    pub(crate) fn observe(&self, handle: &Handle) -> Observed {
        let tagged = self.sets.iter().filter(|(_, held)| {
            let tags = &held.set.tags;
            handle
                .ownership
                .iter()
                .all(|(key, value)| tags.get(key) == Some(value))
        });
        let names: BTreeSet<&String> = tagged
            .map(|(name, _)| name)
            .chain(handle.sets.keys())
            .collect();
        let mut sets = BTreeMap::new();
        let mut members = BTreeMap::new();
        for name in names {
            let Some(held) = self.sets.get(name) else {
                sets.insert(name.clone(), Presence::Absent);
                continue;
            };
            let set = Box::new(held.set.clone());
            if self.lagging.contains(name) {
                sets.insert(name.clone(), Presence::Unlisted(set));
                continue;
            }
            sets.insert(name.clone(), Presence::Listed(set));
            if handle.sets.get(name).is_some_and(|asked| asked.members) {
                members.insert(name.clone(), Read::Known(held.members(handle)));
            }
        }
        let settings = self.settings.iter().filter(|(name, _)| {
            let set = name.strip_suffix("-autoscale");
            set.is_some_and(|set| sets.contains_key(set))
        });
        Observed {
            settings: Read::Known(settings.map(|(k, v)| (k.clone(), v.clone())).collect()),
            operation: handle.operation.as_ref().map_or(Read::NotAsked, |address| {
                Read::Known(self.operation(address))
            }),
            image: handle
                .image
                .as_ref()
                .map_or(Read::NotAsked, |_| Read::Known(self.has_image)),
            sets: Read::Known(sets),
            members,
        }
    }

    fn operation(&self, address: &str) -> OperationState {
        let mut running = self.running.iter().chain(&self.beside);
        if running.any(|running| running.address == address) {
            return OperationState::Running {
                retry_after_seconds: Some(10),
            };
        }
        self.ended
            .get(address)
            .cloned()
            .unwrap_or(OperationState::Lost)
    }

    /// What the desired state of a pool looks at.
    pub(crate) fn handle(demo: &Demo) -> Handle {
        let desired = driver::Desired::Azure(Box::new(demo.good()));
        azure(Driver::handle(&desired, &demo.context()))
    }

    /// The plan of a pass towards the desired state.
    pub(crate) fn plan(&self, demo: &Demo) -> Result<Plan, PlanStop> {
        self.plan_seeing(demo, |_| {})
    }

    /// The same with a change of what is seen.
    pub(crate) fn plan_seeing(
        &self,
        demo: &Demo,
        spoil: impl FnOnce(&mut Observed),
    ) -> Result<Plan, PlanStop> {
        let desired = driver::Desired::Azure(Box::new(demo.good()));
        let handle = azure(Driver::handle(&desired, &demo.context()));
        let mut observed = self.observe(&handle);
        spoil(&mut observed);
        let observed = driver::Observed::Azure(Box::new(observed));
        Driver::diff(&desired, &observed, &demo.context())
    }

    /// The plan of a pass towards nothing.
    pub(crate) fn teardown(&self, demo: &Demo) -> Plan {
        let handle = Driver::Azure
            .handle_from_record(&demo.context())
            .expect("something was applied");
        let observed = self.observe(&azure(handle.clone()));
        let observed = driver::Observed::Azure(Box::new(observed));
        Driver::Azure
            .teardown(&handle, &observed, &demo.context())
            .expect("every read succeeded")
    }

    /// What the pool publishes.
    pub(crate) fn outputs(&self, demo: &Demo) -> Outputs {
        self.outputs_seeing(demo, |_| {})
            .expect("every read succeeded")
    }

    /// The same with a change of what is seen.
    pub(crate) fn outputs_seeing(
        &self,
        demo: &Demo,
        spoil: impl FnOnce(&mut Observed),
    ) -> Result<Outputs, CloudFailure> {
        let handle = Self::handle(demo);
        let mut observed = self.observe(&handle);
        spoil(&mut observed);
        Driver::Azure.outputs(
            &driver::Handle::Azure(handle),
            &driver::Observed::Azure(Box::new(observed)),
            &demo.good().dropped_node_labels,
            Some(demo.inputs.replicas),
            &demo.context(),
        )
    }

    /// Runs the steps of a plan, as many as `crash_after` allows.
    pub(crate) fn run(&mut self, demo: &mut Demo, plan: &Plan, crash_after: usize) -> End {
        for (index, step) in plan.steps.iter().enumerate() {
            if index == crash_after {
                return End::Crashed;
            }
            let call = match &step.action {
                Action::Remember(record) => {
                    demo.record = Some((**record).clone());
                    continue;
                }
                Action::Azure(call) => call,
                Action::Aws(_) => panic!("a call of another cloud"),
            };
            self.calls.push(name_of(call));
            self.journal.push(call.clone());
            match self.apply(call) {
                Ok(None) => {}
                // Dead between the call and the record write that remembers its address.
                Ok(Some(_)) if index + 1 == crash_after => return End::Crashed,
                Ok(Some(address)) => {
                    let address = (!self.hides_addresses).then_some(address);
                    let record = demo.record.as_mut().expect("written before the call");
                    record.driver.follow_operation(address);
                    record.revision += 1;
                    return End::Started;
                }
                Err(code) => return End::Refused(code.to_owned()),
            }
        }
        if plan.steps.len() == crash_after {
            return End::Crashed;
        }
        End::Done(plan.outlook.clone())
    }

    /// One pass; the calls it made.
    pub(crate) fn pass(&mut self, demo: &mut Demo) -> Vec<String> {
        demo.now += 10;
        let plan = self.plan(demo).expect("a plan can be made");
        let before = self.calls.len();
        self.run(demo, &plan, usize::MAX);
        self.calls[before..].to_vec()
    }

    /// Passes and time until nothing is left to do; every call they made.
    pub(crate) fn settle(&mut self, demo: &mut Demo) -> Vec<String> {
        let before = self.calls.len();
        for _ in 0..40 {
            demo.now += 10;
            let plan = self.plan(demo).expect("a plan can be made");
            let is_settled = plan.steps.is_empty() && plan.outlook == Outlook::Settled;
            self.run(demo, &plan, usize::MAX);
            if is_settled && self.running.is_none() {
                return self.calls[before..].to_vec();
            }
            self.tick();
        }
        panic!("does not settle: {:?}", &self.calls[before..]);
    }

    /// Passes towards nothing until nothing is left; every call they made.
    pub(crate) fn destroy(&mut self, demo: &mut Demo) -> Vec<String> {
        let before = self.calls.len();
        for _ in 0..40 {
            demo.now += 10;
            let plan = self.teardown(demo);
            let is_settled = plan.steps.is_empty() && plan.outlook == Outlook::Settled;
            self.run(demo, &plan, usize::MAX);
            if is_settled {
                return self.calls[before..].to_vec();
            }
            self.tick();
        }
        panic!("is never gone: {:?}", &self.calls[before..]);
    }

    /// Time goes by: what runs comes to its end, then Autoscale acts.
    pub(crate) fn tick(&mut self) {
        for held in self.sets.values_mut() {
            held.instances.retain(|_, instance| !instance.is_deleting);
        }
        let beside = std::mem::take(&mut self.beside);
        for running in beside.into_iter().chain(self.running.take()) {
            self.finish(&running);
        }
        for (name, setting) in &self.settings {
            let Some(profile) = setting.profile.as_ref().filter(|_| !self.has_no_room) else {
                continue;
            };
            let set = name.strip_suffix("-autoscale").unwrap_or(name);
            if let Some(held) = self.sets.get_mut(set) {
                let capacity = held.set.capacity;
                held.fill(capacity.clamp(profile.minimum, profile.maximum));
            }
        }
    }

    fn finish(&mut self, running: &Running) {
        let failure = self.next_failure.take();
        let end = match &failure {
            Some(failure) => OperationState::Failed(failure.clone()),
            None => OperationState::Succeeded,
        };
        self.ended.insert(running.address.clone(), end);
        let Some(held) = self.sets.get_mut(&running.set) else {
            return;
        };
        if failure.is_some() {
            held.set.state = ProvisioningState::Failed;
            return;
        }
        held.set.state = ProvisioningState::Succeeded;
        if let Some(capacity) = running.capacity {
            held.fill(capacity);
        }
        if running.kind == OperationKind::Delete
            && let Some(mut held) = self.sets.remove(&running.set)
        {
            held.take_down_to(0);
            self.taken.extend(held.taken);
        }
    }

    pub(crate) fn held(&mut self, name: &str) -> Result<&mut Held, &'static str> {
        self.sets.get_mut(name).ok_or("ResourceNotFound")
    }

    /// Every update of a set's model that was sent.
    pub(crate) fn patches(&self) -> Vec<SetPatch> {
        let calls = self.journal.iter();
        calls
            .filter_map(|call| match call {
                Call::UpdateSet(patch) => Some((**patch).clone()),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn set(&self, name: &str) -> &Held {
        self.sets.get(name).expect("the set exists")
    }
}

/// Where F is.
pub(crate) fn place() -> remuda_plan::azure::place::Place {
    super::demo::demo().good().place
}

fn azure(handle: driver::Handle) -> Handle {
    match handle {
        driver::Handle::Azure(handle) => handle,
        driver::Handle::Aws(_) => panic!("a handle of another cloud"),
    }
}

impl Held {
    /// A set as a create makes it.
    pub(crate) fn new(spec: &SetSpec, capacity: i64) -> Self {
        Self {
            set: ScaleSet {
                name: spec.name.clone(),
                location: "westeurope".to_owned(),
                state: ProvisioningState::Succeeded,
                capacity,
                zones: spec.zones.clone(),
                tags: spec.tags.clone(),
                model: spec.model.clone(),
                foreign_fields: Vec::new(),
            },
            custom_data: spec.custom_data.base64.reveal().clone(),
            instances: BTreeMap::new(),
            taken: Vec::new(),
            next_id: 0,
        }
    }

    /// Azure chooses who goes.
    fn take_down_to(&mut self, wanted: usize) {
        let staying = |held: &Self| held.instances.values().filter(|it| !it.is_deleting).count();
        while staying(self) > wanted {
            let last = self.instances.iter().rev().find(|(_, it)| !it.is_deleting);
            let last = *last.expect("there is one").0;
            self.instances.remove(&last);
            self.taken.push(format!("{}/{last}", self.set.name));
        }
    }

    /// Ends instances by name; the count falls with them.
    pub(crate) fn end(&mut self, ids: &BTreeSet<String>) -> Result<(), &'static str> {
        for id in ids {
            let number: u32 = id.parse().expect("a number");
            let instance = self.instances.get_mut(&number).ok_or("InvalidParameter")?;
            if !std::mem::replace(&mut instance.is_deleting, true) {
                self.set.capacity -= 1;
            }
        }
        Ok(())
    }

    /// Makes or removes instances until there are so many.
    pub(crate) fn fill(&mut self, capacity: i64) {
        self.set.capacity = capacity;
        let wanted = usize::try_from(capacity).expect("a count");
        self.take_down_to(wanted);
        let staying = |held: &Self| held.instances.values().filter(|it| !it.is_deleting).count();
        while staying(self) < wanted {
            let zones: Vec<&String> = self.set.zones.iter().collect();
            let index = usize::try_from(self.next_id).expect("small");
            let instance = Instance {
                zone: zones
                    .get(index % zones.len().max(1))
                    .map(|zone| (*zone).clone()),
                power: Some("running".to_owned()),
                custom_data: self.custom_data.clone(),
                is_deleting: false,
            };
            self.instances.insert(self.next_id, instance);
            self.next_id += 1;
        }
    }

    /// Members as a read shows them, in its order.
    pub(crate) fn members(&self, handle: &Handle) -> Vec<observed::Instance> {
        let members = self.instances.iter().map(|(id, instance)| {
            let (state, reason) = member_state(instance.power.as_deref());
            let instance_id = id.to_string();
            let address = |kind: &str, address: String| Address {
                kind: kind.to_owned(),
                address,
            };
            let member = Member {
                provider_id: names::member_provider_id(&handle.place, &self.set.name, &instance_id),
                addresses: vec![
                    address("InternalIP", format!("10.0.1.{}", id + 4)),
                    address("Hostname", format!("{}{id:06}", self.set.name)),
                ],
                instance_id,
                failure_domain: instance.zone.clone(),
                state,
                reason,
            };
            observed::Instance {
                member,
                is_deleting: instance.is_deleting,
                created_at: None,
            }
        });
        let mut members: Vec<observed::Instance> = members.collect();
        members.sort_by(|a, b| a.member.provider_id.cmp(&b.member.provider_id));
        members
    }
}

/// F with a test's changes, applied until nothing is left to do.
pub(crate) fn applied(mut demo: Demo) -> (Cloud, Demo) {
    let mut cloud = Cloud::new();
    cloud.settle(&mut demo);
    cloud.calls.clear();
    cloud.journal.clear();
    (cloud, demo)
}

/// A failure of an operation.
pub(crate) fn failure(class: FailureClass, code: &str) -> CloudFailure {
    CloudFailure {
        class,
        call: "PUT virtualMachineScaleSets".to_owned(),
        code: code.to_owned(),
        message: "the operation failed".to_owned(),
        retry_after_seconds: None,
    }
}
