//! Kubernetes objects as JSON: the reads and writes of every controller go through here.
//!
//! [`Objects`] reads: from an API server ([`LiveObjects`]) or from objects given beforehand
//! ([`GivenObjects`], for previews of manifests). Only `LiveObjects` can write. A read that failed
//! is an error, never an absent object. Error texts carry no times and no request ids, because they
//! end up in conditions.

mod given;
mod unmanaged;
mod written;

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

use async_trait::async_trait;
use kube::{
    Client,
    core::{
        ApiResource, Request,
        params::{
            DeleteParams, GetParams, ListParams, Patch, PatchParams, PostParams, Preconditions,
        },
    },
};
use serde_json::Value;
use tracing::Instrument as _;

use self::unmanaged::Unmanaged;
pub use self::{given::GivenObjects, written::Written};
use crate::{
    kinds::Kind,
    pool_members::{MembersOf, PoolMembers},
    watching::Glances,
};

/// Why a request to the Kubernetes API failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// The object is not there.
    #[error("{0} does not exist")]
    NotFound(String),
    /// The object is there already.
    #[error("{0} exists already")]
    AlreadyExists(String),
    /// Someone else wrote in between, or a precondition did not hold.
    #[error("{0} was changed by someone else in between")]
    Conflict(String),
    /// The server refuses the object.
    #[error("{what} was refused: {why}")]
    Refused {
        /// Which object.
        what: String,
        /// The server's words.
        why: String,
    },
    /// Anything else: the server is away, overloaded, or answers nonsense.
    #[error("{what}: {why}")]
    Failed {
        /// Which request.
        what: String,
        /// What happened.
        why: String,
    },
}

/// Reads objects.
#[async_trait]
pub trait Objects: Send + Sync {
    /// One object; `None` when it is proven absent.
    ///
    /// # Errors
    /// The read failed.
    async fn get(&self, kind: Kind, namespace: &str, name: &str)
    -> Result<Option<Value>, ApiError>;

    /// One object, as new as whatever woke the reader: known without a request where it is watched.
    /// For what a pass only looks at, never for what it writes to.
    ///
    /// # Errors
    /// The read failed.
    async fn glance(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, ApiError> {
        self.get(kind, namespace, name).await
    }

    /// The members of a pool by the labels of its cluster and its pool, as new as whatever woke the
    /// reader; `None`: nobody watches them. For passes that take nothing away.
    fn glance_at_pool(&self, _namespace: &str, _cluster: &str, _pool: &str) -> Option<MembersOf> {
        None
    }

    /// All objects of a kind with a label selector; an empty namespace means all namespaces.
    ///
    /// # Errors
    /// The read failed.
    async fn list(
        &self,
        kind: Kind,
        namespace: &str,
        selector: &str,
    ) -> Result<Vec<Value>, ApiError>;
}

/// Objects of an API server. They are read without `metadata.managedFields`.
#[derive(Clone)]
pub struct LiveObjects {
    client: Client,
    watched: Arc<RwLock<BTreeMap<Kind, Glances>>>,
    members: Arc<OnceLock<PoolMembers>>,
    keeps_managers: bool,
}

impl LiveObjects {
    /// Reads and writes with `client`.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            watched: Arc::default(),
            members: Arc::default(),
            keeps_managers: false,
        }
    }

    /// The same objects, read with `metadata.managedFields`.
    #[must_use]
    pub fn keeping_managers(&self) -> Self {
        Self {
            keeps_managers: true,
            ..self.clone()
        }
    }

    /// A watch shows the objects of a kind from now on.
    pub(crate) fn glance_at(&self, kind: Kind, glances: Glances) {
        let mut watched = self.watched.write().unwrap_or_else(PoisonError::into_inner);
        watched.insert(kind, glances);
    }

    /// Watches show the members of pools from now on. What serves a second run keeps the first one's.
    pub(crate) fn glance_at_members(&self) -> PoolMembers {
        self.members.get_or_init(PoolMembers::default).clone()
    }

    /// The client underneath, for watches.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Reads an object of any resource.
    ///
    /// # Errors
    /// The read failed.
    pub async fn get_of(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<Value>, ApiError> {
        let what = what("get", resource, namespace, name);
        let request = Request::new(path(resource, namespace))
            .get(name, &GetParams::default())
            .map_err(|error| failed(&what, &error))?;
        match self.send(&what, request).await {
            Ok(object) => Ok(Some(object)),
            Err(error) => match classify(&what, error) {
                ApiError::NotFound(_) => Ok(None),
                other => Err(other),
            },
        }
    }

    /// Lists objects of any resource, all pages of them.
    ///
    /// # Errors
    /// The read failed.
    pub async fn list_of(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        selector: &str,
    ) -> Result<Vec<Value>, ApiError> {
        let mut params = ListParams::default().limit(500);
        if !selector.is_empty() {
            params = params.labels(selector);
        }
        self.list_where(resource, namespace, params).await
    }

    /// Lists objects of any resource as `params` say, all pages of them.
    ///
    /// # Errors
    /// The read failed.
    pub(crate) async fn list_where(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        mut params: ListParams,
    ) -> Result<Vec<Value>, ApiError> {
        let what = what("list", resource, namespace, "");
        let mut objects = Vec::new();
        loop {
            let request = Request::new(path(resource, namespace))
                .list(&params)
                .map_err(|error| failed(&what, &error))?;
            let mut page = self
                .send(&what, request)
                .await
                .map_err(|error| classify(&what, error))?;
            if let Some(Value::Array(items)) = page.get_mut("items").map(Value::take) {
                objects.extend(items);
            }
            match page.pointer("/metadata/continue").and_then(Value::as_str) {
                Some(token) if !token.is_empty() => params.continue_token = Some(token.to_owned()),
                _ => return Ok(objects),
            }
        }
    }

    /// Sends a request, which `what` names, in a span of its own.
    async fn send(
        &self,
        what: &str,
        request: http::Request<Vec<u8>>,
    ) -> Result<Value, kube::Error> {
        let span = span(what);
        if self.keeps_managers {
            return self.client.request(request).instrument(span).await;
        }
        let answer = self.client.request::<Unmanaged>(request);
        answer.instrument(span).await.map(|read| read.0)
    }

    /// Creates an object.
    ///
    /// # Errors
    /// `AlreadyExists`, or the write failed.
    pub async fn create(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        body: &Value,
        manager: &str,
    ) -> Result<Written, ApiError> {
        let name = body
            .pointer("/metadata/name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let what = what("create", resource, namespace, name);
        let params = PostParams {
            field_manager: Some(manager.to_owned()),
            ..PostParams::default()
        };
        let body = serde_json::to_vec(body).map_err(|error| failed(&what, &error))?;
        let request = Request::new(path(resource, namespace))
            .create(&params, body)
            .map_err(|error| failed(&what, &error))?;
        self.write(what, request).await
    }

    /// Replaces an object; its `metadata.resourceVersion` is the precondition.
    ///
    /// # Errors
    /// `Conflict`, or the write failed.
    pub async fn replace(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        body: &Value,
        manager: &str,
    ) -> Result<Written, ApiError> {
        let name = body
            .pointer("/metadata/name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let what = what("update", resource, namespace, name);
        let params = PostParams {
            field_manager: Some(manager.to_owned()),
            ..PostParams::default()
        };
        let bytes = serde_json::to_vec(body).map_err(|error| failed(&what, &error))?;
        let request = Request::new(path(resource, namespace))
            .replace(name, &params, bytes)
            .map_err(|error| failed(&what, &error))?;
        self.write(what, request).await
    }

    /// Sends a merge patch. A `metadata.resourceVersion` inside makes it conditional.
    ///
    /// # Errors
    /// `NotFound`, `Conflict`, or the write failed.
    pub async fn merge_patch(
        &self,
        target: &Target<'_>,
        patch: &Value,
        manager: &str,
    ) -> Result<Written, ApiError> {
        let what = what("patch", target.resource, target.namespace, target.name);
        let params = PatchParams {
            field_manager: Some(manager.to_owned()),
            ..PatchParams::default()
        };
        let place = Request::new(path(target.resource, target.namespace));
        let request = match target.subresource {
            None => place.patch(target.name, &params, &Patch::Merge(patch)),
            Some(sub) => place.patch_subresource(sub, target.name, &params, &Patch::Merge(patch)),
        }
        .map_err(|error| failed(&what, &error))?;
        self.write(what, request).await
    }

    /// Server-side apply, by force: the manager owns exactly the fields of `body` from now on. A
    /// `metadata.uid` inside makes it conditional: it never creates.
    ///
    /// # Errors
    /// `Conflict` when another object has taken the name, or the write failed.
    pub async fn apply(
        &self,
        target: &Target<'_>,
        body: &Value,
        manager: &str,
    ) -> Result<Written, ApiError> {
        let what = what("apply", target.resource, target.namespace, target.name);
        let params = PatchParams::apply(manager).force();
        let place = Request::new(path(target.resource, target.namespace));
        let request = match target.subresource {
            None => place.patch(target.name, &params, &Patch::Apply(body)),
            Some(sub) => place.patch_subresource(sub, target.name, &params, &Patch::Apply(body)),
        }
        .map_err(|error| failed(&what, &error))?;
        self.write(what, request).await
    }

    async fn write(
        &self,
        what: String,
        request: http::Request<Vec<u8>>,
    ) -> Result<Written, ApiError> {
        let span = span(&what);
        match self.client.request_text(request).instrument(span).await {
            Ok(text) => Ok(Written {
                what,
                text,
                keeps_managers: self.keeps_managers,
            }),
            Err(error) => Err(classify(&what, error)),
        }
    }

    /// Deletes an object, if it is still the one with `uid`. One that is gone is success.
    ///
    /// # Errors
    /// `Conflict` when another object has taken the name, or the write failed.
    pub async fn delete(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        name: &str,
        uid: Option<&str>,
    ) -> Result<(), ApiError> {
        let only = uid.map(|uid| Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: None,
        });
        self.delete_if(resource, namespace, name, only).await
    }

    /// Deletes an object, if it is still at this resourceVersion. One that is gone is success.
    ///
    /// # Errors
    /// `Conflict` when it was written since, or the write failed.
    pub async fn delete_version(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        name: &str,
        version: &str,
    ) -> Result<(), ApiError> {
        let only = Preconditions {
            uid: None,
            resource_version: Some(version.to_owned()),
        };
        self.delete_if(resource, namespace, name, Some(only)).await
    }

    async fn delete_if(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        name: &str,
        preconditions: Option<Preconditions>,
    ) -> Result<(), ApiError> {
        let what = what("delete", resource, namespace, name);
        let params = DeleteParams {
            preconditions,
            ..DeleteParams::background()
        };
        let request = Request::new(path(resource, namespace))
            .delete(name, &params)
            .map_err(|error| failed(&what, &error))?;
        let answer = self.send(&what, request).await;
        match answer.map_err(|error| classify(&what, error)) {
            Ok(_) | Err(ApiError::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Which object a patch goes to.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The resource.
    pub resource: &'a ApiResource,
    /// Namespace; `None` for cluster-scoped objects.
    pub namespace: Option<&'a str>,
    /// Name.
    pub name: &'a str,
    /// `status`, or the object itself.
    pub subresource: Option<&'static str>,
}

#[async_trait]
impl Objects for LiveObjects {
    async fn get(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, ApiError> {
        let namespace = kind.is_namespaced().then_some(namespace);
        self.get_of(&kind.resource(), namespace, name).await
    }

    async fn glance(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, ApiError> {
        let seen = {
            let watched = self.watched.read().unwrap_or_else(PoisonError::into_inner);
            let namespace = if kind.is_namespaced() { namespace } else { "" };
            watched
                .get(&kind)
                .and_then(|glances| glances.get(namespace, name))
        };
        match seen {
            Some(object) => Ok(Some(Value::clone(&object))),
            None => self.get(kind, namespace, name).await,
        }
    }

    fn glance_at_pool(&self, namespace: &str, cluster: &str, pool: &str) -> Option<MembersOf> {
        self.members.get()?.of(namespace, cluster, pool)
    }

    async fn list(
        &self,
        kind: Kind,
        namespace: &str,
        selector: &str,
    ) -> Result<Vec<Value>, ApiError> {
        let namespace = (kind.is_namespaced() && !namespace.is_empty()).then_some(namespace);
        self.list_of(&kind.resource(), namespace, selector).await
    }
}

fn span(what: &str) -> tracing::Span {
    tracing::debug_span!("kubernetes", request = what, otel.kind = "client")
}

/// The collection's path.
fn path(resource: &ApiResource, namespace: Option<&str>) -> String {
    let root = if resource.group.is_empty() {
        "api"
    } else {
        "apis"
    };
    match namespace {
        Some(namespace) => {
            format!(
                "/{root}/{}/namespaces/{namespace}/{}",
                resource.api_version, resource.plural
            )
        }
        None => format!("/{root}/{}/{}", resource.api_version, resource.plural),
    }
}

fn what(verb: &str, resource: &ApiResource, namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) => format!("{verb} {} {namespace}/{name}", resource.kind),
        None => format!("{verb} {} {name}", resource.kind),
    }
}

fn failed(what: &str, error: &dyn std::fmt::Display) -> ApiError {
    ApiError::Failed {
        what: what.to_owned(),
        why: error.to_string(),
    }
}

fn classify(what: &str, error: kube::Error) -> ApiError {
    let kube::Error::Api(status) = error else {
        return failed(what, &error);
    };
    let what = what.to_owned();
    match (status.code, status.reason.as_str()) {
        (404, _) => ApiError::NotFound(what),
        (409, "AlreadyExists") => ApiError::AlreadyExists(what),
        (409, _) => ApiError::Conflict(what),
        (400 | 403 | 422, _) => ApiError::Refused {
            what,
            why: status.message,
        },
        _ => ApiError::Failed {
            what,
            why: status.message,
        },
    }
}
