//! What every part of the world shares: time, randomness, the event queue, regions, faults.

use std::{borrow::Cow, collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use tokio::sync::mpsc::UnboundedSender;

use super::{
    Name, Timing,
    events::{EstateId, Event, EventQueue},
    region::Region,
};
use crate::{
    SimClock,
    clock::later,
    faults::{CallFacts, Faults, Verdict},
};

/// News for the simulated nodes.
#[derive(Debug, Clone)]
pub(crate) enum NodeNews {
    /// An instance runs: its node may boot.
    Runs(EstateId, Name),
    /// An instance ran before the nodes were started.
    RunsAlready(EstateId, Name),
    /// An instance stopped.
    Stops(EstateId, Name),
    /// An instance is gone.
    Gone(Name),
}

/// The shared part of the world.
#[derive(Debug)]
pub(crate) struct Fabric {
    pub(crate) clock: SimClock,
    /// The moment being worked on: an event's own time while it is handled.
    pub(crate) now: Timestamp,
    pub(crate) rng: fastrand::Rng,
    pub(crate) timing: Timing,
    pub(crate) events: EventQueue,
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
        let (high, low) = (self.rng.u64(..), self.rng.u64(..));
        format!(
            "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            low >> 52,
            low & 0xffff_ffff_ffff
        )
    }

    /// What the scripted faults say to a launch a group makes.
    pub(crate) fn judge_launch(&self, group: &str, zone: &str, instance_type: &str) -> Verdict {
        let resources = [group, zone, instance_type].map(Cow::Borrowed);
        let call = CallFacts {
            service: "ec2",
            action: "RunInstances",
            access_key_id: "",
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
