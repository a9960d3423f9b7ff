//! What every part of the world shares: time, randomness, the event queue, regions, images,
//! faults.

use std::{borrow::Cow, collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use tokio::sync::mpsc::UnboundedSender;

use super::{Behaviour, Name, Timing, events::Event, region::Images, region::Region};
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
    pub(crate) behaviour: Behaviour,
    pub(crate) events: EventQueue<Event>,
    pub(crate) regions: BTreeMap<Name, Region>,
    pub(crate) images: Images,
    pub(crate) faults: Faults,
    pub(crate) nodes: Option<UnboundedSender<NodeNews>>,
    /// Serial number of the next set or setting.
    pub(crate) serial: u64,
}

impl Fabric {
    /// Adds an event `span` from now.
    pub(crate) fn after(&mut self, span: Duration, event: Event) {
        self.events.push(later(self.now, span), event);
    }

    /// A UUID-shaped id.
    pub(crate) fn new_uuid(&mut self) -> String {
        uuid(&mut self.rng)
    }

    /// A number no set or setting had before.
    pub(crate) fn new_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// What the scripted faults say to an allocation a scale set makes.
    pub(crate) fn judge_allocation(&self, set: &str, zone: &str, size: &str) -> Verdict {
        if self.faults.is_empty() {
            return Verdict::default();
        }
        let resources = [set, zone, size].map(Cow::Borrowed);
        self.faults.judge(&CallFacts {
            service: "compute",
            action: "Allocate",
            caller: "",
            from_instance: false,
            resources: &resources,
        })
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
