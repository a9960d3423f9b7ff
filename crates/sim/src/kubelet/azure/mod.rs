//! Nodes on Azure: instances of scale sets and their custom data.

mod cloud_config;
mod custom_data;
mod mime;

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use tokio::sync::mpsc::UnboundedSender;

use self::custom_data::Outcome;
use super::{
    host::{BootTimes, Booted, Hosts, IdentifiedBy, Kubelets, Machine, NodeNews, Place, Power},
    workload::Registered,
};
use crate::{
    SimClock,
    azure::{
        AzureSim, compute,
        compute::{Instance, Provisioning, ScaleSet},
        protocol::id,
        state::{State, Thing, region::region_key},
    },
    cloud::CloudState,
};

impl Hosts for AzureSim {
    fn clock(&self) -> &SimClock {
        &self.inner.clock
    }

    fn boot_times(&self) -> BootTimes {
        let state = self.inner.lock();
        BootTimes {
            boot: state.fabric.timing.node_boot,
            ready: state.fabric.timing.node_ready,
        }
    }

    fn listen(&self, news: UnboundedSender<NodeNews>) -> Vec<NodeNews> {
        let mut state = self.inner.lock();
        state.advance();
        state.fabric.nodes = Some(news);
        let mut gone = state.kubelets.registered.clone();
        let mut first = Vec::new();
        for subscription in state.subscriptions.iter() {
            let groups = subscription.groups.values();
            for set in groups.flat_map(|group| group.sets.values()) {
                for instance in set.instances.values() {
                    let id = set.node_id(&subscription.id, instance.number);
                    gone.remove(&id);
                    match power(instance) {
                        Power::Running => first.push(NodeNews::RunsAlready(subscription.place, id)),
                        Power::Off => first.push(NodeNews::Stops(subscription.place, id)),
                        Power::Other => {}
                    }
                }
            }
        }
        first.extend(gone.into_keys().map(NodeNews::Gone));
        first
    }

    async fn drive(&self) {
        self.inner.drive().await;
    }

    fn machine(&self, place: Place, id: &Arc<str>) -> Option<Machine> {
        let state = self.inner.lock();
        let (set, instance) = find(&state, place, id)?;
        if power(instance) != Power::Running {
            return None;
        }
        let model = set.model_of(instance);
        let user_data = model
            .secrets
            .custom_data
            .as_ref()
            .and_then(|data| STANDARD.decode(&data.0).ok())
            .unwrap_or_default();
        let image = model.image().and_then(|id| state.fabric.images.find(id));
        let region = region_key(set.location());
        let zone = instance.zone.as_ref().map_or_else(
            || (instance.number % 5).to_string(),
            |zone| format!("{region}-{zone}"),
        );
        Some(Machine {
            place,
            id: id.clone(),
            hardware_id: instance.vm_id.replace('-', ""),
            zone,
            region,
            instance_type: model.size.clone(),
            vcpus: model.vcpus(),
            architecture: model.architecture().to_owned(),
            kernel: "6.8.0-1030-azure",
            private_ip: instance.address,
            hostname: instance.computer_name.to_lowercase(),
            provider_id: provider_id(id, &set.group),
            identified_by: IdentifiedBy::CloudController,
            kubelet_version: image.and_then(|image| image.kubelet_version.clone()),
            user_data,
            cluster_id: Some(set.group.to_lowercase()),
        })
    }

    fn power(&self, place: Place, id: &Arc<str>) -> Option<Power> {
        let state = self.inner.lock();
        find(&state, place, id).map(|(_, instance)| power(instance))
    }

    async fn bootstrap(&self, machine: &Machine) -> Result<Booted, String> {
        let outcome = Outcome::of(&machine.user_data, &machine.hostname)?;
        let settings = outcome.provider()?;
        if let Some(identity) = settings["userAssignedIdentityID"].as_str()
            && !self.has_identity(machine, identity)
        {
            return Err(format!(
                "azure.json names the identity {identity}, which the scale set does not have"
            ));
        }
        outcome.booted(machine)
    }

    fn registered(&self, id: &Arc<str>) -> Option<Registered> {
        self.inner.lock().kubelets.registered.get(id).cloned()
    }

    fn kubelets<T>(&self, change: impl FnOnce(&mut Kubelets) -> T) -> T {
        let mut state = self.inner.lock();
        state.touch();
        change(&mut state.kubelets)
    }
}

impl AzureSim {
    /// Whether an identity of that client id is attached to a machine's set.
    fn has_identity(&self, machine: &Machine, client: &str) -> bool {
        let state = self.inner.lock();
        let Some((set, _)) = find(&state, machine.place, &machine.id) else {
            return false;
        };
        let things = &state.subscriptions[machine.place].things;
        let named = set.document["identity"]["userAssignedIdentities"].as_object();
        named.into_iter().flatten().any(|(identity, _)| {
            matches!(
                things.get(&id::key(identity)),
                Some(Thing::Identity { client_id, .. }) if client_id == client
            )
        })
    }
}

/// The instance of an ARM id.
fn find<'a>(state: &'a State, place: Place, arm_id: &str) -> Option<(&'a ScaleSet, &'a Instance)> {
    let subscription = state.subscriptions.get(place)?;
    let group = id::part(arm_id, "resourceGroups")?;
    let set = id::part(arm_id, "virtualMachineScaleSets")?;
    let set = subscription.scale_set(group, set).ok()?;
    let number: u32 = id::name_of(arm_id).parse().ok()?;
    set.instances.get(&number).map(|instance| (set, instance))
}

/// `azure://` and the ARM id, as cloud-provider-azure writes it: the group in lower case.
fn provider_id(arm_id: &str, group: &str) -> String {
    let lower = arm_id.replacen(
        &format!("/resourceGroups/{group}/"),
        &format!("/resourceGroups/{}/", group.to_lowercase()),
        1,
    );
    format!("azure://{lower}")
}

fn power(instance: &Instance) -> Power {
    match instance.power {
        Some(compute::Power::Running) => Power::Running,
        _ if instance.provisioning == Provisioning::Deleting => Power::Other,
        Some(compute::Power::Starting) | None => Power::Other,
        Some(_) => Power::Off,
    }
}
