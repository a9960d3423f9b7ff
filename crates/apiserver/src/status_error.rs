//! Every refusal, in Kubernetes' own words: the `Status` object that clients turn into messages.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::registry::Kind;
use crate::schema::FieldError;

/// A refusal on its way to the client.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) code: u16,
    pub(crate) reason: Cow<'static, str>,
    pub(crate) message: String,
    pub(crate) details: Map<String, Value>,
    /// Whether the details are told although they are empty.
    bare: bool,
}

/// Handlers return this.
pub(crate) type Outcome<T> = Result<T, Failure>;

/// Stands for the reason of an answer that is a page, not a `Status`.
const NO_PAGE: &str = "page";

/// One cause of an `Invalid` answer.
#[derive(Clone, Debug)]
pub(crate) struct Cause {
    pub(crate) reason: String,
    pub(crate) field: String,
    /// The message without the field.
    pub(crate) message: String,
}

impl Cause {
    pub(crate) fn new(reason: &str, field: &str, message: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            field: field.into(),
            message: message.into(),
        }
    }

    pub(crate) fn required(field: &str, detail: &str) -> Self {
        Self::new("FieldValueRequired", field, join("Required value", detail))
    }

    pub(crate) fn invalid(field: &str, value: &Value, detail: &str) -> Self {
        Self::new(
            "FieldValueInvalid",
            field,
            join(&format!("Invalid value: {value}"), detail),
        )
    }

    pub(crate) fn forbidden(field: &str, detail: &str) -> Self {
        Self::new("FieldValueForbidden", field, join("Forbidden", detail))
    }

    pub(crate) fn unsupported(field: &str, value: &Value, supported: &[&str]) -> Self {
        let list: Vec<String> = supported.iter().map(|s| format!("{s:?}")).collect();
        let message = format!(
            "Unsupported value: {value}: supported values: {}",
            list.join(", ")
        );
        Self::new("FieldValueNotSupported", field, message)
    }

    /// Whether the rules of a schema are left out because of this problem.
    pub(crate) fn blocks_rules(&self) -> bool {
        matches!(
            self.reason.as_str(),
            "FieldValueNotSupported"
                | "FieldValueRequired"
                | "FieldValueTooLong"
                | "FieldValueDuplicate"
                | "FieldValueTooMany"
                | "FieldValueTypeInvalid"
        )
    }

    /// The cause as it is told of a subresource that is checked by itself: the words know the
    /// field without what comes before it.
    pub(crate) fn below(mut self, prefix: &str) -> Self {
        if let Some(field) = self.field.strip_prefix(prefix) {
            let (whole, short) = (
                format!("{} in body", self.field),
                format!("{field} in body"),
            );
            self.message = self.message.replace(&whole, &short);
        }
        self
    }

    pub(crate) fn text(&self) -> String {
        if self.field.is_empty() {
            return self.message.clone();
        }
        format!("{}: {}", self.field, self.message)
    }
}

impl From<&FieldError> for Cause {
    fn from(error: &FieldError) -> Self {
        let text = error.to_string();
        // Kubernetes' name for the object as a whole.
        if let Some(message) = text.strip_prefix("<nil>: ") {
            return Self::new(error.reason(), "<nil>", message);
        }
        let message = text
            .strip_prefix(&error.path)
            .and_then(|rest| rest.strip_prefix(": "));
        Self {
            reason: error.reason().into(),
            field: error.path.clone(),
            message: message.unwrap_or(&text).to_owned(),
        }
    }
}

fn join(head: &str, detail: &str) -> String {
    if detail.is_empty() {
        head.to_owned()
    } else {
        format!("{head}: {detail}")
    }
}

/// `widgets.example.com`, or `pods` in the core group.
pub(crate) fn qualified(group: &str, resource: &str) -> String {
    if group.is_empty() {
        resource.to_owned()
    } else {
        format!("{resource}.{group}")
    }
}

impl Failure {
    pub(crate) fn new(
        code: u16,
        reason: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            code,
            reason: reason.into(),
            message: message.into(),
            details: Map::new(),
            bare: false,
        }
    }

    /// Tells the details although there are none, as a router does that knows no kind.
    pub(crate) fn bare(self) -> Self {
        Self { bare: true, ..self }
    }

    fn about(mut self, group: &str, kind: &str, name: &str) -> Self {
        for (field, value) in [("group", group), ("kind", kind), ("name", name)] {
            if !value.is_empty() {
                self.details.insert(field.into(), value.into());
            }
        }
        self
    }

    pub(crate) fn not_found(kind: &Kind, name: &str) -> Self {
        Self::not_found_in(&kind.group, &kind.plural, name)
    }

    pub(crate) fn not_found_in(group: &str, plural: &str, name: &str) -> Self {
        let message = format!("{} {name:?} not found", qualified(group, plural));
        Self::new(404, "NotFound", message).about(group, plural, name)
    }

    /// A path that leads nowhere.
    pub(crate) fn no_such_path() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(404, "NotFound", message).bare()
    }

    /// A path that leads nowhere in a group that is not built in: answered as a plain page.
    pub(crate) fn no_such_page() -> Self {
        Self::new(404, NO_PAGE, "404 page not found\n")
    }

    /// Whether the answer is the message alone.
    pub(crate) fn is_page(&self) -> bool {
        self.reason == NO_PAGE
    }

    pub(crate) fn already_exists(kind: &Kind, name: &str) -> Self {
        let message = format!(
            "{} {name:?} already exists",
            qualified(&kind.group, &kind.plural)
        );
        Self::new(409, "AlreadyExists", message).about(&kind.group, &kind.plural, name)
    }

    pub(crate) fn conflict(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} {name:?}: {why}",
            qualified(&kind.group, &kind.plural)
        );
        Self::new(409, "Conflict", message).about(&kind.group, &kind.plural, name)
    }

    /// A conflict that names a kind of the core group instead of its resource.
    pub(crate) fn conflict_about(kind: &str, name: &str, message: String) -> Self {
        Self::new(409, "Conflict", message).about("", kind, name)
    }

    /// A delete's precondition does not hold; names the kind instead of the resource.
    pub(crate) fn precondition(kind: &Kind, name: &str, why: &str) -> Self {
        let own = qualified(&kind.group, &kind.kind);
        let message = format!("Operation cannot be fulfilled on {own} {name:?}: {why}");
        Self::new(409, "Conflict", message).about(&kind.group, &kind.kind, name)
    }

    /// The optimistic lock failed.
    pub(crate) fn stale(kind: &Kind, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version \
                   and try again";
        Self::conflict(kind, name, why)
    }

    pub(crate) fn forbidden(kind: &Kind, name: &str, why: &str) -> Self {
        Self::forbidden_in(&kind.group, &kind.plural, name, why)
    }

    /// Refused for a resource that may not exist; an empty name means the collection.
    pub(crate) fn forbidden_in(group: &str, plural: &str, name: &str, why: &str) -> Self {
        let what = qualified(group, plural);
        let message = match name {
            "" => format!("{what} is forbidden: {why}"),
            name => format!("{what} {name:?} is forbidden: {why}"),
        };
        Self::new(403, "Forbidden", message).about(group, plural, name)
    }

    /// Refused for a path that names no resource.
    pub(crate) fn forbidden_path(why: &str) -> Self {
        Self::new(403, "Forbidden", format!("forbidden: {why}"))
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(crate) fn invalid(kind: &Kind, name: &str, causes: &[Cause]) -> Self {
        Self::invalid_as(&kind.group, &kind.kind, name, causes)
    }

    /// Refused before the kind was looked at: names the resource instead of the kind.
    pub(crate) fn invalid_resource(kind: &Kind, name: &str, causes: &[Cause]) -> Self {
        Self::invalid_as(&kind.group, &kind.plural, name, causes)
    }

    pub(crate) fn invalid_as(group: &str, kind: &str, name: &str, causes: &[Cause]) -> Self {
        let texts: Vec<String> = causes.iter().map(Cause::text).collect();
        let mut message = format!("{} {name:?} is invalid: ", qualified(group, kind));
        match texts.as_slice() {
            [one] => message.push_str(one),
            many => {
                let _ = write!(message, "[{}]", many.join(", "));
            }
        }
        Self::new(422, "Invalid", message)
            .about(group, kind, name)
            .with_causes(causes)
    }

    /// Options of a request that contradict each other or mean nothing.
    pub(crate) fn invalid_options(kind: &str, causes: &[Cause]) -> Self {
        let texts: Vec<String> = causes.iter().map(Cause::text).collect();
        let message = format!("{kind}.meta.k8s.io \"\" is invalid: {}", texts.join(", "));
        Self::new(422, "Invalid", message)
            .about("meta.k8s.io", kind, "")
            .with_causes(causes)
    }

    pub(crate) fn with_causes(mut self, causes: &[Cause]) -> Self {
        let causes = causes.iter().map(
            |cause| json!({"reason": cause.reason, "message": cause.message, "field": cause.field}),
        );
        self.details
            .insert("causes".into(), Value::Array(causes.collect()));
        self
    }

    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// A watch asked for a revision that the log no longer reaches.
    pub(crate) fn too_old(asked: u64, oldest: u64) -> Self {
        Self::expired(format!("too old resource version: {asked} ({oldest})"))
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// A verb that the router of built-in kinds does not know at a path.
    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message).bare()
    }

    /// A verb that a custom kind does not know.
    pub(crate) fn method_not_supported(kind: &Kind, verb: &str) -> Self {
        let own = qualified(&kind.group, &kind.plural);
        let message = format!("{verb} is not supported on resources of kind {own:?}");
        Self::new(405, "MethodNotAllowed", message).about(&kind.group, &kind.plural, "")
    }

    /// A patch of a built-in kind in a form that its router does not know.
    pub(crate) fn unknown_patch() -> Self {
        Self::new(415, "UnsupportedMediaType", "415: Unsupported Media Type").bare()
    }

    /// Nothing is made of a kind that is about to go.
    pub(crate) fn ending(kind: &Kind) -> Self {
        let message = "create not allowed while custom resource definition is terminating";
        Self::new(405, "MethodNotAllowed", message).about(&kind.group, &kind.plural, "")
    }

    pub(crate) fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// No form that the client takes; the router of built-in kinds does not name those there are.
    pub(crate) fn not_acceptable(custom: bool) -> Self {
        if !custom {
            return Self::new(406, "NotAcceptable", "406: Not Acceptable").bare();
        }
        let message = "only the following media types are accepted: application/json, \
                       application/yaml, application/vnd.kubernetes.protobuf";
        Self::new(406, "NotAcceptable", message)
    }

    pub(crate) fn too_many_requests(message: impl Into<String>) -> Self {
        Self::new(429, "TooManyRequests", message)
    }

    pub(crate) fn too_large() -> Self {
        let message = "Request entity too large: limit is 3145728";
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// A resource version that is no number; the server takes the fault upon itself, as a genuine
    /// one does.
    pub(crate) fn unreadable_revision(prefix: &str, text: &str) -> Self {
        let message = format!("{prefix}strconv.ParseUint: parsing {text:?}: invalid syntax");
        Self::new(500, "", message)
    }

    pub(crate) fn internal(message: impl std::fmt::Display) -> Self {
        let message = message.to_string();
        let text = format!("Internal error occurred: {message}");
        let mut failure = Self::new(500, "InternalError", text);
        let causes = json!([{"message": message}]);
        failure.details.insert("causes".into(), causes);
        failure
    }

    /// The `Status` object.
    pub(crate) fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = self.reason.as_ref().into();
        }
        if !self.details.is_empty() || self.bare {
            status["details"] = Value::Object(self.details.clone());
        }
        status
    }
}
