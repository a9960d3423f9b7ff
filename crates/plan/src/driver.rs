//! Which cloud a pool runs on. Chosen once, from the image (captf document 6.2); the only place
//! where the clouds' plans meet. Controllers and the command line see only these types.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    aws, azure,
    error::{CloudFailure, FailureClass, Refusal},
    machines::group::{GroupMember, Machines},
    pool::{
        action::{Action, Outlook, Plan, PlanStop},
        inputs::{Inputs, UserVariables},
        notice::Notice,
        outputs::Outputs,
        record::Record,
    },
};

/// A native driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Driver {
    /// `aws-machinepool`.
    Aws,
    /// `azure-machinepool`.
    Azure,
}

/// What should exist.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Desired {
    /// On AWS.
    Aws(Box<aws::desired::Desired>),
    /// On Azure.
    Azure(Box<azure::desired::Desired>),
}

impl Desired {
    /// Labels left out of the kubelet's registration, sorted.
    pub fn dropped_node_labels(&self) -> &[String] {
        match self {
            Self::Aws(desired) => &desired.dropped_node_labels,
            Self::Azure(desired) => &desired.dropped_node_labels,
        }
    }
}

/// What to look at.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Handle {
    /// On AWS.
    Aws(aws::observed::Handle),
    /// On Azure.
    Azure(azure::observed::Handle),
}

/// What does exist.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Observed {
    /// On AWS.
    Aws(Box<aws::observed::Observed>),
    /// On Azure.
    Azure(Box<azure::observed::Observed>),
}

/// What a driver needs to know of a pool besides its inputs. Survives without valid inputs, so
/// that refreshes and deletion work from it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoolContext<'a> {
    /// Namespace of the pool.
    pub namespace: &'a str,
    /// Name of the pool object.
    pub pool_name: &'a str,
    /// Name of the owning MachinePool: part of the cloud names.
    pub machinepool_name: &'a str,
    /// The four ownership tags `captf.io/{cluster,namespace,kind,name}`.
    pub ownership: &'a BTreeMap<String, String>,
    /// Installation id: the record's, or the one a new record gets.
    pub installation: &'a str,
    /// The durable record; `None` before the first apply or when it is lost.
    pub record: Option<&'a Record>,
    /// Whether the pool has Machines, and what they ask for.
    pub machines: Machines<'a>,
    /// Name of the Secret that holds the bootstrap data.
    pub bootstrap_secret: Option<&'a str>,
    /// Time of the pass, seconds since the epoch: only for generated name suffixes.
    pub now_epoch_seconds: i64,
}

impl Driver {
    /// The cloud, in one word: `aws`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Aws => "aws",
            Self::Azure => "azure",
        }
    }

    /// The driver an image names: the last path segment of its repository decides.
    ///
    /// # Errors
    /// `ImageInvalid` listing the supported names.
    pub fn from_image(image: &str) -> Result<Self, Refusal> {
        crate::pool::image::driver(image)
    }

    /// Checks names, types and constraints of user variables; all problems at once.
    ///
    /// # Errors
    /// `V-0`, `V-10` to `V-21`.
    pub fn check_variables(self, variables: &UserVariables) -> Result<(), Vec<Refusal>> {
        match self {
            Self::Aws => aws::vars::resolve(variables).map(drop),
            Self::Azure => azure::vars::resolve(variables).map(drop),
        }
    }

    /// What should exist. Pure; makes no call; reports every refusal that needs no read.
    ///
    /// # Errors
    /// All `V` and `R` refusals of the inputs but, sorted.
    pub fn desired(
        self,
        inputs: &Inputs,
        variables: &UserVariables,
        context: &PoolContext<'_>,
    ) -> Result<Desired, Vec<Refusal>> {
        match self {
            Self::Aws => aws::desired::desired(inputs, variables, context)
                .map(|desired| Desired::Aws(Box::new(desired))),
            Self::Azure => azure::desired::desired(inputs, variables, context)
                .map(|desired| Desired::Azure(Box::new(desired))),
        }
    }

    /// What to look at for `desired`.
    pub fn handle(desired: &Desired, context: &PoolContext<'_>) -> Handle {
        match desired {
            Desired::Aws(desired) => Handle::Aws(aws::handle::of_desired(desired, context)),
            Desired::Azure(desired) => Handle::Azure(azure::handle::of_desired(desired, context)),
        }
    }

    /// What to look at without valid inputs; `None` when nothing was ever applied.
    pub fn handle_from_record(self, context: &PoolContext<'_>) -> Option<Handle> {
        match self {
            Self::Aws => aws::handle::of_record(context).map(Handle::Aws),
            Self::Azure => azure::handle::of_record(context).map(Handle::Azure),
        }
    }

    /// The steps from what is to what should be. Steps include the record writes.
    ///
    /// # Errors
    /// or the read that failed.
    pub fn diff(
        desired: &Desired,
        observed: &Observed,
        context: &PoolContext<'_>,
    ) -> Result<Plan, PlanStop> {
        match (desired, observed) {
            (Desired::Aws(desired), Observed::Aws(observed)) => {
                aws::diff::diff(desired, observed, context)
            }
            (Desired::Azure(desired), Observed::Azure(observed)) => {
                azure::diff::diff(desired, observed, context)
            }
            (Desired::Aws(_), Observed::Azure(_)) | (Desired::Azure(_), Observed::Aws(_)) => {
                Err(PlanStop::Unreadable(mixed_up()))
            }
        }
    }

    /// The steps from what is to nothing.
    ///
    /// # Errors
    /// The read that failed. A foreign group or template is left alone, never an error.
    pub fn teardown(
        self,
        handle: &Handle,
        observed: &Observed,
        context: &PoolContext<'_>,
    ) -> Result<Plan, PlanStop> {
        match (self, handle, observed) {
            (Self::Aws, Handle::Aws(handle), Observed::Aws(observed)) => {
                aws::teardown::teardown(handle, observed, context)
            }
            (Self::Azure, Handle::Azure(handle), Observed::Azure(observed)) => {
                azure::teardown::teardown(handle, observed, context)
            }
            (Self::Aws | Self::Azure, _, _) => Err(PlanStop::Unreadable(mixed_up())),
        }
    }

    /// What the pool publishes, computed from one observation; `Err` when a read it needs failed
    /// (the previous outputs stay). `input_replicas` serves only where no capacity was ever seen.
    ///
    /// # Errors
    /// The failed read.
    pub fn outputs(
        self,
        handle: &Handle,
        observed: &Observed,
        dropped_node_labels: &[String],
        input_replicas: Option<i64>,
        context: &PoolContext<'_>,
    ) -> Result<Outputs, CloudFailure> {
        let dropped = dropped_node_labels;
        match (self, handle, observed) {
            (Self::Aws, Handle::Aws(handle), Observed::Aws(observed)) => {
                aws::outputs::outputs(handle, observed, dropped, input_replicas, context)
            }
            (Self::Azure, Handle::Azure(handle), Observed::Azure(observed)) => {
                azure::outputs::outputs(handle, observed, dropped, context)
            }
            (Self::Aws | Self::Azure, _, _) => Err(mixed_up()),
        }
    }

    /// The instances of a pool with Machines, those on their way out included, by provider id.
    ///
    /// # Errors
    /// The failed read.
    pub fn members(
        self,
        handle: &Handle,
        observed: &Observed,
        context: &PoolContext<'_>,
    ) -> Result<Vec<GroupMember>, CloudFailure> {
        match (self, handle, observed) {
            (Self::Aws, Handle::Aws(handle), Observed::Aws(observed)) => {
                aws::machines::members(handle, observed, context)
            }
            (Self::Azure, Handle::Azure(handle), Observed::Azure(observed)) => {
                azure::machines::members(handle, observed, context)
            }
            (Self::Aws | Self::Azure, _, _) => Err(mixed_up()),
        }
    }

    /// A plan, and after it what the pool's Machines ask for, seen from the record that the plan
    /// leaves behind: two plans made from one record would undo each other's writes. What a pass
    /// does that has inputs; without, it is [`Driver::tend`] alone.
    ///
    /// # Errors
    /// The read that failed.
    pub fn tend_after(
        self,
        mut plan: Plan,
        handle: &Handle,
        observed: &Observed,
        context: &PoolContext<'_>,
    ) -> Result<Plan, PlanStop> {
        let written = plan.steps.iter().rev().find_map(|step| match &step.action {
            Action::Remember(record) => Some((**record).clone()),
            Action::Aws(_) | Action::Azure(_) => None,
        });
        let after = PoolContext {
            record: written.as_ref().or(context.record),
            ..context.clone()
        };
        let tended = self.tend(handle, observed, &after)?;
        plan.steps.extend(tended.steps);
        if plan.outlook == Outlook::Settled {
            plan.outlook = tended.outlook;
        }
        Ok(plan)
    }

    /// The steps that the pool's Machines ask for and that need no inputs: moving the count, ending
    /// drained instances, answering what the cloud holds for us.
    ///
    /// # Errors
    /// The read that failed.
    pub fn tend(
        self,
        handle: &Handle,
        observed: &Observed,
        context: &PoolContext<'_>,
    ) -> Result<Plan, PlanStop> {
        match (self, handle, observed) {
            (Self::Aws, Handle::Aws(handle), Observed::Aws(observed)) => {
                aws::machines::tend(handle, observed, context)
            }
            (Self::Azure, Handle::Azure(handle), Observed::Azure(observed)) => {
                azure::machines::tend(handle, observed, context)
            }
            (Self::Aws | Self::Azure, _, _) => Err(PlanStop::Unreadable(mixed_up())),
        }
    }

    /// What people should be told although no call failed: events, nothing else. Each is told
    /// once, by its id.
    pub fn notices(desired: Option<&Desired>, observed: &Observed) -> Vec<Notice> {
        match (desired, observed) {
            (_, Observed::Aws(observed)) => aws::notices::notices(observed),
            (Some(Desired::Azure(desired)), Observed::Azure(_)) => azure::notices::notices(desired),
            (_, Observed::Azure(_)) => Vec::new(),
        }
    }

    /// Whose cloud objects stand where a lost record's would: what it may be rebuilt from. `None`:
    /// the read failed, which is no answer.
    pub fn traces(observed: &Observed, context: &PoolContext<'_>) -> Option<Traces> {
        match observed {
            Observed::Aws(observed) => aws::ownership::traces(observed, context),
            Observed::Azure(observed) => azure::ownership::traces(observed, context),
        }
    }
}

/// What a look for a pool without a record found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traces {
    /// Nothing.
    None,
    /// A group of this pool.
    Ours,
    /// The expected name, on something else.
    Foreign,
}

fn mixed_up() -> CloudFailure {
    CloudFailure {
        class: FailureClass::Bug,
        call: "driver".to_owned(),
        code: String::new(),
        message: "a pool's parts belong to different clouds".to_owned(),
        retry_after_seconds: None,
    }
}
