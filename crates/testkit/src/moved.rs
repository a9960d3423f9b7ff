//! A world after `clusterctl move`.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use kube::Client;
use remuda_apiserver::{ApiServer, TokioClock};
use remuda_controllers::{
    kinds::Kind,
    metrics::Metrics,
    objects::{LiveObjects, Objects},
};
use serde_json::Value;

use crate::{
    admission::InProcess,
    requests::Requests,
    world::{TEST, World},
};

/// What `clusterctl move` takes along, owners first.
const MOVED: [Kind; 9] = [
    Kind::Namespace,
    Kind::TerraformClusterIdentity,
    Kind::Cluster,
    Kind::TerraformCluster,
    Kind::MachinePool,
    Kind::TerraformMachinePool,
    Kind::Machine,
    Kind::TerraformMachinePoolMachine,
    Kind::Secret,
];

impl World {
    /// The same clouds and workload clusters under another management cluster, as `clusterctl move`
    /// leaves it: objects with new UIDs and without status. The controllers must have stopped.
    pub async fn moved(&self) -> Self {
        let server = ApiServer::builder()
            .clock(Arc::new(TokioClock::starting_at(self.now())))
            .seed(self.builder.seed + 1)
            .build()
            .expect("a server in memory can be built");
        let nodes = self
            .nodes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let rest = self
            .rest_of_cluster
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let azure_nodes = self
            .azure_nodes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let target = Self {
            objects: LiveObjects::new(Client::new(server.management().router(), "default")),
            server,
            aws: self.aws.clone(),
            azure: self.azure.clone(),
            azure_nodes: Mutex::new(azure_nodes),
            workload_server: self.workload_server.clone(),
            metrics: Metrics::new("test", Arc::new(self.clock)),
            clock: self.clock,
            nodes: Mutex::new(nodes),
            rest_of_cluster: Mutex::new(rest),
            running: Mutex::default(),
            webhooks: InProcess::default(),
            requests: Requests::default(),
            builder: self.builder.clone(),
        };
        target.install().await;
        let mut uids = BTreeMap::new();
        for kind in MOVED {
            for object in self.objects.list(kind, "", "").await.unwrap() {
                target.take_over(kind, object, &mut uids).await;
            }
        }
        target
    }

    async fn take_over(&self, kind: Kind, mut object: Value, uids: &mut BTreeMap<String, Value>) {
        let name = object["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if kind == Kind::Namespace && (name.starts_with("kube-") || name == "default") {
            return;
        }
        let old = object["metadata"]["uid"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let metadata = object["metadata"].as_object_mut().unwrap();
        for field in [
            "uid",
            "resourceVersion",
            "creationTimestamp",
            "generation",
            "managedFields",
        ] {
            metadata.remove(field);
        }
        for owner in metadata
            .get_mut("ownerReferences")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            let uid = owner["uid"].as_str().unwrap_or_default();
            owner["uid"] = uids[uid].clone();
        }
        object.as_object_mut().unwrap().remove("status");
        object["apiVersion"] = Value::from(kind.resource().api_version);
        object["kind"] = Value::from(kind.resource().kind);
        let namespace = object["metadata"]["namespace"].as_str();
        let made = self
            .objects
            .create(&kind.resource(), namespace, &object, TEST)
            .await
            .unwrap_or_else(|error| panic!("{error}"));
        let made = made.metadata().unwrap_or_else(|error| panic!("{error}"));
        uids.insert(old, made.uid.into());
    }
}
