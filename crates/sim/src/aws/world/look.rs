//! Looking at the world.

use std::{collections::BTreeMap, net::Ipv4Addr, sync::Arc};

use jiff::Timestamp;
use serde::Serialize;

use super::World;
use crate::{
    aws::{
        InstanceState,
        autoscaling::group::Group,
        ec2::{instance::Instance, template::LaunchTemplate},
        state::Compute,
    },
    kubelet::BootFailure,
};

/// An instance.
#[derive(Debug, Clone, Serialize)]
pub struct InstanceInfo {
    /// `i-…`.
    pub id: String,
    /// Account.
    pub account: String,
    /// Region.
    pub region: String,
    /// Zone.
    pub zone: String,
    /// State.
    pub state: InstanceState,
    /// Group, while it is in one.
    pub group: Option<String>,
    /// Instance type.
    pub instance_type: String,
    /// Image.
    pub image_id: String,
    /// Launch template name and version it was launched from.
    pub template: Option<(String, u64)>,
    /// Private address.
    pub private_ip: Option<Ipv4Addr>,
    /// Spot market.
    pub spot: bool,
    /// When it was launched.
    pub launched: Timestamp,
    /// `aws:///us-east-1a/i-…`.
    pub provider_id: String,
    /// `ip-10-0-1-11.ec2.internal`.
    pub private_dns: String,
    /// Tags.
    pub tags: Arc<BTreeMap<String, String>>,
}

/// A member as its group shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemberInfo {
    /// Instance id.
    pub instance_id: String,
    /// Zone.
    pub zone: String,
    /// `InService`, `Pending:Wait`, …
    pub lifecycle: &'static str,
    /// Whether the group takes it for healthy.
    pub healthy: bool,
    /// Protected from scale-in.
    pub protected: bool,
    /// Launch template name and version.
    pub template: Option<(String, u64)>,
}

/// A group.
#[derive(Debug, Clone, Serialize)]
pub struct GroupInfo {
    /// Name.
    pub name: String,
    /// ARN.
    pub arn: String,
    /// Lower bound.
    pub min: u32,
    /// Upper bound.
    pub max: u32,
    /// Desired capacity.
    pub desired: u32,
    /// Launch template name and version, as the group names them.
    pub template: (String, String),
    /// Subnets.
    pub subnets: Vec<String>,
    /// Tags: key to (value, propagates).
    pub tags: BTreeMap<String, (String, bool)>,
    /// Suspended processes.
    pub suspended: Vec<&'static str>,
    /// Policy name to target value.
    pub policies: BTreeMap<String, f64>,
    /// Members by instance id.
    pub members: Vec<MemberInfo>,
    /// Status of each refresh, oldest first.
    pub refreshes: Vec<&'static str>,
    /// A deletion runs.
    pub deleting: bool,
}

impl GroupInfo {
    /// Members in service.
    pub fn in_service(&self) -> usize {
        self.members
            .iter()
            .filter(|member| member.lifecycle == "InService")
            .count()
    }
}

/// A launch template.
#[derive(Debug, Clone, Serialize)]
pub struct TemplateInfo {
    /// `lt-…`.
    pub id: String,
    /// Name.
    pub name: String,
    /// Default version.
    pub default_version: u64,
    /// Latest version.
    pub latest_version: u64,
    /// How many versions there are.
    pub versions: usize,
    /// Tags.
    pub tags: BTreeMap<String, String>,
    /// User data of the latest version, decoded.
    pub user_data: Option<String>,
}

impl World {
    /// All instances that are still shown, terminated ones included.
    pub fn instances(&self) -> Vec<InstanceInfo> {
        let state = self.state();
        let all = state.estates.iter().flat_map(|estate| {
            estate
                .compute
                .instances
                .values()
                .map(|instance| instance_info(&estate.compute, instance))
        });
        all.collect()
    }

    /// Instances of a group that are neither shutting down nor terminated.
    pub fn live_instances(&self, group: &str) -> Vec<InstanceInfo> {
        let mine = |instance: &InstanceInfo| instance.group.as_deref() == Some(group);
        let mut instances = self.instances();
        instances.retain(|instance| mine(instance) && !instance.state.is_ending());
        instances
    }

    /// All groups.
    pub fn groups(&self) -> Vec<GroupInfo> {
        let state = self.state();
        state
            .estates
            .iter()
            .flat_map(|estate| estate.groups.values().map(group_info))
            .collect()
    }

    /// The group of that name.
    pub fn group(&self, name: &str) -> Option<GroupInfo> {
        let state = self.state();
        state
            .estates
            .iter()
            .find_map(|estate| estate.groups.get(name))
            .map(group_info)
    }

    /// All launch templates.
    pub fn templates(&self) -> Vec<TemplateInfo> {
        let state = self.state();
        let all = state
            .estates
            .iter()
            .flat_map(|estate| estate.compute.templates.values());
        all.map(template_info).collect()
    }

    /// Instances whose node did not come up, and why.
    pub fn boot_failures(&self) -> Vec<BootFailure> {
        self.state().kubelets.failures.values().cloned().collect()
    }
}

fn instance_info(compute: &Compute, instance: &Instance) -> InstanceInfo {
    InstanceInfo {
        id: instance.id.to_string(),
        account: compute.account.to_string(),
        region: compute.region.to_string(),
        zone: instance.zone.to_string(),
        state: instance.state,
        group: instance.group.as_ref().map(ToString::to_string),
        instance_type: instance.instance_type.to_string(),
        image_id: instance.image_id.to_string(),
        template: instance
            .origin
            .as_ref()
            .map(|origin| (origin.template_name.to_string(), origin.version.number)),
        private_ip: instance.private_ip,
        spot: instance.spot,
        launched: instance.launched,
        provider_id: instance.provider_id(),
        private_dns: instance.private_dns(&compute.region),
        tags: instance.tags.clone(),
    }
}

fn group_info(group: &Group) -> GroupInfo {
    let members = group.members.values().map(|member| MemberInfo {
        instance_id: member.id.to_string(),
        zone: member.zone.to_string(),
        lifecycle: member.lifecycle.name(),
        healthy: member.healthy,
        protected: member.protected,
        template: member
            .template
            .as_ref()
            .map(|t| (t.name.to_string(), member.version)),
    });
    GroupInfo {
        name: group.name.to_string(),
        arn: group.arn.clone(),
        min: group.min,
        max: group.max,
        desired: group.desired,
        template: (
            group.template.name.to_string(),
            group.template.version.clone(),
        ),
        subnets: group.subnets.iter().map(ToString::to_string).collect(),
        tags: group
            .tags
            .iter()
            .map(|(key, tag)| (key.clone(), (tag.value.clone(), tag.propagate)))
            .collect(),
        suspended: group.suspended.keys().copied().collect(),
        policies: group
            .policies
            .values()
            .map(|p| (p.name.clone(), p.target))
            .collect(),
        members: members.collect(),
        refreshes: group
            .refreshes
            .iter()
            .map(|refresh| refresh.status.name())
            .collect(),
        deleting: group.deletion.is_some(),
    }
}

fn template_info(template: &LaunchTemplate) -> TemplateInfo {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let latest = template.version("$Latest");
    let user_data = latest
        .and_then(|version| version.user_data())
        .and_then(|encoded| STANDARD.decode(encoded).ok())
        .and_then(|bytes| String::from_utf8(bytes).ok());
    TemplateInfo {
        id: template.id.to_string(),
        name: template.name.to_string(),
        default_version: template.default_version,
        latest_version: template.latest_version,
        versions: template.versions.len(),
        tags: template.tags.clone(),
        user_data,
    }
}
