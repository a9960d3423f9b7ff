//! Tokens: the login host's endpoint for applications, and the metadata service's for managed
//! identities (azure-machinepool.md, 12.2 and 12.4).

mod assertion;

use http::Method;
use serde_json::json;

use super::{
    metadata as guests,
    protocol::{Answer, ArmError, Shape},
    service::parse_query,
    state::{Application, State},
};
use crate::{clock::later, transport::Received};

const IMDS: &str = "/metadata/identity/oauth2/token";
const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const ARM_SCOPE: &str = "https://management.azure.com/.default";

/// Whether a path is one of the token endpoints.
pub(crate) fn serves(path: &str) -> bool {
    path == IMDS || tenant_of(path).is_some()
}

/// Service and action of a path, as the journal names them.
pub(crate) fn action(path: &str) -> (&'static str, &'static str) {
    if path == IMDS {
        ("imds", "Token")
    } else if tenant_of(path).is_some() {
        ("login", "Token")
    } else {
        guests::action(path).unwrap_or(("unknown", "Unknown"))
    }
}

fn tenant_of(path: &str) -> Option<&str> {
    path.strip_prefix('/')?
        .strip_suffix("/oauth2/v2.0/token")
        .filter(|tenant| !tenant.is_empty() && !tenant.contains('/'))
}

/// Hands out a token, or says why not.
pub(crate) fn call(
    state: &mut State,
    received: &Received,
    caller: &mut String,
) -> Result<Answer, ArmError> {
    let path = received.uri.path();
    match tenant_of(path) {
        Some(tenant) if received.method == Method::POST => login(state, received, tenant, caller),
        None if received.method == Method::GET => metadata(state, received, caller),
        _ => Err(oauth(
            405,
            "invalid_request",
            "AADSTS900561: The endpoint only accepts POST requests.",
        )),
    }
}

fn oauth(status: u16, error: &str, description: &str) -> ArmError {
    let mut error = ArmError::new(status, error, description);
    error.shape = Shape::OAuth;
    error
}

fn invalid_client(description: &str) -> ArmError {
    oauth(401, "invalid_client", description)
}

fn login(
    state: &mut State,
    received: &Received,
    tenant: &str,
    caller: &mut String,
) -> Result<Answer, ArmError> {
    let body = String::from_utf8_lossy(&received.body).into_owned();
    let form = parse_query(&body);
    let field = |name: &str| form.get(name).map_or("", String::as_str);
    field("client_id").clone_into(caller);
    if field("grant_type") != "client_credentials" {
        let why = "AADSTS70003: The app requested an unsupported grant type.";
        return Err(oauth(400, "unsupported_grant_type", why));
    }
    if field("scope") != ARM_SCOPE {
        let why = format!(
            "AADSTS70011: The provided value for scope {} is not valid here; it is {ARM_SCOPE}.",
            field("scope")
        );
        return Err(oauth(400, "invalid_scope", &why));
    }
    let id = field("client_id");
    let application = state.directory.applications.get(id);
    let application = application.filter(|known| known.tenant.eq_ignore_ascii_case(tenant));
    let Some(application) =
        application.filter(|known| !known.managed || !known.federations.is_empty())
    else {
        let why = format!(
            "AADSTS700016: Application with identifier '{id}' was not found in the directory \
             '{tenant}'."
        );
        return Err(oauth(400, "unauthorized_client", &why));
    };
    if !field("client_secret").is_empty() {
        check_secret(application, field("client_secret"), state)?;
    } else if field("client_assertion_type") == JWT_BEARER {
        let proof = assertion::Proof {
            assertion: field("client_assertion"),
            client_id: id,
            endpoint: received.uri.path(),
            now: state.fabric.now,
        };
        proof.check(application)?;
    } else {
        let why = "AADSTS7000216: 'client_assertion', 'client_secret' or 'request' is required for \
                   the 'client_credentials' grant type.";
        return Err(invalid_client(why));
    }
    let (token, life) = issue(state, id);
    Ok(Answer::ok(json!({
        "token_type": "Bearer",
        "expires_in": life,
        "ext_expires_in": life,
        "access_token": token,
    })))
}

fn check_secret(application: &Application, secret: &str, state: &State) -> Result<(), ArmError> {
    let known = application
        .secrets
        .iter()
        .find(|(known, _)| known.0 == secret);
    match known {
        None => Err(invalid_client(
            "AADSTS7000215: Invalid client secret provided. Ensure the secret being sent in the \
             request is the client secret value, not the client secret ID.",
        )),
        Some((_, Some(expires))) if *expires <= state.fabric.now => Err(invalid_client(
            "AADSTS7000222: The provided client secret keys are expired.",
        )),
        Some(_) => Ok(()),
    }
}

fn issue(state: &mut State, client_id: &str) -> (String, u64) {
    state.touch();
    let life = state.fabric.behaviour.token_life;
    let (now, rng) = (state.fabric.now, &mut state.fabric.rng);
    let token = state.directory.issue(client_id, life, now, rng);
    (token, life.as_secs())
}

fn metadata(
    state: &mut State,
    received: &Received,
    caller: &mut String,
) -> Result<Answer, ArmError> {
    let bad = |why: &str| oauth(400, "invalid_request", why);
    let query = parse_query(received.uri.query().unwrap_or_default());
    let field = |name: &str| query.get(name).map_or("", String::as_str);
    if !received.header("metadata").eq_ignore_ascii_case("true") {
        return Err(bad("Required metadata header not specified"));
    }
    if !received.header("x-forwarded-for").is_empty() {
        return Err(bad("The request came through a proxy"));
    }
    if field("api-version").is_empty() {
        return Err(bad("Required query variable 'api-version' is missing"));
    }
    if field("resource").trim_end_matches('/') != "https://management.azure.com" {
        return Err(bad(
            "AADSTS500011: The resource principal was not found in the tenant",
        ));
    }
    let asked = field("client_id");
    let mut managed = state
        .directory
        .applications
        .iter()
        .filter(|(id, known)| known.managed && (asked.is_empty() || id.as_str() == asked));
    let id = match (managed.next(), managed.next()) {
        (Some((id, _)), None) => id.clone(),
        (Some(_), Some(_)) => {
            return Err(bad(
                "Multiple user assigned identities exist, please specify the clientId",
            ));
        }
        (None, _) => return Err(bad("Identity not found")),
    };
    caller.clone_from(&id);
    let (token, life) = issue(state, &id);
    let now = state.fabric.now;
    let expires = later(now, state.fabric.behaviour.token_life);
    Ok(Answer::ok(json!({
        "access_token": token,
        "client_id": id,
        "expires_in": life.to_string(),
        "expires_on": expires.as_second().to_string(),
        "not_before": now.as_second().to_string(),
        "resource": "https://management.azure.com/",
        "token_type": "Bearer",
    })))
}
