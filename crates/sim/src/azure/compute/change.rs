//! What of a scale set may change.

use serde_json::Value;

use super::scale_set::texts;
use crate::azure::protocol::ArmError;

/// Properties that never change, by path below the resource.
const FIXED: [&str; 9] = [
    "properties/orchestrationMode",
    "properties/virtualMachineProfile/priority",
    "properties/virtualMachineProfile/evictionPolicy",
    "properties/virtualMachineProfile/osProfile/computerNamePrefix",
    "properties/virtualMachineProfile/osProfile/adminUsername",
    "properties/virtualMachineProfile/securityProfile/securityType",
    "properties/virtualMachineProfile/storageProfile/osDisk/managedDisk/storageAccountType",
    "properties/virtualMachineProfile/storageProfile/osDisk/createOption",
    "properties/platformFaultDomainCount",
];

/// Refuses a change from `old` to `new` of what stays as it is.
pub(crate) fn check_change(old: &Value, new: &Value) -> Result<(), ArmError> {
    for path in FIXED {
        let pointer = format!("/{path}");
        let (before, after) = (old.pointer(&pointer), new.pointer(&pointer));
        if !same(before, after) {
            let property = path
                .trim_start_matches("properties/")
                .trim_start_matches("virtualMachineProfile/")
                .replace('/', ".");
            return Err(ArmError::immutable(&property));
        }
    }
    let single = |document: &Value| document["properties"]["singlePlacementGroup"].as_bool();
    if single(old) == Some(false) && single(new) == Some(true) {
        return Err(ArmError::immutable("singlePlacementGroup"));
    }
    let after = texts(&new["zones"]);
    let before = texts(&old["zones"]);
    let regional_becomes_zonal = before.is_empty() && !after.is_empty();
    if regional_becomes_zonal || before.iter().any(|zone| !after.contains(zone)) {
        return Err(ArmError::immutable("zones"));
    }
    Ok(())
}

/// Equal, with names of enums compared without case. What was not said stays as it was.
fn same(before: Option<&Value>, after: Option<&Value>) -> bool {
    let text = |value: Option<&Value>| {
        value
            .filter(|value| !value.is_null())
            .map(|value| match value {
                Value::String(text) => text.to_ascii_lowercase(),
                other => other.to_string(),
            })
    };
    text(before) == text(after)
}
