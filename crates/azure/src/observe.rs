//! Reads only: what exists of one pool. Only the calls that the depth needs are made, and each
//! that fails is `Unknown` on its own.

use std::{collections::BTreeMap, sync::Arc};

use remuda_plan::{
    azure::{
        names,
        observed::{Handle, Instance, Observed, OperationState, Presence, ScaleSet, Setting},
        tags,
    },
    error::{CloudFailure, FailureClass},
    pool::read::{Depth, Freshness, Read},
};

use crate::{
    batch::Sweep,
    calls,
    clients::Clients,
    images::Images,
    operations,
    wire::{
        address,
        scale_set::{self, RawSet},
    },
};

/// One credential in one region of a subscription.
#[derive(Debug)]
pub struct Region {
    pub(crate) clients: Arc<Clients>,
    pub(crate) sweep: Sweep,
    pub(crate) images: Images,
}

type Presences = BTreeMap<String, Presence>;
type Members = Read<Vec<Instance>>;

impl Region {
    /// Reads what exists of a pool.
    pub(crate) async fn observe(
        &self,
        handle: &Handle,
        depth: Depth,
        freshness: Freshness,
    ) -> Observed {
        let sets_side = async {
            match self.presences(handle, depth, freshness).await {
                Ok(mut sets) => {
                    let members = self.members(handle, &mut sets, freshness).await;
                    (Ok(sets), members)
                }
                Err(failure) => (Err(failure), BTreeMap::new()),
            }
        };
        let ((sets, members), settings, operation, image) = futures::join!(
            sets_side,
            self.settings(handle, depth, freshness),
            self.operation(handle, depth),
            self.image(handle, depth),
        );
        let settings = match settings {
            Read::Known(all) => {
                let own = sets.as_ref().ok();
                Read::Known(own_settings(handle, own, &all))
            }
            Read::Unknown(failure) => Read::Unknown(failure),
            Read::NotAsked => Read::NotAsked,
        };
        Observed {
            sets: sets.map_or_else(Read::Unknown, Read::Known),
            settings,
            members,
            operation,
            image,
        }
    }

    /// Whether each set exists: by the group's list, and where that lacks one, by its own `GET`.
    async fn presences(
        &self,
        handle: &Handle,
        depth: Depth,
        freshness: Freshness,
    ) -> Result<Presences, CloudFailure> {
        let listed = self.sweep.sets(handle, freshness).await?;
        let mut found = Presences::new();
        for (name, wanted) in &handle.sets {
            let in_list = listed
                .iter()
                .find(|set| set.name.eq_ignore_ascii_case(name));
            let presence = match in_list {
                Some(set) => Presence::Listed(Box::new(ScaleSet {
                    name: name.clone(),
                    ..set.clone()
                })),
                None if wanted.created || depth == Depth::Full => {
                    self.confirm(handle, name).await?
                }
                None => Presence::Absent,
            };
            found.insert(name.clone(), presence);
        }
        if depth == Depth::Full {
            for set in listed.iter().filter(|set| is_owned(handle, set)) {
                found
                    .entry(set.name.clone())
                    .or_insert_with(|| Presence::Listed(Box::new(set.clone())));
            }
        }
        Ok(found)
    }

    /// The list lacks a set: is it gone, or does the list lag behind?
    async fn confirm(&self, handle: &Handle, name: &str) -> Result<Presence, CloudFailure> {
        let read = self
            .clients
            .get::<RawSet>(&calls::GET_SET, address::set(&handle.place, name))
            .await;
        match read {
            Ok(raw) => Ok(Presence::Unlisted(Box::new(ScaleSet {
                name: name.to_owned(),
                ..scale_set::read(raw)
            }))),
            Err(error) if error.class() == FailureClass::NotFound => Ok(Presence::Absent),
            Err(error) => Err(error.failure),
        }
    }

    /// The instances of the listed sets. A set may go between its group's list and the list of its
    /// instances: where the latter finds none, the set's own `GET` tells whether it is there.
    async fn members(
        &self,
        handle: &Handle,
        sets: &mut Presences,
        freshness: Freshness,
    ) -> BTreeMap<String, Members> {
        let reads = sets.iter().filter_map(|(name, presence)| {
            let Presence::Listed(set) = presence else {
                return None;
            };
            handle.sets.get(name).filter(|set| set.members)?;
            Some(async move {
                let members = self.sweep.members(&handle.place, set, freshness).await;
                (name.clone(), members)
            })
        });
        let mut found = BTreeMap::new();
        for (name, members) in futures::future::join_all(reads).await {
            if let Err(failure) = &members
                && failure.class == FailureClass::NotFound
                && let Ok(Presence::Absent) = self.confirm(handle, &name).await
            {
                sets.insert(name, Presence::Absent);
                continue;
            }
            found.insert(name, members.map_or_else(Read::Unknown, Read::Known));
        }
        found
    }

    async fn settings(
        &self,
        handle: &Handle,
        depth: Depth,
        freshness: Freshness,
    ) -> Read<Arc<Vec<Setting>>> {
        match depth {
            Depth::Members => Read::NotAsked,
            Depth::Leaving | Depth::Full => self
                .sweep
                .settings(handle, freshness)
                .await
                .map_or_else(Read::Unknown, Read::Known),
        }
    }

    async fn image(&self, handle: &Handle, depth: Depth) -> Read<bool> {
        match (&handle.image, depth) {
            (Some(image), Depth::Full) => self.images.exists(&handle.place, image).await,
            _ => Read::NotAsked,
        }
    }

    async fn operation(&self, handle: &Handle, depth: Depth) -> Read<OperationState> {
        match (&handle.operation, depth) {
            (Some(address), Depth::Full) => operations::look(&self.clients, address)
                .await
                .map_or_else(Read::Unknown, Read::Known),
            _ => Read::NotAsked,
        }
    }
}

/// Whether a set carries all tags that this pool's sets carry.
fn is_owned(handle: &Handle, set: &ScaleSet) -> bool {
    !handle.ownership.is_empty()
        && handle
            .ownership
            .iter()
            .all(|(name, value)| tags::found(&set.tags, name) == Some(value))
}

/// Settings that a pool of this name could own: named after one of its sets, or aimed at one.
fn own_settings(
    handle: &Handle,
    found: Option<&Presences>,
    all: &[Setting],
) -> BTreeMap<String, Setting> {
    let others = found.into_iter().flat_map(BTreeMap::keys);
    let sets: Vec<&String> = handle.sets.keys().chain(others).collect();
    all.iter()
        .filter_map(|setting| {
            sets.iter().find_map(|set| {
                let own_name = names::setting(set);
                let is_named = setting.name.eq_ignore_ascii_case(&own_name);
                let is_aimed = names::same_id(&setting.target, &names::set_id(&handle.place, set));
                (is_named || is_aimed).then(|| {
                    let name = if is_named {
                        own_name
                    } else {
                        setting.name.clone()
                    };
                    (name, setting.clone())
                })
            })
        })
        .collect()
}
