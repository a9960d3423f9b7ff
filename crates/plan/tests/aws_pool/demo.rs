//! DEMO, the reference pool of the AWS document, section 0. A test states only what it changes.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use remuda_plan::{
    aws::desired::Desired,
    driver::{self, Driver, PoolContext},
    error::Refusal,
    machines::group::{GroupWish, Machines},
    pool::{
        inputs::{Autoscaling, Inputs, NamespacedName, ObjectRef, UserVariables},
        record::{AwsRecord, DriverRecord, Record},
        secret::Secret,
    },
};
use serde_json::{Value, json};

pub(crate) const GROUP: &str = "captf-team-a-demo-pool-0-43c6d828";
pub(crate) const BUCKET: &str = "captf-bootstrap-20261001000000000000000001";
pub(crate) const KEY: &str = "pool/demo-pool-0";
pub(crate) const INSTALLATION: &str = "inst-4f6b";
pub(crate) const IMAGE: &str = "ami-0123456789abcdef0";
pub(crate) const SUBNET_A: &str = "subnet-0aaa0000000000001";
pub(crate) const SUBNET_B: &str = "subnet-0bbb0000000000002";
pub(crate) const SUBNET_C: &str = "subnet-0ccc0000000000003";
pub(crate) const SUBNET_D: &str = "subnet-0ddd0000000000004";

/// The document of DEMO's bootstrap data.
pub(crate) const DOCUMENT: &[u8] = b"#cloud-config\nruncmd: [echo hello]\n";

/// DEMO with a test's changes, and what is remembered of it.
#[derive(Debug, Clone)]
pub(crate) struct Demo {
    pub(crate) inputs: Inputs,
    pub(crate) variables: UserVariables,
    pub(crate) ownership: BTreeMap<String, String>,
    pub(crate) installation: String,
    /// Name of the bootstrap data Secret.
    pub(crate) bootstrap_secret: String,
    pub(crate) record: Option<Record>,
    /// The pool has Machines, and they ask for this.
    pub(crate) wish: Option<GroupWish>,
    /// The pool has Machines that have not decided yet.
    pub(crate) undecided: bool,
    pub(crate) now: i64,
}

pub(crate) fn demo() -> Demo {
    let captf_tags = strings([
        ("captf.io/cluster", "demo"),
        ("captf.io/namespace", "team-a"),
        ("captf.io/kind", "TerraformMachinePool"),
        ("captf.io/name", "demo-pool-0"),
        ("captf.io/managed-by", "captf"),
        ("captf.io/template", ""),
    ]);
    let ownership = captf_tags
        .iter()
        .filter(|(key, _)| !key.ends_with("managed-by") && !key.ends_with("template"))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    Demo {
        inputs: Inputs {
            captf_contract: "v1alpha1".to_owned(),
            captf_cluster: NamespacedName {
                name: "demo".to_owned(),
                namespace: "team-a".to_owned(),
            },
            captf_object: ObjectRef {
                kind: "TerraformMachinePool".to_owned(),
                name: "demo-pool-0".to_owned(),
                namespace: "team-a".to_owned(),
            },
            captf_cluster_outputs: exports(),
            captf_tags,
            machinepool_name: "demo-pool-0".to_owned(),
            replicas: 3,
            bootstrap_data: Secret::new(STANDARD.encode(DOCUMENT)),
            bootstrap_format: "cloud-config".to_owned(),
            failure_domains: Vec::new(),
            cluster_failure_domains: Vec::new(),
            kubernetes_version: Some("v1.34.1".to_owned()),
            node_labels: BTreeMap::new(),
            autoscaling: Autoscaling::OFF,
        },
        variables: json!({ "additional_tags": { "team": "platform" } })
            .as_object()
            .expect("an object")
            .clone(),
        ownership,
        installation: INSTALLATION.to_owned(),
        bootstrap_secret: "demo-bootstrap".to_owned(),
        record: None,
        wish: None,
        undecided: false,
        now: 1_790_000_000,
    }
}

pub(crate) fn exports() -> Value {
    json!({
        "schema": "captf.io/aws-cluster/v1",
        "region": "us-east-1",
        "vpc_id": "vpc-0123456789abcdef0",
        "kubernetes_cluster_id": "captf-team-a-demo-1960e37c",
        "failure_domains": {
            "us-east-1a": { "subnet_id": SUBNET_A },
            "us-east-1b": { "subnet_id": SUBNET_B },
            "us-east-1c": { "subnet_id": SUBNET_C },
        },
        "security_group_ids": { "control_plane": ["sg-0c"], "worker": ["sg-0e0000000000000e1"] },
        "instance_profiles": { "control_plane": "cp", "worker": "captf-team-a-demo-1960e37c-worker" },
        "api": null,
        "bootstrap_bucket": BUCKET,
    })
}

pub(crate) fn strings<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs
        .into_iter()
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .collect()
}

pub(crate) fn names<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.into_iter().map(str::to_owned).collect()
}

impl Demo {
    pub(crate) fn context(&self) -> PoolContext<'_> {
        PoolContext {
            bootstrap_secret: Some(&self.bootstrap_secret),
            namespace: "team-a",
            pool_name: "demo-pool-0",
            machinepool_name: &self.inputs.machinepool_name,
            ownership: &self.ownership,
            installation: &self.installation,
            record: self.record.as_ref(),
            machines: match &self.wish {
                Some(wish) => Machines::Asking(wish),
                None if self.undecided => Machines::On,
                None => Machines::Off,
            },
            now_epoch_seconds: self.now,
        }
    }

    pub(crate) fn desired(&self) -> Result<Desired, Vec<Refusal>> {
        Driver::Aws
            .desired(&self.inputs, &self.variables, &self.context())
            .map(|desired| match desired {
                driver::Desired::Aws(desired) => *desired,
                driver::Desired::Azure(_) => unreachable!("the driver is AWS's"),
            })
    }

    /// The desired state of good inputs.
    pub(crate) fn good(&self) -> Desired {
        self.desired().expect("the inputs are good")
    }

    /// Codes and subjects of the refusals of bad inputs.
    pub(crate) fn refused(&self) -> Vec<(&'static str, String)> {
        self.refusals()
            .into_iter()
            .map(|refusal| (refusal.code, refusal.subject))
            .collect()
    }

    pub(crate) fn refusals(&self) -> Vec<Refusal> {
        self.desired().expect_err("the inputs are bad")
    }

    pub(crate) fn var(mut self, name: &str, value: Value) -> Self {
        self.variables.insert(name.to_owned(), value);
        self
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Inputs)) -> Self {
        change(&mut self.inputs);
        self
    }

    pub(crate) fn exports(mut self, change: impl FnOnce(&mut Value)) -> Self {
        change(&mut self.inputs.captf_cluster_outputs);
        self
    }

    pub(crate) fn labels<const N: usize>(mut self, labels: [(&str, &str); N]) -> Self {
        self.inputs.node_labels = strings(labels);
        self
    }

    pub(crate) fn autoscaled(mut self, min: i64, max: i64) -> Self {
        self.inputs.autoscaling = Autoscaling {
            enabled: true,
            min,
            max,
        };
        self
    }

    pub(crate) fn version(mut self, version: &str) -> Self {
        self.inputs.kubernetes_version = Some(version.to_owned());
        self
    }

    pub(crate) fn zones<const N: usize>(mut self, zones: [&str; N]) -> Self {
        self.inputs.failure_domains = names(zones);
        self
    }

    pub(crate) fn document(mut self, bytes: &[u8]) -> Self {
        self.inputs.bootstrap_data = Secret::new(STANDARD.encode(bytes));
        self
    }

    /// The driver's part of the record.
    pub(crate) fn remembered(&self) -> AwsRecord {
        match &self.record.as_ref().expect("a record was written").driver {
            DriverRecord::Aws(record) => record.clone(),
            DriverRecord::None | DriverRecord::Azure(_) => unreachable!("the driver has written"),
        }
    }
}
