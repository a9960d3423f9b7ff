//! Instances and the states they go through (azure-machinepool.md, 14.4).
//!
//! ```text
//! Creating ─ starting ─▶ up ──▶ announced ─▶ stopping ─▶ deallocating ─▶ gone
//!                        │ ▲
//!                        ▼ │ by hand, restart, eviction with policy Deallocate
//!                 stopped, deallocated, hibernated
//! ```

use std::{net::Ipv4Addr, sync::Arc, time::Duration};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Provisioning, ScaleSet};
use crate::{
    azure::state::{
        Fabric, Name, Site, Subscription, Thing,
        events::{Event, SetRef},
        region::region_key,
    },
    clock::later,
    kubelet::NodeNews,
};

/// Power state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Power {
    /// `PowerState/starting`.
    Starting,
    /// `PowerState/running`.
    Running,
    /// `PowerState/stopping`.
    Stopping,
    /// `PowerState/stopped`: off, but still allocated.
    Stopped,
    /// `PowerState/deallocating`.
    Deallocating,
    /// `PowerState/deallocated`.
    Deallocated,
    /// `PowerState/hibernated`.
    Hibernated,
}

impl Power {
    /// The word after `PowerState/`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
            Self::Deallocating => "deallocating",
            Self::Deallocated => "deallocated",
            Self::Hibernated => "hibernated",
        }
    }
}

/// Where an instance is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Step {
    /// Created; no power state yet.
    Created,
    /// On its way up.
    Booting,
    /// Up, or off by hand.
    Settled,
    /// Its deletion is announced to the guest.
    Announced,
    /// A Spot eviction is announced to the guest.
    Preempted,
    /// Going off for good.
    Stopping,
    /// Almost gone.
    Deallocating,
}

/// An instance.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Instance {
    pub(crate) number: u32,
    pub(crate) vm_id: String,
    /// As ARM shows it: prefix and six base-36 digits.
    pub(crate) computer_name: String,
    pub(crate) zone: Option<Name>,
    pub(crate) created: Timestamp,
    pub(crate) provisioning: Provisioning,
    pub(crate) power: Option<Power>,
    pub(crate) step: Step,
    /// Counts its steps, so that an event meant for an earlier one does nothing.
    pub(crate) turn: u32,
    /// Version of the model it was made of.
    pub(crate) model: u64,
    pub(crate) address: Option<Ipv4Addr>,
    /// Key of its subnet.
    pub(crate) subnet: Option<String>,
    /// What its guest is told of its end.
    pub(crate) notice: Option<Notice>,
}

/// A scheduled event of an instance: its guest may say that it is ready before the time is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Notice {
    pub(crate) id: String,
    pub(crate) kind: NoticeKind,
    pub(crate) not_before: Timestamp,
    /// It is happening.
    pub(crate) started: bool,
}

/// Why an instance ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum NoticeKind {
    /// Somebody deleted it, or made its set smaller.
    Terminate,
    /// Azure takes a Spot instance back.
    Preempt,
}

impl NoticeKind {
    /// The event's type.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Terminate => "Terminate",
            Self::Preempt => "Preempt",
        }
    }
}

impl Instance {
    /// It begins to end, or ends.
    pub(crate) fn is_ending(&self) -> bool {
        self.provisioning == Provisioning::Deleting
    }

    /// Whether its network interface is listed.
    pub(crate) fn shows_interface(&self, leaves_first: bool) -> bool {
        let created = self.step != Step::Created && self.address.is_some();
        let going = matches!(self.step, Step::Stopping | Step::Deallocating);
        created && !(leaves_first && going)
    }
}

/// `00000A`: six base-36 digits of an instance's number.
pub(crate) fn base36(number: u32) -> String {
    let mut digits = [b'0'; 6];
    let mut rest = number;
    for digit in digits.iter_mut().rev() {
        let value = u8::try_from(rest % 36).unwrap_or(0);
        *digit = if value < 10 {
            b'0' + value
        } else {
            b'A' + value - 10
        };
        rest /= 36;
    }
    digits.iter().map(|digit| char::from(*digit)).collect()
}

/// ARM id of an instance of a set.
pub(crate) fn instance_id(set_id: &str, number: u32) -> String {
    format!("{set_id}/virtualMachines/{number}")
}

impl ScaleSet {
    /// What the nodes call an instance.
    pub(crate) fn node_id(&self, subscription: &str, number: u32) -> Arc<str> {
        instance_id(&self.id(subscription), number).into()
    }
}

impl Fabric {
    /// Lets an instance take its next step in `span`; what was planned before is off.
    pub(crate) fn step_in(&mut self, span: Duration, at: &SetRef, instance: &mut Instance) {
        instance.turn += 1;
        let event = Event::Instance {
            set: at.clone(),
            instance: instance.number,
            turn: instance.turn,
        };
        self.events.push(later(self.now, span), event);
    }
}

impl Site<'_> {
    /// An instance's next step. Its node's id, when it is gone with it.
    pub(crate) fn instance_step(
        &mut self,
        at: &SetRef,
        number: u32,
        turn: u32,
    ) -> Option<Arc<str>> {
        let subscription = self.subscription.id.clone();
        let place = self.subscription.place;
        let set = self.subscription.at(at)?;
        let node = set.node_id(&subscription, number);
        let instance = set.instances.get_mut(&number)?;
        if instance.turn != turn {
            return None;
        }
        let timing = self.fabric.timing.clone();
        match instance.step {
            Step::Created => {
                instance.step = Step::Booting;
                instance.power = Some(Power::Starting);
                let left = timing.up.saturating_sub(timing.starting);
                self.fabric.step_in(left, at, instance);
            }
            Step::Booting => {
                instance.step = Step::Settled;
                instance.provisioning = Provisioning::Succeeded;
                instance.power = Some(Power::Running);
                self.fabric.tell_nodes(NodeNews::Runs(place, node));
                self.wake_operations(at);
            }
            Step::Settled => {}
            Step::Preempted => self.preempt(at, number),
            Step::Announced => self.go(at, number),
            Step::Stopping => {
                instance.step = Step::Deallocating;
                instance.power = Some(Power::Deallocating);
                let half = timing.going / 2;
                self.fabric
                    .step_in(timing.going.saturating_sub(half), at, instance);
            }
            Step::Deallocating => {
                self.remove_instance(at, number);
                self.fabric.tell_nodes(NodeNews::Gone(node.clone()));
                self.wake_operations(at);
                return Some(node);
            }
        }
        None
    }

    /// Announces the deletion of instances to their guests.
    pub(crate) fn announce_deletion(&mut self, at: &SetRef, numbers: &[u32]) {
        for number in numbers {
            let Some(set) = self.subscription.at(at) else {
                return;
            };
            let Some(instance) = set.instances.get(number).filter(|i| !i.is_ending()) else {
                continue;
            };
            let running = instance.power == Some(Power::Running);
            let notice = if running {
                set.model_of(instance).notice()
            } else {
                Duration::ZERO
            };
            let approval = self.fabric.timing.terminate_approval;
            let span = approval.map_or(notice, |approval| approval.min(notice));
            if !notice.is_zero() {
                self.tell_guest(at, *number, NoticeKind::Terminate, notice);
            }
            let Some(set) = self.subscription.at(at) else {
                return;
            };
            let Some(instance) = set.instances.get_mut(number) else {
                continue;
            };
            instance.provisioning = Provisioning::Deleting;
            instance.step = Step::Announced;
            self.fabric.step_in(span, at, instance);
        }
    }

    /// Tells a guest of its end, `span` ahead.
    pub(crate) fn tell_guest(
        &mut self,
        at: &SetRef,
        number: u32,
        kind: NoticeKind,
        span: Duration,
    ) {
        let notice = Notice {
            id: self.fabric.new_uuid().to_uppercase(),
            kind,
            not_before: later(self.fabric.now, span),
            started: false,
        };
        if let Some(set) = self.subscription.at(at)
            && let Some(instance) = set.instances.get_mut(&number)
        {
            instance.notice = Some(notice);
            set.incarnation += 1;
        }
    }

    /// Azure takes an instance back.
    fn preempt(&mut self, at: &SetRef, number: u32) {
        let place = self.subscription.place;
        let subscription = self.subscription.id.clone();
        let Some(set) = self.subscription.at(at) else {
            return;
        };
        let node = set.node_id(&subscription, number);
        if set.model().evicts_by_deletion() {
            set.capacity = set.capacity.saturating_sub(1);
            set.etag += 1;
            self.go(at, number);
            return;
        }
        if let Some(instance) = set.instances.get_mut(&number) {
            instance.step = Step::Settled;
            instance.power = Some(Power::Deallocated);
            instance.notice = None;
            set.incarnation += 1;
            self.fabric.tell_nodes(NodeNews::Stops(place, node));
        }
    }

    /// An instance goes off for good.
    fn go(&mut self, at: &SetRef, number: u32) {
        let subscription = self.subscription.id.clone();
        let place = self.subscription.place;
        let Some(set) = self.subscription.at(at) else {
            return;
        };
        let node = set.node_id(&subscription, number);
        let Some(instance) = set.instances.get_mut(&number) else {
            return;
        };
        instance.provisioning = Provisioning::Deleting;
        instance.step = Step::Stopping;
        instance.power = Some(Power::Stopping);
        let is_told = instance.notice.as_mut().map(|notice| notice.started = true);
        let half = self.fabric.timing.going / 2;
        self.fabric.step_in(half, at, instance);
        if is_told.is_some() {
            set.incarnation += 1;
        }
        self.fabric.tell_nodes(NodeNews::Stops(place, node));
    }

    /// Takes an instance away, and gives back what it held.
    fn remove_instance(&mut self, at: &SetRef, number: u32) {
        let Some(set) = self.subscription.at(at) else {
            return;
        };
        let Some(instance) = set.instances.remove(&number) else {
            return;
        };
        let model = set.model_of(&instance).clone();
        let region = region_key(set.location());
        if instance.notice.is_some() {
            set.incarnation += 1;
        }
        set.cpu_of.remove(&number);
        set.drop_unused_models();
        release(self.subscription, self.fabric, &region, &instance, &model);
    }

    /// An instance whose provisioning failed.
    pub(crate) fn fail_instance(&mut self, at: &SetRef, number: u32) {
        if let Some(instance) = self.instance(at, number) {
            instance.provisioning = Provisioning::Failed;
            instance.turn += 1;
        }
        self.wake_operations(at);
    }

    /// The guest approves its announced end.
    pub(crate) fn approve_termination(&mut self, at: &SetRef, number: u32) {
        match self.instance(at, number).map(|instance| instance.step) {
            Some(Step::Announced) => self.go(at, number),
            Some(Step::Preempted) => self.preempt(at, number),
            _ => {}
        }
    }

    /// An instance is gone, without notice and at once; the capacity stays.
    pub(crate) fn vanish(&mut self, at: &SetRef, number: u32) {
        let subscription = self.subscription.id.clone();
        let Some(set) = self.subscription.at(at) else {
            return;
        };
        let node = set.node_id(&subscription, number);
        self.remove_instance(at, number);
        self.fabric.tell_nodes(NodeNews::Gone(node));
        self.wake_operations(at);
    }

    /// A set is gone at once, with its instances.
    pub(crate) fn erase_set(&mut self, at: &SetRef) {
        let Some(set) = self.subscription.at(at) else {
            return;
        };
        for number in set.instances.keys().copied().collect::<Vec<_>>() {
            self.vanish(at, number);
        }
        self.remove_set(at);
    }

    fn instance(&mut self, at: &SetRef, number: u32) -> Option<&mut Instance> {
        self.subscription.at(at)?.instances.get_mut(&number)
    }

    /// Operations of a set may have what they waited for.
    pub(crate) fn wake_operations(&mut self, at: &SetRef) {
        let Some(set) = self.subscription.at(at) else {
            return;
        };
        for id in set.operations.clone() {
            self.operation_step(&id);
        }
    }
}

fn release(
    subscription: &mut Subscription,
    fabric: &mut Fabric,
    region: &str,
    instance: &Instance,
    model: &super::Model,
) {
    if let (Some(address), Some(subnet)) = (instance.address, &instance.subnet)
        && let Some(Thing::Subnet(addresses)) = subscription.things.get_mut(subnet)
    {
        addresses.give_back(address);
    }
    if let Some(quota) = subscription.quotas.get_mut(region) {
        let used = if model.is_spot() {
            &mut quota.spot_used
        } else {
            &mut quota.regular_used
        };
        *used = used.saturating_sub(model.vcpus());
    }
    let capacity = fabric
        .regions
        .get_mut(region)
        .and_then(|region| region.capacity(instance.zone.as_deref()));
    if let Some(capacity) = capacity {
        capacity.give_back(&model.size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_base_36() {
        assert_eq!(base36(0), "000000");
        assert_eq!(base36(10), "00000A");
        assert_eq!(base36(36), "000010");
        assert_eq!(base36(46_655), "000ZZZ");
    }
}
