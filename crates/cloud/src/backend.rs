//! What a cloud must be able to do for a pool: read what is there, and make one call.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use remuda_plan::{
    driver::{Desired, Driver, Handle, Observed},
    pool::{
        action::Action,
        read::{Depth, Freshness},
        secret::Secret,
    },
};

use crate::{CloudError, examined::Fact};

/// One cloud. Hands out sessions; caches clients, sweeps and limiters by credential and region.
#[async_trait]
pub trait PoolBackend: Send + Sync {
    /// Which driver this backend serves.
    fn driver(&self) -> Driver;

    /// A session with the given credential. Sends nothing when the credential is unusable.
    ///
    /// # Errors
    /// `NoCredentials` naming the missing keys, never their values.
    async fn session(&self, credentials: &Credentials) -> Result<Arc<dyn PoolSession>, CloudError>;
}

/// A cloud through one credential.
#[async_trait]
pub trait PoolSession: Send + Sync {
    /// Reads what exists. Single reads that fail are `Unknown` inside; the call itself fails only
    /// where nothing at all could be asked.
    async fn observe(
        &self,
        handle: &Handle,
        depth: Depth,
        freshness: Freshness,
    ) -> Result<Observed, CloudError>;

    /// Makes one cloud call for the pool that `handle` names (its region is where the call goes).
    /// Safe to repeat. A write to the group invalidates its place in the sweep. A record write is
    /// not a cloud call: the caller makes it, and a backend answers `Bug`.
    async fn apply(&self, handle: &Handle, action: &Action) -> Result<Applied, CloudError>;

    /// Who the credential is, in the cloud's words: one call that needs no right and changes
    /// nothing.
    async fn who(&self) -> Result<String, CloudError>;

    /// What the cloud says about what a pool needs; `desired` is what it wants, where that is known.
    /// Reads and dry runs: nothing changes. Each question that fails is unknown on its own.
    async fn examine(
        &self,
        handle: &Handle,
        desired: Option<&Desired>,
    ) -> Result<Vec<Fact>, CloudError>;
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applied {
    /// Done.
    Done,
    /// It was like that already (deleting what is gone, cancelling what does not run).
    AlreadySo,
    /// Accepted, but it takes time: stop here and look again.
    Pending {
        /// What is awaited, for people.
        what: String,
        /// When to look again.
        look_again_seconds: u32,
    },
    /// Accepted as a long-running operation that the plan wrote down before: its address belongs
    /// into the record. Stop here and look again.
    Started {
        /// Where the cloud tells how it goes; `None`: the object itself tells.
        address: Option<String>,
        /// What is awaited, for people.
        what: String,
        /// When to look again.
        look_again_seconds: u32,
    },
}

/// A credential as the identity gives it: environment names to values, read in memory only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// Cache key: identity kind and name, Secret resource version, namespace. Holds no secret.
    pub cache_key: String,
    /// The Secret's data, or `Ambient`.
    pub source: CredentialSource,
}

/// Where a credential comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialSource {
    /// Keys of an identity Secret, for example `AWS_ACCESS_KEY_ID`.
    Keys(BTreeMap<String, Secret<Vec<u8>>>),
    /// The process's own identity (IRSA, instance profile); only where the operator asked for it.
    Ambient,
}
