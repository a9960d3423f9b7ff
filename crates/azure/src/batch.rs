//! Sweeps: many pools, few calls (Azure document 11).
//!
//! One [`Sweep`] per credential, subscription and region answers for all pools there. What a
//! resource group holds is listed once for everybody: its sets, and its autoscale settings. Azure
//! lists instances a set at a time, so those are read for a set only when somebody asks, and less
//! often where there are many sets.
//!
//! Invariants: an answer is there only when every page was read; an answer asked for before a
//! write is never handed out after that write.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use remuda_cloud::{
    CloudError,
    answer::Answer as _,
    locked,
    shared::{Answer, Need, Shared},
    sweep::{INTEREST, SweepTiming},
};
use remuda_plan::{
    azure::{
        observed::{self, Handle, ProvisioningState, ScaleSet, Setting},
        place::Place,
    },
    error::CloudFailure,
    pool::read::Freshness,
};
use tokio::time::Instant;

use crate::{
    calls,
    clients::Clients,
    wire::{
        address,
        instance::{Instance, Nic},
        scale_set::{self, RawSet},
        setting::{self, RawSetting},
    },
};

/// Instance lists a second that steady pools may cause together. Ours: two thirds of the 360 a
/// minute that Compute allows a subscription (Azure document 10.5), so that pools that converge
/// find room. 1,000 sets are then listed every 250 s, unless their group's list shows a change.
const STEADY_LISTS_A_SECOND: u32 = 4;

/// The sweep of one credential, subscription and region.
#[derive(Debug)]
pub(crate) struct Sweep {
    clients: Arc<Clients>,
    timing: SweepTiming,
    /// By name in lower case.
    groups: Mutex<BTreeMap<String, Arc<Group>>>,
}

#[derive(Debug, Default)]
struct Group {
    sets: Shared<Vec<ScaleSet>>,
    settings: Shared<Vec<Setting>>,
    /// By set name.
    slots: Mutex<BTreeMap<String, Arc<Slot>>>,
}

/// What is known of one set besides the group's list.
#[derive(Debug)]
struct Slot {
    members: Shared<Vec<observed::Instance>>,
    state: Mutex<SlotState>,
}

#[derive(Debug)]
struct SlotState {
    /// When somebody last asked.
    asked_at: Instant,
    /// When the set was last written to.
    set_written_at: Option<Instant>,
    /// When its setting was last written to.
    setting_written_at: Option<Instant>,
    /// Capacity and state of the set when its members were read.
    read_with: Option<(i64, ProvisioningState)>,
    /// Private addresses by `vmId`; they never change (Azure document 11).
    addresses: BTreeMap<String, String>,
}

impl Sweep {
    pub(crate) fn new(clients: Arc<Clients>, timing: SweepTiming) -> Self {
        Self {
            clients,
            timing,
            groups: Mutex::default(),
        }
    }

    /// All sets of the handle's group. A group that does not exist holds none.
    pub(crate) async fn sets(
        &self,
        handle: &Handle,
        freshness: Freshness,
    ) -> Result<Arc<Vec<ScaleSet>>, CloudFailure> {
        let group = self.group(&handle.place);
        if freshness == Freshness::Changed {
            self.void_sets(handle);
        }
        let written = group.written(handle, |state| state.set_written_at);
        let need = self.need(freshness, written, group.sets.answered_at());
        let fetch = async {
            // A missing group is one without anything in it (Azure document 7.2, rule 2).
            let raw: Vec<RawSet> = self
                .clients
                .list(&calls::LIST_SETS, address::sets(&handle.place))
                .await
                .or_absent(Vec::new())?;
            Ok(raw.into_iter().map(scale_set::read).collect())
        };
        let answer = group.sets.read(need, fetch).await;
        if answer.value.is_ok() {
            self.clients.outlet.told(answer.asked_at.elapsed());
        }
        answer.value
    }

    /// All autoscale settings of the handle's group.
    pub(crate) async fn settings(
        &self,
        handle: &Handle,
        freshness: Freshness,
    ) -> Result<Arc<Vec<Setting>>, CloudFailure> {
        let group = self.group(&handle.place);
        let written = group.written(handle, |state| state.setting_written_at);
        let need = self.need(freshness, written, group.settings.answered_at());
        let fetch = async {
            let raw: Vec<RawSetting> = self
                .clients
                .list(&calls::LIST_SETTINGS, address::settings(&handle.place))
                .await
                .or_absent(Vec::new())?;
            Ok(raw.into_iter().map(setting::read).collect())
        };
        group.settings.read(need, fetch).await.value
    }

    /// Members of a listed set, sorted by provider id.
    pub(crate) async fn members(
        &self,
        place: &Place,
        set: &ScaleSet,
        freshness: Freshness,
    ) -> Result<Vec<observed::Instance>, CloudFailure> {
        let group = self.group(place);
        let slot = group.slot(&set.name);
        let shown = (set.capacity, set.state);
        let is_changed = locked(&slot.state)
            .read_with
            .is_some_and(|read_with| read_with != shown);
        let written = locked(&slot.state).set_written_at;
        let need = Need {
            max_age: self.members_age(freshness, set.state),
            newer_than: if is_changed {
                slot.members.answered_at().max(written)
            } else {
                written
            },
            spacing: Duration::ZERO,
            gather: Duration::ZERO,
        };
        let Answer { value, .. } = slot
            .members
            .read(need, self.read_members(place, &set.name, &slot))
            .await;
        if value.is_ok() {
            locked(&slot.state).read_with = Some(shown);
        }
        value.map(|members| members.to_vec())
    }

    /// A set was written to: what was read before is void.
    pub(crate) fn void_set(&self, place: &Place, set: &str) {
        let slot = self.group(place).slot(set);
        locked(&slot.state).set_written_at = Some(Instant::now());
    }

    /// A set's setting was written to.
    pub(crate) fn void_setting(&self, place: &Place, set: &str) {
        let slot = self.group(place).slot(set);
        locked(&slot.state).setting_written_at = Some(Instant::now());
    }

    fn void_sets(&self, handle: &Handle) {
        for set in handle.sets.keys() {
            self.void_set(&handle.place, set);
        }
    }

    fn need(
        &self,
        freshness: Freshness,
        written: Option<Instant>,
        answered_at: Option<Instant>,
    ) -> Need {
        let is_void = answered_at.is_none_or(|answered| written.is_some_and(|at| answered <= at));
        let spacing = if is_void || freshness == Freshness::Fresh {
            self.timing.supplement_spacing
        } else {
            self.timing.cycle_spacing
        };
        Need {
            max_age: self.age(freshness),
            newer_than: written,
            spacing,
            gather: self.timing.gather,
        }
    }

    /// Refreshes are stretched while Azure says that little is left of a limit (Azure document
    /// 10.5).
    fn age(&self, freshness: Freshness) -> Duration {
        let stretch = self.clients.headroom.stretch();
        match freshness {
            Freshness::Steady => self.timing.steady * stretch,
            Freshness::Converging | Freshness::Changed => self.timing.converging * stretch,
            Freshness::Fresh => Duration::ZERO,
        }
    }

    fn members_age(&self, freshness: Freshness, state: ProvisioningState) -> Duration {
        let is_at_rest = state == ProvisioningState::Succeeded;
        match freshness {
            Freshness::Steady if is_at_rest => self.age(freshness).max(self.turn()),
            Freshness::Steady => self.age(Freshness::Converging),
            other => self.age(other),
        }
    }

    /// How long it takes to list the instances of every set once.
    fn turn(&self) -> Duration {
        let groups: Vec<Arc<Group>> = locked(&self.groups).values().cloned().collect();
        let sets: usize = groups.iter().map(|group| locked(&group.slots).len()).sum();
        let sets = u32::try_from(sets).unwrap_or(u32::MAX);
        // Against the default timing, so that a world that runs faster is read more often.
        let pace = self.timing.steady / 30;
        pace * (sets / STEADY_LISTS_A_SECOND)
    }

    fn group(&self, place: &Place) -> Arc<Group> {
        let name = place.resource_group_name.to_lowercase();
        Arc::clone(locked(&self.groups).entry(name).or_default())
    }

    async fn read_members(
        &self,
        place: &Place,
        set: &str,
        slot: &Slot,
    ) -> Result<Vec<observed::Instance>, CloudError> {
        let instances: Vec<Instance> = self
            .clients
            .list(&calls::LIST_INSTANCES, address::instances(place, set))
            .await?;
        let is_known = |instance: &Instance, state: &SlotState| {
            instance
                .vm_id()
                .is_some_and(|id| state.addresses.contains_key(id))
        };
        let has_strangers = {
            let state = locked(&slot.state);
            instances.iter().any(|instance| !is_known(instance, &state))
        };
        let nics: Vec<Nic> = if has_strangers {
            self.clients
                .list(&calls::LIST_NICS, address::nics(place, set))
                .await?
        } else {
            Vec::new()
        };
        let found = addresses(&nics);
        let mut state = locked(&slot.state);
        let mut kept = BTreeMap::new();
        let mut members: Vec<observed::Instance> = instances
            .iter()
            .map(|instance| {
                let cached = instance.vm_id().and_then(|id| state.addresses.get(id));
                let address = found
                    .get(instance.instance_id())
                    .map(|address| (*address).to_owned())
                    .or_else(|| cached.cloned());
                if let (Some(id), Some(address)) = (instance.vm_id(), &address) {
                    kept.insert(id.to_owned(), address.clone());
                }
                instance.seen(place, set, address.as_deref())
            })
            .collect();
        state.addresses = kept;
        members.sort_by(|a, b| a.member.provider_id.cmp(&b.member.provider_id));
        members.dedup_by(|a, b| a.member.provider_id == b.member.provider_id);
        Ok(members)
    }
}

impl Group {
    /// The last write to any of the handle's sets.
    fn written(
        &self,
        handle: &Handle,
        when: impl Fn(&SlotState) -> Option<Instant>,
    ) -> Option<Instant> {
        handle
            .sets
            .keys()
            .filter_map(|set| when(&locked(&self.slot(set).state)))
            .max()
    }

    /// The slot of a set; forgets those that nobody asks for any more.
    fn slot(&self, set: &str) -> Arc<Slot> {
        let now = Instant::now();
        let mut slots = locked(&self.slots);
        if let Some(slot) = slots.get(set) {
            locked(&slot.state).asked_at = now;
            return Arc::clone(slot);
        }
        slots.retain(|_, slot| {
            now.saturating_duration_since(locked(&slot.state).asked_at) <= INTEREST
        });
        let slot = Arc::new(Slot {
            members: Shared::default(),
            state: Mutex::new(SlotState {
                asked_at: now,
                set_written_at: None,
                setting_written_at: None,
                read_with: None,
                addresses: BTreeMap::new(),
            }),
        });
        slots.insert(set.to_owned(), Arc::clone(&slot));
        slot
    }
}

/// Private address by instance id: the primary interface's, else the first that has one.
fn addresses(nics: &[Nic]) -> BTreeMap<&str, &str> {
    let mut found = BTreeMap::new();
    for primary_only in [true, false] {
        for nic in nics.iter().filter(|nic| nic.is_primary() || !primary_only) {
            if let (Some(id), Some(address)) = (nic.instance_id(), nic.internal_ip()) {
                found.entry(id).or_insert(address);
            }
        }
    }
    found
}
