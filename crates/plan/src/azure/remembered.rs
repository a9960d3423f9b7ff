//! The driver's part of the record: as it is kept, or rebuilt when it is lost (Azure document 0.3).
//!
//! Rebuilding goes by tags: the set of the wanted generation serves if it is complete, else the
//! largest other set of this pool does and the wanted one is made from it. No machine goes before
//! its successor is there. A pool made by the module is taken over the same way.

use std::collections::BTreeMap;

use super::{
    desired::Desired,
    names,
    observed::{Presence, ProvisioningState, ScaleSet, Setting},
    ownership,
};
use crate::{
    driver::PoolContext,
    pool::{
        ownership::Ownership,
        record::{AzureRecord, DriverRecord, Generation, GenerationKey},
    },
};

/// The driver's part of the record, when this driver wrote one.
pub(super) fn azure_record<'a>(context: &PoolContext<'a>) -> Option<&'a AzureRecord> {
    match &context.record?.driver {
        DriverRecord::Azure(record) => Some(record),
        DriverRecord::None | DriverRecord::Aws(_) => None,
    }
}

/// The record to plan from: kept, rebuilt from the sets that exist, or a first one.
pub(super) fn remembered(
    desired: &Desired,
    sets: &BTreeMap<String, Presence>,
    settings: &BTreeMap<String, Setting>,
    context: &PoolContext<'_>,
) -> AzureRecord {
    if let Some(record) = azure_record(context).filter(|record| record.place.is_some()) {
        return record.clone();
    }
    let ours: Vec<&ScaleSet> = sets
        .values()
        .filter_map(Presence::set)
        .filter(|set| ownership::of_set(set, None, context) == Ownership::Ours)
        .collect();
    let mut record = AzureRecord {
        pinned_zones: Some(desired.pinned_zones.clone()),
        place: Some(desired.place.clone()),
        admin_username: Some(desired.set.model.admin_username.clone()),
        ..AzureRecord::default()
    };
    take_over(&mut record, desired, &ours);
    if let Some(current) = &record.current {
        record.has_setting = settings.contains_key(&names::setting(&current.set_name));
    }
    record
}

fn take_over(record: &mut AzureRecord, desired: &Desired, ours: &[&ScaleSet]) {
    let is_complete = |set: &ScaleSet| set.state == ProvisioningState::Succeeded;
    let wanted = ours.iter().find(|set| set.name == desired.set.name);
    let others = || ours.iter().filter(|set| set.name != desired.set.name);
    let largest = others().max_by(|a, b| {
        let size = a.capacity.cmp(&b.capacity);
        size.then_with(|| b.name.cmp(&a.name))
    });
    let generation = |set: &ScaleSet| Generation {
        set_name: set.name.clone(),
        key: (set.name == desired.set.name).then(|| desired.generation.clone()),
        created: is_complete(set),
        sent: None,
    };
    let serving = match (wanted, largest) {
        (Some(wanted), Some(largest)) if !is_complete(wanted) => {
            record.next = Some(generation(wanted));
            largest
        }
        (Some(wanted), _) => wanted,
        (None, Some(largest)) => largest,
        (None, None) => return,
    };
    if serving.name == desired.set.name && desired.generation.failure_domains.is_empty() {
        record.pinned_zones = Some(serving.zones.clone());
    }
    record.current = Some(Generation {
        created: serving.name != desired.set.name || is_complete(serving),
        ..generation(serving)
    });
    record.last_capacity = Some(serving.capacity);
    record.retiring = others()
        .filter(|set| set.name != serving.name)
        .map(|set| set.name.clone())
        .collect();
}

/// Name of a generation's set. It follows from the key alone (and so from nothing that a crash
/// forgets), but where a set of that name stands for members made from something else: then what
/// they are made from is in the name. A set that is there keeps its name.
pub(super) fn set_name(
    machinepool_name: &str,
    key: &GenerationKey,
    context: &PoolContext<'_>,
) -> String {
    let plain = names::set(machinepool_name, key);
    let Some(record) = azure_record(context) else {
        return plain;
    };
    let serving = [&record.current, &record.next].into_iter().flatten();
    let known: Vec<(&String, &GenerationKey)> = serving
        .filter_map(|generation| Some((&generation.set_name, generation.key.as_ref()?)))
        .chain(&record.retiring_keys)
        .collect();
    match known.iter().find(|(_, known)| known.is_same(key)) {
        Some((name, _)) => (*name).clone(),
        None if known.iter().any(|(name, _)| **name == plain) => {
            names::set_of_template(machinepool_name, key)
        }
        None => plain,
    }
}
