//! Who calls: the signature, the session and its end.

use crate::{
    aws::{
        protocol::{
            AwsError, Service,
            sigv4::{Authorization, Signable},
        },
        state::{State, identity::Principal},
    },
    transport::Received,
};

/// The caller; `None` for an unsigned call.
pub(super) fn authenticate(
    state: &State,
    authorization: Option<&Authorization>,
    received: &Received,
    service: Service,
) -> Result<Option<Principal>, AwsError> {
    let Some(authorization) = authorization else {
        return Ok(None);
    };
    let Some(key) = state.identity.keys.get(&authorization.access_key_id) else {
        return Err(AwsError::unknown_key(service));
    };
    let token = received
        .headers
        .get("x-amz-security-token")
        .and_then(|t| t.to_str().ok());
    if key.session_token.as_ref().map(|token| token.0.as_str()) != token {
        return Err(AwsError::unknown_key(service));
    }
    let signable = Signable {
        method: &received.method,
        uri: &received.uri,
        headers: &received.headers,
        body: &received.body,
    };
    if !authorization.matches(&signable, &key.secret.0) {
        return Err(AwsError::bad_signature(service));
    }
    if !signable.body_is_intact() {
        return Err(match service {
            Service::S3 => AwsError::new(
                "XAmzContentSHA256Mismatch",
                "The provided 'x-amz-content-sha256' header does not match what was computed.",
            ),
            _ => AwsError::bad_signature(service),
        });
    }
    if key
        .expires
        .is_some_and(|expires| expires <= state.fabric.now)
    {
        return Err(AwsError::expired(service));
    }
    Ok(Some(key.principal.clone()))
}
