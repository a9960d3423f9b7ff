//! What to look at: from a desired state, or from the record where inputs are bad or gone.

use std::collections::BTreeSet;

use super::{
    desired::{Desired, ImageChoice},
    names,
    observed::Handle,
    remembered::aws_record,
};
use crate::{driver::PoolContext, pool::record::AwsRecord};

/// What to look at for a desired state.
pub fn of_desired(desired: &Desired, context: &PoolContext<'_>) -> Handle {
    let place = (desired.payload.bucket.clone(), desired.payload.key.clone());
    let image = match &desired.image {
        ImageChoice::Lookup(query) => Some(query.clone()),
        ImageChoice::Pinned(_) => None,
    };
    let moved_from = aws_record(context).and_then(|record| {
        applied_place(record)
            .filter(|applied| *applied != place)
            .or_else(|| old_place(record))
    });
    Handle {
        region: desired.region.clone(),
        group_name: desired.group.name.clone(),
        template_prefix: names::template_prefix(&desired.group.name),
        old_payload: moved_from.filter(|old| *old != place),
        payload: Some(place),
        image,
        hook: !context.machines.off() || aws_record(context).is_none(),
        explained: explained(context),
    }
}

/// What to look at without valid inputs; `None` when nothing was ever applied.
pub fn of_record(context: &PoolContext<'_>) -> Option<Handle> {
    let record = aws_record(context)?;
    let applied = record.applied.as_ref()?;
    Some(Handle {
        region: applied.region.clone(),
        group_name: applied.group_name.clone(),
        template_prefix: names::template_prefix(&applied.group_name),
        payload: applied_place(record),
        old_payload: old_place(record),
        image: None,
        hook: !context.machines.off(),
        explained: explained(context),
    })
}

/// The held instances whose cause is recorded; `None` for a pool without Machines.
fn explained(context: &PoolContext<'_>) -> Option<BTreeSet<String>> {
    if context.machines.off() {
        return None;
    }
    let held = aws_record(context).map(|record| &record.held);
    let told = held.into_iter().flatten();
    Some(
        told.filter(|(_, held)| held.because.is_some())
            .map(|(id, _)| id.clone())
            .collect(),
    )
}

fn applied_place(record: &AwsRecord) -> Option<(String, String)> {
    let applied = record.applied.as_ref()?;
    Some((applied.bucket.clone(), applied.key.clone()))
}

fn old_place(record: &AwsRecord) -> Option<(String, String)> {
    let old = record.old_payload.as_ref()?;
    Some((old.bucket.clone(), old.key.clone()))
}
