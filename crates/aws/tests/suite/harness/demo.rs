//! DEMO, the reference pool of the AWS document, as contract inputs.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine, engine::general_purpose::STANDARD};
use remuda_plan::{
    machines::group::GroupWish,
    pool::{
        inputs::{Autoscaling, Inputs, NamespacedName, ObjectRef, UserVariables},
        outputs::Outputs,
        record::{AwsRecord, DriverRecord, Record},
        secret::Secret,
    },
};
use serde_json::{Map, Value, json};

/// `captf-team-a-demo-pool-0-43c6d828`.
pub const GROUP: &str = "captf-team-a-demo-pool-0-43c6d828";
/// `us-east-1`.
pub const REGION: &str = "us-east-1";
/// Bucket of DEMO.
pub const BUCKET: &str = "captf-bootstrap-20261001000000000000000001";
/// Key of DEMO.
pub const KEY: &str = "pool/demo-pool-0";
/// Payload of DEMO.
pub const PAYLOAD: &str = "#cloud-config\nruncmd: [echo hello]\n";
/// Payload after a rotation.
pub const ROTATED: &str = "#cloud-config\nruncmd: [echo rotated]\n";
/// Worker security group of DEMO.
pub const WORKER_GROUP: &str = "sg-0e0000000000000e1";
/// Instance profile of DEMO.
pub const PROFILE: &str = "captf-team-a-demo-1960e37c-worker";
/// Newest image of DEMO's version.
pub const IMAGE: &str = "ami-0123456789abcdef0";
/// Installation id of DEMO's record.
pub const INSTALLATION: &str = "0b9f3a52-6d0f-4a3c-9d3e-0c9d5c9a7a11";

/// What the cluster offers: zones with their subnets, as the target knows them.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// Zone to subnet.
    pub zones: BTreeMap<String, String>,
    /// Worker security group.
    pub worker_group: String,
    /// What the lookup of DEMO finds.
    pub newest_image: String,
}

impl Cluster {
    /// The cluster with only some of its zones.
    pub fn with_zones(&self, zones: &[&str]) -> Self {
        let mut cluster = self.clone();
        cluster
            .zones
            .retain(|zone, _| zones.contains(&zone.as_str()));
        cluster
    }

    /// DEMO's three zones; the fourth is there for clusters that grow.
    pub fn demo(&self) -> Self {
        self.with_zones(&["us-east-1a", "us-east-1b", "us-east-1c"])
    }

    /// The exports of the cluster role.
    pub fn exports(&self) -> Value {
        let zones: Map<String, Value> = self
            .zones
            .iter()
            .map(|(zone, subnet)| (zone.clone(), json!({ "subnet_id": subnet })))
            .collect();
        json!({
            "schema": "captf.io/aws-cluster/v1",
            "region": REGION,
            "kubernetes_cluster_id": "captf-team-a-demo-1960e37c",
            "failure_domains": zones,
            "security_group_ids": { "worker": [self.worker_group] },
            "instance_profiles": { "worker": PROFILE },
            "bootstrap_bucket": BUCKET,
        })
    }

    /// The subnets of some zones, as `VPCZoneIdentifier` holds them.
    pub fn subnets(&self, zones: &[&str]) -> BTreeSet<String> {
        zones.iter().map(|zone| self.zones[*zone].clone()).collect()
    }
}

/// A pool as its controller holds it: inputs, and the record in memory.
#[derive(Debug, Clone)]
pub struct Pool {
    /// Contract inputs.
    pub inputs: Inputs,
    /// User variables.
    pub variables: UserVariables,
    /// The durable record.
    pub record: Option<Record>,
    /// Installation id.
    pub installation: String,
    /// What was last published.
    pub published: Option<Outputs>,
    /// The pool has Machines, and they ask for this.
    pub wish: Option<GroupWish>,
}

impl Pool {
    /// DEMO in a cluster.
    pub fn demo(cluster: &Cluster) -> Self {
        Self::named("demo-pool-0", cluster)
    }

    /// DEMO under another name.
    pub fn named(name: &str, cluster: &Cluster) -> Self {
        let tag = |key: &str, value: &str| (format!("captf.io/{key}"), value.to_owned());
        let inputs = Inputs {
            captf_contract: "v1alpha1".to_owned(),
            captf_cluster: NamespacedName {
                name: "demo".to_owned(),
                namespace: "team-a".to_owned(),
            },
            captf_object: ObjectRef {
                kind: "TerraformMachinePool".to_owned(),
                name: name.to_owned(),
                namespace: "team-a".to_owned(),
            },
            captf_cluster_outputs: cluster.exports(),
            captf_tags: BTreeMap::from([
                tag("cluster", "demo"),
                tag("namespace", "team-a"),
                tag("kind", "TerraformMachinePool"),
                tag("name", name),
                tag("managed-by", "captf"),
                tag("template", ""),
            ]),
            machinepool_name: name.to_owned(),
            replicas: 3,
            bootstrap_data: Secret::new(STANDARD.encode(PAYLOAD)),
            bootstrap_format: "cloud-config".to_owned(),
            failure_domains: Vec::new(),
            cluster_failure_domains: cluster.zones.keys().cloned().collect(),
            kubernetes_version: Some("v1.34.1".to_owned()),
            node_labels: BTreeMap::new(),
            autoscaling: Autoscaling::OFF,
        };
        let mut pool = Self {
            inputs,
            variables: Map::new(),
            record: None,
            installation: INSTALLATION.to_owned(),
            published: None,
            wish: None,
        };
        pool.set("additional_tags", json!({ "team": "platform" }));
        pool
    }

    /// The pool has Machines that ask for so many members, and for nothing else.
    pub fn resize(&mut self, replicas: i64) {
        self.inputs.replicas = replicas;
        let wish = self.wish.get_or_insert_default();
        wish.capacity = replicas;
        wish.bounds = Some((replicas, replicas));
    }

    /// What its Machines ask for.
    pub fn ask(&mut self) -> &mut GroupWish {
        self.wish.as_mut().expect("the pool has Machines")
    }

    /// Sets a user variable.
    pub fn set(&mut self, name: &str, value: Value) {
        self.variables.insert(name.to_owned(), value);
    }

    /// Sets the bootstrap data.
    pub fn bootstrap(&mut self, bytes: &[u8]) {
        self.inputs.bootstrap_data = Secret::new(STANDARD.encode(bytes));
    }

    /// Turns autoscaling on.
    pub fn autoscale(&mut self, min: i64, max: i64) {
        self.inputs.autoscaling = Autoscaling {
            enabled: true,
            min,
            max,
        };
    }

    /// The cluster changed: its exports and failure domains are these.
    pub fn cluster_is(&mut self, cluster: &Cluster) {
        self.inputs.captf_cluster_outputs = cluster.exports();
        self.inputs.cluster_failure_domains = cluster.zones.keys().cloned().collect();
    }

    /// The four ownership tags.
    pub fn ownership(&self) -> BTreeMap<String, String> {
        ["cluster", "namespace", "kind", "name"]
            .into_iter()
            .map(|key| format!("captf.io/{key}"))
            .map(|key| (key.clone(), self.inputs.captf_tags[&key].clone()))
            .collect()
    }

    /// The driver's part of the record.
    pub fn remembered(&self) -> &AwsRecord {
        match self.record.as_ref().map(|record| &record.driver) {
            Some(DriverRecord::Aws(record)) => record,
            other => panic!("the pool has no AWS record: {other:?}"),
        }
    }

    /// What was last published.
    pub fn outputs(&self) -> &Outputs {
        self.published.as_ref().expect("something was published")
    }

    /// The set T of the AWS document 3.2.
    pub fn tags(&self) -> BTreeMap<String, String> {
        let mut tags = self.inputs.captf_tags.clone();
        tags.insert("team".to_owned(), "platform".to_owned());
        tags.insert(
            "kubernetes.io/cluster/captf-team-a-demo-1960e37c".to_owned(),
            "owned".to_owned(),
        );
        tags
    }
}
