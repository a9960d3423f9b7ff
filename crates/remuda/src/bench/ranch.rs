//! Clusters and pools like the demo's, many of them.

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt, stream};
use kube::Client;
use remuda_api::keys::{annotation, label};
use remuda_sim::azure::{AzureSim, DEMO_REGION, DEMO_SUBSCRIPTION};
use serde_json::{Value, json};

use crate::{
    cli::{BenchArgs, BenchClouds, Switch},
    up::{apply_manifests, demo_documents},
};

/// Pools that are created at once.
const AT_ONCE: usize = 16;

/// What is to be created.
pub(crate) struct Ranch {
    clusters: Vec<Cluster>,
    machines: u16,
    has_machine_objects: bool,
    aws: Pattern,
    azure: Pattern,
}

struct Cluster {
    /// Name, and name of its namespace.
    name: String,
    azure: bool,
    pools: Vec<String>,
}

/// The demo's objects of one cloud, by what they are copied for.
struct Pattern {
    once: Vec<Value>,
    cluster: Vec<Value>,
    pool: Vec<Value>,
}

impl Pattern {
    fn of(azure: bool) -> Result<Self> {
        let mut pattern = Self {
            once: Vec::new(),
            cluster: Vec::new(),
            pool: Vec::new(),
        };
        for document in demo_documents(azure)? {
            let bootstrap = document
                .pointer("/metadata/labels")
                .is_some_and(|labels| labels.get(label::CLUSTER_NAME).is_some());
            let of = match document["kind"].as_str() {
                Some("Cluster" | "TerraformCluster") => &mut pattern.cluster,
                Some("MachinePool" | "TerraformMachinePool") => &mut pattern.pool,
                Some("Secret") if bootstrap => &mut pattern.pool,
                _ => &mut pattern.once,
            };
            of.push(document);
        }
        Ok(pattern)
    }
}

impl Ranch {
    /// What the arguments ask for.
    ///
    /// # Errors
    /// The demo's manifests cannot be read.
    pub(crate) fn of(args: &BenchArgs) -> Result<Self> {
        let numbers: Vec<u32> = (0..args.pools).collect();
        let per_cluster = usize::try_from(args.pools_per_cluster)?;
        let clusters = numbers.chunks(per_cluster).enumerate();
        let clusters = clusters.map(|(number, pools)| Cluster {
            name: format!("ranch-{number}"),
            azure: match args.cloud {
                BenchClouds::Aws => false,
                BenchClouds::Azure => true,
                BenchClouds::Both => number % 2 == 1,
            },
            pools: pools.iter().map(|pool| format!("pool-{pool}")).collect(),
        });
        Ok(Self {
            clusters: clusters.collect(),
            machines: args.machines,
            has_machine_objects: args.machines_objects == Switch::On,
            aws: Pattern::of(false)?,
            azure: Pattern::of(true)?,
        })
    }

    /// How many clusters there are.
    pub(crate) fn clusters(&self) -> usize {
        self.clusters.len()
    }

    /// How many pools there are.
    pub(crate) fn pools(&self) -> usize {
        self.clusters.iter().map(|it| it.pools.len()).sum()
    }

    /// `NAMESPACE/NAME` of each cluster.
    pub(crate) fn cluster_names(&self) -> Vec<String> {
        let clusters = self.clusters.iter();
        clusters
            .map(|Cluster { name, .. }| format!("{name}/{name}"))
            .collect()
    }

    /// Makes what the clusters' exports name and the demo world lacks.
    pub(crate) fn furnish(&self, azure: Option<&AzureSim>) {
        for cluster in self.clusters.iter().filter(|cluster| cluster.azure) {
            if let Some(azure) = azure {
                let world = azure.world();
                world.add_group(DEMO_SUBSCRIPTION, &cluster.name, DEMO_REGION);
            }
        }
    }

    /// Creates identities, namespaces and clusters.
    ///
    /// # Errors
    /// The API refuses one.
    pub(crate) async fn create_clusters(&self, client: &Client) -> Result<()> {
        for pattern in [&self.aws, &self.azure] {
            apply_manifests(client, "default", &pattern.once).await?;
        }
        for cluster in &self.clusters {
            let mut objects = vec![json!({
                "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": cluster.name },
            })];
            let pattern = self.pattern(cluster).cluster.iter();
            objects.extend(pattern.map(|object| cluster.described(object.clone())));
            apply_manifests(client, &cluster.name, &objects).await?;
        }
        Ok(())
    }

    /// Creates the pools, several at once.
    ///
    /// # Errors
    /// The API refuses one.
    pub(crate) async fn create_pools(&self, client: &Client) -> Result<()> {
        let pools = self
            .clusters
            .iter()
            .flat_map(|cluster| cluster.pools.iter().map(move |pool| (cluster, pool)));
        stream::iter(pools)
            .map(|(cluster, pool)| async move {
                let pattern = self.pattern(cluster).pool.iter();
                let objects: Vec<Value> = pattern
                    .map(|object| self.pool_object(cluster, pool, object.clone()))
                    .collect();
                apply_manifests(client, &cluster.name, &objects)
                    .await
                    .with_context(|| format!("creating {pool}"))
            })
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await
    }

    fn pattern(&self, cluster: &Cluster) -> &Pattern {
        if cluster.azure {
            &self.azure
        } else {
            &self.aws
        }
    }

    /// An object of the demo's pool as one of another pool.
    fn pool_object(&self, cluster: &Cluster, pool: &str, mut object: Value) -> Value {
        object["metadata"]["name"] = json!(pool);
        object["metadata"]["labels"][label::CLUSTER_NAME] = json!(cluster.name);
        match object["kind"].as_str() {
            Some("Secret") => object["metadata"]["name"] = json!(format!("{pool}-bootstrap")),
            Some("MachinePool") => {
                if !self.has_machine_objects {
                    object["metadata"]["annotations"][annotation::POOL_MACHINES] = json!("false");
                }
                let spec = &mut object["spec"];
                spec["replicas"] = json!(self.machines);
                spec["clusterName"] = json!(cluster.name);
                let template = &mut spec["template"];
                template["metadata"]["labels"] = json!({ "node.cluster.x-k8s.io/pool": pool });
                template["spec"]["clusterName"] = json!(cluster.name);
                template["spec"]["bootstrap"]["dataSecretName"] =
                    json!(format!("{pool}-bootstrap"));
                template["spec"]["infrastructureRef"]["name"] = json!(pool);
            }
            _ => {}
        }
        object
    }
}

impl Cluster {
    /// An object of the demo's cluster as one of this cluster.
    fn described(&self, mut object: Value) -> Value {
        let name = &self.name;
        object["metadata"]["name"] = json!(name);
        if object["kind"] == "Cluster" {
            object["spec"]["infrastructureRef"]["name"] = json!(name);
            return object;
        }
        object["metadata"]["labels"][label::CLUSTER_NAME] = json!(name);
        let exports = &mut object["status"]["exports"];
        if self.azure {
            let group = format!("/subscriptions/{DEMO_SUBSCRIPTION}/resourceGroups/{name}");
            exports["resource_group_name"] = json!(name);
            exports["resource_group_id"] = json!(group);
            exports["cloud_provider_config"]["resourceGroup"] = json!(name);
        } else {
            exports["kubernetes_cluster_id"] = json!(name);
        }
        object
    }
}
