//! Where a story plays: it is the same on both clouds, and only its telling differs.

use remuda_controllers::{
    kinds::Kind,
    objects::{LiveObjects, Objects},
};
use remuda_sim::{Sent, aws::InstanceState};
use serde_json::{Value, json};

use crate::{
    demo::{AZURE_POOL, Demo, NAMESPACE, POOL},
    world::World,
};

/// A cloud with a DEMO pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cloud {
    /// The simulated AWS.
    Aws,
    /// The simulated Azure.
    Azure,
}

impl Cloud {
    /// Both of them.
    pub const BOTH: [Self; 2] = [Self::Aws, Self::Azure];

    /// The DEMO objects, with Machines.
    pub fn demo(self) -> Demo {
        match self {
            Self::Aws => Demo::default().machines(),
            Self::Azure => Demo::azure().machines(),
        }
    }

    /// Name of the pool and of its MachinePool.
    pub fn pool(self) -> &'static str {
        match self {
            Self::Aws => POOL,
            Self::Azure => AZURE_POOL,
        }
    }

    /// Name of the Cluster.
    pub fn cluster(self) -> &'static str {
        match self {
            Self::Aws => "demo",
            Self::Azure => "demo-azure",
        }
    }

    /// The workload cluster.
    pub fn workload(self, world: &World) -> LiveObjects {
        world.workload_of(NAMESPACE, self.cluster())
    }

    /// The Nodes.
    pub async fn nodes(self, world: &World) -> Vec<Value> {
        let nodes = self.workload(world).list(Kind::Node, "", "").await;
        nodes.unwrap()
    }

    /// Another count of replicas.
    pub async fn replicas(self, world: &World, count: u64) {
        let patch = json!({ "spec": { "replicas": count } });
        world.patch(Kind::MachinePool, self.pool(), patch).await;
    }

    /// The instances that exist, those that shut down included.
    pub fn existing(self, world: &World) -> Vec<String> {
        match self {
            Self::Aws => {
                let instances = world.aws.world().instances().into_iter();
                instances
                    .filter(|it| it.state != InstanceState::Terminated)
                    .map(|it| it.id)
                    .collect()
            }
            Self::Azure => {
                let sets = world.azure.world().scale_sets().into_iter();
                sets.flat_map(|set| set.instances)
                    .map(|it| it.id.to_lowercase())
                    .collect()
            }
        }
    }

    /// How [`Cloud::existing`] and [`Cloud::ended`] name the instance of an object with a provider
    /// id, be it a Machine or what stands behind one.
    pub fn instance(self, object: &Value) -> String {
        let id = object["spec"]["providerID"].as_str().unwrap();
        match self {
            Self::Aws => id.rsplit('/').next().unwrap().to_owned(),
            Self::Azure => id.trim_start_matches("azure://").to_lowercase(),
        }
    }

    /// The instances that calls of ours named for their end, in order.
    pub fn ended(self, world: &World) -> Vec<String> {
        match self {
            Self::Aws => {
                let calls = world.aws.journal().calls();
                let ends = calls.iter().filter(|call| {
                    !call.from_instance && call.action == "TerminateInstanceInAutoScalingGroup"
                });
                ends.map(|call| call.params["InstanceId"].clone()).collect()
            }
            Self::Azure => {
                let calls = world.azure.journal().calls();
                let ends = calls
                    .iter()
                    .filter(|call| call.action == "VirtualMachineScaleSets_DeleteInstances");
                ends.filter_map(|call| call.sent.as_ref())
                    .flat_map(named_on_azure)
                    .collect()
            }
        }
    }

    /// Somebody terminates the instance of an object.
    pub fn kill(self, world: &World, object: &Value) {
        let id = self.instance(object);
        let done = match self {
            Self::Aws => world.aws.world().terminate_instance(&id),
            Self::Azure => operate(world, &id, "delete"),
        };
        assert!(done, "there is such an instance: {object:#}");
    }

    /// Somebody stops the instance of an object.
    pub fn stop(self, world: &World, object: &Value) {
        let id = self.instance(object);
        let done = match self {
            Self::Aws => world.aws.world().stop_instance(&id),
            Self::Azure => operate(world, &id, "stop"),
        };
        assert!(done, "there is such an instance: {object:#}");
    }
}

fn operate(world: &World, id: &str, verb: &str) -> bool {
    let mut parts = id.rsplit('/');
    let number = parts.next().unwrap().parse().unwrap();
    let set = parts.nth(1).unwrap();
    world.azure.world().operate(set, number, verb)
}

/// The instances that a call named, as their set shows them.
fn named_on_azure(sent: &Sent) -> Vec<String> {
    let set = sent.path.trim_end_matches("/delete").to_lowercase();
    let ids = sent.json()["instanceIds"].as_array().cloned();
    ids.unwrap_or_default()
        .iter()
        .map(|id| format!("{set}/virtualmachines/{}", id.as_str().unwrap()))
        .collect()
}
