//! One isolated API: its objects, its kinds, its journal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock, Weak};

use futures::future::join_all;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::access::{CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, Caller, Followed, bootstrap};
use crate::admission::{Hooks, MUTATING_SHELF, VALIDATING_SHELF};
use crate::clock::{Clock, stamp};
use crate::ids::Ids;
use crate::journal::Journal;
use crate::registry::{CRD_SHELF, Kind, NAMESPACE_SHELF, Registry};
use crate::server::Authority;
use crate::store::{Backup, CommitError, Expect, Key, Record, Space, Store, StoreWriter};
use crate::webhook::Webhooks;

/// The namespaces that every cluster has.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// One isolated Kubernetes API inside a server. Cheap to clone.
#[derive(Clone)]
pub struct Instance {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    space: Arc<Space>,
    store: Arc<Store>,
    writer: Arc<StoreWriter>,
    registry: RwLock<Arc<Registry>>,
    /// Counts the changes of the registry.
    kinds: watch::Sender<u64>,
    hooks: RwLock<Arc<Hooks>>,
    webhooks: Arc<Webhooks>,
    clock: Arc<dyn Clock>,
    ids: Arc<Ids>,
    authority: Arc<Authority>,
    journal: Journal,
    policy: Followed,
    /// Whether the instance is being removed: nothing is written to it any more.
    retired: AtomicBool,
}

/// An instance that its own background loop does not keep alive.
#[derive(Clone)]
pub(crate) struct WeakInstance(Weak<Inner>);

impl WeakInstance {
    pub(crate) fn upgrade(&self) -> Option<Instance> {
        self.0.upgrade().map(|inner| Instance { inner })
    }
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instance")
            .field("name", &self.inner.name)
            .finish_non_exhaustive()
    }
}

impl Instance {
    /// Opens the instance of a space.
    pub(crate) fn open(
        name: &str,
        store: &Arc<Store>,
        clock: Arc<dyn Clock>,
        ids: Arc<Ids>,
        authority: Arc<Authority>,
        webhooks: Arc<Webhooks>,
    ) -> Self {
        let space = store.space(name);
        let instance = Self {
            inner: Arc::new(Inner {
                name: name.to_owned(),
                policy: Followed::new(space.clone()),
                retired: AtomicBool::new(false),
                space,
                writer: store.writer(),
                store: store.clone(),
                registry: RwLock::new(Arc::new(Registry::default())),
                kinds: watch::Sender::new(0),
                hooks: RwLock::default(),
                webhooks,
                clock,
                ids,
                authority,
                journal: Journal::default(),
            }),
        };
        instance.reload_registry();
        instance.reload_hooks();
        instance
    }

    /// Makes what every cluster has and this one lacks: system namespaces, roles and bindings.
    pub(crate) fn complete(&self) -> Result<(), CommitError> {
        let namespaces = NAMESPACES.iter();
        namespaces
            .into_iter()
            .try_for_each(|namespace| self.make_namespace(namespace))?;
        self.make_roles()
    }

    /// Makes or repairs the built-in roles and bindings, in one commit of the disk.
    fn make_roles(&self) -> Result<(), CommitError> {
        let (writer, space) = (&self.inner.writer, &self.inner.space);
        let writes = bootstrap::OBJECTS.iter().filter_map(|wanted| {
            let key = Key {
                shelf: match wanted.get("roleRef") {
                    Some(_) => CLUSTER_ROLE_BINDINGS.into(),
                    None => CLUSTER_ROLES.into(),
                },
                namespace: String::new(),
                name: crate::object::name(wanted).to_owned(),
            };
            let (expect, object) = match space.get(&key) {
                None => {
                    let mut object = wanted.clone();
                    let meta = crate::object::meta_mut(&mut object);
                    meta.insert("uid".into(), self.inner.ids.uid().into());
                    meta.insert("creationTimestamp".into(), self.stamp().into());
                    (Expect::Absent, object)
                }
                Some(live) => {
                    let repaired = bootstrap::repaired(&live.value(), wanted)?;
                    (Expect::Revision(live.revision), repaired)
                }
            };
            Some(async move { writer.commit(space, &key, expect, Some(object)).await })
        });
        // Not a task of the runtime: its budget would never be renewed while this thread waits.
        let outcomes = tokio::task::unconstrained(join_all(writes));
        for outcome in futures::executor::block_on(outcomes) {
            match outcome {
                Ok(_) | Err(CommitError::Conflict) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn make_namespace(&self, name: &str) -> Result<(), CommitError> {
        let key = Key {
            shelf: NAMESPACE_SHELF.into(),
            namespace: String::new(),
            name: name.to_owned(),
        };
        if self.inner.space.get(&key).is_some() {
            return Ok(());
        }
        let object = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {
                "name": name, "uid": self.inner.ids.uid(), "creationTimestamp": self.stamp(),
                "labels": {"kubernetes.io/metadata.name": name},
            },
            "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"},
        });
        let (writer, space) = (&self.inner.writer, &self.inner.space);
        match writer.commit_blocking(space, &key, Expect::Absent, Some(object)) {
            Ok(_) | Err(CommitError::Conflict) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The instance's name: empty for the management API, else `NAMESPACE/NAME`.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The API as a service, without a socket. Every caller is trusted as the administrator.
    pub fn router(&self) -> axum::Router {
        self.router_as(Caller::admin())
    }

    /// The API as a service, without a socket, for one identity: its roles decide what it may do.
    pub fn router_as(&self, caller: Caller) -> axum::Router {
        let instance = self.clone();
        axum::Router::new().fallback(move |mut request: axum::extract::Request| {
            let (instance, caller) = (instance.clone(), caller.clone());
            async move {
                request.extensions_mut().insert(caller);
                crate::handlers::handle(&instance, request).await
            }
        })
    }

    /// Refuses writes from now on, those of the loop included.
    pub(crate) fn retire(&self) {
        self.inner.retired.store(true, Ordering::Release);
    }

    /// The roles and bindings of this instance.
    pub(crate) fn policy(&self) -> &Followed {
        &self.inner.policy
    }

    /// The write requests that this instance answered.
    pub fn journal(&self) -> &Journal {
        &self.inner.journal
    }

    pub(crate) fn downgrade(&self) -> WeakInstance {
        WeakInstance(Arc::downgrade(&self.inner))
    }

    pub(crate) fn registry(&self) -> Arc<Registry> {
        self.inner
            .registry
            .read()
            .expect("no holder of this lock panics")
            .clone()
    }

    /// Reads the definitions again.
    pub(crate) fn reload_registry(&self) {
        let mut registry = self
            .inner
            .registry
            .write()
            .expect("no holder of this lock panics");
        let stored = self.inner.space.list(CRD_SHELF, None).records;
        *registry = Arc::new(Registry::new(&registry, &stored));
        drop(registry);
        self.inner.kinds.send_modify(|changes| *changes += 1);
    }

    /// Wakes at each change of the registry from now on.
    pub(crate) fn kinds_changed(&self) -> watch::Receiver<u64> {
        self.inner.kinds.subscribe()
    }

    /// The admission webhooks.
    pub(crate) fn hooks(&self) -> Arc<Hooks> {
        self.inner
            .hooks
            .read()
            .expect("no holder of this lock panics")
            .clone()
    }

    /// Reads the configurations of webhooks again.
    fn reload_hooks(&self) {
        let mut hooks = self
            .inner
            .hooks
            .write()
            .expect("no holder of this lock panics");
        let stored = |shelf| self.inner.space.list(shelf, None).records;
        *hooks = Arc::new(Hooks::new(
            &stored(MUTATING_SHELF),
            &stored(VALIDATING_SHELF),
        ));
    }

    /// The client that calls webhooks.
    pub(crate) fn webhooks(&self) -> &Webhooks {
        &self.inner.webhooks
    }

    pub(crate) fn space(&self) -> &Arc<Space> {
        &self.inner.space
    }

    /// A backup of every instance; only the management API gives one, and only a durable store.
    pub(crate) fn backup(&self) -> Option<Backup> {
        self.inner
            .name
            .is_empty()
            .then(|| self.inner.store.backup())?
    }

    /// The keys that certificates are signed with.
    pub(crate) fn authority(&self) -> &Authority {
        &self.inner.authority
    }

    pub(crate) fn ids(&self) -> &Ids {
        &self.inner.ids
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    /// The current time as objects carry it.
    pub(crate) fn stamp(&self) -> String {
        stamp(self.now())
    }

    pub(crate) fn key(kind: &Kind, namespace: Option<&str>, name: &str) -> Key {
        Key {
            shelf: kind.shelf.clone(),
            namespace: namespace.unwrap_or_default().to_owned(),
            name: name.to_owned(),
        }
    }

    /// An object as readers see it.
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Record>> {
        self.inner.space.get(key)
    }

    /// The objects of a shelf in one namespace.
    pub(crate) fn values(&self, shelf: &str, namespace: &str) -> Vec<Value> {
        let snapshot = self.inner.space.list(shelf, Some(namespace));
        let records = snapshot.records.iter();
        records.map(|(_, record)| record.value()).collect()
    }

    /// An object as the next write will find it.
    pub(crate) fn latest(&self, key: &Key) -> Option<Arc<Record>> {
        self.inner.writer.latest(&self.inner.space, key)
    }

    /// Commits one change; a change of a definition, or of a configuration of webhooks, takes
    /// effect before this returns.
    pub(crate) async fn commit(
        &self,
        key: &Key,
        expect: Expect,
        object: Option<Value>,
    ) -> Result<Arc<Record>, CommitError> {
        if self.inner.retired.load(Ordering::Acquire) {
            return Err(CommitError::Storage("the instance was removed".into()));
        }
        let record = self
            .inner
            .writer
            .commit(&self.inner.space, key, expect, object)
            .await?;
        match &*key.shelf {
            CRD_SHELF => self.reload_registry(),
            MUTATING_SHELF | VALIDATING_SHELF => self.reload_hooks(),
            _ => {}
        }
        Ok(record)
    }

    /// Returns once everything written so far is durable and visible.
    pub(crate) async fn settled(&self) -> Result<(), CommitError> {
        self.inner.writer.settled().await
    }
}
