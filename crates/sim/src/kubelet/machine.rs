//! What a machine knows about itself when it boots: the facts its metadata service would tell.

use std::{net::Ipv4Addr, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{BootFailure, Nodes, Registered};
use crate::aws::{EstateId, Image, InstanceState, Signer};

/// The facts of a booting instance.
#[derive(Clone)]
pub(super) struct Machine {
    pub(super) id: Arc<str>,
    pub(super) region: String,
    pub(super) zone: String,
    pub(super) instance_type: String,
    /// `x86_64` or `arm64`.
    pub(super) architecture: String,
    pub(super) private_ip: Option<Ipv4Addr>,
    /// `ip-10-0-1-11.ec2.internal`; also the node's name.
    pub(super) hostname: String,
    pub(super) provider_id: String,
    pub(super) user_data: Vec<u8>,
    pub(super) kubelet_version: Option<String>,
    /// From the instance's tag `kubernetes.io/cluster/<id>`.
    pub(super) cluster_id: Option<String>,
}

impl Nodes {
    /// The facts of an instance, if it runs.
    pub(super) fn machine(&self, estate: EstateId, id: &Arc<str>) -> Option<Machine> {
        let state = self.sim.inner.lock();
        let compute = &state.estates.get(estate)?.compute;
        let instance = compute
            .instances
            .get(id)
            .filter(|i| i.state == InstanceState::Running)?;
        let data = instance
            .origin
            .as_ref()
            .map(|origin| &origin.version.launch);
        let user_data = data
            .and_then(|data| data.user_data.as_ref())
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
            id: id.clone(),
            region: compute.region.to_string(),
            zone: instance.zone.to_string(),
            instance_type: instance.instance_type.to_string(),
            architecture: instance.architecture.to_string(),
            private_ip: instance.private_ip,
            hostname: instance.private_dns(&compute.region),
            provider_id: instance.provider_id(),
            user_data,
            kubelet_version: image.and_then(Image::kubelet),
            cluster_id,
        })
    }

    /// Whether an instance still runs.
    pub(super) fn runs(&self, estate: EstateId, id: &Arc<str>) -> bool {
        self.instance_state(estate, id) == Some(InstanceState::Running)
    }

    /// The state of an instance.
    pub(super) fn instance_state(&self, estate: EstateId, id: &Arc<str>) -> Option<InstanceState> {
        let state = self.sim.inner.lock();
        state
            .estates
            .get(estate)?
            .compute
            .instances
            .get(id)
            .map(|instance| instance.state)
    }

    /// The node of an instance, if it registered or was about to.
    pub(super) fn registered(&self, id: &Arc<str>) -> Option<Registered> {
        self.sim.inner.lock().registered.get(id).cloned()
    }

    /// Keeps in mind that the node of an instance registers, or that it is gone.
    pub(super) fn keep_registered(&self, id: &Arc<str>, node: Option<Registered>) {
        let mut state = self.sim.inner.lock();
        state.touch();
        match node {
            Some(node) => state.registered.insert(id.clone(), node),
            None => state.registered.remove(id),
        };
    }

    /// Credentials the metadata service gives an instance for a request to S3 in `region`.
    pub(super) fn signer(&self, estate: EstateId, id: &Arc<str>, region: &str) -> Option<Signer> {
        let mut state = self.sim.inner.lock();
        state.touch();
        let state = &mut *state;
        let compute = &state.estates.get(estate)?.compute;
        let origin = compute.instances.get(id)?.origin.as_ref()?;
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

    /// Makes known why a node does not come up, or that it did.
    pub(super) fn report(&self, id: &Arc<str>, failure: Option<String>) {
        let mut state = self.sim.inner.lock();
        state.touch();
        match failure {
            Some(reason) => {
                let failure = BootFailure {
                    instance_id: id.to_string(),
                    reason,
                };
                state.boot_failures.insert(id.clone(), failure);
            }
            None => {
                state.boot_failures.remove(id);
            }
        }
    }
}
