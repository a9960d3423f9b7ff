//! Configurations of webhooks: their defaults, and everything that is wrong with one, in the words
//! of a genuine server. Pure.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::conditions::VARIABLES;
use super::hook::Phase;
use super::rule_problems::check_rule;
use crate::metadata::{
    LABEL_1035, is_label_1035, label_key_problems, label_value_problem, subdomain_problem,
};
use crate::object::text;
use crate::registry::Kind;
use crate::schema::Expression;
use crate::status_error::Cause;
use crate::webhook::check_client_config;

const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];
/// Most conditions of one webhook (Kubernetes' own bound).
const MAX_CONDITIONS: usize = 64;

impl Phase {
    fn of(kind: &Kind) -> Self {
        if kind.kind.starts_with("Mutating") {
            Self::Mutating
        } else {
            Self::Validating
        }
    }
}

/// Fills in what may be left out.
pub(crate) fn complete(kind: &Kind, configuration: &mut Value) {
    let hooks = configuration
        .get_mut("webhooks")
        .and_then(Value::as_array_mut);
    for hook in hooks.into_iter().flatten() {
        let Some(hook) = hook.as_object_mut() else {
            continue;
        };
        fill(hook, "failurePolicy", "Fail".into());
        fill(hook, "matchPolicy", "Equivalent".into());
        fill(hook, "namespaceSelector", json!({}));
        fill(hook, "objectSelector", json!({}));
        fill(hook, "timeoutSeconds", 10.into());
        if Phase::of(kind) == Phase::Mutating {
            fill(hook, "reinvocationPolicy", "Never".into());
        } else {
            hook.remove("reinvocationPolicy");
        }
        let service = hook
            .get_mut("clientConfig")
            .and_then(|config| config.get_mut("service")?.as_object_mut());
        if let Some(service) = service {
            fill(service, "port", 443.into());
        }
        let rules = hook.get_mut("rules").and_then(Value::as_array_mut);
        for rule in rules.into_iter().flatten().filter_map(Value::as_object_mut) {
            fill(rule, "scope", "*".into());
        }
    }
}

fn fill(map: &mut Map<String, Value>, field: &str, value: Value) {
    let current = map.entry(field).or_insert(Value::Null);
    if current.is_null() {
        *current = value;
    }
}

/// Everything that is wrong with a configuration.
pub(crate) fn validate(kind: &Kind, configuration: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut names = BTreeSet::new();
    for (index, hook) in list(configuration, "webhooks").iter().enumerate() {
        let path = format!("webhooks[{index}]");
        check_hook(hook, Phase::of(kind), &path, &mut causes);
        let name = text(hook, &["name"]);
        if !names.insert(name.to_owned()) && !name.is_empty() {
            let message = format!("Duplicate value: {name:?}");
            let field = format!("{path}.name");
            causes.push(Cause::new("FieldValueDuplicate", &field, message));
        }
    }
    causes
}

fn check_hook(hook: &Value, phase: Phase, path: &str, causes: &mut Vec<Cause>) {
    let at = |field: &str| format!("{path}.{field}");
    check_name(text(hook, &["name"]), &at("name"), causes);
    for (index, rule) in list(hook, "rules").iter().enumerate() {
        check_rule(rule, &format!("{path}.rules[{index}]"), causes);
    }
    let mut choice = |field: &str, supported: &[&str]| {
        let value = hook.get(field).filter(|value| !value.is_null());
        if let Some(value) = value.filter(|v| v.as_str().is_none_or(|v| !supported.contains(&v))) {
            causes.push(Cause::unsupported(&at(field), value, supported));
        }
    };
    choice("failurePolicy", &["Fail", "Ignore"]);
    choice("matchPolicy", &["Equivalent", "Exact"]);
    choice("sideEffects", &["None", "NoneOnDryRun"]);
    if phase == Phase::Mutating {
        choice("reinvocationPolicy", &["IfNeeded", "Never"]);
    }
    if text(hook, &["sideEffects"]).is_empty() {
        let detail = "must specify one of None, NoneOnDryRun";
        causes.push(Cause::required(&at("sideEffects"), detail));
    }
    let seconds = hook.get("timeoutSeconds").and_then(Value::as_i64);
    if let Some(seconds) = seconds.filter(|seconds| !(1..=30).contains(seconds)) {
        let detail = "the timeout value must be between 1 and 30 seconds";
        causes.push(Cause::invalid(
            &at("timeoutSeconds"),
            &seconds.into(),
            detail,
        ));
    }
    for field in ["namespaceSelector", "objectSelector"] {
        if let Some(selector) = hook.get(field) {
            check_selector(selector, &at(field), causes);
        }
    }
    let config = hook.get("clientConfig").unwrap_or(&Value::Null);
    causes.extend(check_client_config(config, &at("clientConfig")));
    check_conditions(hook, &at("matchConditions"), causes);
    check_review_versions(hook, &at("admissionReviewVersions"), causes);
}

fn check_name(name: &str, path: &str, causes: &mut Vec<Cause>) {
    if name.is_empty() {
        causes.push(Cause::required(path, ""));
    } else if let Some(why) = subdomain_problem(name) {
        causes.push(Cause::invalid(path, &name.into(), &why));
    } else if name.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        causes.push(Cause::invalid(path, &name.into(), detail));
    }
}

/// What is wrong with a label selector.
fn check_selector(selector: &Value, path: &str, causes: &mut Vec<Cause>) {
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    let at = format!("{path}.matchLabels");
    for (key, value) in labels.into_iter().flatten() {
        for why in label_key_problems(key) {
            causes.push(Cause::invalid(&at, &key.as_str().into(), &why));
        }
        if let Some(why) = value.as_str().and_then(label_value_problem) {
            causes.push(Cause::invalid(&at, value, &why));
        }
    }
    for (index, expression) in list(selector, "matchExpressions").iter().enumerate() {
        let path = format!("{path}.matchExpressions[{index}]");
        let values = list(expression, "values");
        let at = format!("{path}.values");
        match text(expression, &["operator"]) {
            "In" | "NotIn" if values.is_empty() => {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                causes.push(Cause::required(&at, detail));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                causes.push(Cause::forbidden(&at, detail));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => {
                let at = format!("{path}.operator");
                let detail = "not a valid selector operator";
                causes.push(Cause::invalid(&at, &other.into(), detail));
            }
        }
        let key = text(expression, &["key"]);
        for why in label_key_problems(key) {
            causes.push(Cause::invalid(&format!("{path}.key"), &key.into(), &why));
        }
        for (index, value) in values.iter().enumerate() {
            if let Some(why) = value.as_str().and_then(label_value_problem) {
                causes.push(Cause::invalid(&format!("{at}[{index}]"), value, &why));
            }
        }
    }
}

fn check_conditions(hook: &Value, path: &str, causes: &mut Vec<Cause>) {
    let conditions = list(hook, "matchConditions");
    if conditions.len() > MAX_CONDITIONS {
        let message = format!(
            "Too many: {}: must have at most {MAX_CONDITIONS} items",
            conditions.len()
        );
        causes.push(Cause::new("FieldValueTooMany", path, message));
    }
    let mut names = BTreeSet::new();
    for (index, condition) in conditions.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let (name, source) = (text(condition, &["name"]), text(condition, &["expression"]));
        let at = format!("{path}.expression");
        if source.trim().is_empty() {
            causes.push(Cause::required(&at, ""));
        } else if let Err(why) = Expression::compile(source, &VARIABLES) {
            causes.push(Cause::invalid(&at, &source.into(), &why));
        }
        let at = format!("{path}.name");
        if name.is_empty() {
            causes.push(Cause::required(&at, ""));
            continue;
        }
        for why in label_key_problems(name) {
            causes.push(Cause::invalid(&at, &name.into(), &why));
        }
        if !names.insert(name) {
            let message = format!("Duplicate value: {name:?}");
            causes.push(Cause::new("FieldValueDuplicate", &at, message));
        }
    }
}

fn check_review_versions(hook: &Value, path: &str, causes: &mut Vec<Cause>) {
    let versions: Vec<&str> = list(hook, "admissionReviewVersions")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    if versions.is_empty() {
        let detail = "must specify one of v1, v1beta1";
        causes.push(Cause::required(path, detail));
        return;
    }
    let mut seen = BTreeSet::new();
    for (index, version) in versions.iter().enumerate() {
        let at = format!("{path}[{index}]");
        if !seen.insert(*version) {
            causes.push(Cause::invalid(&at, &(*version).into(), "duplicate version"));
        } else if !is_label_1035(version) {
            causes.push(Cause::invalid(&at, &(*version).into(), LABEL_1035));
        }
    }
    if !versions
        .iter()
        .any(|version| REVIEW_VERSIONS.contains(version))
    {
        let given = go_list("string", &versions);
        let message = format!("Invalid value: {given}: must include at least one of v1, v1beta1");
        causes.push(Cause::new("FieldValueInvalid", path, message));
    }
}

/// A list as messages of Kubernetes show one.
pub(super) fn go_list(kind: &str, list: &[&str]) -> String {
    let texts: Vec<String> = list.iter().map(|text| format!("{text:?}")).collect();
    format!("[]{kind}{{{}}}", texts.join(", "))
}

pub(super) fn list<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    let list = object.get(field).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}
