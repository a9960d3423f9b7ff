//! Who calls: the access token, and where its owner may do anything.

use crate::{
    azure::{protocol::ArmError, state::State},
    transport::Received,
};

/// The client id of a caller, as far as it can be told.
pub(super) fn client_of(state: &State, received: &Received) -> String {
    bearer(received)
        .and_then(|token| state.directory.token(token))
        .map(|token| token.client_id.clone())
        .unwrap_or_default()
}

/// Refuses a caller without a token that is good for the subscription.
pub(super) fn authenticate(
    state: &State,
    received: &Received,
    subscription: &str,
    action: &str,
    resource: &str,
) -> Result<(), ArmError> {
    let Some(token) = bearer(received) else {
        let message = "Authentication failed. The 'Authorization' header is missing.";
        return Err(ArmError::new(401, "AuthenticationFailed", message));
    };
    let Some(token) = state.directory.token(token) else {
        return Err(ArmError::invalid_token("The access token is invalid."));
    };
    if token.expires <= state.fabric.now {
        return Err(ArmError::expired_token());
    }
    let key = subscription.to_ascii_lowercase();
    let application = state.directory.applications.get(&token.client_id);
    if application.is_some_and(|application| application.subscriptions.contains(&key)) {
        return Ok(());
    }
    Err(ArmError::denied(action, resource))
}

fn bearer(received: &Received) -> Option<&str> {
    let (kind, token) = received.header("authorization").split_once(' ')?;
    kind.eq_ignore_ascii_case("bearer").then_some(token.trim())
}
