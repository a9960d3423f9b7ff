//! Refreshes of a pool that rests: while the cloud shows what it showed, the decision would be the
//! same, so nothing else is read. Whatever wakes the pool, and every ten minutes, brings a whole pass.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hasher},
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use remuda_plan::{
    driver::Handle,
    pool::{
        gate::Next,
        read::{Depth, Freshness},
        world::Lookup,
    },
    status::{pass::Pass, publication::Requeue, rest::Rest},
};
use serde::Serialize;

use super::{
    PoolKey,
    attempt::{Access, Shown, observe, session},
    gather::{Gathered, ReadSecret, credential, version},
};
use crate::{
    context::Context,
    kinds::Kind,
    objects::{LiveObjects, Objects as _},
};

/// A pool as the whole pass left it that found it at rest.
#[derive(Debug)]
pub(crate) struct Resting {
    rest: Rest,
    uid: String,
    access: Access,
    handle: Handle,
    depth: Depth,
    /// Digest of what the cloud showed.
    shown: u64,
    /// The bootstrap Secret. Whoever may not watch it sees another one within a refresh all the same
    /// (captf document, BOOT-2).
    bootstrap: Option<ReadSecret>,
}

impl Resting {
    /// What the pass leaves; `None` where it did not look at the cloud.
    pub(super) fn after(
        rest: Rest,
        gathered: &Gathered,
        pass: &Pass,
        shown: Shown,
    ) -> Option<Self> {
        let Next::Go(goal) = &pass.gate.next else {
            return None;
        };
        Some(Self {
            rest,
            uid: gathered.world.pool.metadata.uid.clone(),
            access: Access::of(goal),
            depth: goal.depth,
            shown: digest(&shown.observed)?,
            handle: shown.handle,
            bootstrap: gathered.bootstrap.clone(),
        })
    }

    /// A refresh: reads the bootstrap Secret, the credential, as every operation does, and the cloud. `None`: a whole pass
    /// is due, because something is not as it was, could not be read, or time is up.
    pub(super) async fn look(&self, ctx: &Context) -> Option<Requeue> {
        let started = ctx.now();
        if !self.rest.lasts(started) {
            return None;
        }
        let shown = tokio::select! {
            biased;
            () = ctx.shutdown.cancelled() => None,
            shown = self.shown_now(ctx) => shown,
        };
        if shown? != self.shown {
            return None;
        }
        ctx.memories().refreshed(&self.uid, started)?;
        ctx.metrics
            .refreshed(self.access.driver, &self.uid, started);
        Some(Requeue::After(self.rest.interval))
    }

    async fn shown_now(&self, ctx: &Context) -> Option<u64> {
        if let Some(bootstrap) = &self.bootstrap
            && !is_as_it_was(&ctx.objects, bootstrap).await
        {
            return None;
        }
        let secret = &self.access.secret;
        let (found, keys) = credential(&ctx.objects, &secret.namespace, &secret.name).await;
        if found != Lookup::Found(secret.clone()) {
            return None;
        }
        let session = session(&self.access, &keys, ctx).await.ok()?;
        let observed = observe(
            session.as_ref(),
            &self.handle,
            self.depth,
            Freshness::Steady,
        );
        digest(&observed.await.ok()?)
    }
}

async fn is_as_it_was(objects: &LiveObjects, secret: &ReadSecret) -> bool {
    let read = objects.get(Kind::Secret, &secret.namespace, &secret.name);
    matches!(read.await, Ok(Some(found)) if version(&found) == secret.resource_version)
}

/// Equal for equal values in one process; `None` where a value cannot be written down.
fn digest(value: &impl Serialize) -> Option<u64> {
    struct Into(DefaultHasher);
    impl io::Write for Into {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut into = Into(DefaultHasher::new());
    serde_json::to_writer(&mut into, value).ok()?;
    Some(into.0.finish())
}

/// The pools that rest, and how often each was woken: a pass that something woke meanwhile may have
/// read what was before.
#[derive(Debug, Default)]
pub(crate) struct Rests(Mutex<HashMap<PoolKey, State>>);

#[derive(Debug, Default)]
struct State {
    woken: u64,
    resting: Option<Arc<Resting>>,
}

impl Rests {
    /// Something changed around the pool.
    pub(crate) fn wake(&self, key: PoolKey) {
        let mut states = self.lock();
        let state = states.entry(key).or_default();
        state.woken += 1;
        state.resting = None;
    }

    /// There is no such pool.
    pub(super) fn forget(&self, key: &PoolKey) {
        self.lock().remove(key);
    }

    /// A pass begins: a mark for its end, and how the pool rests.
    pub(super) fn begin(&self, key: &PoolKey) -> (u64, Option<Arc<Resting>>) {
        let states = self.lock();
        let state = states.get(key);
        let state = state.map(|state| (state.woken, state.resting.clone()));
        state.unwrap_or_default()
    }

    /// A whole pass is over.
    pub(super) fn end(&self, key: &PoolKey, mark: u64, resting: Option<Resting>) {
        let mut states = self.lock();
        let Some(state) = states.get_mut(key) else {
            return;
        };
        if state.woken == mark {
            state.resting = resting.map(Arc::new);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PoolKey, State>> {
        // Each statement leaves the map whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
