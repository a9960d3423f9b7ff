//! Looking at the world.

use std::net::Ipv4Addr;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::{World, find_set};
use crate::{
    azure::{
        compute::{Instance, Operation, Power, ScaleSet, instance::instance_id},
        insights::{Activity, Setting},
        protocol::id,
        state::Subscription,
    },
    kubelet::BootFailure,
};

/// A scale set.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScaleSetInfo {
    /// ARM id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Resource group.
    pub group: String,
    /// Region.
    pub location: String,
    /// Zones.
    pub zones: Vec<String>,
    /// `sku.capacity`.
    pub capacity: u32,
    /// `Succeeded`, `Updating`, …
    pub provisioning_state: &'static str,
    /// Tags.
    pub tags: Value,
    /// The resource as ARM shows it.
    pub resource: Value,
    /// Digest of the latest custom data.
    pub custom_data_sha256: Option<String>,
    /// Instances by number.
    pub instances: Vec<InstanceInfo>,
}

/// An instance.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InstanceInfo {
    /// ARM id.
    pub id: String,
    /// `0`.
    pub instance_id: String,
    /// Hostname, as ARM shows it.
    pub computer_name: String,
    /// Zone.
    pub zone: Option<String>,
    /// `Succeeded`, `Creating`, …
    pub provisioning_state: &'static str,
    /// `running`, …; nothing before there is one.
    pub power_state: Option<&'static str>,
    /// Private address.
    pub private_ip: Option<Ipv4Addr>,
    /// When it was created.
    pub created: Timestamp,
    /// Its model is the latest.
    pub latest_model: bool,
    /// Size.
    pub size: String,
    /// Digest of the custom data it was made with.
    pub custom_data_sha256: Option<String>,
    /// Unique id.
    pub vm_id: String,
}

/// An autoscale setting.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SettingInfo {
    /// ARM id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Id of the set it works on.
    pub target: String,
    /// Lower bound.
    pub minimum: u32,
    /// Upper bound.
    pub maximum: u32,
    /// What it did, oldest first.
    pub activities: Vec<Activity>,
    /// The resource as ARM shows it.
    pub resource: Value,
}

/// A long-running operation.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationInfo {
    /// Id.
    pub id: String,
    /// `InProgress`, `Succeeded` or `Failed`, and the rest of its body.
    pub body: Value,
}

impl World {
    /// All scale sets.
    pub fn scale_sets(&self) -> Vec<ScaleSetInfo> {
        let state = self.state();
        let mut found = Vec::new();
        for subscription in state.subscriptions.iter() {
            let groups = subscription.groups.values();
            let sets = groups.flat_map(|group| group.sets.values());
            found.extend(sets.map(|set| set_info(subscription, set)));
        }
        found
    }

    /// The scale set of that name.
    pub fn scale_set(&self, name: &str) -> Option<ScaleSetInfo> {
        let state = self.state();
        let at = find_set(&state, name)?;
        let subscription = state.subscriptions.get(at.place)?;
        let set = subscription.groups.get(&at.group)?.sets.get(&at.set)?;
        Some(set_info(subscription, set))
    }

    /// The latest custom data of a scale set, in base64. It holds secrets.
    pub fn custom_data(&self, name: &str) -> Option<String> {
        let state = self.state();
        let at = find_set(&state, name)?;
        let group = state.subscriptions.get(at.place)?.groups.get(&at.group)?;
        let data = group
            .sets
            .get(&at.set)?
            .model()
            .secrets
            .custom_data
            .as_ref();
        data.map(|data| data.0.clone())
    }

    /// All autoscale settings.
    pub fn settings(&self) -> Vec<SettingInfo> {
        let state = self.state();
        let mut found = Vec::new();
        for subscription in state.subscriptions.iter() {
            let groups = subscription.groups.values();
            let settings = groups.flat_map(|group| group.settings.values());
            found.extend(settings.map(|setting| setting_info(subscription, setting)));
        }
        found
    }

    /// The autoscale setting of that name.
    pub fn setting(&self, name: &str) -> Option<SettingInfo> {
        self.settings()
            .into_iter()
            .find(|setting| setting.name.eq_ignore_ascii_case(name))
    }

    /// All operations that are remembered, in the order they began.
    pub fn operations(&self) -> Vec<OperationInfo> {
        let state = self.state();
        let mut all: Vec<(&str, &Operation)> = state
            .subscriptions
            .iter()
            .flat_map(|subscription| &subscription.operations)
            .map(|(id, operation)| (&**id, operation))
            .collect();
        all.sort_by_key(|(_, operation)| operation.started);
        let info = |(id, operation): (&str, &Operation)| OperationInfo {
            id: id.to_owned(),
            body: operation.render(id),
        };
        all.into_iter().map(info).collect()
    }

    /// Instances whose node did not come up, and why.
    pub fn boot_failures(&self) -> Vec<BootFailure> {
        self.state().kubelets.failures.values().cloned().collect()
    }
}

fn set_info(subscription: &Subscription, set: &ScaleSet) -> ScaleSetInfo {
    let model = set.model();
    ScaleSetInfo {
        id: set.id(&subscription.id),
        name: set.name.to_string(),
        group: set.group.to_string(),
        location: set.location().to_owned(),
        zones: set.zones().iter().map(ToString::to_string).collect(),
        capacity: set.capacity,
        provisioning_state: set.provisioning.name(),
        tags: set.document["tags"].clone(),
        resource: set.render(subscription),
        custom_data_sha256: model.custom_data_sha256(),
        instances: set
            .instances
            .values()
            .map(|instance| instance_info(subscription, set, instance))
            .collect(),
    }
}

fn instance_info(subscription: &Subscription, set: &ScaleSet, instance: &Instance) -> InstanceInfo {
    let model = set.model_of(instance);
    InstanceInfo {
        id: instance_id(&set.id(&subscription.id), instance.number),
        instance_id: instance.number.to_string(),
        computer_name: instance.computer_name.clone(),
        zone: instance.zone.as_ref().map(ToString::to_string),
        provisioning_state: instance.provisioning.name(),
        power_state: instance.power.map(Power::name),
        private_ip: instance.address,
        created: instance.created,
        latest_model: instance.model == set.latest(),
        size: model.size.clone(),
        custom_data_sha256: model.custom_data_sha256(),
        vm_id: instance.vm_id.clone(),
    }
}

fn setting_info(subscription: &Subscription, setting: &Setting) -> SettingInfo {
    SettingInfo {
        id: id::resource(
            &subscription.id,
            &setting.group,
            id::SETTINGS,
            &setting.name,
        ),
        name: setting.name.to_string(),
        target: setting.plan.target.clone(),
        minimum: setting.plan.minimum,
        maximum: setting.plan.maximum,
        activities: setting.activities.clone(),
        resource: setting.render(&subscription.id),
    }
}
