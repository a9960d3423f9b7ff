//! Instances and the states they go through.
//!
//! ```text
//! pending → running → shutting-down → terminated → (forgotten)
//!              ↓ ↑           ↑
//!          stopping → stopped ┘
//! ```

use std::{borrow::Cow, collections::BTreeMap, net::Ipv4Addr, sync::Arc};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::template::TemplateVersion;
use crate::{
    aws::state::{Compute, Fabric, Name, Site, events::Event},
    kubelet::NodeNews,
};

/// The state EC2 shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InstanceState {
    /// Starting.
    Pending,
    /// Up.
    Running,
    /// On its way to terminated.
    ShuttingDown,
    /// Gone, still shown for a while.
    Terminated,
    /// On its way to stopped.
    Stopping,
    /// Off, with its volumes kept.
    Stopped,
}

impl InstanceState {
    /// EC2's name: `shutting-down`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::ShuttingDown => "shutting-down",
            Self::Terminated => "terminated",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
        }
    }

    /// EC2's code.
    pub(crate) fn code(self) -> u16 {
        match self {
            Self::Pending => 0,
            Self::Running => 16,
            Self::ShuttingDown => 32,
            Self::Terminated => 48,
            Self::Stopping => 64,
            Self::Stopped => 80,
        }
    }

    /// Whether the instance ends or has ended.
    pub(crate) fn is_ending(self) -> bool {
        matches!(self, Self::ShuttingDown | Self::Terminated)
    }
}

/// The launch template version an instance came from.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    pub(crate) template_id: Name,
    pub(crate) template_name: Name,
    pub(crate) version: Arc<TemplateVersion>,
}

/// An instance.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[allow(
    clippy::struct_field_names,
    reason = "`instance_type` is EC2's own name"
)]
pub(crate) struct Instance {
    pub(crate) id: Name,
    pub(crate) image_id: Name,
    pub(crate) instance_type: Name,
    pub(crate) zone: Name,
    pub(crate) subnet_id: Name,
    pub(crate) vpc_id: Name,
    /// `None` for an instance a test placed without an address.
    pub(crate) private_ip: Option<Ipv4Addr>,
    pub(crate) public_ip: Option<Ipv4Addr>,
    pub(crate) launched: Timestamp,
    pub(crate) state: InstanceState,
    /// Code and message of the last change of state.
    pub(crate) reason: Option<(Cow<'static, str>, Cow<'static, str>)>,
    pub(crate) spot: bool,
    pub(crate) architecture: Name,
    pub(crate) root_device: Name,
    pub(crate) group: Option<Name>,
    /// Saved beside the instance: see `instance_rows`.
    #[serde(skip)]
    pub(crate) origin: Option<Origin>,
    pub(crate) tags: Arc<BTreeMap<String, String>>,
    /// It counts against capacity and quota.
    pub(crate) holds_capacity: bool,
    /// A Spot notice runs.
    pub(crate) interrupted: bool,
}

impl Instance {
    /// `ip-10-0-1-11.ec2.internal`, or with the region outside us-east-1.
    pub(crate) fn private_dns(&self, region: &str) -> String {
        let Some(ip) = self.private_ip else {
            return String::new();
        };
        let [a, b, c, d] = ip.octets();
        if region == "us-east-1" {
            format!("ip-{a}-{b}-{c}-{d}.ec2.internal")
        } else {
            format!("ip-{a}-{b}-{c}-{d}.{region}.compute.internal")
        }
    }

    /// `us-east-1a` and the id as Kubernetes writes them.
    pub(crate) fn provider_id(&self) -> String {
        format!("aws:///{}/{}", self.zone, self.id)
    }
}

impl Compute {
    /// Sends an instance towards `terminated`; one that already goes there is left alone.
    pub(crate) fn terminate(
        &mut self,
        fabric: &mut Fabric,
        id: &Name,
        reason: (&'static str, &'static str),
    ) {
        let estate = self.id;
        let Some(instance) = self.instances.get_mut(id) else {
            return;
        };
        if instance.state.is_ending() {
            return;
        }
        instance.state = InstanceState::ShuttingDown;
        instance.reason = Some((reason.0.into(), reason.1.into()));
        fabric.after(
            fabric.timing.shutting_down,
            Event::Terminated(estate, id.clone()),
        );
        fabric.tell_nodes(NodeNews::Stops(estate, id.clone()));
    }

    /// Sends a running instance towards `stopped`.
    pub(crate) fn stop(&mut self, fabric: &mut Fabric, id: &Name) {
        let estate = self.id;
        let Some(instance) = self.instances.get_mut(id) else {
            return;
        };
        if matches!(
            instance.state,
            InstanceState::Running | InstanceState::Pending
        ) {
            instance.state = InstanceState::Stopping;
            instance.reason = Some((
                "Client.UserInitiatedShutdown".into(),
                "User initiated shutdown".into(),
            ));
            fabric.after(fabric.timing.stopping, Event::Stopped(estate, id.clone()));
            fabric.tell_nodes(NodeNews::Stops(estate, id.clone()));
        }
    }

    /// Starts a stopped instance.
    pub(crate) fn start(&mut self, fabric: &mut Fabric, id: &Name) {
        let estate = self.id;
        let Some(instance) = self.instances.get_mut(id) else {
            return;
        };
        if instance.state == InstanceState::Stopped {
            instance.state = InstanceState::Pending;
            instance.reason = None;
            self.hold_capacity(fabric, id);
            fabric.after(fabric.timing.pending, Event::Running(estate, id.clone()));
        }
    }

    /// Counts an instance against capacity and quota.
    pub(crate) fn hold_capacity(&mut self, fabric: &mut Fabric, id: &Name) {
        let Some(instance) = self.instances.get_mut(id).filter(|i| !i.holds_capacity) else {
            return;
        };
        instance.holds_capacity = true;
        let vcpus = vcpus(&instance.instance_type);
        if instance.spot {
            self.quota.spot_used += vcpus;
        } else {
            self.quota.on_demand_used += vcpus;
        }
        let region = fabric.regions.get_mut(&self.region);
        if let Some(zone) = region.and_then(|region| region.zones.get_mut(&instance.zone)) {
            zone.capacity.take(&instance.instance_type);
        }
    }

    fn release_capacity(&mut self, fabric: &mut Fabric, id: &Name) {
        let Some(instance) = self.instances.get_mut(id).filter(|i| i.holds_capacity) else {
            return;
        };
        instance.holds_capacity = false;
        let used = if instance.spot {
            &mut self.quota.spot_used
        } else {
            &mut self.quota.on_demand_used
        };
        *used = used.saturating_sub(vcpus(&instance.instance_type));
        let region = fabric.regions.get_mut(&self.region);
        if let Some(zone) = region.and_then(|region| region.zones.get_mut(&instance.zone)) {
            zone.capacity.give_back(&instance.instance_type);
        }
    }
}

/// vCPUs of an instance type by its size: `m6i.2xlarge` has 8. Right for the families people run
/// nodes on; sizes below `xlarge` have 2.
pub(crate) fn vcpus(instance_type: &str) -> u32 {
    match instance_type.rsplit('.').next() {
        Some("xlarge") => 4,
        Some(size) => match size
            .strip_suffix("xlarge")
            .and_then(|n| n.parse::<u32>().ok())
        {
            Some(times) => 4 * times,
            None if size.starts_with("metal") => 96,
            None => 2,
        },
        None => 2,
    }
}

impl Site<'_> {
    pub(crate) fn instance_runs(&mut self, id: &Name) {
        let estate = self.estate.compute.id;
        let Some(instance) = self.estate.compute.instances.get_mut(id) else {
            return;
        };
        if instance.state != InstanceState::Pending {
            return;
        }
        instance.state = InstanceState::Running;
        let group = instance.group.clone();
        self.fabric.tell_nodes(NodeNews::Runs(estate, id.clone()));
        if let Some(group) = group {
            self.member_runs(&group, id);
        }
    }

    pub(crate) fn instance_stopped(&mut self, id: &Name) {
        let compute = &mut self.estate.compute;
        let Some(instance) = compute.instances.get_mut(id) else {
            return;
        };
        if instance.state == InstanceState::Stopping {
            instance.state = InstanceState::Stopped;
            compute.release_capacity(self.fabric, id);
        }
    }

    pub(crate) fn instance_terminated(&mut self, id: &Name) {
        let compute = &mut self.estate.compute;
        let estate = compute.id;
        let Some(instance) = compute.instances.get_mut(id) else {
            return;
        };
        if instance.state != InstanceState::ShuttingDown {
            return;
        }
        instance.state = InstanceState::Terminated;
        let group = instance.group.clone();
        let address = instance.private_ip.take();
        instance.public_ip = None;
        let subnet = instance.subnet_id.clone();
        if let (Some(address), Some(subnet)) = (address, compute.subnets.get_mut(&subnet)) {
            subnet.addresses.give_back(address);
        }
        compute.release_capacity(self.fabric, id);
        self.fabric.after(
            self.fabric.timing.terminated_visible,
            Event::Forgotten(estate, id.clone()),
        );
        self.fabric.tell_nodes(NodeNews::Gone(id.clone()));
        if let Some(group) = group {
            self.member_terminated(&group, id);
        }
    }

    pub(crate) fn forget_instance(&mut self, id: &Name) {
        let compute = &mut self.estate.compute;
        let Some(instance) = compute.instances.remove(id) else {
            return;
        };
        if let Some(group) = instance.group
            && let Some(members) = compute.instances_by_group.get_mut(&group)
        {
            members.remove(id);
            if members.is_empty() {
                compute.instances_by_group.remove(&group);
            }
        }
    }

    pub(crate) fn spot_ends(&mut self, id: &Name) {
        let reason = (
            "Server.SpotInstanceTermination",
            "Server.SpotInstanceTermination: Spot instance termination",
        );
        self.end_outside_group(id, reason);
    }

    /// Terminates an instance without its group's doing; the group notices in time.
    pub(crate) fn end_outside_group(&mut self, id: &Name, reason: (&'static str, &'static str)) {
        self.estate.compute.terminate(self.fabric, id, reason);
        self.notice_health(id);
    }

    /// Makes the group of an instance look at its health in time.
    pub(crate) fn notice_health(&mut self, id: &Name) {
        let group = self
            .estate
            .compute
            .instances
            .get(id)
            .and_then(|i| i.group.clone());
        if let Some(group) = group {
            self.member_unwell(&group, id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vcpus_follow_the_size() {
        let sizes = [
            ("m6i.large", 2),
            ("m6i.xlarge", 4),
            ("c7g.4xlarge", 16),
            ("m6i.metal", 96),
        ];
        for (instance_type, expected) in sizes {
            assert_eq!(vcpus(instance_type), expected, "{instance_type}");
        }
    }
}
