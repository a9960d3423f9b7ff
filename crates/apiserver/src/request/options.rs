//! Options of the query string and of a delete body.

use http::Method;
use serde_json::{Value, json};

use crate::object::text;
use crate::schema::field_error::quote;
use crate::schema::go_duration_nanoseconds;
use crate::status_error::{Cause, Failure, Outcome};

/// Longest name of a field manager in bytes: Kubernetes' own bound.
const LONGEST_MANAGER: usize = 128;

/// Every option a verb may read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    /// The Kubernetes type of these options, for error texts.
    pub(crate) kind: &'static str,
    pub(crate) dry_run: bool,
    pub(crate) field_manager: String,
    pub(crate) field_validation: FieldValidation,
    /// What the client said of unknown fields, if anything.
    pub(crate) field_validation_text: String,
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
    /// What is wrong with options that are well formed.
    problems: Vec<Cause>,
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

    /// Refuses options that mean nothing.
    pub(crate) fn check(&self) -> Outcome<()> {
        if self.problems.is_empty() {
            return Ok(());
        }
        Err(Failure::invalid_options(self.kind, &self.problems))
    }

    fn set(&mut self, name: &str, value: &str) -> Outcome<()> {
        match name {
            "dryRun" => match dry_run(value) {
                Ok(dry_run) => self.dry_run = dry_run,
                Err(cause) => self.problems.push(cause),
            },
            "fieldManager" => {
                value.clone_into(&mut self.field_manager);
                self.problems.extend(manager_problem(value));
            }
            "fieldValidation" => {
                value.clone_into(&mut self.field_validation_text);
                match value {
                    "Ignore" => self.field_validation = FieldValidation::Ignore,
                    "Strict" => self.field_validation = FieldValidation::Strict,
                    "Warn" | "" => self.field_validation = FieldValidation::Warn,
                    other => {
                        let supported = ["", "Ignore", "Strict", "Warn"];
                        let cause = Cause::unsupported(name, &other.into(), &supported);
                        self.problems.push(cause);
                    }
                }
            }
            "force" => self.force = Some(boolean(value)),
            "labelSelector" => value.clone_into(&mut self.label_selector),
            "fieldSelector" => value.clone_into(&mut self.field_selector),
            "limit" => self.limit = usize::try_from(number(value)?).unwrap_or(0),
            "continue" => value.clone_into(&mut self.continue_token),
            "resourceVersion" => value.clone_into(&mut self.resource_version),
            "resourceVersionMatch" => value.clone_into(&mut self.resource_version_match),
            "watch" => self.watch = boolean(value),
            "allowWatchBookmarks" => self.bookmarks = boolean(value),
            "sendInitialEvents" => self.send_initial_events = Some(boolean(value)),
            "timeoutSeconds" => self.timeout_seconds = u64::try_from(number(value)?).ok(),
            "timeout" if go_duration_nanoseconds(value).is_none() => {
                let why = "invalid timeout specified in the request URL - time: invalid duration";
                return Err(Failure::bad_request(format!("{why} {}", quote(value))));
            }
            "includeObject" => value.clone_into(&mut self.include_object),
            "propagationPolicy" => value.clone_into(&mut self.propagation_policy),
            "orphanDependents" => self.orphan_dependents = Some(boolean(value)),
            "gracePeriodSeconds" => self.grace_period_seconds = Some(number(value)?),
            _ => {}
        }
        Ok(())
    }

    /// The options as admission webhooks see them, without their type.
    pub(crate) fn as_told(&self) -> Value {
        let mut told = json!({});
        if self.dry_run {
            told["dryRun"] = json!(["All"]);
        }
        for (field, text) in [
            ("fieldManager", &self.field_manager),
            ("fieldValidation", &self.field_validation_text),
        ] {
            if !text.is_empty() {
                told[field] = text.as_str().into();
            }
        }
        told
    }

    /// The options of a delete as admission webhooks see them, without their type.
    pub(crate) fn as_told_of_delete(&self, preconditions: &Preconditions) -> Value {
        let mut told = json!({});
        if self.dry_run {
            told["dryRun"] = json!(["All"]);
        }
        if !self.propagation_policy.is_empty() {
            told["propagationPolicy"] = self.propagation_policy.as_str().into();
        }
        if let Some(orphan) = self.orphan_dependents {
            told["orphanDependents"] = orphan.into();
        }
        if let Some(seconds) = self.grace_period_seconds {
            told["gracePeriodSeconds"] = seconds.into();
        }
        let conditions = [
            ("uid", &preconditions.uid),
            ("resourceVersion", &preconditions.resource_version),
        ];
        for (field, text) in conditions {
            if let Some(text) = text {
                told["preconditions"][field] = text.as_str().into();
            }
        }
        told
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
            let choice = dry_run(choice.as_str().unwrap_or_default());
            let refused = |cause| Failure::invalid_options("DeleteOptions", &[cause]);
            self.dry_run = choice.map_err(refused)?;
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

fn dry_run(value: &str) -> Result<bool, Cause> {
    match value {
        "All" => Ok(true),
        "" => Ok(false),
        other => Err(Cause::unsupported("dryRun", &json!([other]), &["All"])),
    }
}

/// Why a text cannot name a field manager.
fn manager_problem(name: &str) -> Option<Cause> {
    const FIELD: &str = "fieldManager";
    if name.len() > LONGEST_MANAGER {
        let message = format!("Too long: may not be more than {LONGEST_MANAGER} bytes");
        return Some(Cause::new("FieldValueTooLong", FIELD, message));
    }
    let (at, letter) = name
        .char_indices()
        .find(|(_, letter)| letter.is_control())?;
    let message = format!(
        "Invalid value: {}: invalid character U+{:04X} (at position {at})",
        quote(name),
        u32::from(letter)
    );
    Some(Cause::new("FieldValueInvalid", FIELD, message))
}

/// Everything but a no is a yes.
fn boolean(value: &str) -> bool {
    !matches!(value.to_ascii_lowercase().as_str(), "false" | "0")
}

fn number(value: &str) -> Outcome<i64> {
    value.parse().map_err(|_| {
        let value = quote(value);
        Failure::bad_request(format!("strconv.ParseInt: parsing {value}: invalid syntax"))
    })
}
