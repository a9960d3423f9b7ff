//! F, the reference pool of the Azure document (13.1), as contract inputs.

use std::collections::BTreeMap;

use remuda_plan::machines::group::GroupWish;
use remuda_plan::pool::{
    inputs::{Autoscaling, Inputs, NamespacedName, ObjectRef, UserVariables},
    outputs::Outputs,
    record::{AzureRecord, DriverRecord, Record},
    secret::Secret,
};
use remuda_sim::azure::{
    DEMO_GALLERY, DEMO_GROUP, DEMO_REGION, DEMO_SUBSCRIPTION, DEMO_TENANT, DEMO_WORKER_CLIENT_ID,
    DEMO_WORKER_IDENTITY, DEMO_WORKER_SUBNET,
};
use serde_json::{Map, Value, json};

/// The set of F.
pub const SET: &str = "workers-7d91b187";
/// The set of F at version `v1.34.2`.
pub const NEXT_SET: &str = "workers-64df8f7b";
/// The pool's provider id.
pub const PID: &str = "azure:///subscriptions/6f1c1e1a-3b7e-4a3c-9a39-5d2f1c0b8e11/resourceGroups/captf-team-a-demo-2a8d5f7c/providers/Microsoft.Compute/virtualMachineScaleSets/workers-7d91b187";
/// Bootstrap data of F.
pub const BOOTSTRAP: &str =
    "IyMgdGVtcGxhdGU6IGppbmphCiNjbG91ZC1jb25maWcKcnVuY21kOiBbZWNobyBoZWxsb10K";
/// Bootstrap data after a rotation.
pub const ROTATED: &str = "I2Nsb3VkLWNvbmZpZwpydW5jbWQ6IFtlY2hvIHJvdGF0ZWRdCg==";
/// Installation id of F's record.
pub const INSTALLATION: &str = "0b9f3a52-6d0f-4a3c-9d3e-0c9d5c9a7a11";

fn network_resource(kind: &str, suffix: &str) -> String {
    format!(
        "/subscriptions/{DEMO_SUBSCRIPTION}/resourceGroups/{DEMO_GROUP}/providers/\
         Microsoft.Network/{kind}/{DEMO_GROUP}-worker-{suffix}"
    )
}

/// The exports of the cluster role.
pub fn exports() -> Value {
    json!({
        "schema": "captf.io/azure-cluster/v1",
        "tenant_id": DEMO_TENANT,
        "subscription_id": DEMO_SUBSCRIPTION,
        "region": DEMO_REGION,
        "resource_group_name": DEMO_GROUP,
        "failure_domains": { "1": {}, "2": {}, "3": {} },
        "worker_subnet_id": DEMO_WORKER_SUBNET,
        "admin_username": "captf",
        "admin_ssh_public_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0demo0demo0demo0demo0demo0demo0demo0demo demo",
        "worker": {
            "identity_id": DEMO_WORKER_IDENTITY,
            "identity_client_id": DEMO_WORKER_CLIENT_ID,
            "network_security_group_id": network_resource("networkSecurityGroups", "nsg"),
            "application_security_group_id": network_resource("applicationSecurityGroups", "asg"),
        },
        "api": null,
        "cloud_provider_config": {
            "cloud": "AzurePublicCloud",
            "tenantId": DEMO_TENANT,
            "subscriptionId": DEMO_SUBSCRIPTION,
            "resourceGroup": DEMO_GROUP,
            "location": DEMO_REGION,
            "vmType": "vmss",
            "vnetName": "hub",
            "vnetResourceGroup": "network",
            "subnetName": "workers",
            "securityGroupName": format!("{DEMO_GROUP}-worker-nsg"),
            "securityGroupResourceGroup": DEMO_GROUP,
            "loadBalancerSku": "Standard",
            "maximumLoadBalancerRuleCount": 250,
            "useManagedIdentityExtension": true,
            "useInstanceMetadata": true,
        },
    })
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
    /// What was last published.
    pub published: Option<Outputs>,
    /// What its Machines ask for, where it has any.
    pub wish: Option<GroupWish>,
}

impl Pool {
    /// F.
    pub fn demo() -> Self {
        Self::named("workers")
    }

    /// F under another name.
    pub fn named(name: &str) -> Self {
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
            captf_cluster_outputs: exports(),
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
            bootstrap_data: Secret::new(BOOTSTRAP.to_owned()),
            bootstrap_format: "cloud-config".to_owned(),
            failure_domains: Vec::new(),
            cluster_failure_domains: ["1", "2", "3"].map(str::to_owned).into(),
            kubernetes_version: Some("v1.34.1".to_owned()),
            node_labels: BTreeMap::new(),
            autoscaling: Autoscaling::OFF,
        };
        let mut pool = Self {
            inputs,
            variables: Map::new(),
            record: None,
            published: None,
            wish: None,
        };
        pool.set(
            "image_id",
            json!(format!("{DEMO_GALLERY}/versions/{{semver}}")),
        );
        pool
    }

    /// Sets a user variable.
    pub fn set(&mut self, name: &str, value: Value) {
        self.variables.insert(name.to_owned(), value);
    }

    /// Sets the bootstrap data, base64.
    pub fn bootstrap(&mut self, base64: &str) {
        self.inputs.bootstrap_data = Secret::new(base64.to_owned());
    }

    /// Sets the version.
    pub fn version(&mut self, version: &str) {
        self.inputs.kubernetes_version = Some(version.to_owned());
    }

    /// Turns autoscaling on.
    pub fn autoscale(&mut self, min: i64, max: i64) {
        self.inputs.autoscaling = Autoscaling {
            enabled: true,
            min,
            max,
        };
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
    pub fn remembered(&self) -> &AzureRecord {
        match self.record.as_ref().map(|record| &record.driver) {
            Some(DriverRecord::Azure(record)) => record,
            other => panic!("the pool has no Azure record: {other:?}"),
        }
    }

    /// What was last published.
    pub fn outputs(&self) -> &Outputs {
        self.published.as_ref().expect("something was published")
    }
}
