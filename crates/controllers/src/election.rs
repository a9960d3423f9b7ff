//! Leader election by a Lease: at most one process works, and one that can no longer prove that it
//! leads stops before another may begin.
//!
//! Who waits watches the lease and tries at the very moment that what it saw is over, so a leader
//! that was killed is followed within one lease. The watch only says when to look: a lease is taken
//! after a fresh read, and where nothing is heard from the watch it is polled.
//!
//! Clocks of different machines are never compared: a lease is over when it has not changed for its
//! own duration, measured here. The leader counts from before it sent its last successful renewal,
//! so its end of the lease comes before everyone else's.
//!
//! Several may share the work: each share has a lease of its own. Shares of different sizes overlap,
//! so nobody leads one of three while somebody leads one of two. Whoever acquired a lease looks at
//! the others before it works; of two that acquire at once at least one sees the other.

mod seen;

use std::{future::Future, sync::Arc, time::Duration};

use kube::{
    Api,
    core::{ApiResource, GroupVersionKind},
};
use remuda_api::keys::label;
use remuda_plan::share::Share;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use self::seen::{Changes, Others, Seen};
use crate::{
    clock::Clock,
    context::FIELD_MANAGER,
    objects::{ApiError, LiveObjects},
};

/// How long things take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// How long a lease holds after its last renewal.
    pub lease: Duration,
    /// A leader that could not renew for this long stops its work.
    pub renew_within: Duration,
    /// Time between two renewals, and between two tries to acquire while no watch tells more.
    pub retry: Duration,
    /// What is left of the lease when work that does not end by itself is cut off.
    pub margin: Duration,
}

impl Default for Timing {
    /// Those of Kubernetes' own components.
    fn default() -> Self {
        Self::of_lease(Duration::from_secs(15))
    }
}

impl Timing {
    /// The times that go with a lease, in the proportions of Kubernetes' own components. A Lease
    /// holds whole seconds.
    pub fn of_lease(lease: Duration) -> Self {
        Self {
            lease,
            renew_within: lease * 2 / 3,
            retry: lease * 2 / 15,
            margin: lease / 15,
        }
    }
}

/// One candidate.
pub struct Election {
    /// The management API.
    pub objects: LiveObjects,
    /// The time, for what people read in the Lease.
    pub clock: Arc<dyn Clock>,
    /// Namespace of the Lease.
    pub namespace: String,
    /// Name of the Lease; that of a share has the share's number behind it.
    pub name: String,
    /// Which part of the work is led.
    pub share: Share,
    /// Who this process is; no other has this name.
    pub identity: String,
    /// How long things take.
    pub timing: Timing,
}

impl Election {
    /// Runs `work` whenever this process leads, until `shutdown`. The token that work is given is
    /// cancelled when it must end; what has not ended by itself when the lease is nearly over is cut
    /// off as a crash would.
    ///
    /// # Cancellation
    /// Dropping the future stops the work at once; others take over when the lease is over.
    pub async fn lead<F, Fut>(&self, shutdown: CancellationToken, work: F)
    where
        F: Fn(CancellationToken) -> Fut,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let (mut seen, mut others) = (Seen::default(), Others::default());
        while let Some(renewed) = self.acquire(&mut seen, &mut others, &shutdown).await {
            tracing::info!(identity = self.identity, share = %self.share, "this process leads");
            let stop = shutdown.child_token();
            let task = AbortOnDropHandle::new(tokio::spawn(work(stop.clone())));
            let renewed = self.hold(&mut seen, renewed, &shutdown).await;
            stop.cancel();
            let over = renewed + self.timing.lease.saturating_sub(self.timing.margin);
            if shutdown.is_cancelled() {
                // Nobody else begins while this process renews: the work may take its time.
                self.end(&mut seen, renewed, task).await;
                return;
            }
            tracing::warn!(identity = self.identity, "this process no longer leads");
            let _ = tokio::time::timeout_at(over, task).await;
        }
    }

    /// Tries until this process holds the lease; when that was asked for, or `None` at shutdown.
    async fn acquire(
        &self,
        seen: &mut Seen,
        others: &mut Others,
        shutdown: &CancellationToken,
    ) -> Option<Instant> {
        let leases = Api::namespaced_with(self.objects.client(), &self.namespace, &resource());
        let mut changes = Changes::of(leases, &self.lease());
        let mut waits = false;
        while !shutdown.is_cancelled() {
            let asked = Instant::now();
            let deadline = asked + self.timing.renew_within;
            match self.attempt_alone(seen, others, deadline).await {
                Ok(true) => return Some(asked),
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, "the lease cannot be acquired"),
            }
            if !std::mem::replace(&mut waits, true) {
                tracing::info!(identity = self.identity, share = %self.share, "this process waits to lead");
            }
            let pause = self.timing.retry + others.jitter(&self.identity, self.timing.retry);
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = self.wait(seen, &mut changes, Instant::now() + pause) => {}
            }
        }
        None
    }

    /// Waits until it is worth a try: the lease of someone else is over or was given up, or `look`,
    /// which moves on while the watch shows someone else renew.
    async fn wait(&self, seen: &mut Seen, changes: &mut Changes, mut look: Instant) {
        loop {
            let now = Instant::now();
            let over = seen.over(&self.identity).filter(|over| now < *over);
            tokio::select! {
                () = tokio::time::sleep_until(over.map_or(look, |over| over.min(look))) => return,
                spec = changes.next() => {
                    let now = Instant::now();
                    if seen.is_held(&spec, &self.identity, now) {
                        // Two renewals may be late before it is asked for.
                        look = now + self.timing.retry * 2;
                    } else if over.is_some() {
                        return;
                    }
                }
            }
        }
    }

    /// Renews until the lease is lost or shutdown; when it was last renewed.
    async fn hold(
        &self,
        seen: &mut Seen,
        mut renewed: Instant,
        shutdown: &CancellationToken,
    ) -> Instant {
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return renewed,
                () = tokio::time::sleep(self.timing.retry) => {}
            }
            let deadline = renewed + self.timing.renew_within;
            let asked = Instant::now();
            match self.attempt(seen, deadline).await {
                Ok(true) => renewed = asked,
                // Someone else took it: it was over without our noticing.
                Ok(false) => return renewed,
                Err(error) => {
                    tracing::warn!(%error, "the lease cannot be renewed");
                    if Instant::now() + self.timing.retry >= deadline {
                        return renewed;
                    }
                }
            }
        }
    }

    /// After a shutdown was asked for: renews while the work ends, then gives the lease up.
    async fn end(&self, seen: &mut Seen, mut renewed: Instant, task: AbortOnDropHandle<()>) {
        let mut task = task;
        loop {
            let over = renewed + self.timing.lease.saturating_sub(self.timing.margin);
            tokio::select! {
                _ = &mut task => break,
                () = tokio::time::sleep_until(over) => return,
                () = tokio::time::sleep(self.timing.retry) => {}
            }
            let asked = Instant::now();
            if let Ok(true) = self.attempt(seen, over).await {
                renewed = asked;
            }
        }
        if let Err(error) = self.release().await {
            tracing::debug!(%error, "the lease was not given up; it ends by itself");
        }
    }

    /// One try to hold the lease while nobody leads a share of another size.
    async fn attempt_alone(
        &self,
        seen: &mut Seen,
        others: &mut Others,
        deadline: Instant,
    ) -> Result<bool, ApiError> {
        if self.in_time(self.overlaps(others), deadline).await? {
            others.collisions = 0;
            return Ok(false);
        }
        if !self.attempt(seen, deadline).await? {
            return Ok(false);
        }
        let overlaps = self.in_time(self.overlaps(others), deadline).await;
        if matches!(overlaps, Ok(false)) {
            others.collisions = 0;
            return Ok(true);
        }
        others.collisions += 1;
        self.in_time(self.release(), deadline).await?;
        overlaps.map(|_| false)
    }

    /// Whether somebody leads a share of another size.
    async fn overlaps(&self, others: &mut Others) -> Result<bool, ApiError> {
        let selector = format!(
            "{}={},{}!={}",
            label::ELECTION,
            self.name,
            label::SHARES,
            self.share.of()
        );
        let namespace = Some(self.namespace.as_str());
        let leases = self
            .objects
            .list_of(&resource(), namespace, &selector)
            .await?;
        let now = Instant::now();
        let held = leases.iter().filter(|lease| {
            let name = lease["metadata"]["name"].as_str().unwrap_or_default();
            let seen = others.seen.entry(name.to_owned()).or_default();
            seen.is_held(&lease["spec"], &self.identity, now)
        });
        // All are looked at: the time of each runs from when it was first seen.
        Ok(held.count() > 0)
    }

    /// One try to hold the lease, which ends in time.
    async fn attempt(&self, seen: &mut Seen, deadline: Instant) -> Result<bool, ApiError> {
        self.in_time(self.renew(seen), deadline).await
    }

    async fn in_time<T>(
        &self,
        request: impl Future<Output = Result<T, ApiError>>,
        deadline: Instant,
    ) -> Result<T, ApiError> {
        match tokio::time::timeout_at(deadline, request).await {
            Ok(outcome) => outcome,
            Err(_) => Err(ApiError::Failed {
                what: format!("the lease {}/{}", self.namespace, self.lease()),
                why: "the API server did not answer in time".to_owned(),
            }),
        }
    }

    /// Name of the lease of this share.
    fn lease(&self) -> String {
        match self.share.of() {
            1 => self.name.clone(),
            of => format!("{}-{}-of-{of}", self.name, self.share.index()),
        }
    }

    fn labels(&self) -> Value {
        json!({ label::ELECTION: self.name, label::SHARES: self.share.of().to_string() })
    }

    /// Takes the lease where it is free, or renews it; whether this process holds it now.
    async fn renew(&self, seen: &mut Seen) -> Result<bool, ApiError> {
        let (resource, namespace) = (resource(), Some(self.namespace.as_str()));
        let stored = self
            .objects
            .get_of(&resource, namespace, &self.lease())
            .await?;
        let Some(mut lease) = stored else {
            // Somebody deleted it. Its holder makes it again, and works on until then.
            let over = seen.over(&self.identity);
            if over.is_some_and(|over| Instant::now() < over) {
                return Ok(false);
            }
            let lease = json!({
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {
                    "name": self.lease(), "namespace": self.namespace, "labels": self.labels(),
                },
                "spec": self.taken(&Value::Null),
            });
            let created = self
                .objects
                .create(&resource, namespace, &lease, FIELD_MANAGER)
                .await;
            return match created {
                Ok(_) => Ok(true),
                Err(ApiError::AlreadyExists(_)) => Ok(false),
                Err(error) => Err(error),
            };
        };
        if seen.is_held(&lease["spec"], &self.identity, Instant::now()) {
            return Ok(false);
        }
        lease["spec"] = self.taken(&lease["spec"]);
        lease["metadata"]["labels"] = self.labels();
        self.write(&lease).await
    }

    /// Gives the lease up, so that another need not wait.
    async fn release(&self) -> Result<(), ApiError> {
        let namespace = Some(self.namespace.as_str());
        let stored = self
            .objects
            .get_of(&resource(), namespace, &self.lease())
            .await?;
        if let Some(mut lease) = stored
            && lease["spec"]["holderIdentity"] == self.identity
        {
            lease["spec"]["holderIdentity"] = "".into();
            lease["spec"]["leaseDurationSeconds"] = 1.into();
            self.write(&lease).await?;
        }
        Ok(())
    }

    /// Writes the lease as it was read; whether nobody else did in between.
    async fn write(&self, lease: &Value) -> Result<bool, ApiError> {
        let written = self
            .objects
            .replace(&resource(), Some(&self.namespace), lease, FIELD_MANAGER)
            .await;
        match written {
            Ok(_) => Ok(true),
            Err(ApiError::Conflict(_) | ApiError::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The lease in this process' hands.
    fn taken(&self, before: &Value) -> Value {
        let now = self.clock.now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ");
        let is_ours = before["holderIdentity"] == self.identity;
        let mut spec = json!({
            "holderIdentity": self.identity,
            "leaseDurationSeconds": self.timing.lease.as_secs(),
            "renewTime": now.to_string(),
            "acquireTime": before["acquireTime"],
            "leaseTransitions": before["leaseTransitions"].as_u64().unwrap_or_default(),
        });
        if !is_ours {
            spec["acquireTime"] = now.to_string().into();
            if !before.is_null() {
                let changes = before["leaseTransitions"].as_u64().unwrap_or_default();
                spec["leaseTransitions"] = changes.saturating_add(1).into();
            }
        }
        spec
    }
}

fn resource() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("coordination.k8s.io", "v1", "Lease"))
}
