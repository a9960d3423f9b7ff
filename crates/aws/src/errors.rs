//! Provider codes to failure classes: the table of the AWS document, section 10.3, as data.
//!
//! A failed SDK call goes in, a [`Fault`] comes out: its class, and whether a fresh credential
//! might help. Rows are tried in order and the first match wins; where no row matches, the HTTP
//! status decides. Messages are made deterministic: what differs from call to call is cut off.

use std::{error::Error, time::Duration};

use aws_smithy_runtime_api::client::{orchestrator::HttpResponse, result::SdkError};
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use remuda_cloud::{CloudError, calls::Call, error::Fault};
use remuda_plan::error::{CloudFailure, FailureClass};

use crate::calls;

pub(crate) use remuda_cloud::error::failure;

/// One row of the table.
struct Row {
    /// The provider's code: exact, or a prefix or suffix where it holds a `*`.
    code: &'static str,
    /// All of these occur in the message, lower case.
    says: &'static [&'static str],
    /// What it means.
    class: FailureClass,
    ///
    credential: bool,
}

const fn row(code: &'static str, says: &'static [&'static str], class: FailureClass) -> Row {
    Row {
        code,
        says,
        class,
        credential: false,
    }
}

const fn stale(code: &'static str) -> Row {
    Row {
        code,
        says: &[],
        class: FailureClass::Denied,
        credential: true,
    }
}

use FailureClass::{
    AlreadyExists, Contended, Denied, NotFound, NotReadyYet, Quota, Rejected, Throttled, Transient,
};

/// AWS document, section 10.3. Autoscaling reports very different things as `ValidationError`;
/// the texts are AWS's own, matched without regard to case.
const TABLE: &[Row] = &[
    // A-1 throttle
    row("RequestLimitExceeded", &[], Throttled),
    row("Throttling*", &[], Throttled),
    row("ThrottledException", &[], Throttled),
    row("TooManyRequests*", &[], Throttled),
    row("SlowDown", &[], Throttled),
    row("*", &["rate exceeded"], Throttled),
    // A-2 transient
    row("InternalError", &[], Transient),
    row("InternalFailure", &[], Transient),
    row("ServiceUnavailable", &[], Transient),
    row("Unavailable", &[], Transient),
    row("RequestTimeout", &[], Transient),
    // A-3 contention, A-4 a refresh runs
    row("ResourceContention", &[], Contended),
    row("ScalingActivityInProgress", &[], Contended),
    row("ResourceInUse", &[], Contended),
    row("OperationAborted", &[], Contended),
    row("InstanceRefreshInProgress", &[], Contended),
    // The count moved since it was read: decided again from what is then.
    row(
        "ValidationError",
        &["desiredsize equals minsize"],
        Contended,
    ),
    // A-5 already exists
    row("AlreadyExists", &[], AlreadyExists),
    row(
        "InvalidLaunchTemplateName.AlreadyExistsException",
        &[],
        AlreadyExists,
    ),
    // A-6 not found
    row("ActiveInstanceRefreshNotFound", &[], NotFound),
    row("ValidationError", &["no managed instance found"], NotFound),
    row("ValidationError", &["no active lifecycle action"], NotFound),
    row("ValidationError", &["no lifecycle hook found"], NotFound),
    row("ValidationError", &["name not found"], NotFound),
    row(
        "ValidationError",
        &["autoscalinggroup", "not found"],
        NotFound,
    ),
    row(
        "ValidationError",
        &["launch template", "does not exist"],
        NotFound,
    ),
    row("InvalidLaunchTemplateName.NotFoundException", &[], NotFound),
    row("InvalidLaunchTemplateId.NotFound*", &[], NotFound),
    row("NoSuchBucket", &[], NotFound),
    row("NoSuchKey", &[], NotFound),
    // A-7 denied
    row("UnauthorizedOperation", &[], Denied),
    row("AccessDenied*", &[], Denied),
    row("AuthFailure", &[], Denied),
    row("OptInRequired", &[], Denied),
    // A-8 credentials
    stale("ExpiredToken*"),
    stale("RequestExpired"),
    stale("InvalidClientTokenId"),
    stale("SignatureDoesNotMatch"),
    stale("InvalidAccessKeyId"),
    stale("InvalidToken"),
    // A-9 quota of our own call
    row("*LimitExceeded", &[], Quota),
    row("*LimitExceededException", &[], Quota),
    // A-11 profile not ready, A-12 service-linked role
    row(
        "ValidationError",
        &["instance profile", "invalid"],
        NotReadyYet,
    ),
    row("ValidationError", &["iaminstanceprofile"], NotReadyYet),
    row("ServiceLinkedRoleFailure", &[], NotReadyYet),
    // A-10 bad parameter
    row("Validation*", &[], Rejected),
    row("Invalid*", &[], Rejected),
    row("Malformed*", &[], Rejected),
    row("Missing*", &[], Rejected),
];

impl Row {
    fn matches(&self, code: &str, message: &str) -> bool {
        let code_fits = match (self.code.strip_prefix('*'), self.code.strip_suffix('*')) {
            (Some(suffix), _) => code.ends_with(suffix),
            (None, Some(prefix)) => code.starts_with(prefix),
            (None, None) => code == self.code,
        };
        code_fits && self.says.iter().all(|text| message.contains(text))
    }
}

/// The class of a code and message; `status` decides where the table knows neither.
pub(crate) fn classify(
    service: &str,
    code: &str,
    message: &str,
    status: Option<u16>,
) -> (FailureClass, bool) {
    // S3 throttles with 503, whatever the code; elsewhere 503 is an outage.
    if service == "s3" && status == Some(503) {
        return (Throttled, false);
    }
    let lower = message.to_lowercase();
    if let Some(row) = TABLE.iter().find(|row| row.matches(code, &lower)) {
        return (row.class, row.credential);
    }
    let class = match status {
        Some(429) => Throttled,
        Some(500..=599) | None => Transient,
        Some(401 | 403) => Denied,
        Some(404) => NotFound,
        Some(_) => Rejected,
    };
    (class, false)
}

/// After this long a `NotReadyYet` is what its text says.
pub(crate) const READY_WITHIN: Duration = Duration::from_mins(2);

/// What a `NotReadyYet` becomes when it lasted longer than [`READY_WITHIN`].
pub(crate) fn overdue(code: &str) -> FailureClass {
    if code == "ServiceLinkedRoleFailure" {
        Denied
    } else {
        Rejected
    }
}

/// Reads a failed attempt of a call.
pub(crate) fn read<E>(call: &Call, error: SdkError<E, HttpResponse>) -> Fault
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    let status = error.raw_response().map(|raw| raw.status().as_u16());
    let retry_after_seconds = error
        .raw_response()
        .and_then(|raw| raw.headers().get("retry-after"))
        .and_then(|value| value.trim().parse().ok());
    let (code, message) = match &error {
        SdkError::ServiceError(service) => {
            let code = service.err().code().unwrap_or_default().to_owned();
            let text = service.err().message().unwrap_or_default();
            let message = if text.is_empty() {
                format!("HTTP status {}", status.unwrap_or_default())
            } else {
                text.to_owned()
            };
            (code, message)
        }
        SdkError::TimeoutError(_) => (String::new(), "no answer in time".to_owned()),
        SdkError::DispatchFailure(_) => (
            String::new(),
            "the endpoint could not be reached".to_owned(),
        ),
        SdkError::ResponseError(_) => (
            String::new(),
            format!(
                "an answer that is not AWS's (HTTP status {})",
                status.unwrap_or_default()
            ),
        ),
        _ => (String::new(), "the request could not be built".to_owned()),
    };
    let (class, stale_credential) = match &error {
        // A 200 that cannot be read, or a request that cannot be built, is a fault of ours.
        SdkError::ResponseError(_) if status.is_some_and(|status| status < 400) => {
            (FailureClass::Bug, false)
        }
        SdkError::ConstructionFailure(_) => (FailureClass::Bug, false),
        _ => classify(calls::service(call), &code, &message, status),
    };
    Fault {
        error: CloudError {
            failure: CloudFailure {
                class,
                call: call.name.to_owned(),
                code,
                message: deterministic(&message),
                retry_after_seconds,
            },
            source: Some(Box::new(error)),
        },
        stale_credential,
        bucket: None,
    }
}

/// Where AWS starts to write what is different in every answer.
const VARYING: &[&str] = &[
    "Encoded authorization failure message",
    "(Service: ",
    "(RequestId: ",
    "Request ID: ",
];

/// Cuts off what differs from call to call, so that a failing pass writes the same status twice.
fn deterministic(message: &str) -> String {
    let end = VARYING
        .iter()
        .filter_map(|mark| message.find(mark))
        .min()
        .unwrap_or(message.len());
    message[..end].trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(code: &str, message: &str) -> FailureClass {
        classify("autoscaling", code, message, Some(400)).0
    }

    #[test]
    fn every_code_of_the_table_has_its_class() {
        let rows = [
            ("RequestLimitExceeded", "", Throttled),
            ("Throttling", "", Throttled),
            ("ThrottlingException", "", Throttled),
            ("ValidationError", "Rate exceeded", Throttled),
            ("SlowDown", "", Throttled),
            ("InternalError", "", Transient),
            ("InternalFailure", "", Transient),
            ("ServiceUnavailable", "", Transient),
            ("Unavailable", "", Transient),
            ("RequestTimeout", "", Transient),
            ("ResourceContention", "", Contended),
            ("ScalingActivityInProgress", "", Contended),
            ("ResourceInUse", "", Contended),
            ("OperationAborted", "", Contended),
            ("InstanceRefreshInProgress", "", Contended),
            ("AlreadyExists", "", AlreadyExists),
            (
                "InvalidLaunchTemplateName.AlreadyExistsException",
                "",
                AlreadyExists,
            ),
            (
                "ValidationError",
                "AutoScalingGroup name not found - AutoScalingGroup: x not found",
                NotFound,
            ),
            (
                "ValidationError",
                "Currently, desiredSize equals minSize (2). Terminating instance without \
                 replacement will violate group's min size constraint.",
                Contended,
            ),
            (
                "ValidationError",
                "Instance Id not found - No managed instance found for instance ID i-1",
                NotFound,
            ),
            (
                "ValidationError",
                "No active Lifecycle Action found with instance ID i-1",
                NotFound,
            ),
            (
                "ValidationError",
                "No Lifecycle Hook found with name remuda-drain",
                NotFound,
            ),
            ("InvalidLaunchTemplateName.NotFoundException", "", NotFound),
            ("InvalidLaunchTemplateId.NotFound", "", NotFound),
            ("NoSuchBucket", "", NotFound),
            ("NoSuchKey", "", NotFound),
            ("UnauthorizedOperation", "", Denied),
            ("AccessDenied", "", Denied),
            ("AccessDeniedException", "", Denied),
            ("AuthFailure", "", Denied),
            ("LimitExceeded", "", Quota),
            ("LaunchTemplateVersionLimitExceeded", "", Quota),
            ("ValidationError", "Max bound is too low", Rejected),
            ("InvalidParameterValue", "", Rejected),
            ("InvalidAMIID.NotFound", "", Rejected),
            ("InvalidSubnetID.NotFound", "", Rejected),
            ("InvalidGroup.NotFound", "", Rejected),
            ("InvalidKeyPair.NotFound", "", Rejected),
            (
                "ValidationError",
                "You must use a valid fully-formed launch template. Value (x) for parameter \
                 iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name",
                NotReadyYet,
            ),
            ("ServiceLinkedRoleFailure", "", NotReadyYet),
        ];
        for (code, message, expected) in rows {
            assert_eq!(class(code, message), expected, "{code} {message}");
        }
    }

    #[test]
    fn only_credential_codes_ask_for_a_fresh_credential() {
        for code in [
            "ExpiredToken",
            "ExpiredTokenException",
            "InvalidClientTokenId",
            "SignatureDoesNotMatch",
        ] {
            assert_eq!(
                classify("ec2", code, "", Some(403)),
                (Denied, true),
                "{code}"
            );
        }
        assert_eq!(
            classify("s3", "AccessDenied", "", Some(403)),
            (Denied, false)
        );
    }

    #[test]
    fn an_unknown_code_goes_by_its_status() {
        let class = |service, status| classify(service, "Strange", "", status).0;
        assert_eq!(class("s3", Some(503)), Throttled);
        assert_eq!(class("ec2", Some(503)), Transient);
        assert_eq!(class("ec2", Some(429)), Throttled);
        assert_eq!(class("ec2", Some(500)), Transient);
        assert_eq!(class("s3", Some(403)), Denied);
        assert_eq!(class("s3", Some(404)), NotFound);
        assert_eq!(class("ec2", Some(400)), Rejected);
        assert_eq!(class("ec2", None), Transient);
    }

    #[test]
    fn an_overdue_profile_is_a_bad_parameter_and_an_overdue_role_a_missing_right() {
        assert_eq!(overdue("ValidationError"), Rejected);
        assert_eq!(overdue("ServiceLinkedRoleFailure"), Denied);
    }

    #[test]
    fn messages_do_not_carry_what_changes_from_call_to_call() {
        assert_eq!(
            deterministic(
                "You are not authorized to perform this operation. \
                 Encoded authorization failure message: 4GIOHlTkIaWHQD0Q0m6XSnuUMCm-abcdef"
            ),
            "You are not authorized to perform this operation."
        );
        assert_eq!(deterministic("plain text"), "plain text");
    }
}
