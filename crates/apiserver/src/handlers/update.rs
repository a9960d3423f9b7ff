//! Replace an object, its status, or another part that has a path of its own.

use axum::body::Body;
use http::Response;

use super::answer;
use super::call::Call;
use super::write::Writing;
use crate::status_error::Outcome;

/// Replaces the named object by the one in the body.
pub(crate) async fn update(call: &Call) -> Outcome<Response<Body>> {
    let decoded = answer::decoded(call)?;
    let new = decoded.value;
    let warn = |text| call.warn(text);
    let writing = Writing {
        repeated: decoded.repeated,
        guarded: true,
        ..Writing::of(call, &warn)
    };
    let record = writing.update(&call.key(), |_| Ok(new.clone())).await?;
    Ok(answer::object(call, 200, &record))
}
