//! Who may do what: identities, roles, and the decision.
//!
//! In: a request with its caller. Out: a refusal, or nothing. Decisions are pure functions on
//! plain data: [`Policy::decide`], `escalation::check`, `node::decide`.

pub(crate) mod aggregation;
mod attributes;
pub(crate) mod bootstrap;
mod caller;
pub(crate) mod certificate;
pub(crate) mod escalation;
mod followed;
mod impersonation;
mod node;
pub(crate) mod objects;
mod policy;
mod rules;
#[cfg(test)]
mod tests;
pub(crate) mod tokens;

pub(crate) use attributes::{Asked, Attributes, Resource};
pub use caller::Caller;
pub(crate) use followed::{CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, Followed};
pub(crate) use policy::Decision;
pub(crate) use rules::Rule;

use http::request::Parts;

use crate::instance::Instance;
use crate::request::path::Route;
use crate::status_error::{Failure, Outcome};

/// Whether a path answers everybody: health, version, and the roots of discovery.
pub(crate) fn is_open(route: Option<&Route>) -> bool {
    matches!(
        route,
        Some(Route::Health | Route::Version | Route::CoreVersions | Route::Groups)
    )
}

/// Lets a request in, as the caller that it then goes on with: its own, or the one it may
/// impersonate. A request that carries no caller comes from inside and is the administrator's.
pub(crate) fn admit(instance: &Instance, parts: &mut Parts, route: Option<&Route>) -> Outcome<()> {
    let own = parts.extensions.get::<Caller>();
    let caller = if impersonation::asks(&parts.headers) {
        let own = own.cloned().unwrap_or_else(Caller::admin);
        let caller = impersonated(instance, own, &parts.headers)?;
        parts.extensions.insert(caller.clone());
        caller
    } else {
        match own {
            Some(own) if !own.is_master() => own.clone(),
            _ => return Ok(()),
        }
    };
    if caller.is_master() || is_open(route) {
        return Ok(());
    }
    let asked = Attributes::of(&parts.method, &parts.uri, route);
    authorize(instance, &caller, &asked)
}

fn impersonated(instance: &Instance, own: Caller, headers: &http::HeaderMap) -> Outcome<Caller> {
    let Some((caller, questions)) = impersonation::wished(headers)? else {
        return Ok(own);
    };
    for question in &questions {
        authorize(instance, &own, question)?;
    }
    Ok(caller)
}

/// Refuses what the caller may not do.
pub(crate) fn authorize(instance: &Instance, caller: &Caller, asked: &Attributes) -> Outcome<()> {
    let decision = decide(instance, caller, asked);
    if decision.allowed {
        return Ok(());
    }
    Err(refusal(caller, asked, &decision.reason))
}

/// Whether the caller may do what is asked, and why.
pub(crate) fn decide(instance: &Instance, caller: &Caller, asked: &Attributes) -> Decision {
    let mut refused = String::new();
    if let Some(node) = node::of(caller) {
        let pods = |namespace: &str| instance.values("pods", namespace);
        let decision = node::decide(node, asked, pods);
        if decision.allowed {
            return decision;
        }
        refused = decision.reason;
    }
    let mut decision = instance.policy().ask(|policy| policy.decide(caller, asked));
    if !decision.allowed && decision.reason.is_empty() {
        decision.reason = refused;
    }
    decision
}

fn refusal(caller: &Caller, asked: &Attributes, reason: &str) -> Failure {
    let mut why = asked.denied(&caller.name);
    if !reason.is_empty() {
        why = format!("{why}: {reason}");
    }
    // Kubernetes' own precaution for clients that show messages as HTML.
    let why = why
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    match &asked.object {
        Asked::Path(_) => Failure::forbidden_path(&why),
        Asked::Resource(resource) => {
            Failure::forbidden_in(&resource.group, &resource.plural, &resource.name, &why)
        }
    }
}
