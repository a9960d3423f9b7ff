//! Get one object.

use axum::body::Body;
use http::Response;

use super::answer;
use super::call::Call;
use super::list::unreadable;
use crate::conversion;
use crate::status_error::Outcome;

/// Answers with the named object.
pub(crate) async fn get(call: &Call) -> Outcome<Response<Body>> {
    let revision = call.options.resource_version.as_str();
    if !revision.is_empty() && revision.parse::<u64>().is_err() {
        return Err(unreadable(revision));
    }
    let record = conversion::record(&call.instance, &call.served, call.current()?).await?;
    Ok(answer::object(call, 200, &record))
}
