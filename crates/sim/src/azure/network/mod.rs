//! Network: the interfaces of instances, and the addresses of subnets.

use serde_json::{Value, json};

use super::{
    compute::{Instance, ScaleSet, instance::instance_id},
    protocol::{Answer, ArmError, id},
    service::ArmRequest,
    state::{Thing, View},
};

/// `GET` of the interfaces of a set.
pub(crate) fn list_of_set(view: View<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let set = view
        .subscription
        .scale_set(request.group(), request.name())?;
    let rows: Vec<Value> = set
        .instances
        .values()
        .filter_map(|instance| interface(view, set, instance))
        .collect();
    Ok(Answer::ok(request.page(view).of(rows, |row| row)))
}

/// `GET` of the interfaces of an instance.
pub(crate) fn list_of_instance(view: View<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let (set, instance) = super::compute::find(view, request)?;
    let rows: Vec<Value> = interface(view, set, instance).into_iter().collect();
    Ok(Answer::ok(request.page(view).of(rows, |row| row)))
}

/// The interface of an instance; `None` while it has none.
fn interface(view: View<'_>, set: &ScaleSet, instance: &Instance) -> Option<Value> {
    if !instance.shows_interface(view.fabric.behaviour.nic_leaves_first) {
        return None;
    }
    let model = set.model_of(instance);
    let configured = model.interface()?;
    let vm = instance_id(&set.id(&view.subscription.id), instance.number);
    let name = configured["name"].as_str().unwrap_or("primary");
    let id = format!("{vm}/networkInterfaces/{name}");
    let mut addresses = Vec::new();
    let wanted = configured["properties"]["ipConfigurations"].as_array();
    for (number, wanted) in wanted.into_iter().flatten().enumerate() {
        let mut properties = wanted["properties"].clone();
        properties["privateIPAllocationMethod"] = "Dynamic".into();
        properties["provisioningState"] = "Succeeded".into();
        if number == 0 {
            properties["primary"] = true.into();
            properties["privateIPAddress"] = instance.address?.to_string().into();
        }
        let name = wanted["name"].as_str().unwrap_or("primary");
        addresses.push(json!({
            "name": name, "id": format!("{id}/ipConfigurations/{name}"), "properties": properties,
        }));
    }
    let properties = &configured["properties"];
    Some(json!({
        "name": name,
        "id": id,
        "properties": {
            "provisioningState": "Succeeded",
            "primary": properties["primary"].as_bool().unwrap_or(true),
            "enableAcceleratedNetworking": properties["enableAcceleratedNetworking"] == true,
            "enableIPForwarding": properties["enableIPForwarding"] == true,
            "networkSecurityGroup": properties["networkSecurityGroup"],
            "virtualMachine": { "id": vm },
            "ipConfigurations": addresses,
        },
    }))
}

/// `GET` of how many addresses of a network's subnets are used.
pub(crate) fn usages(view: View<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let network = format!(
        "/subscriptions/{}/resourceGroups/{}/providers/Microsoft.Network/virtualNetworks/{}",
        view.subscription.id,
        request.group(),
        request.name()
    );
    let prefix = format!("{}/subnets/", id::key(&network));
    let things = view.subscription.things.iter();
    let rows: Vec<Value> = things
        .filter_map(|(key, thing)| match thing {
            Thing::Subnet(addresses) if key.starts_with(&prefix) => Some(json!({
                "currentValue": addresses.capacity() - addresses.free(),
                "id": format!("{network}/subnets/{}", &key[prefix.len()..]),
                "limit": addresses.capacity(),
                "name": { "localizedValue": "Subnet size and usage", "value": "SubnetSpace" },
                "unit": "Count",
            })),
            _ => None,
        })
        .collect();
    if rows.is_empty() {
        let name = request.name();
        let message = format!(
            "The Resource 'Microsoft.Network/virtualNetworks/{name}' under resource group '{}' was \
             not found.",
            request.group()
        );
        return Err(ArmError::new(404, "ResourceNotFound", message));
    }
    Ok(Answer::ok(request.page(view).of(rows, |row| row)))
}
