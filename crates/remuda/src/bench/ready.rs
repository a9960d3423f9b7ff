//! Waits until every pool is Ready, by watching rather than by listing again and again.

use std::{collections::HashSet, time::Duration};

use anyhow::{Context, Result, bail};
use futures::{Stream, StreamExt, stream::select};
use kube::{
    Api, Client, ResourceExt,
    runtime::{WatchStreamExt, watcher},
};
use remuda_api::{capi::MachinePool, captf::TerraformMachinePool};
use tokio::time::{Instant, timeout_at};

use crate::up::{is_ready, is_running, progress::Progress};

/// How often progress is told.
const TELL: Duration = Duration::from_secs(2);

/// What is Ready so far.
pub(crate) struct Ready {
    client: Client,
    wanted: usize,
    owners: HashSet<String>,
    pools: HashSet<String>,
}

/// One object as the watch shows it.
enum Seen {
    Owner(String, bool),
    Pool(String, bool),
}

impl Ready {
    /// Nothing is known yet; `wanted` pools are to come.
    pub(crate) fn new(client: Client, wanted: usize) -> Self {
        Self {
            client,
            wanted,
            owners: HashSet::new(),
            pools: HashSet::new(),
        }
    }

    /// Waits until every pool is Ready and its owner has a Ready node for each machine.
    ///
    /// # Errors
    /// That does not come within `within`.
    pub(crate) async fn wait(&mut self, within: Duration, progress: &mut Progress) -> Result<()> {
        progress.begin("pools");
        let started = Instant::now();
        let mut told = started;
        let mut seen = std::pin::pin!(self.watch());
        while self.owners.len() < self.wanted || self.pools.len() < self.wanted {
            let Ok(next) = timeout_at(started + within, seen.next()).await else {
                bail!(
                    "{} of {} pools have all their machines and {} are Ready after {} s",
                    self.owners.len(),
                    self.wanted,
                    self.pools.len(),
                    within.as_secs()
                );
            };
            self.take(next.context("the watch of the pools ended")??);
            if told.elapsed() > TELL {
                told = Instant::now();
                let (owners, pools) = (self.owners.len(), self.pools.len());
                progress.update(&format!("{owners} have all machines, {pools} are Ready"));
            }
        }
        progress.done(&format!("all {} are Ready", self.wanted));
        Ok(())
    }

    fn watch(&self) -> impl Stream<Item = Result<Seen>> + use<> {
        let owners: Api<MachinePool> = Api::all(self.client.clone());
        let owners = watcher(owners, watcher::Config::default())
            .default_backoff()
            .applied_objects()
            .map(|owner| {
                let owner = owner.context("watching MachinePools")?;
                Ok(Seen::Owner(key(&owner), is_running(&owner)))
            });
        let pools: Api<TerraformMachinePool> = Api::all(self.client.clone());
        let pools = watcher(pools, watcher::Config::default())
            .default_backoff()
            .applied_objects()
            .map(|pool| {
                let pool = pool.context("watching TerraformMachinePools")?;
                Ok(Seen::Pool(key(&pool), is_ready(&pool)))
            });
        select(owners, pools)
    }

    fn take(&mut self, seen: Seen) {
        let (ready, key, is_ready) = match seen {
            Seen::Owner(key, is_running) => (&mut self.owners, key, is_running),
            Seen::Pool(key, is_ready) => (&mut self.pools, key, is_ready),
        };
        if is_ready {
            ready.insert(key);
        } else {
            ready.remove(&key);
        }
    }
}

fn key(object: &impl ResourceExt) -> String {
    let namespace = object.namespace().unwrap_or_default();
    format!("{namespace}/{}", object.name_any())
}
