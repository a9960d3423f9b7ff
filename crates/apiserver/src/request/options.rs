//! Options of the query string and of a delete body.

use http::Method;
use serde_json::{Value, json};

use crate::object::text;
use crate::status_error::{Cause, Failure, Outcome};

/// Every option a verb may read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    /// The Kubernetes type of these options, for error texts.
    pub(crate) kind: &'static str,
    pub(crate) dry_run: bool,
    pub(crate) field_manager: String,
    pub(crate) field_validation: FieldValidation,
    pub(crate) force: Option<bool>,
    pub(crate) label_selector: String,
    pub(crate) field_selector: String,
    pub(crate) limit: usize,
    pub(crate) continue_token: String,
    pub(crate) resource_version: String,
    pub(crate) resource_version_match: String,
    pub(crate) watch: bool,
    pub(crate) bookmarks: bool,
    pub(crate) send_initial_events: Option<bool>,
    pub(crate) timeout_seconds: Option<u64>,
    pub(crate) include_object: String,
    pub(crate) propagation_policy: String,
    pub(crate) orphan_dependents: Option<bool>,
    pub(crate) grace_period_seconds: Option<i64>,
}

/// What happens to fields that the schema does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

impl Options {
    /// Reads a query string; unknown options are ignored, as Kubernetes does.
    pub(crate) fn parse(query: &str, method: &Method) -> Outcome<Self> {
        let kind = match *method {
            Method::POST => "CreateOptions",
            Method::PUT => "UpdateOptions",
            Method::PATCH => "PatchOptions",
            Method::DELETE => "DeleteOptions",
            _ => "ListOptions",
        };
        let mut options = Self {
            kind,
            ..Self::default()
        };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            options.set(&name, &value)?;
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Outcome<()> {
        match name {
            "dryRun" => self.dry_run = dry_run(self.kind, value)?,
            "fieldManager" => value.clone_into(&mut self.field_manager),
            "fieldValidation" => {
                self.field_validation = match value {
                    "Ignore" => FieldValidation::Ignore,
                    "Strict" => FieldValidation::Strict,
                    "Warn" | "" => FieldValidation::Warn,
                    other => {
                        let supported = ["", "Ignore", "Strict", "Warn"];
                        let cause = Cause::unsupported(name, &other.into(), &supported);
                        return Err(Failure::invalid_options(self.kind, &[cause]));
                    }
                }
            }
            "force" => self.force = Some(boolean(name, value)?),
            "labelSelector" => value.clone_into(&mut self.label_selector),
            "fieldSelector" => value.clone_into(&mut self.field_selector),
            "limit" => self.limit = number(name, value)?,
            "continue" => value.clone_into(&mut self.continue_token),
            "resourceVersion" => value.clone_into(&mut self.resource_version),
            "resourceVersionMatch" => value.clone_into(&mut self.resource_version_match),
            "watch" => self.watch = boolean(name, value)?,
            "allowWatchBookmarks" => self.bookmarks = boolean(name, value)?,
            "sendInitialEvents" => self.send_initial_events = Some(boolean(name, value)?),
            "timeoutSeconds" => self.timeout_seconds = Some(number(name, value)?),
            "includeObject" => value.clone_into(&mut self.include_object),
            "propagationPolicy" => value.clone_into(&mut self.propagation_policy),
            "orphanDependents" => self.orphan_dependents = Some(boolean(name, value)?),
            "gracePeriodSeconds" => self.grace_period_seconds = Some(number(name, value)?),
            _ => {}
        }
        Ok(())
    }

    /// Takes over what a `DeleteOptions` body says.
    pub(crate) fn merge_delete_body(&mut self, body: &Value) -> Outcome<Preconditions> {
        if let Some(policy) = body.get("propagationPolicy").and_then(Value::as_str) {
            policy.clone_into(&mut self.propagation_policy);
        }
        if let Some(orphan) = body.get("orphanDependents").and_then(Value::as_bool) {
            self.orphan_dependents = Some(orphan);
        }
        if let Some(seconds) = body.get("gracePeriodSeconds").and_then(Value::as_i64) {
            self.grace_period_seconds = Some(seconds);
        }
        for choice in body
            .get("dryRun")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            self.dry_run = dry_run("DeleteOptions", choice.as_str().unwrap_or_default())?;
        }
        let own = |field: &str| {
            let value = text(body, &["preconditions", field]);
            (!value.is_empty()).then(|| value.to_owned())
        };
        Ok(Preconditions {
            uid: own("uid"),
            resource_version: own("resourceVersion"),
        })
    }
}

/// What must hold of an object for it to be deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Preconditions {
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
}

fn dry_run(kind: &str, value: &str) -> Outcome<bool> {
    match value {
        "All" => Ok(true),
        "" => Ok(false),
        other => {
            let cause = Cause::unsupported("dryRun", &json!([other]), &["All"]);
            Err(Failure::invalid_options(kind, &[cause]))
        }
    }
}

fn boolean(name: &str, value: &str) -> Outcome<bool> {
    match value {
        "true" | "1" | "" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(Failure::bad_request(format!(
            "invalid value {value:?} for option {name}"
        ))),
    }
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Outcome<T> {
    value
        .parse()
        .map_err(|_| Failure::bad_request(format!("invalid value {value:?} for option {name}")))
}
