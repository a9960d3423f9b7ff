//! Fixture F, the reference pool of the Azure document, 13.1. A test states only what it changes.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use remuda_plan::{
    azure::desired::Desired,
    driver::{self, Driver, PoolContext},
    error::Refusal,
    machines::group::{GroupWish, Machines},
    pool::{
        inputs::{Autoscaling, Inputs, NamespacedName, ObjectRef, UserVariables},
        record::{AzureRecord, DriverRecord, Record},
        secret::Secret,
    },
};
use serde_json::{Value, json};

pub(crate) const SUBSCRIPTION: &str = "6f1c1e1a-3b7e-4a3c-9a39-5d2f1c0b8e11";
pub(crate) const RESOURCE_GROUP: &str = "captf-team-a-demo-2a8d5f7c";
pub(crate) const SET: &str = "workers-7d91b187";
pub(crate) const SETTING: &str = "workers-7d91b187-autoscale";
pub(crate) const PID: &str = "azure:///subscriptions/6f1c1e1a-3b7e-4a3c-9a39-5d2f1c0b8e11/resourceGroups/captf-team-a-demo-2a8d5f7c/providers/Microsoft.Compute/virtualMachineScaleSets/workers-7d91b187";
pub(crate) const INSTALLATION: &str = "inst-4f6b";
pub(crate) const BOOTSTRAP: &str =
    "IyMgdGVtcGxhdGU6IGppbmphCiNjbG91ZC1jb25maWcKcnVuY21kOiBbZWNobyBoZWxsb10K";
pub(crate) const ROTATED: &str = "I2Nsb3VkLWNvbmZpZwpydW5jbWQ6IFtlY2hvIHJvdGF0ZWRdCg==";
pub(crate) const IMAGE: &str = "/communityGalleries/ClusterAPI-f72ceb4f-5159-4c26-a0fe-2ea738f0d019/images/capi-ubun2-2404/versions/{semver}";
pub(crate) const CLIENT_ID: &str = "7a4b9c7d-2e8f-4a3b-9c4d-7e8f9a0b1c2d";

/// F with a test's changes, and what is remembered of it.
#[derive(Debug, Clone)]
pub(crate) struct Demo {
    pub(crate) inputs: Inputs,
    pub(crate) variables: UserVariables,
    pub(crate) ownership: BTreeMap<String, String>,
    pub(crate) installation: String,
    /// Name of the bootstrap data Secret.
    pub(crate) bootstrap_secret: String,
    pub(crate) record: Option<Record>,
    pub(crate) machines_off: bool,
    /// What Machines ask for.
    pub(crate) wish: Option<GroupWish>,
    pub(crate) now: i64,
}

pub(crate) fn demo() -> Demo {
    let captf_tags = strings([
        ("captf.io/cluster", "demo"),
        ("captf.io/namespace", "team-a"),
        ("captf.io/kind", "TerraformMachinePool"),
        ("captf.io/name", "workers"),
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
                name: "workers".to_owned(),
                namespace: "team-a".to_owned(),
            },
            captf_cluster_outputs: exports(),
            captf_tags,
            machinepool_name: "workers".to_owned(),
            replicas: 3,
            bootstrap_data: Secret::new(BOOTSTRAP.to_owned()),
            bootstrap_format: "cloud-config".to_owned(),
            failure_domains: Vec::new(),
            cluster_failure_domains: names(["1", "2", "3"]),
            kubernetes_version: Some("v1.34.1".to_owned()),
            node_labels: BTreeMap::new(),
            autoscaling: Autoscaling::OFF,
        },
        variables: json!({ "image_id": IMAGE })
            .as_object()
            .expect("an object")
            .clone(),
        ownership,
        installation: INSTALLATION.to_owned(),
        bootstrap_secret: "demo-bootstrap".to_owned(),
        record: None,
        machines_off: true,
        wish: None,
        now: 1_790_000_000,
    }
}

/// An ARM ID in the network's or the cluster's group.
pub(crate) fn arm_id(group: &str, rest: &str) -> String {
    format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/{group}/providers/{rest}")
}

pub(crate) fn subnet_id() -> String {
    arm_id(
        "network",
        "Microsoft.Network/virtualNetworks/hub/subnets/workers",
    )
}

pub(crate) fn identity_id() -> String {
    arm_id(
        RESOURCE_GROUP,
        "Microsoft.ManagedIdentity/userAssignedIdentities/captf-team-a-demo-2a8d5f7c-worker",
    )
}

pub(crate) fn security_group_id() -> String {
    arm_id(
        RESOURCE_GROUP,
        "Microsoft.Network/networkSecurityGroups/captf-team-a-demo-2a8d5f7c-worker-nsg",
    )
}

pub(crate) fn application_group_id() -> String {
    arm_id(
        RESOURCE_GROUP,
        "Microsoft.Network/applicationSecurityGroups/captf-team-a-demo-2a8d5f7c-worker-asg",
    )
}

pub(crate) fn exports() -> Value {
    json!({
        "schema": "captf.io/azure-cluster/v1",
        "tenant_id": "72f988bf-86f1-41af-91ab-2d7cd011db47",
        "subscription_id": SUBSCRIPTION,
        "region": "westeurope",
        "resource_group_name": RESOURCE_GROUP,
        "failure_domains": { "1": {}, "2": {}, "3": {} },
        "virtual_network": { "name": "hub", "resource_group_name": "network" },
        "subnet_id": arm_id("network", "Microsoft.Network/virtualNetworks/hub/subnets/control-plane"),
        "worker_subnet_id": subnet_id(),
        "admin_username": "captf",
        "admin_ssh_public_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFexample",
        "control_plane": { "identity_id": "/the/control/plane", "identity_client_id": "cp" },
        "worker": {
            "identity_id": identity_id(),
            "identity_client_id": CLIENT_ID,
            "network_security_group_id": security_group_id(),
            "application_security_group_id": application_group_id(),
        },
        "api": null,
        "cloud_provider_config": {
            "cloud": "AzurePublicCloud",
            "tenantId": "72f988bf-86f1-41af-91ab-2d7cd011db47",
            "subscriptionId": SUBSCRIPTION,
            "resourceGroup": RESOURCE_GROUP,
            "location": "westeurope",
            "vmType": "vmss",
            "vnetName": "hub",
            "vnetResourceGroup": "network",
            "subnetName": "workers",
            "securityGroupName": "captf-team-a-demo-2a8d5f7c-worker-nsg",
            "securityGroupResourceGroup": RESOURCE_GROUP,
            "loadBalancerSku": "Standard",
            "maximumLoadBalancerRuleCount": 250,
            "useManagedIdentityExtension": true,
            "useInstanceMetadata": true,
        },
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
            pool_name: "workers",
            machinepool_name: &self.inputs.machinepool_name,
            ownership: &self.ownership,
            installation: &self.installation,
            record: self.record.as_ref(),
            machines: match (self.machines_off, &self.wish) {
                (true, _) => Machines::Off,
                (false, None) => Machines::On,
                (false, Some(wish)) => Machines::Asking(wish),
            },
            now_epoch_seconds: self.now,
        }
    }

    pub(crate) fn desired(&self) -> Result<Desired, Vec<Refusal>> {
        Driver::Azure
            .desired(&self.inputs, &self.variables, &self.context())
            .map(|desired| match desired {
                driver::Desired::Azure(desired) => *desired,
                driver::Desired::Aws(_) => unreachable!("the driver is Azure's"),
            })
    }

    /// The desired state of good inputs.
    pub(crate) fn good(&self) -> Desired {
        self.desired().expect("the inputs are good")
    }

    /// Codes of the refusals of bad inputs.
    pub(crate) fn refused(&self) -> Vec<&'static str> {
        let refusals = self.refusals();
        refusals.into_iter().map(|refusal| refusal.code).collect()
    }

    pub(crate) fn refusals(&self) -> Vec<Refusal> {
        self.desired().expect_err("the inputs are bad")
    }

    /// Decoded custom data of good inputs.
    pub(crate) fn message(&self) -> String {
        let data = self.good().set.custom_data;
        let bytes = STANDARD.decode(data.base64.reveal()).expect("base64");
        String::from_utf8(bytes).expect("text")
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

    pub(crate) fn replicas(mut self, replicas: i64) -> Self {
        self.inputs.replicas = replicas;
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

    pub(crate) fn bootstrap(mut self, base64: &str) -> Self {
        self.inputs.bootstrap_data = Secret::new(base64.to_owned());
        self
    }

    pub(crate) fn ignition(mut self, base64: &str) -> Self {
        self.inputs.bootstrap_format = "ignition".to_owned();
        self.bootstrap(base64)
    }

    /// The driver's part of the record.
    pub(crate) fn remembered(&self) -> AzureRecord {
        match &self.record.as_ref().expect("a record was written").driver {
            DriverRecord::Azure(record) => record.clone(),
            DriverRecord::None | DriverRecord::Aws(_) => unreachable!("the driver has written"),
        }
    }
}
