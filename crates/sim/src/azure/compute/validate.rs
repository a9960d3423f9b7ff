//! What the body of a scale set may say (azure-machinepool.md, 14.2).

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use crate::azure::{
    protocol::{ArmError, duration, id},
    state::{Behaviour, Fabric, Subscription, Thing, region::region_key},
};

use super::{
    model::{Secrets, image_of},
    scale_set::texts,
};

/// Largest custom data, in base64 characters.
const MOST_CUSTOM_DATA: usize = 87_380;
const MOST_INSTANCES: u64 = 1000;
const MOST_IN_PLACEMENT_GROUP: u64 = 100;
const MOST_TAGS: usize = 50;
/// Kinds of OS disks.
const ACCOUNTS: [&str; 5] = [
    "Standard_LRS",
    "StandardSSD_LRS",
    "StandardSSD_ZRS",
    "Premium_LRS",
    "Premium_ZRS",
];

/// Checks a whole resource.
pub(crate) fn check(
    document: &Value,
    secrets: &Secrets,
    subscription: &Subscription,
    fabric: &Fabric,
) -> Result<(), ArmError> {
    check_place(document, fabric)?;
    check_tags(&document["tags"])?;
    check_size(document)?;
    check_identity(document, subscription)?;
    let properties = &document["properties"];
    let mode = properties["orchestrationMode"].as_str();
    if mode.is_some_and(|mode| !mode.eq_ignore_ascii_case("Uniform")) {
        let message = "Only the orchestration mode Uniform is simulated.";
        return Err(ArmError::invalid("orchestrationMode", message));
    }
    if properties["upgradePolicy"]["mode"].as_str().is_none() {
        return Err(missing("upgradePolicy.mode"));
    }
    let profile = &properties["virtualMachineProfile"];
    if !profile.is_object() {
        return Err(missing("virtualMachineProfile"));
    }
    check_os(profile, secrets)?;
    check_network(profile, subscription)?;
    check_storage(profile, fabric)?;
    check_priority(profile, &fabric.behaviour)
}

fn missing(parameter: &str) -> ArmError {
    let message = format!("Required parameter '{parameter}' is missing (null).");
    ArmError::invalid(parameter, message)
}

fn check_place(document: &Value, fabric: &Fabric) -> Result<(), ArmError> {
    let Some(location) = document["location"].as_str().filter(|l| !l.is_empty()) else {
        let message = "The location property is required for this definition.";
        return Err(ArmError::new(400, "LocationRequired", message));
    };
    let Some(region) = fabric.regions.get(&*region_key(location)) else {
        let message = format!(
            "The provided location '{location}' is not available for resource type \
             'Microsoft.Compute/virtualMachineScaleSets'."
        );
        return Err(ArmError::new(
            400,
            "LocationNotAvailableForResourceType",
            message,
        ));
    };
    let zones = &document["zones"];
    if !zones.is_null() && !zones.is_array() {
        return Err(ArmError::invalid("zones", "zones is a list of texts."));
    }
    for zone in texts(zones) {
        if !region.zones.contains_key(&zone) {
            let message = format!("The zone '{zone}' is not supported in location '{location}'.");
            return Err(ArmError::invalid("zones", message));
        }
    }
    Ok(())
}

/// Checks tags: how many, their names, their values.
pub(crate) fn check_tags(tags: &Value) -> Result<(), ArmError> {
    let Some(tags) = tags.as_object() else {
        return if tags.is_null() {
            Ok(())
        } else {
            Err(ArmError::new(400, "InvalidTags", "tags is an object."))
        };
    };
    if tags.len() > MOST_TAGS {
        let message = format!(
            "The resource has {} tags; at most 50 are allowed.",
            tags.len()
        );
        return Err(ArmError::new(400, "InvalidTagCount", message));
    }
    let mut seen = std::collections::BTreeSet::new();
    for (name, value) in tags {
        if name.is_empty() || name.chars().count() > 512 {
            let message = format!("The tag name '{name}' must have 1 to 512 characters.");
            return Err(ArmError::new(400, "InvalidTagNameLength", message));
        }
        if name.contains(['<', '>', '%', '&', '\\', '?', '/']) {
            let message = format!(
                "The tag names '{name}' have reserved characters '<,>,%,&,\\,?,/' or control \
                 characters."
            );
            return Err(ArmError::new(400, "InvalidTagNameCharacters", message));
        }
        if value.as_str().is_none_or(|v| v.chars().count() > 256) {
            let message =
                format!("The value of tag '{name}' is no text of at most 256 characters.");
            return Err(ArmError::new(400, "InvalidTagValueLength", message));
        }
        if !seen.insert(name.to_lowercase()) {
            let message = format!("The tag name '{name}' occurs twice; case is ignored.");
            return Err(ArmError::new(400, "InvalidTagNameDuplicate", message));
        }
    }
    Ok(())
}

fn check_size(document: &Value) -> Result<(), ArmError> {
    let sku = &document["sku"];
    let name = sku["name"].as_str().unwrap_or_default();
    if !name.starts_with("Standard_") && !name.starts_with("Basic_") {
        let message = format!("The value '{name}' provided for the VM size is not valid.");
        return Err(ArmError::invalid("sku.name", message));
    }
    let capacity = &sku["capacity"];
    let Some(size) = capacity.as_u64().or(capacity.is_null().then_some(0)) else {
        return Err(ArmError::invalid(
            "sku.capacity",
            "The capacity is a whole number.",
        ));
    };
    let zonal = document["zones"]
        .as_array()
        .is_some_and(|zones| !zones.is_empty());
    let single = document["properties"]["singlePlacementGroup"]
        .as_bool()
        .unwrap_or(!zonal);
    let most = if single {
        MOST_IN_PLACEMENT_GROUP
    } else {
        MOST_INSTANCES
    };
    if size > most {
        let message = format!("The capacity {size} is more than the {most} that are allowed.");
        return Err(ArmError::invalid("sku.capacity", message));
    }
    Ok(())
}

fn check_identity(document: &Value, subscription: &Subscription) -> Result<(), ArmError> {
    let named = document["identity"]["userAssignedIdentities"].as_object();
    for identity in named.into_iter().flat_map(|named| named.keys()) {
        let known = subscription.things.get(&id::key(identity));
        refer(
            identity,
            "Microsoft.ManagedIdentity/userAssignedIdentities",
            matches!(known, Some(Thing::Identity { .. })),
        )?;
    }
    Ok(())
}

/// Refuses a reference that is no id of its kind, or to nothing.
fn refer(reference: &str, kind: &str, found: bool) -> Result<(), ArmError> {
    let lower = id::key(reference);
    let well_formed = lower.starts_with("/subscriptions/")
        && lower.contains(&format!("/providers/{}/", id::key(kind)));
    if !well_formed {
        let message = format!("Property id '{reference}' is invalid. Expect the id of a {kind}.");
        return Err(ArmError::new(400, "LinkedInvalidPropertyId", message));
    }
    if !found {
        let message = format!(
            "Resource {reference} referenced by the scale set was not found. Please make sure that \
             the referenced resource exists, and that both resources are in the same region."
        );
        return Err(ArmError::new(400, "InvalidResourceReference", message));
    }
    Ok(())
}

fn check_os(profile: &Value, secrets: &Secrets) -> Result<(), ArmError> {
    let os = &profile["osProfile"];
    let prefix = os["computerNamePrefix"].as_str().unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if prefix.is_empty() || prefix.len() > 58 || !prefix.chars().all(plain) {
        let message = format!(
            "Linux host name prefix '{prefix}' must have 1 to 58 letters, digits or hyphens."
        );
        return Err(ArmError::invalid("computerNamePrefix", message));
    }
    if os["adminUsername"].as_str().is_none_or(str::is_empty) {
        return Err(missing("osProfile.adminUsername"));
    }
    let linux = &os["linuxConfiguration"];
    let keys = linux["ssh"]["publicKeys"].as_array();
    if linux["disablePasswordAuthentication"] == true && keys.is_none_or(Vec::is_empty) {
        let message = "Authentication using SSH is enabled, but no SSH public key is given.";
        return Err(ArmError::invalid(
            "linuxConfiguration.ssh.publicKeys",
            message,
        ));
    }
    for (property, data) in [
        ("customData", &secrets.custom_data),
        ("userData", &secrets.user_data),
    ] {
        let Some(data) = data else { continue };
        if data.0.len() > MOST_CUSTOM_DATA {
            let message = format!(
                "Custom data in OSProfile must be in Base64 encoding and with a maximum length of \
                 {MOST_CUSTOM_DATA} characters; it has {}.",
                data.0.len()
            );
            return Err(ArmError::invalid(property, message));
        }
        if STANDARD.decode(&data.0).is_err() {
            let message = format!("{property} must be in Base64 encoding.");
            return Err(ArmError::invalid(property, message));
        }
    }
    Ok(())
}

fn check_network(profile: &Value, subscription: &Subscription) -> Result<(), ArmError> {
    let interfaces = profile["networkProfile"]["networkInterfaceConfigurations"]
        .as_array()
        .filter(|list| !list.is_empty())
        .ok_or_else(|| missing("networkProfile.networkInterfaceConfigurations"))?;
    let primary = interfaces
        .iter()
        .filter(|interface| interface["properties"]["primary"] == true);
    if interfaces.len() > 1 && primary.count() != 1 {
        let message = "Exactly one network interface is the primary one.";
        return Err(ArmError::invalid("networkInterfaceConfigurations", message));
    }
    let known = |reference: &str| subscription.things.get(&id::key(reference));
    for interface in interfaces {
        let properties = &interface["properties"];
        if let Some(group) = properties["networkSecurityGroup"]["id"].as_str() {
            let found = matches!(known(group), Some(Thing::NetworkSecurityGroup));
            refer(group, "Microsoft.Network/networkSecurityGroups", found)?;
        }
        let addresses = properties["ipConfigurations"].as_array();
        let addresses = addresses
            .filter(|list| !list.is_empty())
            .ok_or_else(|| missing("ipConfigurations"))?;
        for address in addresses {
            let properties = &address["properties"];
            let subnet = properties["subnet"]["id"]
                .as_str()
                .ok_or_else(|| missing("ipConfigurations.subnet"))?;
            let found = matches!(known(subnet), Some(Thing::Subnet(_)));
            refer(subnet, "Microsoft.Network/virtualNetworks", found)?;
            let groups = properties["applicationSecurityGroups"].as_array();
            for group in groups.into_iter().flatten() {
                let group = group["id"].as_str().unwrap_or_default();
                let found = matches!(known(group), Some(Thing::ApplicationSecurityGroup));
                refer(group, "Microsoft.Network/applicationSecurityGroups", found)?;
            }
        }
    }
    Ok(())
}

fn check_storage(profile: &Value, fabric: &Fabric) -> Result<(), ArmError> {
    let storage = &profile["storageProfile"];
    let reference = &storage["imageReference"];
    if !reference.is_object() {
        return Err(missing("storageProfile.imageReference"));
    }
    let kinds = [
        "id",
        "communityGalleryImageId",
        "sharedGalleryImageId",
        "publisher",
    ];
    let given = kinds.iter().filter(|kind| !reference[**kind].is_null());
    if given.count() != 1 {
        let message = "The image reference must have exactly one kind of image.";
        return Err(ArmError::invalid("imageReference", message));
    }
    if let Some(image) = image_of(reference)
        && fabric.images.find(image).is_none()
    {
        let code = if reference["id"].is_null() || id::part(image, "galleries").is_some() {
            "GalleryImageNotFound"
        } else {
            "ImageNotFound"
        };
        let message = format!("The image '{image}' was not found.");
        return Err(ArmError::new(400, code, message).at("imageReference"));
    }
    let disk = &storage["osDisk"]["diskSizeGB"];
    if !disk.is_null() && !disk.as_u64().is_some_and(|size| (1..=4095).contains(&size)) {
        let message = format!("The value '{disk}' of disk size is out of range: 1 to 4095 GB.");
        return Err(ArmError::invalid("osDisk.diskSizeGB", message));
    }
    let account = storage["osDisk"]["managedDisk"]["storageAccountType"].as_str();
    if let Some(account) = account.filter(|account| !ACCOUNTS.contains(account)) {
        let message = format!("The storage account type '{account}' is not one of an OS disk.");
        return Err(ArmError::invalid("managedDisk.storageAccountType", message));
    }
    Ok(())
}

fn check_priority(profile: &Value, behaviour: &Behaviour) -> Result<(), ArmError> {
    let priority = profile["priority"].as_str().unwrap_or("Regular");
    let spot = match priority.to_ascii_lowercase().as_str() {
        "regular" => false,
        "spot" | "low" => true,
        _ => {
            let message = format!("The value '{priority}' of parameter 'priority' is invalid.");
            return Err(ArmError::invalid("priority", message));
        }
    };
    let spot_only = !profile["evictionPolicy"].is_null() || !profile["billingProfile"].is_null();
    if !spot && spot_only {
        let code = "EvictionPolicyCanBeSetOnlyOnAzureSpotVirtualMachines";
        let message = "Eviction policy can be set only on Azure Spot Virtual Machines.";
        return Err(ArmError::new(400, code, message));
    }
    let price = &profile["billingProfile"]["maxPrice"];
    if price
        .as_f64()
        .is_some_and(|price| price <= 0.0 && (price + 1.0).abs() > f64::EPSILON)
    {
        let message = "The maximum price is -1, or more than 0.";
        return Err(ArmError::new(400, "MaxPriceValueInvalid", message));
    }
    let notification = &profile["scheduledEventsProfile"]["terminateNotificationProfile"];
    if notification["enable"] != true {
        return Ok(());
    }
    let target = "scheduledEventsProfile.terminateNotificationProfile";
    if spot && behaviour.reject_spot_terminate_notification {
        let message = format!("{target} is not supported for Spot virtual machines.");
        return Err(ArmError::invalid(target, message));
    }
    let delay = notification["notBeforeTimeout"].as_str().unwrap_or("PT5M");
    let minutes = duration::read(delay).map(|delay| delay.as_secs() / 60);
    if !minutes.is_some_and(|minutes| (5..=15).contains(&minutes)) {
        let message = format!("notBeforeTimeout '{delay}' is not between PT5M and PT15M.");
        return Err(ArmError::invalid(target, message));
    }
    Ok(())
}
