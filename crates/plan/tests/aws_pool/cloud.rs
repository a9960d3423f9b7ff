//! A model of what the AWS calls of one pool do, and of the Secret that holds the record. It runs
//! the steps of a plan one by one, can stop after any of them, and writes down every call.
//!
//! Faithful where decisions depend on it: a start of a refresh is refused while one runs, a
//! cancelled one ends later, a group with instances cannot be deleted, a lower bound moves the
//! desired count.

#![allow(
    clippy::panic,
    reason = "a model that meets the unexpected fails the test"
)]

use std::collections::BTreeMap;

use remuda_plan::{
    aws::{
        action::Action as Call,
        desired::{Desired, TemplateData},
        observed::{
            Activity, Departure, Group, GroupInstance, Handle, Hook, Instance, Observed,
            PayloadHead, Policy, Refresh, Template,
        },
        outputs::provider_id,
    },
    driver::{self, Driver},
    machines::group::GroupMember,
    pool::{
        action::{Action, Outlook, Plan, PlanStop},
        members::{Address, Member, MemberState},
        outputs::Outputs,
        read::Read,
    },
};

use super::demo::Demo;

#[path = "calls.rs"]
mod calls;

pub(crate) use calls::{HELD, is_terminating};

/// A launch template with all its versions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Versioned {
    pub(crate) id: String,
    pub(crate) default: usize,
    pub(crate) versions: Vec<TemplateData>,
    pub(crate) tags: BTreeMap<String, String>,
}

impl Versioned {
    pub(crate) fn latest(&self) -> &TemplateData {
        self.versions.last().expect("a template has a version")
    }
}

/// Bucket and key.
type Place = (String, String);
/// Bytes and tags.
type Object = (Vec<u8>, BTreeMap<String, String>);

/// Everything of one account that a pool can touch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cloud {
    pub(crate) group: Option<Group>,
    pub(crate) policy: Option<Policy>,
    pub(crate) templates: BTreeMap<String, Versioned>,
    pub(crate) objects: BTreeMap<Place, Object>,
    /// Newest first.
    pub(crate) refreshes: Vec<Refresh>,
    /// Launches that failed lately.
    pub(crate) failed_activities: Vec<Activity>,
    /// What a lookup finds, by name filter; any filter finds `image` when there is no entry.
    pub(crate) image: Option<String>,
    /// Members besides the group's own instances, for reads.
    pub(crate) extra_members: Vec<Member>,
    /// Our lifecycle hook.
    pub(crate) hook: Option<Hook>,
    /// Why instances leave, as AWS tells it.
    pub(crate) departures: BTreeMap<String, Departure>,
    /// Zones of instances that are not in `us-east-1a`.
    pub(crate) zones: BTreeMap<String, String>,
    /// Instances that were ended by name, in order.
    pub(crate) ended: Vec<String>,
    /// Every call, in order, by its name.
    pub(crate) calls: Vec<String>,
    /// Every call with its content.
    pub(crate) journal: Vec<Call>,
    /// The template all members come from, or will once the newest refresh ends.
    pub(crate) rolled_to: Option<String>,
    pub(crate) launched: u32,
    pub(crate) made: u32,
}

/// How a pass ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum End {
    /// All steps ran.
    Done(Outlook),
    /// A call was refused: the rest did not run.
    Refused(String),
    /// A call takes time: the rest did not run.
    Pending,
    /// The process died after this many steps.
    Crashed,
}

pub(crate) fn name_of(action: &Action) -> &'static str {
    match action {
        Action::Remember(_) => "Remember",
        Action::Aws(call) => call_name(call),
        Action::Azure(_) => panic!("a call of another cloud"),
    }
}

fn call_name(call: &Call) -> &'static str {
    match call {
        Call::PutPayload(_) => "PutObject",
        Call::TagPayload { .. } => "PutObjectTagging",
        Call::DeletePayload { .. } => "DeleteObject",
        Call::CreateTemplate { .. } => "CreateLaunchTemplate",
        Call::CreateTemplateVersion { .. } => "CreateLaunchTemplateVersion",
        Call::SetDefaultVersion { .. } => "ModifyLaunchTemplate",
        Call::TagTemplate { .. } => "CreateTags",
        Call::UntagTemplate { .. } => "DeleteTags(ec2)",
        Call::DeleteTemplate { .. } => "DeleteLaunchTemplate",
        Call::CreateGroup { .. } => "CreateAutoScalingGroup",
        Call::UpdateGroup(_) => "UpdateAutoScalingGroup",
        Call::TagGroup { .. } => "CreateOrUpdateTags",
        Call::UntagGroup { .. } => "DeleteTags",
        Call::SuspendProcesses { .. } => "SuspendProcesses",
        Call::ResumeProcesses { .. } => "ResumeProcesses",
        Call::PutCpuPolicy { .. } => "PutScalingPolicy",
        Call::DeleteCpuPolicy { .. } => "DeletePolicy",
        Call::StartRefresh { .. } => "StartInstanceRefresh",
        Call::CancelRefresh { .. } => "CancelInstanceRefresh",
        Call::PutHook { .. } => "PutLifecycleHook",
        Call::DeleteHook { .. } => "DeleteLifecycleHook",
        Call::EndInstance { .. } => "TerminateInstanceInAutoScalingGroup",
        Call::CompleteHook { .. } => "CompleteLifecycleAction",
        Call::ProlongHook { .. } => "RecordLifecycleActionHeartbeat",
        Call::UnprotectInstances { .. } => "SetInstanceProtection",
        Call::DeleteGroup { .. } => "DeleteAutoScalingGroup",
    }
}

impl Cloud {
    pub(crate) fn new() -> Self {
        Self {
            image: Some(super::demo::IMAGE.to_owned()),
            ..Self::default()
        }
    }

    /// What a full read shows.
    pub(crate) fn observe(&self, handle: &Handle) -> Observed {
        let object = |place: &Option<(String, String)>| {
            Read::Known(place.as_ref().and_then(|place| {
                let (body, tags) = self.objects.get(place)?;
                Some(PayloadHead {
                    content_length: i64::try_from(body.len()).expect("a small body"),
                    etag: None,
                    tags: tags.clone(),
                })
            }))
        };
        let group = self
            .group
            .clone()
            .filter(|group| group.name == handle.group_name);
        let templates = self
            .templates
            .iter()
            .filter(|(name, _)| name.starts_with(&handle.template_prefix))
            .map(|(name, found)| (name.clone(), described(name, found)))
            .collect();
        Observed {
            instances: Read::Known(self.instances(group.as_ref())),
            group: Read::Known(group),
            policy: Read::Known(self.policy.clone()),
            templates: Read::Known(templates),
            payload: object(&handle.payload),
            old_payload: object(&handle.old_payload),
            image: Read::Known(handle.image.as_ref().and(self.image.clone())),
            refreshes: Read::Known(self.refreshes.clone()),
            failed_activities: Read::Known(self.failed_activities.clone()),
            hook: if handle.hook {
                Read::Known(self.hook.clone())
            } else {
                Read::NotAsked
            },
            departures: match &handle.explained {
                Some(_) => Read::Known(self.departures.clone()),
                None => Read::NotAsked,
            },
        }
    }

    fn instances(&self, group: Option<&Group>) -> Vec<Instance> {
        let own = group.into_iter().flat_map(|group| &group.instances);
        own.map(|instance| {
            let id = &instance.instance_id;
            let zone = self.zones.get(id).map_or("us-east-1a", String::as_str);
            member(id, zone, "running")
        })
        .chain(self.extra_members.clone())
        .map(|member| Instance {
            ending: member.state == MemberState::Terminated,
            interruptible: false,
            launched_at: None,
            member,
        })
        .collect()
    }

    /// The plan of a pass towards the desired state.
    pub(crate) fn plan(&self, demo: &Demo) -> Result<Plan, PlanStop> {
        let desired = driver::Desired::Aws(Box::new(demo.good()));
        let driver::Handle::Aws(handle) = Driver::handle(&desired, &demo.context()) else {
            panic!("an AWS pool");
        };
        let observed = driver::Observed::Aws(Box::new(self.observe(&handle)));
        let plan = Driver::diff(&desired, &observed, &demo.context())?;
        let handle = driver::Handle::Aws(handle);
        Driver::Aws.tend_after(plan, &handle, &observed, &demo.context())
    }

    /// The plan of a pass that only looks: what Machines ask for.
    pub(crate) fn tend(&self, demo: &Demo) -> Plan {
        let (handle, observed) = self.look(demo);
        Driver::Aws
            .tend(&handle, &observed, &demo.context())
            .expect("every read succeeded")
    }

    /// Members as the pool's Machines see them.
    pub(crate) fn group_members(&self, demo: &Demo) -> Vec<GroupMember> {
        let (handle, observed) = self.look(demo);
        Driver::Aws
            .members(&handle, &observed, &demo.context())
            .expect("every read succeeded")
    }

    fn look(&self, demo: &Demo) -> (driver::Handle, driver::Observed) {
        let handle = Driver::Aws
            .handle_from_record(&demo.context())
            .expect("something was applied");
        let driver::Handle::Aws(inner) = &handle else {
            panic!("an AWS pool");
        };
        let observed = driver::Observed::Aws(Box::new(self.observe(inner)));
        (handle, observed)
    }

    /// The plan of a pass towards nothing.
    pub(crate) fn teardown(&self, demo: &Demo) -> Plan {
        let handle = Driver::Aws
            .handle_from_record(&demo.context())
            .expect("something was applied");
        let driver::Handle::Aws(inner) = &handle else {
            panic!("an AWS pool");
        };
        let observed = driver::Observed::Aws(Box::new(self.observe(inner)));
        Driver::Aws
            .teardown(&handle, &observed, &demo.context())
            .expect("every read succeeded")
    }

    /// What the pool publishes.
    pub(crate) fn outputs(&self, demo: &Demo) -> Outputs {
        let desired = demo.good();
        let handle = Driver::handle(
            &driver::Desired::Aws(Box::new(desired.clone())),
            &demo.context(),
        );
        let driver::Handle::Aws(inner) = &handle else {
            panic!("an AWS pool");
        };
        let observed = driver::Observed::Aws(Box::new(self.observe(inner)));
        Driver::Aws
            .outputs(
                &handle,
                &observed,
                &desired.dropped_node_labels,
                Some(demo.inputs.replicas),
                &demo.context(),
            )
            .expect("every read succeeded")
    }

    /// Runs the steps of a plan, as many as `crash_after` allows.
    pub(crate) fn run(&mut self, demo: &mut Demo, plan: &Plan, crash_after: usize) -> End {
        for (index, step) in plan.steps.iter().enumerate() {
            if index == crash_after {
                return End::Crashed;
            }
            match &step.action {
                Action::Remember(record) => demo.record = Some((**record).clone()),
                Action::Aws(call) => {
                    self.calls.push(call_name(call).to_owned());
                    self.journal.push(call.clone());
                    match self.apply(call) {
                        Ok(true) => {}
                        Ok(false) => return End::Pending,
                        Err(code) => return End::Refused(code.to_owned()),
                    }
                }
                Action::Azure(_) => panic!("a call of another cloud"),
            }
        }
        if plan.steps.len() == crash_after {
            return End::Crashed;
        }
        End::Done(plan.outlook.clone())
    }

    /// One pass; the calls it made.
    pub(crate) fn pass(&mut self, demo: &mut Demo) -> Vec<String> {
        demo.now += 60;
        let plan = self.plan(demo).expect("a plan can be made");
        let before = self.calls.len();
        self.run(demo, &plan, usize::MAX);
        self.calls[before..].to_vec()
    }

    /// Passes and time until nothing is left to do; every call they made.
    pub(crate) fn settle(&mut self, demo: &mut Demo) -> Vec<String> {
        let before = self.calls.len();
        for _ in 0..20 {
            demo.now += 60;
            let plan = self.plan(demo).expect("a plan can be made");
            let is_settled = plan.steps.is_empty() && plan.outlook == Outlook::Settled;
            self.run(demo, &plan, usize::MAX);
            if is_settled {
                return self.calls[before..].to_vec();
            }
            self.tick();
        }
        panic!("does not settle: {:?}", &self.calls[before..]);
    }

    /// Time goes by: what was accepted comes to its end. A running refresh goes on.
    pub(crate) fn tick(&mut self) {
        for refresh in &mut self.refreshes {
            if refresh.status == "Cancelling" {
                "Cancelled".clone_into(&mut refresh.status);
            }
        }
        if let Some(group) = &mut self.group {
            if group.status.is_some() {
                self.group = None;
                self.policy = None;
                return;
            }
            let desired = usize::try_from(group.desired_capacity).expect("not negative");
            let active = |group: &Group| {
                let staying = group.instances.iter().filter(|i| !is_terminating(i));
                staying.count()
            };
            while active(group) > desired {
                let mut chosen = group.instances.iter();
                let last = chosen.rposition(|i| !i.protected && !is_terminating(i));
                match last {
                    Some(last) if self.hook.is_some() => {
                        HELD.clone_into(&mut group.instances[last].lifecycle_state);
                    }
                    Some(last) => drop(group.instances.remove(last)),
                    None => break,
                }
            }
            while active(group) < desired {
                self.launched += 1;
                group.instances.push(GroupInstance {
                    instance_id: format!("i-{:017x}", self.launched),
                    lifecycle_state: "InService".to_owned(),
                    protected: false,
                    template_name: group.template_name.clone(),
                    template_version: None,
                });
            }
        }
    }

    /// How often a call was made.
    pub(crate) fn count(&self, name: &str) -> usize {
        self.calls.iter().filter(|call| *call == name).count()
    }

    /// The template the group uses, with its name.
    pub(crate) fn template(&self) -> (&str, &Versioned) {
        let group = self.group.as_ref().expect("the group exists");
        let name = group.template_name.as_deref().expect("it names a template");
        (name, &self.templates[name])
    }

    pub(crate) fn group(&self) -> &Group {
        self.group.as_ref().expect("the group exists")
    }

    pub(crate) fn group_mut(&mut self) -> &mut Group {
        self.group.as_mut().expect("the group exists")
    }
}

fn described(name: &str, found: &Versioned) -> Template {
    let number = |n: usize| i64::try_from(n).expect("a small number");
    Template {
        id: found.id.clone(),
        name: name.to_owned(),
        default_version: number(found.default),
        latest_version: number(found.versions.len()),
        tags: found.tags.clone(),
        data: Some(found.latest().clone()),
        foreign_fields: Vec::new(),
    }
}

/// A member as a read shows it.
pub(crate) fn member(instance_id: &str, zone: &str, ec2_state: &str) -> Member {
    let (state, reason) = remuda_plan::aws::outputs::member_state(ec2_state)
        .unwrap_or((MemberState::Terminated, None));
    Member {
        provider_id: provider_id(zone, instance_id),
        instance_id: instance_id.to_owned(),
        addresses: vec![Address {
            kind: "InternalIP".to_owned(),
            address: "10.0.1.11".to_owned(),
        }],
        failure_domain: Some(zone.to_owned()),
        state,
        reason: reason.map(str::to_owned),
    }
}

/// DEMO with a test's changes, applied until nothing is left to do.
pub(crate) fn applied(mut demo: Demo) -> (Cloud, Demo) {
    let mut cloud = Cloud::new();
    cloud.settle(&mut demo);
    cloud.calls.clear();
    cloud.journal.clear();
    (cloud, demo)
}

/// What the desired state of good inputs makes of the template, its image resolved.
pub(crate) fn data_of(desired: &Desired, image_id: &str) -> TemplateData {
    TemplateData {
        image_id: image_id.to_owned(),
        ..desired.template.clone()
    }
}
