//! What outlives a call: ARM's long-running operations (Azure document 4.6).
//!
//! A write that Azure accepts answers with the address of an operation. Nothing here waits for it:
//! the address goes into the record, and every pass looks once.

use bytes::Bytes;
use http::{Response, StatusCode};
use remuda_cloud::Applied;
use remuda_plan::{
    azure::observed::OperationState,
    error::{CloudFailure, FailureClass},
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    calls,
    clients::{Clients, Outgoing, header_text, json},
    errors,
};

/// Between two looks where Azure wishes nothing (Azure document 4.6).
const LOOK_SECONDS: u32 = 10;

/// What an accepted write comes to. A write that is done already needs no second look.
pub(crate) fn accepted(answer: &Response<Bytes>, what: String) -> Applied {
    let headers = answer.headers();
    let address = ["azure-asyncoperation", "location"]
        .into_iter()
        .find_map(|name| header_text(headers, name));
    if address.is_none() && is_done(answer) {
        return Applied::Done;
    }
    Applied::Started {
        address,
        what,
        look_again_seconds: errors::retry_after(headers).unwrap_or(LOOK_SECONDS),
    }
}

/// Without an address the resource tells, and a body may say that it is final already.
fn is_done(answer: &Response<Bytes>) -> bool {
    #[derive(Deserialize)]
    struct Body {
        properties: Option<Properties>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Properties {
        provisioning_state: Option<String>,
    }
    if answer.status() == StatusCode::NO_CONTENT {
        return true;
    }
    serde_json::from_slice::<Body>(answer.body())
        .ok()
        .and_then(|body| body.properties?.provisioning_state)
        .is_some_and(|state| state.eq_ignore_ascii_case("Succeeded"))
}

/// The body of an operation.
#[derive(Deserialize)]
struct Operation {
    status: Option<String>,
    error: Option<Value>,
}

/// Looks once at an operation. An address that is not ARM's is as good as lost: the set tells then,
/// and no token goes there.
///
/// # Errors
/// Why it could not be looked at; says nothing about the operation.
pub(crate) async fn look(clients: &Clients, address: &str) -> Result<OperationState, CloudFailure> {
    if !address.parse().is_ok_and(|uri| clients.is_ours(&uri)) {
        return Ok(OperationState::Lost);
    }
    let answer = match clients
        .send(&calls::GET_OPERATION, &Outgoing::to(address))
        .await
    {
        Ok(answer) => answer,
        Err(error) if error.class() == FailureClass::NotFound => return Ok(OperationState::Lost),
        Err(error) => return Err(error.failure),
    };
    let running = OperationState::Running {
        retry_after_seconds: errors::retry_after(answer.headers()),
    };
    match answer.status() {
        StatusCode::ACCEPTED => return Ok(running),
        StatusCode::NO_CONTENT => return Ok(OperationState::Succeeded),
        _ => {}
    }
    // `Location` answers with the resource when it is done, `Azure-AsyncOperation` with a status.
    let body: Operation = if answer.body().is_empty() {
        return Ok(OperationState::Succeeded);
    } else {
        json(&calls::GET_OPERATION, answer.body()).map_err(|error| error.failure)?
    };
    let Some(status) = body.status else {
        return Ok(OperationState::Succeeded);
    };
    Ok(match status.to_lowercase().as_str() {
        "succeeded" => OperationState::Succeeded,
        "failed" | "canceled" | "cancelled" => OperationState::Failed(errors::operation(
            calls::GET_OPERATION.name,
            body.error.as_ref(),
        )),
        _ => running,
    })
}
