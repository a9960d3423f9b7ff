//! Reading instances.

use serde_json::{Value, json};

use super::{Instance, Provisioning, ScaleSet, instance::instance_id};
use crate::{
    azure::{
        protocol::{Answer, ArmError, id},
        service::ArmRequest,
        state::View,
    },
    clock::iso,
};

/// `GET` of the instances of a set.
pub(crate) fn list_instances(view: View<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let set = view
        .subscription
        .scale_set(request.group(), request.name())?;
    let expand = expands(request);
    let now = iso(view.fabric.now);
    let page = request.page(view);
    let instances: Vec<&Instance> = set.instances.values().collect();
    let shown = page.of(instances, |instance| {
        render(view, set, instance, expand, &now)
    });
    Ok(Answer::ok(shown))
}

/// `GET` of an instance.
pub(crate) fn get_instance(view: View<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let (set, instance) = find(view, request)?;
    let now = iso(view.fabric.now);
    let shown = render(view, set, instance, expands(request), &now);
    Ok(Answer::ok(shown))
}

/// `GET` of an instance's view.
pub(crate) fn instance_view(view: View<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let (_, instance) = find(view, request)?;
    Ok(Answer::ok(view_of(instance, &iso(view.fabric.now))))
}

/// The instance a request is about.
pub(crate) fn find<'a>(
    view: View<'a>,
    request: &ArmRequest,
) -> Result<(&'a ScaleSet, &'a Instance), ArmError> {
    let set = view
        .subscription
        .scale_set(request.group(), request.name())?;
    let number: Option<u32> = request.instance().parse().ok();
    let instance = number.and_then(|number| set.instances.get(&number));
    instance.map(|instance| (set, instance)).ok_or_else(|| {
        let message = format!(
            "The entity was not found in this Azure location: instance '{}' of '{}'.",
            request.instance(),
            set.name
        );
        ArmError::new(404, "NotFound", message)
    })
}

fn expands(request: &ArmRequest) -> bool {
    request
        .query("$expand")
        .is_some_and(|expand| expand.eq_ignore_ascii_case("instanceView"))
}

fn render(view: View<'_>, set: &ScaleSet, instance: &Instance, expand: bool, now: &str) -> Value {
    let subscription = &view.subscription.id;
    let vm = instance_id(&set.id(subscription), instance.number);
    let model = set.model_of(instance);
    let mut os = model.profile["osProfile"].clone();
    if let Some(os) = os.as_object_mut() {
        os.remove("computerNamePrefix");
        os.insert(
            "computerName".into(),
            instance.computer_name.as_str().into(),
        );
    }
    let mut storage = model.profile["storageProfile"].clone();
    let disk = format!("{}_{}_OsDisk_1", set.name, instance.number);
    storage["osDisk"]["name"] = disk.as_str().into();
    storage["osDisk"]["managedDisk"]["id"] =
        id::resource(subscription, &set.group, "Microsoft.Compute/disks", &disk).into();
    let nic = model
        .interface()
        .and_then(|interface| interface["name"].as_str())
        .unwrap_or_default();
    let mut shown = json!({
        "name": format!("{}_{}", set.name, instance.number),
        "id": vm,
        "type": "Microsoft.Compute/virtualMachineScaleSets/virtualMachines",
        "location": set.location(),
        "instanceId": instance.number.to_string(),
        "sku": { "name": model.size, "tier": "Standard" },
        "properties": {
            "latestModelApplied": instance.model == set.latest(),
            "modelDefinitionApplied": "VirtualMachineScaleSet",
            "vmId": instance.vm_id,
            "hardwareProfile": { "vmSize": model.size },
            "osProfile": os,
            "storageProfile": storage,
            "networkProfile": { "networkInterfaces": [
                { "id": format!("{vm}/networkInterfaces/{nic}") }
            ] },
            "networkProfileConfiguration": model.profile["networkProfile"],
            "provisioningState": instance.provisioning.name(),
            "timeCreated": iso(instance.created),
        },
    });
    for kept in ["diagnosticsProfile", "securityProfile"] {
        if !model.profile[kept].is_null() {
            shown["properties"][kept] = model.profile[kept].clone();
        }
    }
    if let Some(zone) = &instance.zone {
        shown["zones"] = json!([zone]);
    }
    if !set.document["tags"].is_null() {
        shown["tags"] = set.document["tags"].clone();
    }
    if expand {
        shown["properties"]["instanceView"] = view_of(instance, now);
    }
    shown
}

fn view_of(instance: &Instance, now: &str) -> Value {
    let mut shown = json!({
        "computerName": instance.computer_name,
        "platformUpdateDomain": instance.number % 5,
        "platformFaultDomain": instance.number % 5,
        "statuses": statuses(instance, now),
    });
    if instance.power.is_none() {
        shown["computerName"].take();
    }
    shown
}

/// The statuses of an instance: provisioning, and power once there is any.
pub(crate) fn statuses(instance: &Instance, now: &str) -> Vec<Value> {
    let state = instance.provisioning.name().to_ascii_lowercase();
    let level = if instance.provisioning == Provisioning::Failed {
        "Error"
    } else {
        "Info"
    };
    let mut statuses = vec![json!({
        "code": format!("ProvisioningState/{state}"),
        "level": level,
        "displayStatus": format!("Provisioning {state}"),
        "time": now,
    })];
    if let Some(power) = instance.power {
        statuses.push(json!({
            "code": format!("PowerState/{}", power.name()),
            "level": "Info",
            "displayStatus": format!("VM {}", power.name()),
        }));
    }
    statuses
}
