//! Refusals in ARM's words, and the shapes they come in (azure-machinepool.md, 10.2).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::faults::Effect;

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ArmError {
    pub(crate) status: u16,
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) target: Option<String>,
    /// Code, target and message of each inner error.
    pub(crate) details: Vec<Detail>,
    /// Seconds to wait, as `Retry-After`.
    pub(crate) retry_after: Option<u64>,
    pub(crate) shape: Shape,
}

/// An inner error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Detail {
    pub(crate) code: String,
    pub(crate) target: Option<String>,
    pub(crate) message: String,
}

/// How an error is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Shape {
    /// `{"error": {…}}`.
    Wrapped,
    /// Without the wrapper: Compute's throttling.
    Bare,
    /// The token endpoint's, whose `code` is an OAuth error.
    OAuth,
}

impl ArmError {
    /// A refusal in ARM's ordinary shape.
    pub(crate) fn new(status: u16, code: &str, message: impl Into<String>) -> Self {
        Self {
            status,
            code: code.to_owned(),
            message: message.into(),
            target: None,
            details: Vec::new(),
            retry_after: None,
            shape: Shape::Wrapped,
        }
    }

    /// A value that is not taken; `target` is the property.
    pub(crate) fn invalid(target: &str, message: impl Into<String>) -> Self {
        Self::new(400, "InvalidParameter", message).at(target)
    }

    /// A property that never changes.
    pub(crate) fn immutable(property: &str) -> Self {
        let message = format!("Changing property '{property}' is not allowed.");
        Self::new(409, "PropertyChangeNotAllowed", message).at(property)
    }

    /// A resource that is not there.
    pub(crate) fn not_found(kind: &str, name: &str, group: &str) -> Self {
        let message = format!(
            "The Resource '{kind}/{name}' under resource group '{group}' was not found. For more \
             details please go to https://aka.ms/ARMResourceNotFoundFix"
        );
        Self::new(404, "ResourceNotFound", message)
    }

    /// A group that is not there.
    pub(crate) fn no_group(group: &str) -> Self {
        let message = format!("Resource group '{group}' could not be found.");
        Self::new(404, "ResourceGroupNotFound", message)
    }

    /// The property the error is about.
    #[must_use]
    pub(crate) fn at(mut self, target: &str) -> Self {
        self.target = Some(target.to_owned());
        self
    }

    /// With an inner error.
    #[must_use]
    pub(crate) fn with_detail(mut self, code: &str, target: &str, message: &str) -> Self {
        self.details.push(Detail {
            code: code.to_owned(),
            target: Some(target.to_owned()),
            message: message.to_owned(),
        });
        self
    }

    /// Compute's throttling answer of a policy (`PutVMScaleSet3Min`).
    pub(crate) fn throttled(policy: &str, seconds: u64) -> Self {
        let message = format!(
            "The server rejected the request because too many requests have been received for \
             this subscription. Retry after {seconds} seconds."
        );
        let mut error = Self::new(429, "OperationNotAllowed", message).with_detail(
            "TooManyRequests",
            policy,
            &format!("{{\"operationGroup\":\"{policy}\",\"retryAfterSeconds\":{seconds}}}"),
        );
        error.shape = Shape::Bare;
        error.retry_after = Some(seconds);
        error
    }

    /// ARM's own throttling answer.
    pub(crate) fn subscription_throttled(kind: &str, seconds: u64) -> Self {
        let message = format!(
            "Number of '{kind}' requests for subscription exceeded the limit. Please try again \
             after '{seconds}' seconds."
        );
        let mut error = Self::new(429, "SubscriptionRequestsThrottled", message);
        error.retry_after = Some(seconds);
        error
    }

    /// The answer a scripted fault stands for.
    pub(crate) fn scripted(effect: &Effect, service: &str, action: &str) -> Self {
        let mut error = Self::of_effect(effect, service, action);
        if ["login", "imds"].contains(&service) {
            error.shape = Shape::OAuth;
        }
        error
    }

    fn of_effect(effect: &Effect, service: &str, action: &str) -> Self {
        match effect {
            Effect::Throttle if service == "compute" => Self::throttled(action, 10),
            Effect::Throttle => Self::subscription_throttled("read", 10),
            Effect::Denied => Self::denied(action, "the requested scope"),
            Effect::InternalError => Self::new(
                500,
                "InternalServerError",
                "The server encountered an internal error. Please retry the request.",
            ),
            Effect::Unavailable => Self::new(
                503,
                "ServiceUnavailable",
                "The service is currently unavailable. Please retry later.",
            ),
            Effect::ExpiredToken => Self::expired_token(),
            Effect::BadSignature => Self::invalid_token("The access token is invalid."),
            Effect::Refuse {
                code,
                message,
                status,
            } => Self::new(*status, code, message.clone()),
            Effect::Answer { status, .. } => Self::new(*status, "Scripted", ""),
            Effect::LostAnswer | Effect::Disconnect | Effect::Latency(_) | Effect::StaleRead(_) => {
                Self::new(500, "InternalServerError", "not a refusal")
            }
        }
    }

    /// The caller may not do this.
    pub(crate) fn denied(action: &str, scope: &str) -> Self {
        let message = format!(
            "The client does not have authorization to perform action '{action}' over scope \
             '{scope}' or the scope is invalid. If access was recently granted, please refresh \
             your credentials."
        );
        Self::new(403, "AuthorizationFailed", message)
    }

    /// The access token is too old.
    pub(crate) fn expired_token() -> Self {
        let message = "The access token expiry UTC time is earlier than current UTC time.";
        Self::new(401, "ExpiredAuthenticationToken", message)
    }

    /// The access token is none.
    pub(crate) fn invalid_token(message: &str) -> Self {
        Self::new(401, "InvalidAuthenticationToken", message)
    }

    /// Code, message and details as ARM writes them.
    pub(crate) fn inner(&self) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(target) = &self.target {
            error["target"] = target.as_str().into();
        }
        if !self.details.is_empty() {
            let details = self.details.iter().map(|detail| {
                json!({
                    "code": detail.code, "target": detail.target, "message": detail.message,
                })
            });
            error["details"] = details.collect();
        }
        error
    }

    /// The body.
    pub(crate) fn body(&self) -> Value {
        match self.shape {
            Shape::Wrapped => json!({ "error": self.inner() }),
            Shape::Bare => self.inner(),
            Shape::OAuth => {
                let number = aadsts(&self.message);
                json!({
                    "error": self.code,
                    "error_description": self.message,
                    "error_codes": [number],
                })
            }
        }
    }
}

/// `7000215` of `AADSTS7000215: …`.
fn aadsts(message: &str) -> u32 {
    let digits = message.trim_start_matches("AADSTS");
    let end = digits.find(':').unwrap_or(0);
    digits[..end].parse().unwrap_or(0)
}
