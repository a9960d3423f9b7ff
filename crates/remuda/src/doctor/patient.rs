//! What is looked at: the management cluster, and the clouds behind it. What several checks need is
//! read once.

use std::time::Instant;

use anyhow::Result;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Client;
use remuda_controllers::{
    Context,
    kinds::Kind,
    objects::{ApiError, Objects as _},
    terraform_machine_pool::{Examination, PoolKey, examine},
};
use serde_json::Value;
use tokio::sync::OnceCell;

/// Pools that are examined at once.
const AT_ONCE: usize = 8;

/// The management cluster and its clouds.
pub(crate) struct Patient {
    pub(crate) client: Client,
    pub(crate) context: Context,
    /// Namespace of the pools; empty: all.
    pub(crate) namespace: String,
    /// Namespace of the manager itself.
    pub(crate) system_namespace: String,
    /// Whose rights are asked about, for people.
    pub(crate) who: String,
    /// The core controllers are the manager's.
    pub(crate) core: bool,
    examined: OnceCell<Result<Vec<(PoolKey, Examination)>, ApiError>>,
}

impl Patient {
    /// What `client` reaches, and the clouds of `context`.
    pub(crate) fn new(client: Client, context: Context, scope: Scope) -> Self {
        Self {
            client,
            context,
            namespace: scope.namespace,
            system_namespace: scope.system_namespace,
            who: scope.who,
            core: scope.core,
            examined: OnceCell::new(),
        }
    }

    /// Objects of a kind in the namespaces that are looked at.
    pub(crate) async fn list(&self, kind: Kind) -> Result<Vec<Value>, ApiError> {
        let namespace = if kind.is_namespaced() {
            self.namespace.as_str()
        } else {
            ""
        };
        self.context.objects.list(kind, namespace, "").await
    }

    /// Every pool with what its cloud said, asked once.
    pub(crate) async fn examined(&self) -> Result<&[(PoolKey, Examination)], &ApiError> {
        let examined = self.examined.get_or_init(|| self.examine_all()).await;
        examined.as_deref()
    }

    async fn examine_all(&self) -> Result<Vec<(PoolKey, Examination)>, ApiError> {
        let started = Instant::now();
        let pools = self.list(Kind::TerraformMachinePool).await?;
        let keys = pools.iter().map(|pool| {
            let field = |name: &str| {
                let field = pool["metadata"][name].as_str();
                field.unwrap_or_default().to_owned()
            };
            PoolKey {
                namespace: field("namespace"),
                name: field("name"),
            }
        });
        let keys: Vec<PoolKey> = keys.collect();
        let examined = stream::iter(keys)
            .map(|key| async move {
                let examined = examine(&key, &self.context).await?;
                Ok::<_, ApiError>(examined.map(|examined| (key, examined)))
            })
            .buffered(AT_ONCE);
        let examined: Vec<Option<(PoolKey, Examination)>> = examined.try_collect().await?;
        tracing::debug!(elapsed = ?started.elapsed(), "the pools are examined");
        Ok(examined.into_iter().flatten().collect())
    }
}

/// What of the management cluster is looked at.
pub(crate) struct Scope {
    /// Namespace of the pools; empty: all.
    pub(crate) namespace: String,
    /// Namespace of the manager itself.
    pub(crate) system_namespace: String,
    /// Whose rights are asked about, for people.
    pub(crate) who: String,
    /// The core controllers are the manager's.
    pub(crate) core: bool,
}
