//! A scale set as ARM shows it, read back into the plan's shape.
//!
//! The set is walked as JSON: nearly everything may be missing, and missing means ARM's default.

use std::collections::BTreeMap;

use remuda_plan::azure::{
    desired::{Model, Network, OsDisk},
    image::ImageReference,
    observed::{ProvisioningState, ScaleSet},
};
use serde::Deserialize;
use serde_json::Value;

use super::{
    address,
    scale_set::{NIC, TERMINATE_NOTICE},
};

/// A set of a list or of its own `GET`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RawSet {
    #[serde(default)]
    id: String,
    name: Option<String>,
    #[serde(default)]
    location: String,
    zones: Option<Vec<String>>,
    tags: Option<BTreeMap<String, String>>,
    #[serde(default)]
    sku: Value,
    #[serde(default)]
    identity: Value,
    #[serde(default)]
    properties: Value,
}

/// The set in the plan's shape; its name is the last part of its id where it has none of its own.
pub(crate) fn read(raw: RawSet) -> ScaleSet {
    let name = raw
        .name
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| address::name_of(&raw.id).to_owned());
    let properties = &raw.properties;
    ScaleSet {
        state: state(text(properties, "/provisioningState")),
        capacity: raw
            .sku
            .pointer("/capacity")
            .and_then(Value::as_i64)
            .unwrap_or_default(),
        zones: raw.zones.unwrap_or_default().into_iter().collect(),
        tags: raw.tags.unwrap_or_default(),
        model: model(&raw.sku, &raw.identity, properties),
        foreign_fields: foreign_fields(properties),
        location: raw.location,
        name,
    }
}

/// States are written in any case (Azure document 4.6).
fn state(text: &str) -> ProvisioningState {
    match text.to_lowercase().as_str() {
        "succeeded" => ProvisioningState::Succeeded,
        "failed" => ProvisioningState::Failed,
        "canceled" | "cancelled" => ProvisioningState::Canceled,
        "deleting" => ProvisioningState::Deleting,
        _ => ProvisioningState::Running,
    }
}

fn model(sku: &Value, identity: &Value, properties: &Value) -> Model {
    let profile = properties
        .pointer("/virtualMachineProfile")
        .unwrap_or(&Value::Null);
    let identity_ids = identity
        .pointer("/userAssignedIdentities")
        .and_then(Value::as_object)
        .map(|ids| ids.keys().cloned().collect())
        .unwrap_or_default();
    let ssh_public_keys = list(profile, "/osProfile/linuxConfiguration/ssh/publicKeys")
        .filter_map(|key| key.pointer("/keyData")?.as_str())
        .map(ToOwned::to_owned)
        .collect();
    Model {
        vm_size: text(sku, "/name").to_owned(),
        identity_ids,
        admin_username: text(profile, "/osProfile/adminUsername").to_owned(),
        ssh_public_keys,
        boot_diagnostics: flag(profile, "/diagnosticsProfile/bootDiagnostics/enabled"),
        network: network(profile),
        image: image(profile.pointer("/storageProfile/imageReference")),
        os_disk: OsDisk {
            size_gib: profile
                .pointer("/storageProfile/osDisk/diskSizeGB")
                .and_then(Value::as_i64)
                .unwrap_or_default(),
            storage_account_type: text(
                profile,
                "/storageProfile/osDisk/managedDisk/storageAccountType",
            )
            .to_owned(),
        },
        encryption_at_host: flag(profile, "/securityProfile/encryptionAtHost"),
        trusted_launch: text(profile, "/securityProfile/securityType") == "TrustedLaunch",
        spot: text(profile, "/priority") == "Spot",
    }
}

/// The one NIC configuration with its one IP configuration. Where there are others, or load
/// balancers hang on it, the network is not ours: it has no subnet then, which no wish equals.
fn network(profile: &Value) -> Network {
    let configurations: Vec<&Value> =
        list(profile, "/networkProfile/networkInterfaceConfigurations").collect();
    let nic = configurations
        .first()
        .and_then(|nic| nic.pointer("/properties"))
        .unwrap_or(&Value::Null);
    let addresses: Vec<&Value> = list(nic, "/ipConfigurations").collect();
    let address = addresses
        .first()
        .and_then(|address| address.pointer("/properties"))
        .unwrap_or(&Value::Null);
    let is_named = |part: Option<&&Value>| part.is_some_and(|part| text(part, "/name") == NIC);
    let is_ours = configurations.len() == 1
        && addresses.len() == 1
        && is_named(configurations.first())
        && is_named(addresses.first())
        && [
            "/loadBalancerBackendAddressPools",
            "/loadBalancerInboundNatPools",
            "/applicationGatewayBackendAddressPools",
        ]
        .iter()
        .all(|pools| list(address, pools).next().is_none());
    let subnet_id = if is_ours {
        text(address, "/subnet/id")
    } else {
        ""
    };
    Network {
        subnet_id: subnet_id.to_owned(),
        network_security_group_id: nic
            .pointer("/networkSecurityGroup/id")
            .and_then(Value::as_str)
            .map(ToOwned::to_owned),
        application_security_group_ids: list(address, "/applicationSecurityGroups")
            .filter_map(|group| group.pointer("/id")?.as_str())
            .map(ToOwned::to_owned)
            .collect(),
        accelerated_networking: flag(nic, "/enableAcceleratedNetworking"),
        ip_forwarding: flag(nic, "/enableIPForwarding"),
    }
}

/// ARM adds `exactVersion` and the like; what matters is which property carries the image.
fn image(reference: Option<&Value>) -> ImageReference {
    let Some(reference) = reference else {
        return ImageReference::Other(String::new());
    };
    let of = |property: &str| text(reference, property).to_owned();
    if !of("/communityGalleryImageId").is_empty() {
        ImageReference::Community(of("/communityGalleryImageId"))
    } else if !of("/sharedGalleryImageId").is_empty() {
        ImageReference::Shared(of("/sharedGalleryImageId"))
    } else if !of("/id").is_empty() {
        ImageReference::Id(of("/id"))
    } else {
        let parts = ["/publisher", "/offer", "/sku", "/version"].map(of);
        ImageReference::Other(parts.join(":"))
    }
}

/// What the document fixes for every pool and a `PATCH` can put right, where it differs.
fn foreign_fields(properties: &Value) -> Vec<String> {
    let profile = properties
        .pointer("/virtualMachineProfile")
        .unwrap_or(&Value::Null);
    let notice = profile
        .pointer("/scheduledEventsProfile/terminateNotificationProfile")
        .unwrap_or(&Value::Null);
    let mode = text(properties, "/upgradePolicy/mode");
    let rules = [
        ("upgradePolicy.mode", !mode.eq_ignore_ascii_case("Manual")),
        ("overprovision", flag(properties, "/overprovision")),
        (
            "singlePlacementGroup",
            flag(properties, "/singlePlacementGroup"),
        ),
        (
            "doNotRunExtensionsOnOverprovisionedVMs",
            flag(properties, "/doNotRunExtensionsOnOverprovisionedVMs"),
        ),
        (
            "scheduledEventsProfile",
            !flag(notice, "/enable") || text(notice, "/notBeforeTimeout") != TERMINATE_NOTICE,
        ),
        (
            "extensionProfile.extensions",
            list(profile, "/extensionProfile/extensions")
                .next()
                .is_some(),
        ),
        (
            "storageProfile.dataDisks",
            list(profile, "/storageProfile/dataDisks").next().is_some(),
        ),
    ];
    rules
        .into_iter()
        .filter(|(_, differs)| *differs)
        .map(|(name, _)| name.to_owned())
        .collect()
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn flag(value: &Value, pointer: &str) -> bool {
    value
        .pointer(pointer)
        .and_then(Value::as_bool)
        .unwrap_or_default()
}

fn list<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}
