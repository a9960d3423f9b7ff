//! A server: one store, the management instance and any number of workload instances.

mod authority;
mod client_authority;
mod connection;
mod credentials;
mod data_dir;
mod kubeconfig;
mod serving;
mod signing;

pub use authority::CredentialError;
pub use data_dir::DataDir;
pub use serving::{ServeError, Serving};

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::clock::{Clock, SystemClock};
use crate::ids::Ids;
use crate::instance::Instance;
use crate::lifecycle;
use crate::store::{Backup, CommitError, Settings, Store, StoreError};
use crate::webhook::{ServiceResolver, Webhooks};
pub(crate) use authority::Authority;
pub(crate) use credentials::same_bytes;
pub(crate) use signing::{Requested, requested};

/// The name of the management instance.
const MANAGEMENT: &str = "";

/// Why a server could not be built. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The store could not be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Keys and certificates could not be read or made.
    #[error(transparent)]
    Credentials(#[from] CredentialError),
    /// The loops of a server need a tokio runtime.
    #[error("an API server must be built inside a tokio runtime: call `build` from async code")]
    NoRuntime,
    /// The first write failed.
    #[error("the store cannot be written: {0}; check the free space of its disk")]
    FirstWrite(String),
}

/// Why an instance could not be removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoveError {
    /// The management API lives as long as the server.
    #[error("the management API cannot be removed")]
    Management,
    /// The store refused; what is left goes with the next attempt.
    #[error("the instance is only partly removed: {0}")]
    Store(String),
}

/// Why the file of the store could not be written anew. It is as it was.
#[derive(Debug, thiserror::Error)]
#[error("the store cannot be compacted: {0}")]
pub struct CompactError(String);

/// What a server is made of. See [`ApiServer::builder`].
#[derive(Clone)]
pub struct Builder {
    data_dir: Option<PathBuf>,
    key_file: Option<PathBuf>,
    sealed: BTreeSet<String>,
    clock: Arc<dyn Clock>,
    seed: Option<u64>,
    webhooks: Arc<Webhooks>,
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder")
            .field("data_dir", &self.data_dir)
            .field("key_file", &self.key_file)
            .field("sealed", &self.sealed)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// Keeps objects, keys and certificates in this folder; without it they live in memory.
    #[must_use]
    pub fn data_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.data_dir = Some(path.into());
        self
    }

    /// Keeps the keys that objects are sealed with in this file (mode 0600, one key a line) instead
    /// of `store.key` in the data directory. It is made when nothing is sealed yet.
    #[must_use]
    pub fn key_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.key_file = Some(path.into());
        self
    }

    /// Seals the objects of these resources on disk and in backups, and no others: `secrets`,
    /// `widgets.example.com`. Secrets alone are the default. A change takes effect at the next
    /// start, for every object.
    #[must_use]
    pub fn seal(mut self, resources: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.sealed = resources.into_iter().map(Into::into).collect();
        self
    }

    /// Takes the time from `clock` instead of the machine.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Makes uids and generated names repeatable.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Finds the services that configurations of webhooks name, and the webhooks of this process.
    /// Without it, only webhooks at a URL can be called, each over a connection.
    #[must_use]
    pub fn service_resolver(mut self, resolver: Arc<dyn ServiceResolver>) -> Self {
        self.webhooks = Arc::new(Webhooks::new(resolver));
        self
    }

    /// Opens the store and starts the loops of every instance in it.
    pub fn build(self) -> Result<ApiServer, BuildError> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(BuildError::NoRuntime);
        }
        let store = match &self.data_dir {
            Some(folder) => Store::open(&Settings {
                folder: folder.clone(),
                key_file: self.key_file,
                sealed: self.sealed,
            })?,
            None => Store::in_memory(),
        };
        let authority = Arc::new(Authority::open(self.data_dir.as_deref())?);
        let seed = self.seed.unwrap_or_else(|| fastrand::u64(..));
        let server = ApiServer {
            inner: Arc::new(Inner {
                ids: Arc::new(Ids::new(seed)),
                clock: self.clock,
                webhooks: self.webhooks,
                instances: Mutex::new(HashMap::new()),
                store: Arc::new(store),
                authority,
            }),
        };
        let names = server.inner.store.space_names();
        for name in names.iter().map(String::as_str).chain([MANAGEMENT]) {
            let (_, outcome) = server.open(name);
            outcome.map_err(|error| BuildError::FirstWrite(error.to_string()))?;
        }
        Ok(server)
    }
}

/// An embedded Kubernetes API server. Cheap to clone; it stops when the last clone, instance and
/// router is dropped.
#[derive(Clone)]
pub struct ApiServer {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<Store>,
    authority: Arc<Authority>,
    clock: Arc<dyn Clock>,
    ids: Arc<Ids>,
    webhooks: Arc<Webhooks>,
    instances: Mutex<HashMap<String, Instance>>,
}

impl std::fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiServer").finish_non_exhaustive()
    }
}

impl ApiServer {
    /// Starts with a server in memory, on the machine's clock, with random identifiers.
    pub fn builder() -> Builder {
        Builder {
            data_dir: None,
            key_file: None,
            sealed: DataDir::sealed(),
            clock: Arc::new(SystemClock),
            seed: None,
            webhooks: Arc::default(),
        }
    }

    /// The management API, served at `/`.
    pub fn management(&self) -> Instance {
        self.instance(MANAGEMENT)
    }

    /// The isolated API of this name, made when absent. A name has the form `NAMESPACE/NAME`; it
    /// is served at `/clusters/NAMESPACE/NAME`.
    pub fn instance(&self, name: &str) -> Instance {
        let (instance, outcome) = self.open(name);
        if let Err(error) = outcome {
            // Reads still work; the next opening makes what is missing.
            tracing::error!(%error, instance = name, "its system namespaces and roles could not be made");
        }
        instance
    }

    /// The instance of this name, if it was ever made.
    pub fn existing_instance(&self, name: &str) -> Option<Instance> {
        self.instances().get(name).cloned()
    }

    /// Removes an instance with everything in it; an instance that does not exist is removed
    /// already. Handles, routers and clients of it must not be used any more.
    ///
    /// Cancellation: what is left goes with the next attempt.
    pub async fn remove_instance(&self, name: &str) -> Result<(), RemoveError> {
        if name == MANAGEMENT {
            return Err(RemoveError::Management);
        }
        let instance = self.instances().remove(name);
        if let Some(instance) = &instance {
            instance.retire();
            // What was begun before is seen, and removed with the rest.
            let settled = instance.settled().await;
            settled.map_err(|error| RemoveError::Store(error.to_string()))?;
        }
        self.inner
            .store
            .remove_space(name)
            .await
            .map_err(|error| RemoveError::Store(error.to_string()))?;
        drop(instance);
        Ok(())
    }

    fn instances(&self) -> std::sync::MutexGuard<'_, HashMap<String, Instance>> {
        self.inner
            .instances
            .lock()
            .expect("no holder of this lock panics")
    }

    fn open(&self, name: &str) -> (Instance, Result<(), CommitError>) {
        let mut instances = self.instances();
        if let Some(instance) = instances.get(name) {
            return (instance.clone(), Ok(()));
        }
        let inner = &self.inner;
        let (clock, ids) = (inner.clock.clone(), inner.ids.clone());
        let (authority, webhooks) = (inner.authority.clone(), inner.webhooks.clone());
        let instance = Instance::open(name, &inner.store, clock, ids, authority, webhooks);
        let outcome = instance.complete();
        lifecycle::spawn(&instance);
        instances.insert(name.to_owned(), instance.clone());
        (instance, outcome)
    }

    /// Serves every instance over TLS. Only loopback addresses are taken; port 0 takes a free one.
    pub async fn serve(&self, address: SocketAddr) -> Result<Serving, ServeError> {
        serving::start(self.clone(), address).await
    }

    /// A backup of every instance at one revision, while writes go on; `None` for a server in
    /// memory. See [`DataDir::restore`].
    pub fn backup(&self) -> Option<Backup> {
        self.inner.store.backup()
    }

    /// Writes the file of the store anew: without waste, and everything sealed with the first key of
    /// the key file as it was at the start. Writes wait meanwhile; a failure changes nothing.
    pub async fn compact(&self) -> Result<(), CompactError> {
        let outcome = self.inner.store.writer().compact().await;
        outcome.map_err(|error| CompactError(error.to_string()))
    }

    /// Closes the store: later writes fail, those under way are finished, the file can be opened
    /// again. Without it the store closes when the last clone, instance, router and client of the
    /// server is gone, which may take a moment longer than the last `drop` in sight.
    #[expect(
        clippy::unused_async,
        reason = "closing may come to wait without the signature changing"
    )]
    pub async fn close(self) {
        let writer = self.inner.store.writer();
        // One commit at most: short enough to hold a worker, and free of threads in memory mode.
        writer.close();
    }

    pub(crate) fn authority(&self) -> &Authority {
        &self.inner.authority
    }
}
