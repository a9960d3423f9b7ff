//! Doing to the world what a cloud does by itself, or a person does by hand.

use std::time::Duration;

use serde_json::Value;

use super::{World, find_set};
use crate::azure::{
    compute::{Provisioning, grow, set_document},
    protocol::id,
    service::{Budget, Policy},
    state::{Lock, Name, Site, State, events::SetRef, region::region_key},
};

/// Steps of a set's CPU that are kept.
const MOST_CPU_STEPS: usize = 1000;

impl World {
    /// Limits how many instances of a size (`*`: of any size) a zone holds at once (no zone: the
    /// region outside zones); `None` lifts the limit. Instances that run already stay.
    pub fn set_capacity(
        &self,
        region: &str,
        zone: Option<&str>,
        size: &str,
        instances: Option<u32>,
    ) {
        self.change(|state| {
            let region = state.fabric.regions.get_mut(&*region_key(region));
            if let Some(capacity) = region.and_then(|region| region.capacity(zone)) {
                capacity.limit(size, instances);
            }
        });
    }

    /// Sets the core quotas of a subscription in a region: regular, and Spot; `None`: no limit.
    pub fn set_core_quota(
        &self,
        subscription: &str,
        region: &str,
        regular: Option<u32>,
        spot: Option<u32>,
    ) {
        self.change(|state| {
            if let Some(place) = state.place_of(subscription) {
                let quotas = &mut state.subscriptions[place].quotas;
                let quota = quotas.entry(region_key(region)).or_default();
                quota.regular = regular;
                quota.spot = spot;
            }
        });
    }

    /// Locks everything whose id begins with `scope`; `None` takes the lock away.
    pub fn set_lock(&self, scope: &str, lock: Option<Lock>) {
        let subscription = id::part(scope, "subscriptions").unwrap_or_default();
        self.change(|state| {
            let Some(place) = state.place_of(subscription) else {
                return;
            };
            let locks = &mut state.subscriptions[place].locks;
            match lock {
                Some(lock) => locks.insert(id::key(scope), lock),
                None => locks.remove(&id::key(scope)),
            };
        });
    }

    /// Registers a resource provider (`Microsoft.Insights`) in a subscription, or takes it back.
    pub fn set_registered(&self, subscription: &str, provider: &str, registered: bool) {
        self.change(|state| {
            if let Some(place) = state.place_of(subscription) {
                let unregistered = &mut state.subscriptions[place].unregistered;
                if registered {
                    unregistered.remove(&id::key(provider));
                } else {
                    unregistered.insert(id::key(provider));
                }
            }
        });
    }

    /// Limits a throttling policy (`PatchVMScaleSet`) for each resource: so many calls a minute,
    /// at most `bucket` at once. False when there is no such policy.
    pub fn throttle(&self, policy: &str, refill: f64, bucket: f64) -> bool {
        let Some(policy) = Policy::named(policy) else {
            return false;
        };
        let budget = Budget::per_minute(refill, bucket);
        self.change(|state| state.budgets.limit(policy, budget));
        true
    }

    /// Sets the budgets Azure publishes. Without this nothing is limited.
    pub fn throttle_like_azure(&self) {
        self.change(|state| state.budgets.limit_like_azure());
    }

    /// Lifts all throttling.
    pub fn end_throttling(&self) {
        self.change(|state| state.budgets.lift());
    }

    /// Gives every instance of a set this average CPU from now on; `None`: it cannot be read.
    /// False when there is no such set.
    pub fn set_cpu(&self, set: &str, percent: Option<f64>) -> bool {
        self.at_set(set, |site, at| {
            let now = site.fabric.now;
            let Some(set) = site.subscription.at(at) else {
                return;
            };
            if let Some(percent) = percent {
                set.cpu.push((now, percent));
                // What lies before the longest window any rule looks at.
                set.cpu
                    .drain(..set.cpu.len().saturating_sub(MOST_CPU_STEPS));
            } else {
                set.cpu.clear();
                set.cpu_of.clear();
            }
        })
        .is_some()
    }

    /// Gives one instance a CPU of its own. False when there is no such instance.
    pub fn set_instance_cpu(&self, set: &str, instance: u32, percent: f64) -> bool {
        self.at_instance(set, instance, |site, at| {
            if let Some(set) = site.subscription.at(at) {
                set.cpu_of.insert(instance, percent);
            }
        })
    }

    /// Lets Autoscale look at all settings now.
    pub fn run_autoscale(&self) {
        self.change(|state| {
            for place in 0..state.subscriptions.len() {
                let groups = &state.subscriptions[place].groups;
                let settings: Vec<(Name, Name)> = groups
                    .iter()
                    .flat_map(|(group, held)| {
                        let names = held.settings.keys();
                        names.map(|name| (group.clone(), name.clone()))
                    })
                    .collect();
                for (group, name) in settings {
                    state.autoscale_now(place, &group, &name);
                }
            }
        });
    }

    /// Sets the capacity of a set as a person would in the portal. False when there is no such
    /// set.
    pub fn resize(&self, set: &str, capacity: u32) -> bool {
        self.at_set(set, |site, at| {
            if let Some(set) = site.subscription.at(at) {
                set.capacity = capacity;
                set.etag += 1;
                set.provisioning = Provisioning::Updating;
            }
            let span = site.fabric.timing.capacity;
            grow(site, at, capacity, span);
        })
        .is_some()
    }

    /// Changes the resource of a set as a person would in the portal: a JSON merge over it,
    /// unchecked. False when there is no such set.
    pub fn edit(&self, set: &str, patch: &Value) -> bool {
        self.at_set(set, |site, at| {
            if let Some(set) = site.subscription.at(at) {
                set_document(set, patch);
            }
        })
        .is_some()
    }

    /// Does to an instance: `stop`, `deallocate`, `hibernate`, `start`, `restart`, `fail`,
    /// `delete`, `vanish` (delete without notice or delay), `approve` (its announced termination)
    /// or `evict`. False when there is no such instance or verb.
    pub fn operate(&self, set: &str, instance: u32, verb: &str) -> bool {
        let mut known = true;
        let found = self.at_instance(set, instance, |site, at| match verb {
            "stop" => site.operate_one(at, instance, "powerOff"),
            "deallocate" | "hibernate" | "start" | "restart" => {
                site.operate_one(at, instance, verb);
            }
            "fail" => site.fail_instance(at, instance),
            "delete" => {
                let operation = site.delete_some(at, &[instance]);
                site.begin(operation);
            }
            "vanish" => site.vanish(at, instance),
            "approve" => site.approve_termination(at, instance),
            "evict" => known = site.evict(at, instance),
            _ => known = false,
        });
        found && known
    }

    /// Deletes a set at once, with its instances. False when there is no such set.
    pub fn delete_set(&self, set: &str) -> bool {
        self.change(|state| {
            let at = find_set(state, set);
            at.map(|at| state.site(at.place).erase_set(&at)).is_some()
        })
    }

    /// Deletes a group and everything in it at once. False when there is no such group.
    pub fn delete_group(&self, subscription: &str, group: &str) -> bool {
        self.change(|state| {
            let Some(place) = state.place_of(subscription) else {
                return false;
            };
            let key: Name = id::key(group).into();
            let Some(held) = state.subscriptions[place].groups.get(&key) else {
                return false;
            };
            let sets: Vec<SetRef> = held.sets.values().map(|set| set.at.clone()).collect();
            for at in sets {
                state.site(place).erase_set(&at);
            }
            state.site(place).subscription.groups.remove(&key);
            true
        })
    }

    /// Deletes an autoscale setting behind everyone's back. False when there is no such setting.
    pub fn delete_setting(&self, name: &str) -> bool {
        self.change(|state| {
            let groups = state
                .subscriptions
                .iter_mut()
                .flat_map(|subscription| subscription.groups.values_mut());
            let mut removed = groups.filter_map(|group| group.settings.remove(&*id::key(name)));
            removed.next().is_some()
        })
    }

    /// Forgets all operations: reading them gives 404.
    pub fn forget_operations(&self) {
        self.change(|state| {
            for place in 0..state.subscriptions.len() {
                state.site(place).finish_operations();
            }
        });
    }

    /// Ends the set's running operations with a failure.
    pub fn fail_operations(&self, set: &str, code: &str, message: &str) -> bool {
        self.at_set(set, |site, at| site.fail_running(at, code, message))
            .is_some()
    }

    /// Lets reads lag behind writes.
    pub fn set_read_lag(&self, lag: Duration) {
        self.set_timing(|timing| timing.read_lag = lag);
    }

    fn at_set<T>(&self, name: &str, act: impl FnOnce(&mut Site<'_>, &SetRef) -> T) -> Option<T> {
        self.change(|state: &mut State| {
            let at = find_set(state, name)?;
            Some(act(&mut state.site(at.place), &at))
        })
    }

    fn at_instance(
        &self,
        name: &str,
        instance: u32,
        act: impl FnOnce(&mut Site<'_>, &SetRef),
    ) -> bool {
        self.change(|state| {
            let Some(at) = find_set(state, name) else {
                return false;
            };
            let mut site = state.site(at.place);
            let there = site
                .subscription
                .at(&at)
                .is_some_and(|set| set.instances.contains_key(&instance));
            if there {
                act(&mut site, &at);
            }
            there
        })
    }
}
