//! How much of a region's quotas is used.

use serde_json::{Value, json};

use crate::azure::{
    protocol::{Answer, ArmError},
    service::ArmRequest,
    state::{View, region::region_key},
};

/// Cores where no quota was set. Ours: Azure always has a limit.
const CORES: u32 = 10_000;
/// Scale sets of a subscription in a region (Azure's published limit).
const SETS: u32 = 2_500;

/// `GET` of the usages of a region.
pub(crate) fn usages(view: View<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let region = region_key(request.name());
    if !view.fabric.regions.contains_key(&*region) {
        let message = format!(
            "The provided location '{}' is not available.",
            request.name()
        );
        return Err(ArmError::new(400, "NoRegisteredProviderFound", message));
    }
    let quota = view
        .subscription
        .quotas
        .get(&region)
        .cloned()
        .unwrap_or_default();
    let groups = view.subscription.groups.values();
    let sets = groups
        .flat_map(|group| group.sets.values())
        .filter(|set| region_key(set.location()) == region)
        .count();
    let rows: Vec<Value> = [
        ("cores", quota.regular_used, quota.regular.unwrap_or(CORES)),
        (
            "lowPriorityCores",
            quota.spot_used,
            quota.spot.unwrap_or(CORES),
        ),
        (
            "virtualMachineScaleSets",
            u32::try_from(sets).unwrap_or(u32::MAX),
            SETS,
        ),
    ]
    .into_iter()
    .map(|(name, used, limit)| {
        json!({
            "name": { "value": name, "localizedValue": name },
            "currentValue": used, "limit": limit, "unit": "Count",
        })
    })
    .collect();
    Ok(Answer::ok(request.page(view).of(rows, |row| row)))
}
