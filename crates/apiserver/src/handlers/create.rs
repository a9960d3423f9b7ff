//! Create an object.

use axum::body::Body;
use http::Response;

use super::answer;
use super::call::Call;
use super::write::Writing;
use crate::status_error::Outcome;

/// Makes the object in the body.
pub(crate) async fn create(call: &Call) -> Outcome<Response<Body>> {
    let decoded = answer::decoded(call)?;
    let warn = |text| call.warn(text);
    let writing = Writing {
        repeated: decoded.repeated,
        ..Writing::of(call, &warn)
    };
    let record = writing
        .create(call.target.namespace.as_deref(), decoded.value)
        .await?;
    Ok(answer::object(call, 201, &record))
}
