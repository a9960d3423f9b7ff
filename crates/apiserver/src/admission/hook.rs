//! Webhooks as their configurations describe them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::attributes::Operation;
use super::conditions::Conditions;
use super::select::{is_exempt_kind, may_concern};
use crate::object::{at, name, text};
use crate::request::selector::LabelSelector;
use crate::store::{Place, Record};
use crate::webhook::Endpoint;

/// What a rule, a selector or a field holds when it is left out.
const DEFAULT_TIMEOUT_SECONDS: u64 = 10;

/// The two kinds of configuration, in the order in which they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Mutating,
    Validating,
}

/// One rule: which requests a webhook is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) groups: Vec<String>,
    pub(crate) versions: Vec<String>,
    pub(crate) operations: Vec<String>,
    pub(crate) resources: Vec<String>,
    /// `*`, `Cluster` or `Namespaced`.
    pub(crate) scope: String,
}

/// One webhook.
pub(crate) struct Hook {
    pub(crate) name: String,
    pub(crate) endpoint: Endpoint,
    pub(crate) rules: Vec<Rule>,
    /// Whether another version of the resource counts, too.
    pub(crate) equivalent: bool,
    pub(crate) namespaces: LabelSelector,
    pub(crate) objects: LabelSelector,
    pub(crate) conditions: Conditions,
    /// Whether a webhook that cannot be asked lets the request pass.
    pub(crate) ignores_failure: bool,
    pub(crate) timeout: Duration,
    pub(crate) has_side_effects: bool,
    pub(crate) reinvocable: bool,
    /// The first version of the review that both sides know.
    pub(crate) review_version: Option<&'static str>,
}

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hook")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// All webhooks of an instance, in the order in which they are asked.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    pub(crate) mutating: Vec<Arc<Hook>>,
    pub(crate) validating: Vec<Arc<Hook>>,
}

/// Phases in which a request is shown to webhooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Concerned {
    pub(crate) mutating: bool,
    pub(crate) validating: bool,
}

impl Hooks {
    /// The webhooks of the stored configurations: by name of the configuration, then as listed.
    pub(crate) fn new(
        mutating: &[(Place, Arc<Record>)],
        validating: &[(Place, Arc<Record>)],
    ) -> Self {
        Self {
            mutating: all(mutating),
            validating: all(validating),
        }
    }

    /// Which phases have a webhook that could be asked about such a request.
    pub(crate) fn concerned(
        &self,
        operation: Operation,
        (group, plural): (&str, &str),
        subresource: &str,
    ) -> Concerned {
        if is_exempt_kind(group, plural) {
            return Concerned::default();
        }
        let any = |hooks: &[Arc<Hook>]| {
            let mut hooks = hooks.iter();
            hooks.any(|hook| may_concern(hook, operation, plural, subresource))
        };
        Concerned {
            mutating: any(&self.mutating),
            validating: any(&self.validating),
        }
    }
}

fn all(configurations: &[(Place, Arc<Record>)]) -> Vec<Arc<Hook>> {
    let mut values: Vec<Value> = configurations.iter().map(|(_, r)| r.value()).collect();
    values.sort_by(|a, b| name(a).cmp(name(b)));
    let hooks = values
        .iter()
        .filter_map(|configuration| configuration.get("webhooks")?.as_array())
        .flatten();
    hooks.map(|hook| Arc::new(Hook::of(hook))).collect()
}

impl Hook {
    /// Reads one entry of `webhooks`. What it leaves out has the default of the API, whether or
    /// not the stored object carries it.
    pub(crate) fn of(hook: &Value) -> Self {
        let selector = |field: &str| {
            let selector = at(hook, &[field]).map(LabelSelector::from_object);
            selector.unwrap_or_default()
        };
        let ignores_failure = text(hook, &["failurePolicy"]) == "Ignore";
        let seconds = hook.get("timeoutSeconds").and_then(Value::as_u64);
        let conditions = hook.get("matchConditions").and_then(Value::as_array);
        Self {
            name: text(hook, &["name"]).to_owned(),
            endpoint: Endpoint::of(hook.get("clientConfig").unwrap_or(&Value::Null)),
            rules: list(hook, "rules").iter().map(Rule::of).collect(),
            equivalent: text(hook, &["matchPolicy"]) != "Exact",
            namespaces: selector("namespaceSelector"),
            objects: selector("objectSelector"),
            conditions: Conditions::of(conditions.map(Vec::as_slice).unwrap_or_default()),
            ignores_failure,
            timeout: Duration::from_secs(seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS)),
            has_side_effects: !matches!(text(hook, &["sideEffects"]), "None" | "NoneOnDryRun"),
            reinvocable: text(hook, &["reinvocationPolicy"]) == "IfNeeded",
            review_version: list(hook, "admissionReviewVersions")
                .iter()
                .find_map(|version| match version.as_str() {
                    Some("v1") => Some("v1"),
                    Some("v1beta1") => Some("v1beta1"),
                    _ => None,
                }),
        }
    }
}

impl Rule {
    fn of(rule: &Value) -> Self {
        let scope = match text(rule, &["scope"]) {
            "" => "*",
            scope => scope,
        };
        Self {
            groups: texts(rule, "apiGroups"),
            versions: texts(rule, "apiVersions"),
            operations: texts(rule, "operations"),
            resources: texts(rule, "resources"),
            scope: scope.to_owned(),
        }
    }
}

fn list<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    let list = object.get(field).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

fn texts(object: &Value, field: &str) -> Vec<String> {
    let texts = list(object, field).iter().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}
