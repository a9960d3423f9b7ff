//! A world whose pool has Machines, and what these tests ask of it.

use remuda_controllers::{kinds::Kind, objects::Objects};
use remuda_sim::{Sent, aws::InstanceState};
use remuda_testkit::{AZURE_POOL, Demo, NAMESPACE, POOL, World, holds};
use serde_json::{Value, json};

pub(crate) const GROUP: &str = "captf-team-a-demo-pool-0-43c6d828";
pub(crate) const POOL_NAME: &str = "cluster.x-k8s.io/pool-name";
pub(crate) const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";

/// Where a story plays; it is the same on both, and only its telling differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cloud {
    Aws,
    Azure,
}

impl Cloud {
    pub(crate) const BOTH: [Self; 2] = [Self::Aws, Self::Azure];

    /// The DEMO objects, with Machines.
    pub(crate) fn demo(self) -> Demo {
        match self {
            Self::Aws => Demo::default().machines(),
            Self::Azure => Demo::azure().machines(),
        }
    }

    /// Name of the pool.
    pub(crate) fn pool(self) -> &'static str {
        match self {
            Self::Aws => POOL,
            Self::Azure => AZURE_POOL,
        }
    }

    /// Name of the Cluster.
    pub(crate) fn cluster(self) -> &'static str {
        match self {
            Self::Aws => "demo",
            Self::Azure => "demo-azure",
        }
    }

    /// The DEMO pool of three, Running and settled.
    pub(crate) async fn settled(self) -> World {
        self.settled_with(self.demo()).await
    }

    /// The same from other objects.
    pub(crate) async fn settled_with(self, demo: Demo) -> World {
        let world = World::new().await;
        world.apply(&demo).await;
        world.start();
        world.is_running(self.pool(), 3).await;
        has_members(&world, 3).await;
        world
    }

    pub(crate) async fn replicas(self, world: &World, count: u64) {
        let patch = json!({ "spec": { "replicas": count } });
        world.patch(Kind::MachinePool, self.pool(), patch).await;
    }

    /// Provider ids of the instances that exist, those that shut down included.
    pub(crate) fn existing(self, world: &World) -> Vec<String> {
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

    /// How [`Cloud::existing`] and [`Cloud::ended`] name the instance of an object.
    pub(crate) fn instance(self, infra: &Value) -> String {
        match self {
            Self::Aws => instance_id(infra).to_owned(),
            Self::Azure => provider_id(infra)
                .trim_start_matches("azure://")
                .to_lowercase(),
        }
    }

    /// The instances that calls of ours named for their end, in order.
    pub(crate) fn ended(self, world: &World) -> Vec<String> {
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

    /// The instance goes, without anybody having asked for it.
    pub(crate) fn kill(self, world: &World, infra: &Value) {
        let done = match self {
            Self::Aws => world.aws.world().terminate_instance(instance_id(infra)),
            Self::Azure => {
                let id = self.instance(infra);
                let mut parts = id.rsplit('/');
                let number = parts.next().unwrap().parse().unwrap();
                let set = parts.nth(1).unwrap();
                world.azure.world().operate(set, number, "delete")
            }
        };
        assert!(done, "there is such an instance: {infra:#}");
    }
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

/// The DEMO pool of three on AWS, with Machines, Running and settled.
pub(crate) async fn settled() -> World {
    Cloud::Aws.settled().await
}

/// The same from other objects.
pub(crate) async fn settled_with(demo: Demo) -> World {
    Cloud::Aws.settled_with(demo).await
}

/// Waits until exactly so many objects and Machines stand for members, and none of them goes.
pub(crate) async fn has_members(world: &World, count: usize) {
    world
        .eventually(
            &format!("{count} members are objects and Machines"),
            || async {
                let infra = infra(world).await;
                let machines = machines(world).await;
                let staying = |list: &[Value]| {
                    list.iter()
                        .filter(|it| it["metadata"]["deletionTimestamp"].is_null())
                        .count()
                };
                holds(
                    infra.len() == count
                        && machines.len() == count
                        && staying(&infra) == count
                        && staying(&machines) == count,
                    || {
                        format!(
                            "objects {:?}, Machines {:?}",
                            names(&infra),
                            names(&machines)
                        )
                    },
                )
            },
        )
        .await;
}

/// Objects of members, by name.
pub(crate) async fn infra(world: &World) -> Vec<Value> {
    listed(world, Kind::TerraformMachinePoolMachine).await
}

/// Machines, by name.
pub(crate) async fn machines(world: &World) -> Vec<Value> {
    listed(world, Kind::Machine).await
}

async fn listed(world: &World, kind: Kind) -> Vec<Value> {
    let mut all = world.objects.list(kind, NAMESPACE, "").await.unwrap();
    all.sort_by_key(|object| name(object).to_owned());
    all
}

pub(crate) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap()
}

pub(crate) fn names(objects: &[Value]) -> Vec<String> {
    objects.iter().map(|it| name(it).to_owned()).collect()
}

/// The provider id of a member's object.
pub(crate) fn provider_id(infra: &Value) -> &str {
    infra["spec"]["providerID"].as_str().unwrap()
}

/// The cloud's own id of a member.
pub(crate) fn instance_id(infra: &Value) -> &str {
    provider_id(infra).rsplit('/').next().unwrap()
}

/// Ids of the group's instances that are not on their way out.
pub(crate) fn live(world: &World) -> Vec<String> {
    let mut ids: Vec<String> = world
        .aws
        .world()
        .live_instances(GROUP)
        .into_iter()
        .map(|instance| instance.id)
        .collect();
    ids.sort();
    ids
}
