//! What every part of the world shares: time, randomness, the event queue, regions, faults.

use std::{borrow::Cow, collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use tokio::sync::mpsc::UnboundedSender;

use super::{Name, Timing, events::Event, region::Region};
use crate::{
    SimClock,
    clock::later,
    events::EventQueue,
    faults::{CallFacts, Faults, Verdict},
    ids::uuid,
    kubelet::NodeNews,
};

/// The shared part of the world.
#[derive(Debug)]
pub(crate) struct Fabric {
    pub(crate) clock: SimClock,
    /// The moment being worked on: an event's own time while it is handled.
    pub(crate) now: Timestamp,
    pub(crate) rng: fastrand::Rng,
    pub(crate) timing: Timing,
    pub(crate) events: EventQueue<Event>,
    pub(crate) regions: BTreeMap<Name, Region>,
    pub(crate) faults: Faults,
    pub(crate) nodes: Option<UnboundedSender<NodeNews>>,
}

impl Fabric {
    /// Adds an event `span` from now.
    pub(crate) fn after(&mut self, span: Duration, event: Event) {
        self.events.push(later(self.now, span), event);
    }

    /// A resource id of AWS's form: the prefix and 17 hex digits, the first a zero.
    pub(crate) fn new_id(&mut self, prefix: &str) -> Name {
        format!("{prefix}-0{:016x}", self.rng.u64(..)).into()
    }

    /// A UUID-shaped id: activities, refreshes, tokens.
    pub(crate) fn new_uuid(&mut self) -> String {
        uuid(&mut self.rng)
    }

    /// What the scripted faults say to a launch a group makes.
    pub(crate) fn judge_launch(&self, group: &str, zone: &str, instance_type: &str) -> Verdict {
        let resources = [group, zone, instance_type].map(Cow::Borrowed);
        let call = CallFacts {
            service: "ec2",
            action: "RunInstances",
            caller: "",
            from_instance: false,
            resources: &resources,
        };
        self.faults.judge(&call)
    }

    /// Tells the simulated nodes, if there are any.
    pub(crate) fn tell_nodes(&mut self, news: NodeNews) {
        if let Some(nodes) = &self.nodes
            && nodes.send(news).is_err()
        {
            self.nodes = None;
        }
    }
}
