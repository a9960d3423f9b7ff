//! Following long-running operations.

use crate::azure::{
    protocol::{Answer, ArmError},
    service::ArmRequest,
    state::View,
};

/// `GET` of an operation: its body, or for a `Location` (`monitor=true`, and those of groups) just
/// how it stands.
pub(crate) fn get_operation(view: View<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let id = request.name();
    let Some(operation) = view.subscription.operations.get(id) else {
        let message = format!("The operation '{id}' was not found.");
        return Err(ArmError::new(404, "NotFound", message));
    };
    let wait = view.fabric.timing.retry_after.to_string();
    let monitors = request.verb() == "monitor" || request.query("monitor") == Some("true");
    if !monitors {
        let answer = Answer::ok(operation.render(id));
        return Ok(if operation.ended.is_none() {
            answer.header("retry-after", wait)
        } else {
            answer
        });
    }
    if operation.ended.is_none() {
        return Ok(Answer::status(202)
            .header("location", request.address.clone())
            .header("retry-after", wait));
    }
    match &operation.failure {
        None => Ok(Answer::status(200)),
        Some(failure) => Err(failure.clone()),
    }
}
