//! What the manager asks of the management API, as RBAC sees it: every world runs it as its
//! ServiceAccount, with the rules of `remuda_controllers::permissions` and no others.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use axum::body::Body;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use tower::{Service, ServiceExt};

/// One request, as RBAC sees it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asked {
    /// Group; empty for the core group.
    pub group: String,
    /// Resource, with the subresource behind a slash.
    pub resource: String,
    /// Verb.
    pub verb: &'static str,
    /// Namespace; empty for requests that name none.
    pub namespace: String,
    /// Name of the object; empty for requests that name none.
    pub name: String,
}

impl Asked {
    /// What a request asks; `None` for paths that are no resource's.
    pub fn of(method: &Method, path: &str, query: &str) -> Option<Self> {
        let mut parts = path.trim_start_matches('/').split('/').map(str::to_owned);
        let group = match parts.next()?.as_str() {
            "api" => String::new(),
            "apis" => parts.next()?,
            _ => return None,
        };
        parts.next()?;
        let mut rest: Vec<String> = parts.collect();
        let mut namespace = String::new();
        if rest.len() > 2 && rest[0] == "namespaces" {
            namespace.clone_from(&rest[1]);
            rest.drain(..2);
        }
        let mut rest = rest.into_iter();
        let mut resource = rest.next()?;
        let name = rest.next().unwrap_or_default();
        if let Some(subresource) = rest.next() {
            resource = format!("{resource}/{subresource}");
        }
        let watches = query.split('&').any(|pair| pair == "watch=true");
        let verb = match (method.as_str(), name.is_empty()) {
            ("GET", _) if watches => "watch",
            ("GET", true) => "list",
            ("GET", false) => "get",
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", true) => "deletecollection",
            ("DELETE", false) => "delete",
            _ => return None,
        };
        Some(Self {
            group,
            resource,
            verb,
            namespace,
            name,
        })
    }
}

/// The requests of all managers of one world. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Requests {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// With how often it was asked.
    asked: Mutex<BTreeMap<Asked, usize>>,
    refused: Mutex<Vec<String>>,
}

impl Requests {
    /// Everything that was asked so far.
    pub fn asked(&self) -> BTreeSet<Asked> {
        let asked = self.inner.asked.lock();
        let asked = asked.unwrap_or_else(PoisonError::into_inner);
        asked.keys().cloned().collect()
    }

    /// How often something was asked so far, of whichever objects of a resource.
    pub fn count(&self, verb: &str, resource: &str) -> usize {
        let asked = self.inner.asked.lock();
        let asked = asked.unwrap_or_else(PoisonError::into_inner);
        let meant = asked
            .iter()
            .filter(|(it, _)| it.verb == verb && it.resource == resource);
        meant.map(|(_, times)| times).sum()
    }

    /// What the rules did not allow, in the server's words.
    pub fn refused(&self) -> Vec<String> {
        let refused = self.inner.refused.lock();
        refused.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forgets what was refused: the test meant it.
    pub fn forget(&self) {
        let refused = self.inner.refused.lock();
        refused.unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn note(&self, asked: Asked) {
        let counts = self.inner.asked.lock();
        let mut counts = counts.unwrap_or_else(PoisonError::into_inner);
        *counts.entry(asked).or_default() += 1;
    }

    /// Reads an answer that may be a refusal by RBAC, and hands it on.
    async fn look_at(&self, answer: Response<Body>) -> Response<Body> {
        if answer.status() != StatusCode::FORBIDDEN {
            return answer;
        }
        let (parts, body) = answer.into_parts();
        let body = body.collect().await.expect("the answer is in memory");
        let body = body.to_bytes();
        let text = String::from_utf8_lossy(&body);
        // A namespace on its way out, or a webhook, forbids in other words.
        if text.contains("User \\\"system:serviceaccount:") && text.contains(" cannot ") {
            let refused = self.inner.refused.lock();
            let mut refused = refused.unwrap_or_else(PoisonError::into_inner);
            refused.push(text.into_owned());
        }
        Response::from_parts(parts, Body::from(body))
    }
}

/// The management API, with what is asked of it written down.
#[derive(Debug, Clone)]
pub(crate) struct Noted<S> {
    service: S,
    requests: Requests,
}

impl<S> Noted<S> {
    pub(crate) fn new(service: S, requests: Requests) -> Self {
        Self { service, requests }
    }
}

impl<S> Service<Request<kube::client::Body>> for Noted<S>
where
    S: Service<Request<kube::client::Body>, Response = Response<Body>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Self::Future {
        let (service, requests) = (self.service.clone(), self.requests.clone());
        let uri = request.uri();
        let asked = Asked::of(
            request.method(),
            uri.path(),
            uri.query().unwrap_or_default(),
        );
        Box::pin(async move {
            let answer = service.oneshot(request).await?;
            if let Some(asked) = asked {
                // An apply that makes its object needs the right to create, too.
                if asked.verb == "patch" && answer.status() == StatusCode::CREATED {
                    requests.note(Asked {
                        verb: "create",
                        name: String::new(),
                        ..asked.clone()
                    });
                }
                requests.note(asked);
            }
            Ok(requests.look_at(answer).await)
        })
    }
}
