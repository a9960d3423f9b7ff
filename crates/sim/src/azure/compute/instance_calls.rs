//! Calls on single instances, and on several instances of a set.

use std::time::Duration;

use serde_json::Value;

use super::{
    Kind, Operation, Power, Provisioning,
    instance::{NoticeKind, Step},
    instance_reads::find,
    operation::point_to,
};
use crate::{
    azure::{
        protocol::{Answer, ArmError},
        service::ArmRequest,
        state::{Site, View, events::SetRef},
    },
    kubelet::NodeNews,
};

/// `POST` of an action on instances of a set: `delete`, `manualupgrade`, `reimage`, `restart`,
/// `start`, `powerOff`, `deallocate`.
pub(crate) fn set_action(site: &mut Site<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let set = site
        .subscription
        .scale_set(request.group(), request.name())?;
    let all: Vec<u32> = set.instances.keys().copied().collect();
    let at = set.at.clone();
    let numbers = instances_of(&request.body, &all)?;
    let needs = ["delete", "manualupgrade"].contains(&request.verb());
    if needs && numbers.is_none() {
        let message = "Required parameter 'instanceIds' is missing (null).";
        return Err(ArmError::invalid("instanceIds", message));
    }
    act(site, request, &at, &numbers.unwrap_or(all))
}

/// `POST` of an action on one instance.
pub(crate) fn vm_action(site: &mut Site<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let (at, number) = one(site, request)?;
    act(site, request, &at, &[number])
}

/// `DELETE` of one instance.
pub(crate) fn delete_instance(
    site: &mut Site<'_>,
    request: &ArmRequest,
) -> Result<Answer, ArmError> {
    site.subscription
        .scale_set(request.group(), request.name())?;
    let Ok((at, number)) = one(site, request) else {
        return Ok(Answer::status(204));
    };
    site.idle_set(&at)?;
    let operation = site.delete_some(&at, &[number]);
    Ok(accepted(site, request, &at, operation))
}

/// `POST` of `simulateEviction`.
pub(crate) fn evict(site: &mut Site<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let (at, number) = one(site, request)?;
    if site.evict(&at, number) {
        return Ok(Answer::status(204));
    }
    let message = "Simulate eviction is supported for running Azure Spot Virtual Machines only.";
    Err(ArmError::new(409, "OperationNotAllowed", message))
}

fn one(site: &Site<'_>, request: &ArmRequest) -> Result<(SetRef, u32), ArmError> {
    let view = View {
        subscription: site.subscription,
        fabric: site.fabric,
    };
    find(view, request).map(|(set, instance)| (set.at.clone(), instance.number))
}

/// The instances a body names; `None` when it names none.
fn instances_of(body: &Value, all: &[u32]) -> Result<Option<Vec<u32>>, ArmError> {
    let Some(ids) = body["instanceIds"].as_array() else {
        return Ok(None);
    };
    if ids.iter().any(|id| id == "*") {
        return Ok(Some(all.to_vec()));
    }
    let known = |id: &Value| {
        let number = id.as_str().and_then(|id| id.parse().ok());
        number.filter(|number| all.contains(number)).ok_or_else(|| {
            let message = format!("The provided instanceId {id} is not an active instance.");
            ArmError::invalid("instanceIds", message)
        })
    };
    ids.iter().map(known).collect::<Result<_, _>>().map(Some)
}

fn act(
    site: &mut Site<'_>,
    request: &ArmRequest,
    at: &SetRef,
    numbers: &[u32],
) -> Result<Answer, ArmError> {
    site.idle_set(at)?;
    let mut operation = match request.verb() {
        "delete" => site.delete_some(at, numbers),
        verb => site.operate(at, numbers, verb),
    };
    if let Some(set) = site.subscription.at(at) {
        set.provisioning = Provisioning::Updating;
        let up = numbers.iter().filter(|number| {
            set.instances
                .get(number)
                .is_some_and(|instance| instance.provisioning == Provisioning::Creating)
        });
        operation.until_up.extend(up);
    }
    Ok(accepted(site, request, at, operation))
}

fn accepted(
    site: &mut Site<'_>,
    request: &ArmRequest,
    at: &SetRef,
    operation: Operation,
) -> Answer {
    let location = operation.location.clone();
    let id = site.begin(operation);
    let subscription = site.subscription.id.clone();
    if let Some(set) = site.subscription.at(at) {
        set.etag += 1;
    }
    let answer = Answer::status(202);
    point_to(
        answer,
        site.fabric,
        &request.origin,
        &subscription,
        &location,
        &id,
    )
}

impl Site<'_> {
    /// Deletes instances; the capacity drops with them.
    pub(crate) fn delete_some(&mut self, at: &SetRef, numbers: &[u32]) -> Operation {
        let location = self.location(at);
        let span = self.fabric.timing.capacity;
        let mut operation = Operation::on_set(Kind::Instances, &location, at, span);
        if let Some(set) = self.subscription.at(at) {
            let live = numbers
                .iter()
                .filter(|number| set.instances.get(number).is_some_and(|i| !i.is_ending()));
            let fewer = u32::try_from(live.count()).unwrap_or(u32::MAX);
            set.capacity = set.capacity.saturating_sub(fewer);
            set.provisioning = Provisioning::Updating;
        }
        operation.until_gone.extend(numbers);
        self.announce_deletion(at, numbers);
        operation
    }

    /// Announces a Spot eviction; false when the instance is none that can be evicted.
    pub(crate) fn evict(&mut self, at: &SetRef, number: u32) -> bool {
        let notice = self.fabric.timing.spot_notice;
        let Some(set) = self.subscription.at(at) else {
            return false;
        };
        let spot = set.model().is_spot();
        let Some(instance) = set.instances.get_mut(&number) else {
            return false;
        };
        if !spot || instance.step != Step::Settled || instance.power != Some(Power::Running) {
            return false;
        }
        instance.step = Step::Preempted;
        self.fabric.step_in(notice, at, instance);
        self.tell_guest(at, number, NoticeKind::Preempt, notice);
        true
    }

    fn operate(&mut self, at: &SetRef, numbers: &[u32], verb: &str) -> Operation {
        let location = self.location(at);
        for number in numbers {
            self.operate_one(at, *number, verb);
        }
        Operation::on_set(Kind::Change, &location, at, self.fabric.timing.model)
    }

    /// Does to an instance what people do with the portal.
    pub(crate) fn operate_one(&mut self, at: &SetRef, number: u32, verb: &str) {
        let up = self.fabric.timing.up;
        let (place, subscription) = (self.subscription.place, self.subscription.id.clone());
        let Some(set) = self.subscription.at(at) else {
            return;
        };
        let (latest, node) = (set.latest(), set.node_id(&subscription, number));
        let Some(instance) = set.instances.get_mut(&number) else {
            return;
        };
        if instance.is_ending() || instance.step == Step::Created {
            return;
        }
        let off = match verb.to_ascii_lowercase().as_str() {
            "manualupgrade" => {
                instance.model = latest;
                return;
            }
            "poweroff" => Power::Stopped,
            "deallocate" => Power::Deallocated,
            "hibernate" => Power::Hibernated,
            "reimage" | "reimageall" => {
                instance.model = latest;
                self.start_again(at, number, up);
                return;
            }
            "start" if instance.power == Some(Power::Running) => return,
            _ => {
                self.start_again(at, number, up);
                return;
            }
        };
        instance.step = Step::Settled;
        instance.turn += 1;
        instance.provisioning = Provisioning::Succeeded;
        instance.power = Some(off);
        self.fabric.tell_nodes(NodeNews::Stops(place, node));
    }

    fn start_again(&mut self, at: &SetRef, number: u32, up: Duration) {
        let place = self.subscription.place;
        let subscription = self.subscription.id.clone();
        let starting = self.fabric.timing.starting;
        let Some(set) = self.subscription.at(at) else {
            return;
        };
        let node = set.node_id(&subscription, number);
        let Some(instance) = set.instances.get_mut(&number) else {
            return;
        };
        instance.step = Step::Booting;
        instance.provisioning = Provisioning::Creating;
        instance.power = Some(Power::Starting);
        self.fabric
            .step_in(up.saturating_sub(starting), at, instance);
        self.fabric.tell_nodes(NodeNews::Stops(place, node));
    }
}
