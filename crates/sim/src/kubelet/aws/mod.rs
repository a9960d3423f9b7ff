//! Nodes on AWS: instances, their user data, and the rights of their instance profile.

mod user_data;

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use tokio::sync::mpsc::UnboundedSender;

use super::{
    host::{BootTimes, Booted, Hosts, IdentifiedBy, Kubelets, Machine, NodeNews, Place, Power},
    workload::Registered,
};
use crate::{
    SimClock,
    aws::{AwsSim, Image, InstanceState, Signer, vcpus},
    cloud::CloudState,
};

impl Hosts for AwsSim {
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
        for compute in state.estates.iter().map(|estate| &estate.compute) {
            for instance in compute.instances.values() {
                let id = instance.id.clone();
                if instance.state == InstanceState::Terminated {
                    continue;
                }
                gone.remove(&id);
                match power(instance.state) {
                    Power::Running => first.push(NodeNews::RunsAlready(compute.id, id)),
                    Power::Off => first.push(NodeNews::Stops(compute.id, id)),
                    Power::Other => {}
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
        let compute = &state.estates.get(place)?.compute;
        let instance = compute
            .instances
            .get(id)
            .filter(|i| i.state == InstanceState::Running)?;
        let version = instance.origin.as_ref().map(|origin| &origin.version);
        let user_data = version
            .and_then(|version| version.user_data())
            .and_then(|encoded| STANDARD.decode(encoded).ok())
            .unwrap_or_default();
        let image = state
            .fabric
            .regions
            .get(&compute.region)
            .and_then(|region| region.images.get(&instance.image_id));
        let cluster_id = instance
            .tags
            .keys()
            .find_map(|key| key.strip_prefix("kubernetes.io/cluster/"))
            .map(str::to_owned);
        Some(Machine {
            place,
            id: id.clone(),
            hardware_id: id.trim_start_matches("i-").to_owned(),
            region: compute.region.to_string(),
            zone: instance.zone.to_string(),
            instance_type: instance.instance_type.to_string(),
            vcpus: vcpus(&instance.instance_type),
            architecture: instance.architecture.to_string(),
            kernel: "6.8.0-1030-aws",
            private_ip: instance.private_ip,
            hostname: instance.private_dns(&compute.region),
            provider_id: instance.provider_id(),
            identified_by: IdentifiedBy::Kubelet,
            kubelet_version: image.and_then(Image::kubelet),
            user_data,
            cluster_id,
        })
    }

    fn power(&self, place: Place, id: &Arc<str>) -> Option<Power> {
        let state = self.inner.lock();
        let instance = state.estates.get(place)?.compute.instances.get(id)?;
        Some(power(instance.state))
    }

    async fn bootstrap(&self, machine: &Machine) -> Result<Booted, String> {
        let labels = self.follow_user_data(machine).await?;
        let cluster_id = machine
            .cluster_id
            .clone()
            .ok_or("the instance has no tag kubernetes.io/cluster/<id>")?;
        Ok(Booted {
            cluster_id,
            node: machine.hostname.clone(),
            labels,
        })
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

fn power(state: InstanceState) -> Power {
    match state {
        InstanceState::Running => Power::Running,
        InstanceState::Stopping | InstanceState::Stopped => Power::Off,
        InstanceState::Pending | InstanceState::ShuttingDown | InstanceState::Terminated => {
            Power::Other
        }
    }
}

impl AwsSim {
    /// Credentials the metadata service gives an instance for a request to S3 in `region`.
    fn instance_signer(&self, machine: &Machine, region: &str) -> Option<Signer> {
        let mut state = self.inner.lock();
        state.touch();
        let state = &mut *state;
        let compute = &state.estates.get(machine.place)?.compute;
        let origin = compute.instances.get(&machine.id)?.origin.as_ref()?;
        let profile = origin.version.launch.instance_profile.as_ref()?;
        let (now, rng) = (state.fabric.now, &mut state.fabric.rng);
        let session = state
            .identity
            .instance_session(&compute.account, profile, now, rng)?;
        Some(Signer {
            access_key_id: session.access_key_id,
            secret: session.secret.0,
            session_token: Some(session.token.0),
            region: region.to_owned(),
            service: "s3",
        })
    }
}
