//! What a simulated node needs of the cloud it runs in.

use std::{collections::BTreeMap, future::Future, net::Ipv4Addr, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::UnboundedSender;

use super::{BootFailure, workload::Registered};
use crate::SimClock;

/// Where in its cloud an instance is: the index of an AWS account's region, or of an Azure
/// subscription.
pub(crate) type Place = usize;

/// News for the simulated nodes.
#[derive(Debug, Clone)]
pub(crate) enum NodeNews {
    /// An instance runs: its node may boot.
    Runs(Place, Arc<str>),
    /// An instance ran before the nodes were started.
    RunsAlready(Place, Arc<str>),
    /// An instance stopped.
    Stops(Place, Arc<str>),
    /// An instance is gone.
    Gone(Arc<str>),
}

impl NodeNews {
    /// The instance they are of.
    pub(super) fn instance(&self) -> &Arc<str> {
        match self {
            Self::Runs(_, id) | Self::RunsAlready(_, id) | Self::Stops(_, id) | Self::Gone(id) => {
                id
            }
        }
    }
}

/// Whether a machine is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Power {
    /// It runs.
    Running,
    /// It is off, or goes there, and may come back.
    Off,
    /// It starts, or it ends for good.
    Other,
}

/// Who tells the API which machine a Node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdentifiedBy {
    /// The kubelet registers with the provider ID.
    Kubelet,
    /// The cloud controller manager looks the Node's name up among the hostnames.
    CloudController,
}

/// How long a node takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BootTimes {
    /// From the machine's start to the node's first request.
    pub(crate) boot: Duration,
    /// From the registration to Ready.
    pub(crate) ready: Duration,
}

/// The facts of a booting instance: what its metadata service would tell.
#[derive(Clone)]
pub(crate) struct Machine {
    pub(crate) place: Place,
    pub(crate) id: Arc<str>,
    /// 16 to 32 hex digits of its own.
    pub(crate) hardware_id: String,
    pub(crate) region: String,
    /// As the label `topology.kubernetes.io/zone` has it.
    pub(crate) zone: String,
    pub(crate) instance_type: String,
    pub(crate) vcpus: u32,
    /// `x86_64` or `arm64`.
    pub(crate) architecture: String,
    pub(crate) kernel: &'static str,
    pub(crate) private_ip: Option<Ipv4Addr>,
    pub(crate) hostname: String,
    pub(crate) provider_id: String,
    pub(crate) identified_by: IdentifiedBy,
    pub(crate) kubelet_version: Option<String>,
    /// The boot payload, decoded.
    pub(crate) user_data: Vec<u8>,
    /// What the cloud itself says of the cluster the instance belongs to.
    pub(crate) cluster_id: Option<String>,
}

/// What a machine's boot payload came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Booted {
    /// Cluster to join.
    pub(crate) cluster_id: String,
    /// Name the kubelet registers under.
    pub(crate) node: String,
    /// Labels the kubelet registers with.
    pub(crate) labels: Vec<(String, String)>,
}

/// What is remembered of nodes, part of a cloud's state.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Kubelets {
    /// Why nodes do not come up, by instance.
    pub(crate) failures: BTreeMap<Arc<str>, BootFailure>,
    /// Nodes that registered or are about to, by instance.
    pub(crate) registered: BTreeMap<Arc<str>, Registered>,
}

/// A cloud, as its nodes see it.
pub(crate) trait Hosts: Clone + Send + Sync + 'static {
    /// The world's clock.
    fn clock(&self) -> &SimClock;

    /// How long nodes take.
    fn boot_times(&self) -> BootTimes;

    /// Registers for news of instances; what there is to do about those of that moment.
    fn listen(&self, news: UnboundedSender<NodeNews>) -> Vec<NodeNews>;

    /// Moves the world for as long as it is polled.
    fn drive(&self) -> impl Future<Output = ()> + Send;

    /// The facts of an instance, if it runs.
    fn machine(&self, place: Place, id: &Arc<str>) -> Option<Machine>;

    /// Whether an instance is on; `None` when there is none.
    fn power(&self, place: Place, id: &Arc<str>) -> Option<Power>;

    /// Does what the boot payload asks for, or says why the machine cannot.
    fn bootstrap(&self, machine: &Machine) -> impl Future<Output = Result<Booted, String>> + Send;

    /// What is remembered of nodes, to change it.
    fn kubelets<T>(&self, change: impl FnOnce(&mut Kubelets) -> T) -> T;

    /// Whether an instance still runs.
    fn runs(&self, place: Place, id: &Arc<str>) -> bool {
        self.power(place, id) == Some(Power::Running)
    }

    /// The node of an instance, if it registered or was about to.
    fn registered(&self, id: &Arc<str>) -> Option<Registered>;

    /// Keeps in mind that the node of an instance registers, or that it is gone.
    fn keep_registered(&self, id: &Arc<str>, node: Option<Registered>) {
        self.kubelets(|kubelets| match node {
            Some(node) => kubelets.registered.insert(id.clone(), node),
            None => kubelets.registered.remove(id),
        });
    }

    /// Makes known why a node does not come up, or that it did.
    fn report(&self, id: &Arc<str>, failure: Option<String>) {
        self.kubelets(|kubelets| match failure {
            Some(reason) => {
                let failure = BootFailure {
                    instance_id: id.to_string(),
                    reason,
                };
                kubelets.failures.insert(id.clone(), failure)
            }
            None => kubelets.failures.remove(id),
        });
    }
}
