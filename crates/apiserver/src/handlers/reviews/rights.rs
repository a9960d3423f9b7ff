//! Reviews of rights: may somebody do something, and what may the caller do at all?

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::access::{self, Asked, Attributes, Caller, Decision, Resource};
use crate::instance::Instance;
use crate::object::{at, text};
use crate::status_error::{Cause, Failure, Outcome};

const GROUP: &str = "authorization.k8s.io";

/// SelfSubjectAccessReview: may the caller?
pub(super) fn own(instance: &Instance, caller: &Caller, review: &Value) -> Outcome<Value> {
    let asked = asked(review, None)?;
    Ok(decided(&access::decide(instance, caller, &asked)))
}

/// SubjectAccessReview, or with a namespace its local form: may they?
pub(super) fn of(instance: &Instance, local: Option<&str>, review: &Value) -> Outcome<Value> {
    let asked = asked(review, local)?;
    let caller = subject(review);
    if caller.name.is_empty() && caller.groups.is_empty() {
        let why = "at least one of user or group must be specified";
        return Err(invalid(Cause::invalid("spec.user", &"".into(), why)));
    }
    Ok(decided(&access::decide(instance, &caller, &asked)))
}

/// SelfSubjectRulesReview: everything the caller may do in a namespace.
pub(super) fn rules(instance: &Instance, caller: &Caller, review: &Value) -> Outcome<Value> {
    let namespace = text(review, &["spec", "namespace"]);
    if namespace.is_empty() {
        return Err(Failure::bad_request("no namespace on request"));
    }
    let held = instance
        .policy()
        .ask(|policy| policy.held(caller, namespace));
    let (paths, resources): (Vec<_>, Vec<_>) =
        held.rules.iter().partition(|rule| !rule.paths.is_empty());
    let values = |rules: Vec<&access::Rule>| -> Vec<Value> {
        rules.into_iter().map(access::Rule::value).collect()
    };
    let mut status = json!({
        "resourceRules": values(resources), "nonResourceRules": values(paths),
        "incomplete": false,
    });
    if !held.problems.is_empty() {
        status["evaluationError"] = match held.problems.as_slice() {
            [one] => one.as_str().into(),
            many => format!("[{}]", many.join(", ")).into(),
        };
    }
    Ok(status)
}

fn decided(decision: &Decision) -> Value {
    let mut status = json!({"allowed": decision.allowed});
    if !decision.reason.is_empty() {
        status["reason"] = decision.reason.as_str().into();
    }
    status
}

/// Whom the review is about.
fn subject(review: &Value) -> Caller {
    let texts = |list: Option<&Value>| -> Vec<String> {
        let list = list.and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let extra = at(review, &["spec", "extra"]).and_then(Value::as_object);
    let extra = extra.into_iter().flatten();
    Caller {
        name: text(review, &["spec", "user"]).to_owned(),
        uid: text(review, &["spec", "uid"]).to_owned(),
        groups: texts(at(review, &["spec", "groups"])),
        extra: extra
            .map(|(key, values)| (key.to_ascii_lowercase(), texts(Some(values))))
            .collect::<BTreeMap<_, _>>(),
    }
}

/// What the review is about.
fn asked(review: &Value, local: Option<&str>) -> Outcome<Attributes> {
    let part = |field: &str| at(review, &["spec", field]).filter(|part| part.is_object());
    let (resource, path) = (part("resourceAttributes"), part("nonResourceAttributes"));
    match (resource, path) {
        (Some(_), Some(path)) => {
            let why = "cannot be specified in combination with resourceAttributes";
            Err(invalid(about_path(path, why)))
        }
        (None, None) => {
            let why =
                "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            let message = format!("Invalid value: \"null\": {why}");
            let cause = Cause::new("FieldValueInvalid", "spec.resourceAttributes", message);
            Err(invalid(cause))
        }
        (None, Some(path)) if local.is_some() => Err(invalid(about_path(
            path,
            "disallowed on this kind of request",
        ))),
        (None, Some(path)) => Ok(Attributes {
            verb: text(path, &["verb"]).to_owned(),
            object: Asked::Path(text(path, &["path"]).to_owned()),
        }),
        (Some(resource), None) => {
            let field = |name: &str| text(resource, &[name]).to_owned();
            let namespace = field("namespace");
            if local.is_some_and(|local| local != namespace) {
                let why = "must match metadata.namespace";
                let path = "spec.resourceAttributes.namespace";
                return Err(invalid(Cause::invalid(path, &namespace.into(), why)));
            }
            let resource = Resource {
                group: field("group"),
                plural: field("resource"),
                subresource: field("subresource"),
                namespace,
                name: field("name"),
            };
            Ok(Attributes::on(&field("verb"), resource))
        }
    }
}

fn about_path(path: &Value, why: &str) -> Cause {
    let (own, verb) = (text(path, &["path"]), text(path, &["verb"]));
    let value = format!("authorization.NonResourceAttributes{{Path:{own:?}, Verb:{verb:?}}}");
    let message = format!("Invalid value: {value}: {why}");
    Cause::new("FieldValueInvalid", "spec.nonResourceAttributes", message)
}

/// Kubernetes names no kind here.
fn invalid(cause: Cause) -> Failure {
    Failure::invalid_as(GROUP, "", "", &[cause])
}
