//! Growing and shrinking a scale set: quota, zones, capacity, addresses, victims.

use std::collections::BTreeMap;

use crate::{
    azure::{
        protocol::{ArmError, id},
        state::{Name, Site, Thing, events::SetRef, region::region_key},
    },
    faults::Effect,
};

use super::{
    Instance, Model, Provisioning, ScaleSet,
    instance::{Step, base36},
};

/// What became of a change of size.
#[derive(Debug, Default)]
pub(crate) struct Resized {
    pub(crate) created: Vec<u32>,
    pub(crate) removed: Vec<u32>,
    /// Why not all new instances could be made.
    pub(crate) failure: Option<ArmError>,
}

impl Site<'_> {
    /// Refuses a size of a set beyond the quota, with new instances of that model.
    pub(crate) fn check_quota(
        &self,
        set: &ScaleSet,
        model: &Model,
        size: u32,
    ) -> Result<(), ArmError> {
        let live = u32::try_from(set.live().count()).unwrap_or(u32::MAX);
        let more = size.saturating_sub(live);
        let region = region_key(set.location());
        let Some(quota) = self.subscription.quotas.get(&region).filter(|_| more > 0) else {
            return Ok(());
        };
        let (limit, used, name) = if model.is_spot() {
            (quota.spot, quota.spot_used, "LowPriorityCores")
        } else {
            (quota.regular, quota.regular_used, "Cores")
        };
        let required = more * model.vcpus();
        let Some(limit) = limit.filter(|limit| used + required > *limit) else {
            return Ok(());
        };
        let message = format!(
            "Operation could not be completed as it results in exceeding approved {name} quota. \
             Additional details - Deployment Model: Resource Manager, Location: {region}, Current \
             Limit: {limit}, Current Usage: {used}, Additional Required: {required}, (Minimum) New \
             Limit Required: {}.",
            used + required
        );
        Err(ArmError::new(409, "OperationNotAllowed", message))
    }

    /// Makes a set as large as `size`, as far as there is capacity.
    pub(crate) fn resize(&mut self, at: &SetRef, size: u32) -> Resized {
        let mut resized = Resized::default();
        let Some(set) = self.subscription.at(at) else {
            return resized;
        };
        let live = u32::try_from(set.live().count()).unwrap_or(u32::MAX);
        if size < live {
            resized.removed = victims(set, live - size);
            self.announce_deletion(at, &resized.removed);
            return resized;
        }
        for _ in live..size {
            match self.create_instance(at) {
                Ok(number) => resized.created.push(number),
                Err(failure) => {
                    resized.failure = Some(failure);
                    return resized;
                }
            }
        }
        resized
    }

    fn create_instance(&mut self, at: &SetRef) -> Result<u32, ArmError> {
        let gone = || ArmError::new(409, "OperationPreempted", "The scale set is gone.");
        let set = self.subscription.at(at).ok_or_else(gone)?;
        let (region, zones) = (region_key(set.location()), zones_by_need(set));
        let (name, size) = (set.name.clone(), set.model().size.clone());
        let (cores, spot) = (set.model().vcpus(), set.model().is_spot());
        let subnet = set.model().subnet().map(id::key);
        let zone = self.allocate(&name, &region, &zones, &size)?;
        let address = match subnet
            .as_ref()
            .and_then(|key| self.subscription.things.get_mut(key))
        {
            Some(Thing::Subnet(addresses)) => addresses.take(),
            _ => None,
        };
        let Some(address) = address else {
            self.give_back(&region, zone.as_deref(), &size);
            let subnet = subnet.unwrap_or_default();
            let message = format!(
                "Subnet {} with id {subnet} does not have enough capacity for 1 IP addresses.",
                id::name_of(&subnet)
            );
            return Err(ArmError::new(400, "SubnetIsFull", message));
        };
        let quota = self.subscription.quotas.entry(region).or_default();
        if spot {
            quota.spot_used += cores;
        } else {
            quota.regular_used += cores;
        }
        let vm_id = self.fabric.new_uuid();
        let reuse = self.fabric.behaviour.reuse_instance_ids;
        let set = self.subscription.at(at).ok_or_else(gone)?;
        let number = if reuse {
            (0..set.next_instance).find(|number| !set.instances.contains_key(number))
        } else {
            None
        };
        let number = number.unwrap_or(set.next_instance);
        set.next_instance = set.next_instance.max(number + 1);
        let mut instance = Instance {
            number,
            vm_id,
            computer_name: format!("{}{}", set.model().name_prefix(), base36(number)),
            zone,
            created: self.fabric.now,
            provisioning: Provisioning::Creating,
            power: None,
            step: Step::Created,
            turn: 0,
            model: set.latest(),
            address: Some(address),
            subnet,
            notice: None,
        };
        self.fabric
            .step_in(self.fabric.timing.starting, at, &mut instance);
        set.instances.insert(number, instance);
        Ok(number)
    }

    /// Finds room for one instance: the first zone that has it.
    fn allocate(
        &mut self,
        set: &str,
        region: &str,
        zones: &[Name],
        size: &str,
    ) -> Result<Option<Name>, ArmError> {
        let places: Vec<Option<Name>> = if zones.is_empty() {
            vec![None]
        } else {
            zones.iter().cloned().map(Some).collect()
        };
        for place in &places {
            let zone = place.as_deref().unwrap_or_default();
            if let Some(effect) = self.fabric.judge_allocation(set, zone, size).refusal {
                return Err(match effect {
                    Effect::Refuse { .. } => ArmError::scripted(&effect, "compute", "Allocate"),
                    _ => no_room(zone, size, region),
                });
            }
            let known = self.fabric.regions.get_mut(region);
            let capacity = known.and_then(|region| region.capacity(place.as_deref()));
            if let Some(capacity) = capacity.filter(|capacity| capacity.has_room(size)) {
                capacity.take(size);
                return Ok(place.clone());
            }
        }
        Err(no_room(&zones.join(", "), size, region))
    }

    fn give_back(&mut self, region: &str, zone: Option<&str>, size: &str) {
        let region = self.fabric.regions.get_mut(region);
        if let Some(capacity) = region.and_then(|region| region.capacity(zone)) {
            capacity.give_back(size);
        }
    }
}

fn no_room(zones: &str, size: &str, region: &str) -> ArmError {
    if zones.is_empty() {
        let message = format!(
            "Allocation failed. We do not have sufficient capacity for the requested VM size \
             {size} in this region ({region}). Read more about improving likelihood of allocation \
             success at https://aka.ms/allocation-guidance"
        );
        return ArmError::new(409, "AllocationFailed", message);
    }
    let message = format!(
        "Allocation failed. We do not have sufficient capacity for the requested VM size {size} in \
         zone {zones}. Read more about improving likelihood of allocation success at \
         https://aka.ms/allocation-guidance"
    );
    ArmError::new(409, "ZonalAllocationFailed", message)
}

/// The zones of a set, that with the fewest instances first.
fn zones_by_need(set: &ScaleSet) -> Vec<Name> {
    let mut zones = set.zones();
    let count = |zone: &Name| {
        set.live()
            .filter(|instance| instance.zone.as_ref() == Some(zone))
            .count()
    };
    zones.sort_by_key(count);
    zones
}

/// Whom a scale-in takes: from the zone with most instances, the newest first.
fn victims(set: &ScaleSet, count: u32) -> Vec<u32> {
    let mut by_zone: BTreeMap<Option<&Name>, Vec<u32>> = BTreeMap::new();
    for instance in set.live() {
        by_zone
            .entry(instance.zone.as_ref())
            .or_default()
            .push(instance.number);
    }
    let mut chosen = Vec::new();
    for _ in 0..count {
        let fullest = by_zone
            .values_mut()
            .max_by_key(|numbers| (numbers.len(), numbers.last().copied()));
        chosen.extend(fullest.and_then(Vec::pop));
    }
    chosen
}
