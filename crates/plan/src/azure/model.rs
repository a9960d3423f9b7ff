//! The set's model: what differs, and the one PATCH for it (Azure document 4.3, 5.1).

use serde_json::{Map, Value, json};

use super::{
    action::{Action, SetPatch, Sku, Ssh},
    desired::{Model, SetSpec},
    observed::ScaleSet,
};
use crate::pool::{
    action::{ChangeKind, Effect, FieldChange},
    record::Sent,
    steps::{Call, field},
};

/// Stable logical name of a set.
pub(super) fn object(name: &str) -> String {
    format!("scale_set/{name}")
}

/// What sending a set's model makes known.
pub(super) fn sent(spec: &SetSpec) -> Sent {
    Sent {
        custom_data_sha256: spec.custom_data.sha256.clone(),
        image: spec.model.image.clone(),
    }
}

/// A new set as people see it.
pub(super) fn described(spec: &SetSpec, capacity: i64) -> Vec<FieldChange> {
    let new = |name: &str, value: Value| field(name, Value::Null, value);
    let mut changes = vec![
        new("capacity", json!(capacity)),
        new("zones", json!(spec.zones)),
    ];
    changes.extend(
        shown(&spec.model)
            .into_iter()
            .map(|(name, value)| new(&name, value)),
    );
    changes
}

/// The update that a set needs; `None` when it is as desired. `sent` is what is known to have been
/// sent to it.
pub(super) fn update(
    spec: &SetSpec,
    found: &ScaleSet,
    sent: Option<&Sent>,
    has_machines: bool,
) -> Option<Call> {
    let mut patch = SetPatch::new(&spec.name, spec.model.image.clone());
    let mut changes = model_changes(&mut patch, &spec.model, found);
    if let Some(sku) = &mut patch.sku {
        sku.only_from = has_machines.then_some(found.capacity);
    }
    if sent.map(|sent| sent.custom_data_sha256.as_str()) != Some(spec.custom_data.sha256.as_str()) {
        patch.custom_data = Some(spec.custom_data.clone());
        let old = sent.map(|sent| sent.custom_data_sha256.clone());
        changes.push(field(
            "custom_data sha256",
            old,
            spec.custom_data.sha256.clone(),
        ));
    }
    let is_for_new_machines = !changes.is_empty();
    if found.tags != spec.tags {
        patch.tags = Some(spec.tags.clone());
        changes.push(field("tags", json!(found.tags), json!(spec.tags)));
    }
    if changes.is_empty() {
        return None;
    }
    let effect = if is_for_new_machines {
        Effect::NewMachinesOnly
    } else {
        Effect::None
    };
    let because = reason(&changes);
    Some(
        Call::new(
            Action::UpdateSet(Box::new(patch)),
            ChangeKind::Update,
            object(&spec.name),
            because,
        )
        .effect(effect)
        .changes(changes),
    )
}

/// Everything at once, for a set whose making did not come to a good end.
pub(super) fn complete(
    spec: &SetSpec,
    found: &ScaleSet,
    capacity: i64,
    has_machines: bool,
    because: &str,
) -> Call {
    let model = &spec.model;
    let patch = SetPatch {
        custom_data: Some(spec.custom_data.clone()),
        os_disk: Some(model.os_disk.clone()),
        network: Some(model.network.clone()),
        sku: Some(Sku {
            vm_size: model.vm_size.clone(),
            capacity,
            only_from: has_machines.then_some(found.capacity),
        }),
        ssh: ssh(model),
        boot_diagnostics: Some(model.boot_diagnostics),
        encryption_at_host: Some(model.encryption_at_host),
        tags: Some(spec.tags.clone()),
        identity_id: model.identity_ids.first().cloned(),
        removed_identity_ids: removed_identities(model, &found.model),
        constants: true,
        ..SetPatch::new(&spec.name, model.image.clone())
    };
    Call::new(
        Action::UpdateSet(Box::new(patch)),
        ChangeKind::Update,
        object(&spec.name),
        because,
    )
    .effect(if capacity < found.capacity {
        Effect::Removes
    } else {
        Effect::None
    })
    .changes(vec![field("capacity", found.capacity, capacity)])
}

/// Puts into `patch` what differs of the readable model.
fn model_changes(patch: &mut SetPatch, wanted: &Model, found: &ScaleSet) -> Vec<FieldChange> {
    let old = shown(&normalised(&found.model));
    let new = shown(&normalised(wanted));
    let mut changes: Vec<FieldChange> = new
        .iter()
        .filter(|(name, value)| {
            old.get(*name) != Some(*value) && !CREATION_ONLY.contains(&name.as_str())
        })
        .map(|(name, value)| {
            let old = old.get(name).cloned().unwrap_or(Value::Null);
            field(name, old, value.clone())
        })
        .collect();
    let differs = |names: &[&str]| {
        changes
            .iter()
            .any(|change| names.iter().any(|name| change.field == *name))
    };
    if differs(&["image", "os_disk_size_gib"]) {
        patch.os_disk = Some(wanted.os_disk.clone());
    }
    if differs(&NETWORK) {
        patch.network = Some(wanted.network.clone());
    }
    if differs(&["vm_size"]) {
        patch.sku = Some(Sku {
            vm_size: wanted.vm_size.clone(),
            capacity: found.capacity,
            only_from: None,
        });
    }
    if differs(&["ssh_public_keys"]) {
        patch.ssh = ssh(wanted);
    }
    if differs(&["boot_diagnostics"]) {
        patch.boot_diagnostics = Some(wanted.boot_diagnostics);
    }
    if differs(&["encryption_at_host"]) {
        patch.encryption_at_host = Some(wanted.encryption_at_host);
    }
    if differs(&["identity_ids"]) {
        patch.identity_id = wanted.identity_ids.first().cloned();
        patch.removed_identity_ids = removed_identities(wanted, &found.model);
    }
    for name in &found.foreign_fields {
        patch.constants = true;
        changes.push(field(name, "set by hand", Value::Null));
    }
    changes
}

/// What cannot change in place; another value of the first four is another generation.
const CREATION_ONLY: [&str; 4] = [
    "os_disk_storage_account_type",
    "spot",
    "trusted_launch",
    "admin_username",
];

const NETWORK: [&str; 5] = [
    "subnet_id",
    "network_security_group_id",
    "application_security_group_ids",
    "accelerated_networking",
    "ip_forwarding",
];

fn ssh(model: &Model) -> Option<Ssh> {
    Some(Ssh {
        admin_username: model.admin_username.clone(),
        public_key: model.ssh_public_keys.first()?.clone(),
    })
}

/// Identities of the set that are not wanted, as the set spells them.
fn removed_identities(wanted: &Model, found: &Model) -> Vec<String> {
    let is_wanted = |id: &String| {
        wanted
            .identity_ids
            .iter()
            .any(|wanted| wanted.eq_ignore_ascii_case(id))
    };
    found
        .identity_ids
        .iter()
        .filter(|id| !is_wanted(id))
        .cloned()
        .collect()
}

/// The same model with everything that ignores case in lower case.
fn normalised(model: &Model) -> Model {
    let lower =
        |ids: &std::collections::BTreeSet<String>| ids.iter().map(|id| id.to_lowercase()).collect();
    let mut model = model.clone();
    model.identity_ids = lower(&model.identity_ids);
    let network = &mut model.network;
    network.subnet_id = network.subnet_id.to_lowercase();
    network.network_security_group_id = network
        .network_security_group_id
        .as_ref()
        .map(|id| id.to_lowercase());
    network.application_security_group_ids = lower(&network.application_security_group_ids);
    model.image = model.image.normalised();
    model
}

/// A model as people see it: one entry a field.
fn shown(model: &Model) -> Map<String, Value> {
    let network = &model.network;
    let fields = json!({
        "vm_size": model.vm_size,
        "image": model.image.text(),
        "os_disk_size_gib": model.os_disk.size_gib,
        "os_disk_storage_account_type": model.os_disk.storage_account_type,
        "subnet_id": network.subnet_id,
        "network_security_group_id": network.network_security_group_id,
        "application_security_group_ids": network.application_security_group_ids,
        "accelerated_networking": network.accelerated_networking,
        "ip_forwarding": network.ip_forwarding,
        "identity_ids": model.identity_ids,
        "admin_username": model.admin_username,
        "ssh_public_keys": model.ssh_public_keys,
        "boot_diagnostics": model.boot_diagnostics,
        "encryption_at_host": model.encryption_at_host,
        "trusted_launch": model.trusted_launch,
        "spot": model.spot,
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Why a set gets an update, in one line: the names of what differs.
fn reason(changes: &[FieldChange]) -> String {
    let names: Vec<&str> = changes.iter().map(|change| change.field.as_str()).collect();
    match names.as_slice() {
        ["custom_data sha256"] => "the bootstrap data or the node labels changed".to_owned(),
        names => format!("the model differs: {}", names.join(", ")),
    }
}
