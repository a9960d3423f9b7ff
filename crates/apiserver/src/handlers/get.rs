//! Get one object.

use axum::body::Body;
use http::Response;

use super::answer;
use super::call::Call;
use crate::status_error::Outcome;

/// Answers with the named object.
pub(crate) fn get(call: &Call) -> Outcome<Response<Body>> {
    Ok(answer::object(call, 200, &*call.current()?))
}
