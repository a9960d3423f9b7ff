//! Following long-running operations.

use crate::azure::{
    protocol::{Answer, ArmError},
    service::ArmRequest,
    state::View,
};

/// `GET` of an operation: its body, or for a `Location` (`monitor=true`) just how it stands.
pub(crate) fn get_operation(view: View<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let id = request.name();
    let Some(operation) = view.subscription.operations.get(id) else {
        let message = format!("The operation '{id}' was not found.");
        return Err(ArmError::new(404, "NotFound", message));
    };
    let wait = view.fabric.timing.retry_after.to_string();
    let monitors = request
        .query("monitor")
        .is_some_and(|value| value == "true");
    if !monitors {
        let answer = Answer::ok(operation.render(id));
        return Ok(if operation.ended.is_none() {
            answer.header("retry-after", wait)
        } else {
            answer
        });
    }
    if operation.ended.is_none() {
        let here = format!("{}&monitor=true", request.address);
        let here = if request.address.contains("monitor=true") {
            request.address.clone()
        } else {
            here
        };
        return Ok(Answer::status(202)
            .header("location", here)
            .header("retry-after", wait));
    }
    match &operation.failure {
        None => Ok(Answer::status(200)),
        Some(failure) => Err(failure.clone()),
    }
}
