//! Provider codes to failure classes: the table of the Azure document, section 10.3, as data.
//!
//! A failed exchange goes in, a [`Fault`] comes out: its class, how long to wait, and whether a
//! fresh token might help. Rows are tried in order and the first match wins; where no row matches,
//! the HTTP status decides.

use http::{HeaderMap, StatusCode};
use remuda_cloud::{CloudError, error::Fault};
use remuda_plan::error::{CloudFailure, FailureClass};

pub(crate) use remuda_cloud::error::failure;

use crate::{
    error_body::{self, Worded},
    transport::NoAnswer,
};

/// ARM itself throttled, not a resource provider's policy.
pub(crate) fn is_arms_own(fault: &Fault) -> bool {
    fault.error.failure.code == "SubscriptionRequestsThrottled"
}

/// What an answer said, for the log only.
#[derive(Debug, thiserror::Error)]
#[error("HTTP {status}, request {request_id}, correlation {correlation_id}")]
struct Answered {
    status: StatusCode,
    request_id: String,
    correlation_id: String,
}

/// The classes of the Azure document, 10.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// 429 in any shape.
    Throttled,
    /// A cores quota and its like.
    Quota,
    /// A region or zone has no room.
    Capacity,
    /// Size, zone, disk type and accelerated networking together cannot be met.
    Constraint,
    /// A lock on the scope.
    Locked,
    /// Another operation is at work on the set.
    Busy,
    /// `If-None-Match` or `If-Match`.
    Precondition,
    /// 401.
    Auth,
    /// 403.
    Forbidden,
    /// A resource provider is not registered.
    NotRegistered,
    /// Terminal until the inputs change.
    BadRequest,
    /// The subnet has no free address.
    SubnetFull,
    /// It is not there.
    Gone,
    /// Azure's own trouble.
    Server,
}

use Kind::{
    Auth, BadRequest, Busy, Capacity, Constraint, Forbidden, Gone, Locked, NotRegistered,
    Precondition, Quota, Server, SubnetFull, Throttled,
};

impl Kind {
    /// The class that decides what a caller does.
    pub(crate) fn class(self) -> FailureClass {
        match self {
            Throttled => FailureClass::Throttled,
            Quota => FailureClass::Quota,
            Capacity => FailureClass::Capacity,
            Constraint => FailureClass::Constraint,
            Locked => FailureClass::Locked,
            Busy => FailureClass::Contended,
            Precondition => FailureClass::AlreadyExists,
            Auth | Forbidden | NotRegistered => FailureClass::Denied,
            BadRequest | SubnetFull => FailureClass::Rejected,
            Gone => FailureClass::NotFound,
            Server => FailureClass::Transient,
        }
    }

    /// The least wait that the document gives this class; the class's own rules may make it more.
    fn wait_seconds(self) -> Option<u32> {
        match self {
            Quota | SubnetFull => Some(600),
            Busy => Some(30),
            _ => None,
        }
    }

    /// What to do, where the text of Azure does not say it.
    fn hint(self) -> Option<&'static str> {
        match self {
            Constraint => Some(
                "vm_size, the zones, os_disk_storage_account_type and accelerated_networking \
                 cannot be met together",
            ),
            Capacity => Some("vm_size has no room in the region or zone just now"),
            NotRegistered => Some("register the resource provider; Remuda never does"),
            _ => None,
        }
    }
}

/// Azure document, section 10.3.
const TABLE: &[(&str, Kind)] = &[
    ("TooManyRequests", Throttled),
    ("SubscriptionRequestsThrottled", Throttled),
    ("RetryableErrorDueToAnotherOperation", Throttled),
    ("OperationNotAllowed", Quota),
    ("QuotaExceeded", Quota),
    ("ResourceQuotaExceeded", Quota),
    ("AllocationFailed", Capacity),
    ("ZonalAllocationFailed", Capacity),
    ("SkuNotAvailable", Capacity),
    ("OverconstrainedAllocationRequest", Capacity),
    ("OverconstrainedZonalAllocationRequest", Constraint),
    ("ScopeLocked", Locked),
    ("Conflict", Busy),
    ("AnotherOperationInProgress", Busy),
    ("OperationPreempted", Busy),
    ("ExpiredAuthenticationToken", Auth),
    ("InvalidAuthenticationToken", Auth),
    ("AuthorizationFailed", Forbidden),
    ("LinkedAuthorizationFailed", Forbidden),
    ("RequestDisallowedByPolicy", Forbidden),
    ("MissingSubscriptionRegistration", NotRegistered),
    ("SubscriptionNotRegistered", NotRegistered),
    ("SubnetIsFull", SubnetFull),
    ("InvalidParameter", BadRequest),
    ("BadRequest", BadRequest),
    ("InvalidTemplate", BadRequest),
    ("ImageNotFound", BadRequest),
    ("GalleryImageNotFound", BadRequest),
    ("PlatformImageNotFound", BadRequest),
    ("InvalidRequestContent", BadRequest),
    ("PropertyChangeNotAllowed", BadRequest),
    ("MaxPriceValueInvalid", BadRequest),
    (
        "EvictionPolicyCanBeSetOnlyOnAzureSpotVirtualMachines",
        BadRequest,
    ),
    ("AzureSpotIsNotSupportedForThisVMSize", BadRequest),
    ("SpotPriceGreaterThanProvidedMaxPrice", BadRequest),
    ("ResourceNotFound", Gone),
    ("ResourceGroupNotFound", Gone),
    ("NotFound", Gone),
    ("ResourceGroupBeingDeleted", Gone),
];

/// The kind of a failure; `status` decides where the table does not know the code.
pub(crate) fn kind(code: &str, message: &str, status: Option<StatusCode>) -> Kind {
    if status == Some(StatusCode::TOO_MANY_REQUESTS) {
        return Throttled;
    }
    // The same code says that a quota is used up, and that something is not allowed just now.
    let says_nothing = code == "OperationNotAllowed" && !message.to_lowercase().contains("quota");
    if let Some((_, kind)) = TABLE
        .iter()
        .find(|(known, _)| *known == code && !says_nothing)
    {
        return *kind;
    }
    match status.map(|status| status.as_u16()) {
        None | Some(408 | 424 | 500 | 502..=599) => Server,
        Some(401) => Auth,
        Some(403) => Forbidden,
        Some(404) => Gone,
        Some(409) => Busy,
        Some(412) => Precondition,
        Some(_) => BadRequest,
    }
}

/// Reads an answer that is no success.
pub(crate) fn read(call: &str, answer: &http::Response<bytes::Bytes>) -> Fault {
    let status = answer.status();
    let worded = error_body::read(answer.body()).unwrap_or_else(|| Worded {
        code: String::new(),
        message: format!("HTTP status {}", status.as_u16()),
    });
    let kind = kind(&worded.code, &worded.message, Some(status));
    let mut error = as_error(call, kind, worded, retry_after(answer.headers()));
    error.source = Some(Box::new(Answered {
        status,
        request_id: header(answer.headers(), "x-ms-request-id"),
        correlation_id: header(answer.headers(), "x-ms-correlation-request-id"),
    }));
    Fault {
        stale_credential: status == StatusCode::UNAUTHORIZED,
        ..Fault::new(error)
    }
}

/// An operation that failed: the error it ended with.
pub(crate) fn operation(call: &str, error: Option<&serde_json::Value>) -> CloudFailure {
    let worded = error
        .and_then(error_body::worded)
        .unwrap_or_else(|| Worded {
            code: String::new(),
            message: "the operation failed and Azure does not say why".to_owned(),
        });
    let kind = if worded.code.is_empty() {
        Server
    } else {
        kind(&worded.code, &worded.message, Some(StatusCode::BAD_REQUEST))
    };
    as_error(call, kind, worded, None).failure
}

/// No answer came.
pub(crate) fn no_answer(call: &str, why: NoAnswer) -> Fault {
    let failure = failure(FailureClass::Transient, call, why.to_string());
    Fault::new(CloudError {
        failure,
        source: Some(Box::new(why)),
    })
}

fn as_error(call: &str, kind: Kind, worded: Worded, retry_after: Option<u32>) -> CloudError {
    let message = match kind.hint() {
        Some(hint) => format!("{}; {hint}", worded.message),
        None => worded.message,
    };
    CloudFailure {
        class: kind.class(),
        call: call.to_owned(),
        code: worded.code,
        message,
        retry_after_seconds: kind.wait_seconds().max(retry_after),
    }
    .into()
}

/// `Retry-After` in seconds; Azure writes no dates here.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<u32> {
    header(headers, "retry-after").trim().parse().ok()
}

fn header(headers: &HeaderMap, name: &str) -> String {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use serde_json::{Value, json};

    use super::*;

    fn fault(status: u16, body: &Value, retry_after: Option<&str>) -> Fault {
        let mut answer = http::Response::builder().status(status);
        if let Some(seconds) = retry_after {
            answer = answer.header("Retry-After", seconds);
        }
        let answer = answer
            .body(Bytes::from(body.to_string()))
            .expect("a status makes a response");
        read("PUT virtualMachineScaleSets", &answer)
    }

    fn arm(code: &str, message: &str) -> Value {
        json!({ "error": { "code": code, "message": message } })
    }

    #[test]
    fn every_code_of_the_table_has_its_class() {
        let by_class: [(u16, FailureClass, &[&str]); 12] = [
            (
                400,
                FailureClass::Throttled,
                &[
                    "TooManyRequests",
                    "SubscriptionRequestsThrottled",
                    "RetryableErrorDueToAnotherOperation",
                ],
            ),
            (
                409,
                FailureClass::Quota,
                &["QuotaExceeded", "ResourceQuotaExceeded"],
            ),
            (
                409,
                FailureClass::Capacity,
                &[
                    "AllocationFailed",
                    "ZonalAllocationFailed",
                    "SkuNotAvailable",
                    "OverconstrainedAllocationRequest",
                ],
            ),
            (
                409,
                FailureClass::Constraint,
                &["OverconstrainedZonalAllocationRequest"],
            ),
            (409, FailureClass::Locked, &["ScopeLocked"]),
            (
                409,
                FailureClass::Contended,
                &[
                    "Conflict",
                    "AnotherOperationInProgress",
                    "OperationPreempted",
                ],
            ),
            (412, FailureClass::AlreadyExists, &["PreconditionFailed"]),
            (
                401,
                FailureClass::Denied,
                &["ExpiredAuthenticationToken", "InvalidAuthenticationToken"],
            ),
            (
                403,
                FailureClass::Denied,
                &[
                    "AuthorizationFailed",
                    "LinkedAuthorizationFailed",
                    "RequestDisallowedByPolicy",
                ],
            ),
            (
                409,
                FailureClass::Denied,
                &[
                    "MissingSubscriptionRegistration",
                    "SubscriptionNotRegistered",
                ],
            ),
            (
                400,
                FailureClass::Rejected,
                &[
                    "InvalidParameter",
                    "BadRequest",
                    "InvalidTemplate",
                    "ImageNotFound",
                    "GalleryImageNotFound",
                    "PlatformImageNotFound",
                    "SubnetIsFull",
                    "InvalidRequestContent",
                    "PropertyChangeNotAllowed",
                    "MaxPriceValueInvalid",
                    "EvictionPolicyCanBeSetOnlyOnAzureSpotVirtualMachines",
                    "AzureSpotIsNotSupportedForThisVMSize",
                    "SpotPriceGreaterThanProvidedMaxPrice",
                ],
            ),
            (
                409,
                FailureClass::NotFound,
                &[
                    "ResourceNotFound",
                    "ResourceGroupNotFound",
                    "NotFound",
                    "ResourceGroupBeingDeleted",
                ],
            ),
        ];
        for (status, class, codes) in by_class {
            for code in codes {
                let fault = fault(status, &arm(code, "because"), None);
                assert_eq!(fault.class(), class, "{code}");
                assert_eq!(fault.error.failure.code, *code);
            }
        }
    }

    #[test]
    fn an_unknown_code_goes_by_its_status() {
        let class = |status| fault(status, &arm("Strange", ""), None).class();
        assert_eq!(class(429), FailureClass::Throttled);
        for status in [408, 424, 500, 502, 503, 504] {
            assert_eq!(class(status), FailureClass::Transient, "{status}");
        }
        assert_eq!(class(501), FailureClass::Rejected);
        assert_eq!(class(403), FailureClass::Denied);
        assert_eq!(class(404), FailureClass::NotFound);
        assert_eq!(class(409), FailureClass::Contended);
        assert_eq!(class(400), FailureClass::Rejected);
    }

    /// Proves: AZURE-89.
    #[test]
    fn operation_not_allowed_is_a_quota_or_throttling_by_what_it_says() {
        let quota = "Operation could not be completed as it results in exceeding approved Total \
                     Regional Cores quota. Current Limit: 10, Current Usage: 8, Additional Required: 4";
        let quota = fault(409, &arm("OperationNotAllowed", quota), None);
        assert_eq!(quota.class(), FailureClass::Quota);
        assert_eq!(quota.error.failure.retry_after_seconds, Some(600));
        assert!(quota.error.failure.message.contains("Current Limit: 10"));
        let throttled = json!({
            "code": "OperationNotAllowed", "message": "The server rejected the request",
            "details": [{ "code": "TooManyRequests", "target": "PutVMScaleSet3Min", "message": "13" }],
        });
        let throttled = fault(409, &throttled, Some("17"));
        assert_eq!(throttled.class(), FailureClass::Throttled);
        assert_eq!(throttled.retry_after(), Some(Duration::from_secs(17)));
        assert_eq!(throttled.error.failure.code, "TooManyRequests");
    }

    /// Proves: AZURE-88.
    #[test]
    fn a_failed_operation_is_told_by_its_detail() {
        let error = json!({
            "code": "ResourceOperationFailure",
            "message": "The resource operation completed with terminal provisioning state 'Failed'.",
            "details": [{
                "code": "OverconstrainedZonalAllocationRequest",
                "message": "Allocation failed. VM size Standard_D4s_v5 in zone 2.",
            }],
        });
        let failure = operation("GET operations", Some(&error));
        assert_eq!(failure.code, "OverconstrainedZonalAllocationRequest");
        assert_eq!(failure.class, FailureClass::Constraint);
        assert!(failure.message.contains("zone 2"), "{}", failure.message);
        assert!(
            failure.message.contains("ResourceOperationFailure"),
            "{}",
            failure.message
        );
        assert!(failure.message.contains("vm_size"), "{}", failure.message);
        assert_eq!(operation("x", None).class, FailureClass::Transient);
    }

    #[test]
    fn only_a_401_asks_for_a_fresh_token() {
        let stale = arm("ExpiredAuthenticationToken", "expired");
        assert!(fault(401, &stale, None).stale_credential);
        assert!(!fault(403, &arm("AuthorizationFailed", "no"), None).stale_credential);
    }
}
