//! From an HTTP request to an answer: one file a verb.
//!
//! In: a request and the instance it is for. Out: always an answer; a refusal is a `Status`.

mod answer;
mod bind;
mod call;
mod create;
mod delete;
mod evict;
mod get;
pub(crate) mod grace;
mod list;
mod patch;
mod pieces;
mod reviews;
mod scale;
mod token_request;
mod update;
mod watch;
mod write;

pub(crate) use delete::{
    CRD_CLEANUP, Deleted, FOREGROUND, ORPHAN, Order, Propagation, begin as delete_begin,
};
pub(crate) use reviews::REVIEWS;
pub(crate) use write::Writing;

use axum::body::Body;
use http::{Method, Request, Response};

use crate::access::{self, tokens::service_account};
use crate::discovery;
use crate::instance::Instance;
use crate::journal::WriteRequest;
use crate::registry::Registry;
use crate::request::accept::{Discovery, Wish};
use crate::request::path::{self, Route, Target};
use crate::status_error::{Failure, Outcome};
use call::Call;

/// Answers one request.
pub(crate) async fn handle(instance: &Instance, request: Request<Body>) -> Response<Body> {
    let gzip = answer::takes_gzip(request.headers());
    let response = match route(instance, request).await {
        Ok(response) => response,
        Err(failure) => answer::failure(&failure),
    };
    if gzip {
        answer::compress(response)
    } else {
        response
    }
}

/// Answers a request that reached no instance.
pub(crate) fn refuse(failure: &Failure) -> Response<Body> {
    answer::failure(failure)
}

async fn route(instance: &Instance, request: Request<Body>) -> Outcome<Response<Body>> {
    let route = path::parse(request.uri().path());
    let (mut parts, body) = request.into_parts();
    access::admit(instance, &mut parts, route.as_ref())?;
    let request = Request::from_parts(parts, body);
    let target = match route.ok_or_else(Failure::no_such_path)? {
        Route::Object(target) => target,
        other => return service(instance, &other, &request),
    };
    if let Some(review) = reviews::review(&target) {
        return reviews::answer(review, &target, instance, request).await;
    }
    resource(instance, target, request).await
}

/// The endpoints that are about the server itself.
fn service(instance: &Instance, route: &Route, request: &Request<Body>) -> Outcome<Response<Body>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Err(Failure::method_not_allowed());
    }
    let registry = instance.registry();
    let shape = Discovery::of(request.headers());
    let found = match route {
        Route::Health => return Ok(answer::plain_text(health(request.uri()))),
        Route::Backup => {
            let backup = instance.backup().ok_or_else(Failure::no_such_path)?;
            return Ok(answer::octets(backup));
        }
        Route::Root => Some(discovery::paths(&registry)),
        Route::Version => Some(discovery::version()),
        Route::Issuer => Some(service_account::issuer_document(instance.name())),
        Route::TokenKeys => Some(instance.authority().token_key().key_set()),
        Route::CoreVersions if shape == Discovery::Plain => Some(discovery::core_versions()),
        Route::Groups if shape == Discovery::Plain => Some(discovery::groups(&registry)),
        Route::CoreVersions => {
            return Ok(answer::aggregated(
                &discovery::aggregated(&registry, true, shape),
                shape,
            ));
        }
        Route::Groups => {
            return Ok(answer::aggregated(
                &discovery::aggregated(&registry, false, shape),
                shape,
            ));
        }
        Route::Group(group) => discovery::group(&registry, group),
        Route::Resources { group, version } => discovery::resources(&registry, group, version),
        Route::OpenApiV2 => {
            let document = discovery::openapi_v2(&registry);
            return Ok(answer::schema_document(request.headers(), &document, true));
        }
        Route::OpenApiIndex => Some(discovery::openapi_index(&registry)),
        Route::OpenApi { group, version } => discovery::openapi(&registry, group, version),
        Route::Object(_) => None,
    };
    let wish = Wish::of(request.headers(), false).unwrap_or(Wish::JSON);
    let found = found.ok_or_else(|| match route {
        Route::Group(_) | Route::Resources { .. } => {
            nowhere(&registry, route.group(), route.version())
        }
        _ => Failure::no_such_path(),
    })?;
    if matches!(route, Route::OpenApiIndex | Route::OpenApi { .. }) && !wish.yaml {
        return Ok(answer::schema_document(request.headers(), &found, false));
    }
    Ok(answer::value(200, &found, wish))
}

/// The refusal of a path that leads nowhere: the router of the built-in groups has words of its own.
pub(super) fn nowhere(registry: &Registry, group: &str, version: &str) -> Failure {
    if group.is_empty() || registry.is_built_in(group, version) {
        Failure::no_such_path()
    } else {
        Failure::no_such_page()
    }
}

/// A server that answers is well; `?verbose` lists the checks that say so.
fn health(uri: &http::Uri) -> String {
    let mut options = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    if !options.any(|(name, _)| name == "verbose") {
        return "ok".to_owned();
    }
    let endpoint = uri.path().split('/').nth(1).unwrap_or_default();
    format!("[+]ping ok\n{endpoint} check passed\n")
}

/// What a request does to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    fn of(method: &Method, target: &Target, watch: bool) -> Option<Self> {
        let named = target.name.is_some();
        match (method.as_str(), named) {
            // A watch of one object is a watch of its collection with a field selector.
            ("GET" | "HEAD", true) => Some(Self::Get),
            ("GET" | "HEAD", false) => Some(if watch { Self::Watch } else { Self::List }),
            ("POST", _) => Some(Self::Create),
            ("PUT", true) => Some(Self::Update),
            ("PATCH", true) => Some(Self::Patch),
            ("DELETE", true) => Some(Self::Delete),
            ("DELETE", false) => Some(Self::DeleteCollection),
            _ => None,
        }
    }

    /// The name of a verb that may write.
    fn writes(self) -> Option<&'static str> {
        match self {
            Self::Get | Self::List | Self::Watch => None,
            Self::Create => Some("create"),
            Self::Update => Some("update"),
            Self::Patch => Some("patch"),
            Self::Delete => Some("delete"),
            Self::DeleteCollection => Some("deletecollection"),
        }
    }
}

async fn resource(
    instance: &Instance,
    target: Target,
    request: Request<Body>,
) -> Outcome<Response<Body>> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let call = Call::read(instance, target, request).await?;
    let verb = Verb::of(&method, &call.target, call.options.watch).ok_or_else(|| unnamed(&call))?;
    check_span(verb, &call)?;
    let outcome = perform(verb, &call).await;
    if let Some(verb) = verb.writes() {
        let status = match &outcome {
            Ok(response) => response.status().as_u16(),
            Err(failure) => failure.code,
        };
        tracing::debug!(
            instance = instance.name(),
            verb,
            path,
            status,
            "write request"
        );
        let manager = call.manager.clone();
        instance.journal().record(WriteRequest {
            verb,
            path,
            status,
            manager,
        });
    }
    // A refusal carries its warnings, too.
    let response = outcome.unwrap_or_else(|failure| answer::failure(&failure));
    Ok(call.with_warnings(response))
}

async fn perform(verb: Verb, call: &Call) -> Outcome<Response<Body>> {
    let subresource = call.target.subresource.as_str();
    match (verb, subresource) {
        (Verb::Get, "") => get::get(call).await,
        (Verb::Get, "status") => get::get(call).await,
        (Verb::List, "") => list::list(call).await,
        (Verb::Watch, "") => watch::watch(call).await,
        (Verb::Create, "") if call.target.name.is_none() || call.served.kind.is_custom() => {
            create::create(call).await
        }
        (Verb::Create, "binding") => bind::bind(call).await,
        (Verb::Create, "eviction") => evict::evict(call).await,
        (Verb::Create, "token") => token_request::create(call),
        (Verb::Update, "scale") => scale::update(call).await,
        (Verb::Patch, "scale") => scale::patch(call).await,
        (Verb::Get, "scale") => scale::get(call).await,
        (Verb::Update, _) => update::update(call).await,
        (Verb::Patch, _) => patch::patch(call).await,
        (Verb::Delete, "") => delete::delete(call).await,
        (Verb::DeleteCollection, "") if call.served.kind.empties_at_once() => {
            delete::delete_collection(call).await
        }
        _ => Err(unsupported(call, verb)),
    }
}

/// The refusal of a verb that needs a name at a path without one.
fn unnamed(call: &Call) -> Failure {
    if call.served.kind.is_custom() {
        Failure::bad_request("name must be provided")
    } else {
        Failure::method_not_allowed()
    }
}

fn unsupported(call: &Call, verb: Verb) -> Failure {
    match verb.writes() {
        Some(verb) if call.served.kind.is_custom() => {
            Failure::method_not_supported(&call.served.kind, verb)
        }
        _ => Failure::method_not_allowed(),
    }
}

/// A collection that spans all namespaces can only be read.
fn check_span(verb: Verb, call: &Call) -> Outcome<()> {
    let kind = &call.served.kind;
    let spans = kind.namespaced && call.target.namespace.is_none();
    if !spans || matches!(verb, Verb::List | Verb::Watch) {
        return Ok(());
    }
    Err(if kind.is_custom() {
        Failure::no_such_page()
    } else {
        Failure::method_not_allowed()
    })
}
