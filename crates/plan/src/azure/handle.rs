//! What to look at: from a desired state, or from the record where inputs are bad or gone.

use std::collections::BTreeMap;

use super::{
    desired::Desired,
    observed::{Handle, SetHandle},
    ownership,
    place::Place,
    remembered::azure_record,
};
use crate::{driver::PoolContext, pool::record::AzureRecord};

/// What to look at for a desired state.
pub fn of_desired(desired: &Desired, context: &PoolContext<'_>) -> Handle {
    let record = azure_record(context);
    let mut handle = around(&desired.place, &desired.set.name, record, context);
    handle
        .sets
        .entry(desired.set.name.clone())
        .or_insert(SetHandle {
            created: false,
            members: record.is_none_or(|record| record.current.is_none()),
        });
    // Only an image that is about to be used is looked up.
    let sent = record
        .and_then(|record| record.current.as_ref())
        .filter(|current| current.set_name == desired.set.name)
        .and_then(|current| current.sent.as_ref());
    let is_in_use = sent.is_some_and(|sent| sent.image == desired.set.model.image);
    handle.image = (!is_in_use).then(|| desired.set.model.image.clone());
    handle
}

/// What to look at without valid inputs; `None` when nothing was ever applied.
pub fn of_record(context: &PoolContext<'_>) -> Option<Handle> {
    let record = azure_record(context)?;
    let name = &record.current.as_ref()?.set_name;
    Some(around(record.place.as_ref()?, name, Some(record), context))
}

/// The sets that the record names, and the one that serves or would.
fn around(
    place: &Place,
    wanted: &str,
    record: Option<&AzureRecord>,
    context: &PoolContext<'_>,
) -> Handle {
    let current = record.and_then(|record| record.current.as_ref());
    Handle {
        place: place.clone(),
        set_name: current
            .map_or(wanted, |current| &current.set_name)
            .to_owned(),
        sets: record
            .map(|record| sets(record, context))
            .unwrap_or_default(),
        ownership: ownership::tags_of(context),
        operation: record
            .and_then(|record| record.operation.as_ref())
            .and_then(|operation| operation.address.clone()),
        image: None,
    }
}

fn sets(record: &AzureRecord, context: &PoolContext<'_>) -> BTreeMap<String, SetHandle> {
    let mut sets = BTreeMap::new();
    for name in &record.retiring {
        let is_published =
            !context.machines.off() || record.predecessor.as_deref() == Some(name.as_str());
        let of_retiring = SetHandle {
            created: true,
            members: is_published,
        };
        sets.insert(name.clone(), of_retiring);
    }
    if let Some(next) = &record.next {
        let of_next = SetHandle {
            created: next.created,
            members: !context.machines.off(),
        };
        sets.insert(next.set_name.clone(), of_next);
    }
    if let Some(current) = &record.current {
        let of_current = SetHandle {
            created: current.created,
            members: true,
        };
        sets.insert(current.set_name.clone(), of_current);
    }
    sets
}
