//! Refusals in AWS's words, and each service's envelope around them.

use std::borrow::Cow;

use super::{Service, xml::Xml};
use crate::faults::Effect;

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AwsError {
    pub(crate) code: Cow<'static, str>,
    pub(crate) message: String,
    pub(crate) status: u16,
}

impl AwsError {
    /// A refusal with HTTP 400.
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self::with_status(code, message, 400)
    }

    /// A refusal.
    pub(crate) fn with_status(code: &'static str, message: impl Into<String>, status: u16) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            status,
        }
    }

    /// Auto Scaling's catch-all.
    pub(crate) fn validation(message: impl Into<String>) -> Self {
        Self::new("ValidationError", message)
    }

    /// EC2's refusal of a value.
    pub(crate) fn invalid_value(message: impl Into<String>) -> Self {
        Self::new("InvalidParameterValue", message)
    }

    /// A parameter is missing.
    pub(crate) fn missing(name: &str) -> Self {
        Self::new(
            "MissingParameter",
            format!("The request must contain the parameter {name}"),
        )
    }

    /// A parameter has another type.
    pub(crate) fn malformed(name: &str, value: &str, expected: &str) -> Self {
        let message =
            format!("Value ({value}) for parameter {name} is invalid. Expected {expected}.");
        Self::new("InvalidParameterValue", message)
    }

    /// The answer a scripted fault stands for, in the words of the service.
    pub(crate) fn scripted(effect: &Effect, service: Service, action: &str) -> Self {
        use Service::{AutoScaling, Ec2, S3, Sts};
        let (code, message, status): (&'static str, String, u16) = match (effect, service) {
            (Effect::Throttle, Ec2) => (
                "RequestLimitExceeded",
                "Request limit exceeded.".into(),
                503,
            ),
            (Effect::Throttle, S3) => ("SlowDown", "Please reduce your request rate.".into(), 503),
            (Effect::Throttle, AutoScaling | Sts) => ("Throttling", "Rate exceeded".into(), 400),
            (Effect::Denied, service) => return Self::denied(service, action),
            (Effect::InternalError, AutoScaling | Sts) => (
                "InternalFailure",
                "The request processing has failed.".into(),
                500,
            ),
            (Effect::InternalError, _) => (
                "InternalError",
                "An internal error has occurred".into(),
                500,
            ),
            (Effect::Unavailable, Ec2) => {
                ("Unavailable", "The service is unavailable.".into(), 503)
            }
            (Effect::Unavailable, _) => (
                "ServiceUnavailable",
                "Service is unable to handle request.".into(),
                503,
            ),
            (Effect::ExpiredToken, service) => return Self::expired(service),
            (Effect::BadSignature, service) => return Self::bad_signature(service),
            (
                Effect::Refuse {
                    code,
                    message,
                    status,
                },
                _,
            ) => {
                return Self {
                    code: code.clone().into(),
                    message: message.clone(),
                    status: *status,
                };
            }
            (Effect::Answer { status, .. }, _) => ("Scripted", String::new(), *status),
            (
                Effect::LostAnswer | Effect::Disconnect | Effect::Latency(_) | Effect::StaleRead(_),
                _,
            ) => ("InternalError", "not a refusal".into(), 500),
        };
        Self::with_status(code, message, status)
    }

    /// The caller may not do this.
    pub(crate) fn denied(service: Service, action: &str) -> Self {
        match service {
            Service::Ec2 => Self::with_status(
                "UnauthorizedOperation",
                "You are not authorized to perform this operation.",
                403,
            ),
            Service::S3 => Self::with_status("AccessDenied", "Access Denied", 403),
            Service::AutoScaling | Service::Sts => Self::with_status(
                "AccessDenied",
                format!(
                    "User is not authorized to perform: {}:{action}",
                    service.name()
                ),
                403,
            ),
        }
    }

    /// The session token is too old. EC2 has its own code for it.
    pub(crate) fn expired(service: Service) -> Self {
        match service {
            Service::Ec2 => Self::new("RequestExpired", "Request has expired."),
            Service::S3 => Self::new("ExpiredToken", "The provided token has expired."),
            Service::AutoScaling | Service::Sts => Self::with_status(
                "ExpiredToken",
                "The security token included in the request is expired",
                403,
            ),
        }
    }

    /// No such access key, or a session token that is not the key's.
    pub(crate) fn unknown_key(service: Service) -> Self {
        match service {
            Service::Ec2 => Self::auth_failure(),
            Service::S3 => Self::with_status(
                "InvalidAccessKeyId",
                "The AWS Access Key Id you provided does not exist in our records.",
                403,
            ),
            Service::AutoScaling | Service::Sts => Self::with_status(
                "InvalidClientTokenId",
                "The security token included in the request is invalid.",
                403,
            ),
        }
    }

    /// The signature is another than ours.
    pub(crate) fn bad_signature(service: Service) -> Self {
        match service {
            Service::Ec2 => Self::auth_failure(),
            Service::S3 | Service::AutoScaling | Service::Sts => Self::with_status(
                "SignatureDoesNotMatch",
                "The request signature we calculated does not match the signature you provided. \
                 Check your AWS Secret Access Key and signing method.",
                403,
            ),
        }
    }

    fn auth_failure() -> Self {
        Self::with_status(
            "AuthFailure",
            "AWS was not able to validate the provided access credentials",
            401,
        )
    }

    /// The body of the answer in the envelope of the service.
    pub(crate) fn render(&self, service: Service, request_id: &str, resource: &str) -> String {
        let mut xml = Xml::new();
        xml.raw("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        match service {
            Service::Ec2 => xml.within("Response", |xml| {
                xml.within("Errors", |xml| {
                    xml.within("Error", |xml| {
                        xml.text("Code", &self.code);
                        xml.text("Message", &self.message);
                    });
                });
                xml.text("RequestID", request_id);
            }),
            Service::S3 => xml.within("Error", |xml| {
                xml.text("Code", &self.code);
                xml.text("Message", &self.message);
                xml.text("Resource", resource);
                xml.text("RequestId", request_id);
            }),
            Service::AutoScaling | Service::Sts => {
                let sender = if self.status < 500 {
                    "Sender"
                } else {
                    "Receiver"
                };
                xml.raw(&format!(
                    "<ErrorResponse xmlns=\"{}\">",
                    service.namespace()
                ));
                xml.within("Error", |xml| {
                    xml.text("Type", sender);
                    xml.text("Code", &self.code);
                    xml.text("Message", &self.message);
                });
                xml.text("RequestId", request_id);
                xml.raw("</ErrorResponse>");
            }
        }
        xml.finish()
    }
}
