//! The driver's part of the record: as it is kept, or rebuilt when it is lost (AWS document 4.8).
//!
//! Rebuilding takes the current inputs as applied and the group's subnets as inherited zones: it
//! never rolls and never moves a machine. A pool made by the module is taken over the same way.

use std::collections::BTreeMap;

use super::{desired::Desired, observed::Group};
use crate::{
    driver::PoolContext,
    pool::record::{AwsApplied, AwsRecord, DriverRecord},
};

/// Where the record to plan from comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It was kept.
    Kept,
    /// A group of ours exists and no record does: rebuilt from what is seen.
    Rebuilt,
    /// Nothing was ever applied.
    Fresh,
}

/// The record to plan from.
#[derive(Debug, Clone, PartialEq)]
pub struct Remembered {
    /// The driver's part.
    pub record: AwsRecord,
    /// Where it comes from.
    pub origin: Origin,
}

/// The driver's part of the record, when this driver wrote one.
pub fn aws_record<'a>(context: &PoolContext<'a>) -> Option<&'a AwsRecord> {
    match &context.record?.driver {
        DriverRecord::Aws(record) => Some(record),
        DriverRecord::None | DriverRecord::Azure(_) => None,
    }
}

/// The record to plan from, with the places of this apply filled in where it had none.
pub fn remembered(
    desired: &Desired,
    group: Option<&Group>,
    context: &PoolContext<'_>,
) -> Remembered {
    if let Some(record) = aws_record(context).filter(|record| record.applied.is_some()) {
        return Remembered {
            record: record.clone(),
            origin: Origin::Kept,
        };
    }
    let applied = Some(places(desired));
    match group {
        Some(group) => Remembered {
            record: AwsRecord {
                inherited_zones: zones_of(group, &desired.zone_subnets),
                roll_key: Some(desired.roll_key.clone()),
                template_name: group.template_name.clone(),
                applied,
                last_desired_capacity: Some(group.desired_capacity),
                ..AwsRecord::default()
            },
            origin: Origin::Rebuilt,
        },
        None => Remembered {
            record: AwsRecord {
                inherited_zones: desired.inherited_zones.clone(),
                applied,
                ..AwsRecord::default()
            },
            origin: Origin::Fresh,
        },
    }
}

/// Where this apply puts things.
pub fn places(desired: &Desired) -> AwsApplied {
    AwsApplied {
        region: desired.region.clone(),
        bucket: desired.payload.bucket.clone(),
        key: desired.payload.key.clone(),
        group_name: desired.group.name.clone(),
    }
}

/// The zones of a group's subnets. A subnet that the exports do not name any more is kept under
/// its own id, so that its members are not moved.
fn zones_of(group: &Group, zone_subnets: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    group
        .subnets
        .iter()
        .map(|subnet| {
            let zone = zone_subnets
                .iter()
                .find_map(|(zone, known)| (known == subnet).then_some(zone));
            (zone.unwrap_or(subnet).clone(), subnet.clone())
        })
        .collect()
}
