//! Simulated STS: who am I, and sessions of roles.

use std::time::Duration;

use super::{
    protocol::{AwsError, Params, Xml},
    state::{
        State,
        identity::{Principal, Role, Session},
    },
};
use crate::clock::iso;

/// AWS's bounds of a session's length, and its default.
const SHORTEST_SECONDS: i64 = 900;
const LONGEST_SECONDS: i64 = 43_200;
const DEFAULT_SECONDS: i64 = 3600;

/// Whether the action exists, and whether it changes something (a session is nothing to undo).
pub(crate) fn is_action(action: &str) -> bool {
    matches!(
        action,
        "GetCallerIdentity" | "AssumeRole" | "AssumeRoleWithWebIdentity"
    )
}

/// Carries out a call. `caller` is `None` for an unsigned one.
pub(crate) fn call(
    state: &mut State,
    caller: Option<&Principal>,
    action: &str,
    params: &Params,
) -> Result<Xml, AwsError> {
    if action != "GetCallerIdentity" {
        state.touch();
    }
    match (action, caller) {
        ("AssumeRoleWithWebIdentity", _) => assume_with_web_identity(state, params),
        ("GetCallerIdentity", Some(caller)) => Ok(identity(caller)),
        ("AssumeRole", Some(caller)) => assume(state, caller, params),
        _ => Err(AwsError::with_status(
            "MissingAuthenticationToken",
            "Request is missing Authentication Token",
            403,
        )),
    }
}

fn identity(caller: &Principal) -> Xml {
    let mut xml = Xml::new();
    xml.text("Arn", &caller.arn);
    xml.text("UserId", &caller.user_id);
    xml.text("Account", &caller.account);
    xml
}

fn assume(state: &mut State, caller: &Principal, params: &Params) -> Result<Xml, AwsError> {
    let arn = params.required("RoleArn")?;
    let role = state
        .identity
        .roles
        .get(arn)
        .filter(|role| trusts(role, caller, params));
    if role.is_none() {
        return Err(AwsError::with_status(
            "AccessDenied",
            format!(
                "User: {} is not authorized to perform: sts:AssumeRole on resource: {arn}",
                caller.arn
            ),
            403,
        ));
    }
    let session = open(state, arn, params)?;
    Ok(session_xml(&session, None))
}

fn trusts(role: &Role, caller: &Principal, params: &Params) -> bool {
    role.trusted_accounts.contains(&caller.account)
        && role
            .external_id
            .as_deref()
            .is_none_or(|id| params.text("ExternalId") == Some(id))
}

fn assume_with_web_identity(state: &mut State, params: &Params) -> Result<Xml, AwsError> {
    let arn = params.required("RoleArn")?;
    let token = params.required("WebIdentityToken")?;
    let subject = subject_of(token).ok_or_else(|| {
        AwsError::new(
            "InvalidIdentityToken",
            "The ID Token provided is not a valid JWT.",
        )
    })?;
    let role = state.identity.roles.get(arn);
    if role.and_then(|role| role.web_identity_subject.as_ref()) != Some(&subject) {
        return Err(AwsError::with_status(
            "AccessDenied",
            "Not authorized to perform sts:AssumeRoleWithWebIdentity",
            403,
        ));
    }
    let session = open(state, arn, params)?;
    Ok(session_xml(&session, Some(&subject)))
}

/// The `sub` claim. The signature is not checked: the issuer's keys are outside this world.
fn subject_of(token: &str) -> Option<String> {
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: serde_json::Value = serde_json::from_slice(&claims).ok()?;
    claims.get("sub")?.as_str().map(str::to_owned)
}

fn open(state: &mut State, arn: &str, params: &Params) -> Result<Session, AwsError> {
    let seconds = params.int("DurationSeconds")?.unwrap_or(DEFAULT_SECONDS);
    if !(SHORTEST_SECONDS..=LONGEST_SECONDS).contains(&seconds) {
        return Err(AwsError::validation(format!(
            "1 validation error detected: Value '{seconds}' at 'durationSeconds' failed to satisfy \
             constraint: Member must have value between {SHORTEST_SECONDS} and {LONGEST_SECONDS}"
        )));
    }
    let name = params.required("RoleSessionName")?;
    let span = Duration::from_secs(seconds.unsigned_abs());
    let (now, rng) = (state.fabric.now, &mut state.fabric.rng);
    state
        .identity
        .open_session(arn, name, span, now, rng)
        .ok_or_else(|| AwsError::with_status("AccessDenied", format!("No role {arn}"), 403))
}

fn session_xml(session: &Session, subject: Option<&str>) -> Xml {
    let mut xml = Xml::new();
    xml.within("Credentials", |xml| {
        xml.text("AccessKeyId", &session.access_key_id);
        xml.text("SecretAccessKey", &session.secret.0);
        xml.text("SessionToken", &session.token.0);
        xml.text("Expiration", &iso(session.expires));
    });
    xml.within("AssumedRoleUser", |xml| {
        xml.text("AssumedRoleId", &session.assumed_role_id);
        xml.text("Arn", &session.arn);
    });
    xml.optional("SubjectFromWebIdentityToken", subject);
    xml.plain("PackedPolicySize", 0);
    xml
}
