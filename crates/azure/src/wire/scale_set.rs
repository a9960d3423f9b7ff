//! Bodies of scale set requests (Azure document 4.2, 4.3).

use remuda_plan::azure::{
    action::SetPatch,
    desired::{CustomData, Model, Network, OsDisk, SetSpec},
    image::ImageReference,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

pub(crate) use super::scale_set_read::{RawSet, read};

/// The NIC configuration and its IP configuration (Azure document 3.1).
pub(super) const NIC: &str = "primary";

/// How long an instance is told before it goes (Azure document 4.2).
pub(super) const TERMINATE_NOTICE: &str = "PT5M";

/// The whole set, for its `PUT`.
pub(crate) fn create(spec: &SetSpec, capacity: i64, region: &str) -> Value {
    let model = &spec.model;
    let mut profile = json!({
        "priority": if model.spot { "Spot" } else { "Regular" },
        "osProfile": {
            "computerNamePrefix": spec.name,
            "adminUsername": model.admin_username,
            "customData": spec.custom_data.base64.reveal(),
            "allowExtensionOperations": false,
            "secrets": [],
            "linuxConfiguration": linux(&model.admin_username, &model.ssh_public_keys),
        },
        "diagnosticsProfile": diagnostics(model.boot_diagnostics),
        "networkProfile": network(&model.network),
        "storageProfile": {
            "imageReference": image(&model.image),
            "osDisk": os_disk(&model.os_disk),
            "dataDisks": [],
        },
        "scheduledEventsProfile": scheduled_events(),
        "extensionProfile": { "extensionsTimeBudget": "PT1H30M" },
    });
    if model.spot {
        profile["evictionPolicy"] = json!("Delete");
        profile["billingProfile"] = json!({ "maxPrice": -1 });
    }
    if let Some(security) = security(model) {
        profile["securityProfile"] = security;
    }
    let mut body = json!({
        "location": region,
        "sku": sku(&model.vm_size, capacity),
        "identity": identity(&model.identity_ids, &[]),
        "tags": spec.tags,
        "properties": {
            "orchestrationMode": "Uniform",
            "overprovision": false,
            "singlePlacementGroup": false,
            "zoneBalance": false,
            "doNotRunExtensionsOnOverprovisionedVMs": false,
            "upgradePolicy": { "mode": "Manual" },
            "virtualMachineProfile": profile,
        },
    });
    if !spec.zones.is_empty() {
        body["zones"] = json!(spec.zones);
    }
    body
}

/// What changes, for a `PATCH`: never `zones`, and `sku` only where the patch says so.
pub(crate) fn patch(patch: &SetPatch) -> Value {
    let mut os_profile = Map::new();
    if let Some(CustomData { base64, .. }) = &patch.custom_data {
        os_profile.insert("customData".to_owned(), json!(base64.reveal()));
    }
    if let Some(ssh) = &patch.ssh {
        let keys = [ssh.public_key.clone()];
        os_profile.insert(
            "linuxConfiguration".to_owned(),
            linux(&ssh.admin_username, &keys),
        );
    }
    let mut storage = json!({ "imageReference": image(&patch.image) });
    if let Some(disk) = &patch.os_disk {
        storage["osDisk"] = os_disk(disk);
    }
    if patch.os_disk.is_some() || patch.constants {
        storage["dataDisks"] = json!([]);
    }
    let mut profile = json!({ "storageProfile": storage });
    if let Some(wanted) = &patch.network {
        profile["networkProfile"] = network(wanted);
    }
    if let Some(enabled) = patch.boot_diagnostics {
        profile["diagnosticsProfile"] = diagnostics(enabled);
    }
    if let Some(enabled) = patch.encryption_at_host {
        profile["securityProfile"] = json!({ "encryptionAtHost": enabled });
    }
    let mut properties = json!({ "upgradePolicy": { "mode": "Manual" } });
    if patch.constants {
        restore_constants(&mut properties, &mut profile);
    }
    if !os_profile.is_empty() {
        profile["osProfile"] = Value::Object(os_profile);
    }
    properties["virtualMachineProfile"] = profile;
    let mut body = json!({ "properties": properties });
    if let Some(wanted) = &patch.sku {
        body["sku"] = sku(&wanted.vm_size, wanted.capacity);
    }
    if let Some(tags) = &patch.tags {
        body["tags"] = json!(tags);
    }
    if let Some(id) = &patch.identity_id {
        body["identity"] = identity([id], &patch.removed_identity_ids);
    }
    body
}

/// Takes the capacity to 0.
pub(crate) fn empty(vm_size: &str) -> Value {
    resize(vm_size, 0)
}

/// The body of a `PATCH` of the count alone.
pub(crate) fn resize(vm_size: &str, capacity: i64) -> Value {
    json!({ "sku": sku(vm_size, capacity) })
}

/// What the document fixes for every pool, ARM lets change, and somebody changed.
fn restore_constants(properties: &mut Value, profile: &mut Value) {
    properties["overprovision"] = json!(false);
    properties["singlePlacementGroup"] = json!(false);
    properties["doNotRunExtensionsOnOverprovisionedVMs"] = json!(false);
    profile["scheduledEventsProfile"] = scheduled_events();
    profile["extensionProfile"] = json!({ "extensions": [] });
}

fn sku(vm_size: &str, capacity: i64) -> Value {
    json!({ "name": vm_size, "tier": "Standard", "capacity": capacity })
}

/// Exactly the wanted identities; ARM keeps those that a body does not name.
fn identity<'a>(wanted: impl IntoIterator<Item = &'a String>, removed: &[String]) -> Value {
    let mut ids: Map<String, Value> = removed.iter().map(|id| (id.clone(), Value::Null)).collect();
    ids.extend(wanted.into_iter().map(|id| (id.clone(), json!({}))));
    json!({ "type": "UserAssigned", "userAssignedIdentities": ids })
}

fn linux<'a>(admin: &str, keys: impl IntoIterator<Item = &'a String>) -> Value {
    let path = format!("/home/{admin}/.ssh/authorized_keys");
    let keys: Vec<Value> = keys
        .into_iter()
        .map(|key| json!({ "path": path, "keyData": key }))
        .collect();
    json!({
        "disablePasswordAuthentication": true,
        "provisionVMAgent": true,
        "ssh": { "publicKeys": keys },
    })
}

fn diagnostics(enabled: bool) -> Value {
    json!({ "bootDiagnostics": { "enabled": enabled } })
}

fn network(network: &Network) -> Value {
    let groups: Vec<Value> = network
        .application_security_group_ids
        .iter()
        .map(reference)
        .collect();
    let mut properties = json!({
        "primary": true,
        "enableAcceleratedNetworking": network.accelerated_networking,
        "enableIPForwarding": network.ip_forwarding,
        "dnsSettings": { "dnsServers": [] },
        "ipConfigurations": [{
            "name": NIC,
            "properties": {
                "primary": true,
                "privateIPAddressVersion": "IPv4",
                "subnet": reference(&network.subnet_id),
                "applicationSecurityGroups": groups,
            },
        }],
    });
    if let Some(id) = &network.network_security_group_id {
        properties["networkSecurityGroup"] = reference(id);
    }
    json!({ "networkInterfaceConfigurations": [{ "name": NIC, "properties": properties }] })
}

fn reference(id: impl Serialize) -> Value {
    json!({ "id": id })
}

fn image(image: &ImageReference) -> Value {
    match image {
        ImageReference::Community(id) => json!({ "communityGalleryImageId": id }),
        ImageReference::Shared(id) => json!({ "sharedGalleryImageId": id }),
        // What was only observed is never wanted; sent back as it is, it changes nothing.
        ImageReference::Id(id) | ImageReference::Other(id) => json!({ "id": id }),
    }
}

fn os_disk(disk: &OsDisk) -> Value {
    json!({
        "createOption": "FromImage",
        "caching": "ReadWrite",
        "osType": "Linux",
        "diskSizeGB": disk.size_gib,
        "managedDisk": { "storageAccountType": disk.storage_account_type },
        "writeAcceleratorEnabled": false,
    })
}

fn scheduled_events() -> Value {
    json!({ "terminateNotificationProfile": {
        "enable": true,
        "notBeforeTimeout": TERMINATE_NOTICE,
    }})
}

/// Left out when nothing in it is set.
fn security(model: &Model) -> Option<Value> {
    let mut block = Map::new();
    if model.encryption_at_host {
        block.insert("encryptionAtHost".to_owned(), json!(true));
    }
    if model.trusted_launch {
        block.insert("securityType".to_owned(), json!("TrustedLaunch"));
        block.insert(
            "uefiSettings".to_owned(),
            json!({ "secureBootEnabled": true, "vTpmEnabled": true }),
        );
    }
    (!block.is_empty()).then_some(Value::Object(block))
}
