//! Leader election by a Lease: at most one process works, and one that can no longer prove that it
//! leads stops before another may begin.
//!
//! Clocks of different machines are never compared: a lease is over when it has not changed for its
//! own duration, measured here. The leader counts from before it sent its last successful renewal,
//! so its end of the lease comes before everyone else's.

use std::{future::Future, sync::Arc, time::Duration};

use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

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
    /// Time between two tries to renew or acquire.
    pub retry: Duration,
    /// What is left of the lease when work that does not end by itself is cut off.
    pub margin: Duration,
}

impl Default for Timing {
    /// Those of Kubernetes' own components.
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(15),
            renew_within: Duration::from_secs(10),
            retry: Duration::from_secs(2),
            margin: Duration::from_secs(1),
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
    /// Name of the Lease.
    pub name: String,
    /// Who this process is; no other has this name.
    pub identity: String,
    /// How long things take.
    pub timing: Timing,
}

/// What a candidate last saw of the lease, and when that was new.
#[derive(Default)]
struct Seen(Option<(Value, Instant)>);

impl Seen {
    /// Whether someone else still holds the lease.
    fn is_held(&mut self, spec: &Value, identity: &str, now: Instant) -> bool {
        let since = match &self.0 {
            Some((seen, since)) if seen == spec => *since,
            _ => {
                self.0 = Some((spec.clone(), now));
                now
            }
        };
        let holder = spec["holderIdentity"].as_str().unwrap_or_default();
        let seconds = spec["leaseDurationSeconds"].as_u64().unwrap_or_default();
        !holder.is_empty()
            && holder != identity
            && now.duration_since(since) < Duration::from_secs(seconds)
    }
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
        let mut seen = Seen::default();
        while let Some(renewed) = self.acquire(&mut seen, &shutdown).await {
            tracing::info!(identity = self.identity, "this process leads");
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
    async fn acquire(&self, seen: &mut Seen, shutdown: &CancellationToken) -> Option<Instant> {
        loop {
            if shutdown.is_cancelled() {
                return None;
            }
            let asked = Instant::now();
            match self.attempt(seen, asked + self.timing.renew_within).await {
                Ok(true) => return Some(asked),
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, "the lease cannot be acquired"),
            }
            tokio::select! {
                () = shutdown.cancelled() => return None,
                () = tokio::time::sleep(self.timing.retry) => {}
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

    /// One try to hold the lease, which ends in time.
    async fn attempt(&self, seen: &mut Seen, deadline: Instant) -> Result<bool, ApiError> {
        match tokio::time::timeout_at(deadline, self.renew(seen)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(ApiError::Failed {
                what: format!("the lease {}/{}", self.namespace, self.name),
                why: "the API server did not answer in time".to_owned(),
            }),
        }
    }

    /// Takes the lease where it is free, or renews it; whether this process holds it now.
    async fn renew(&self, seen: &mut Seen) -> Result<bool, ApiError> {
        let (resource, namespace) = (resource(), Some(self.namespace.as_str()));
        let stored = self
            .objects
            .get_of(&resource, namespace, &self.name)
            .await?;
        let Some(mut lease) = stored else {
            let lease = json!({
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": { "name": self.name, "namespace": self.namespace },
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
        self.write(&lease).await
    }

    /// Gives the lease up, so that another need not wait.
    async fn release(&self) -> Result<(), ApiError> {
        let namespace = Some(self.namespace.as_str());
        let stored = self
            .objects
            .get_of(&resource(), namespace, &self.name)
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
