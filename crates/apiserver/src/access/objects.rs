//! Roles and bindings as objects: their defaults, and what is wrong with one.

use serde_json::Value;

use super::escalation::Granting;
use super::rules::Rule;
use crate::metadata::{path_segment_problem, subdomain_problem};
use crate::object::text;
use crate::status_error::Cause;

const GROUP: &str = "rbac.authorization.k8s.io";

/// Fills in the API groups that a binding leaves out.
pub(crate) fn complete(granting: Granting, object: &mut Value) {
    if matches!(granting, Granting::Role | Granting::ClusterRole) {
        return;
    }
    let fill = |part: &mut Value| {
        if text(part, &["apiGroup"]).is_empty() {
            part["apiGroup"] = GROUP.into();
        }
    };
    if let Some(role) = object.get_mut("roleRef").filter(|role| role.is_object()) {
        fill(role);
    }
    let subjects = object.get_mut("subjects").and_then(Value::as_array_mut);
    for subject in subjects.into_iter().flatten() {
        if matches!(text(subject, &["kind"]), "User" | "Group") {
            fill(subject);
        }
    }
}

/// Everything that is wrong with a role or binding.
pub(crate) fn validate(granting: Granting, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    match granting {
        Granting::Role | Granting::ClusterRole => role(granting, object),
        Granting::RoleBinding | Granting::ClusterRoleBinding => binding(granting, object, old),
    }
}

fn role(granting: Granting, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let namespaced = granting == Granting::Role;
    for (index, rule) in Rule::of_role(object).iter().enumerate() {
        causes.extend(rule_problems(rule, namespaced, &format!("rules[{index}]")));
    }
    let aggregation = object
        .get("aggregationRule")
        .filter(|rule| rule.is_object());
    if let Some(aggregation) = aggregation.filter(|_| !namespaced) {
        let selectors = aggregation
            .get("clusterRoleSelectors")
            .and_then(Value::as_array);
        if selectors.is_none_or(Vec::is_empty) {
            let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
            causes.push(Cause::required("aggregationRule.clusterRoleSelectors", why));
        }
    }
    causes
}

fn rule_problems(rule: &Rule, namespaced: bool, at: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    if rule.verbs.is_empty() {
        let why = "verbs must contain at least one value";
        causes.push(Cause::required(&format!("{at}.verbs"), why));
    }
    if !rule.paths.is_empty() {
        let quoted: Vec<String> = rule.paths.iter().map(|path| format!("{path:?}")).collect();
        let mixed = !(rule.groups.is_empty() && rule.resources.is_empty() && rule.names.is_empty());
        let why = if namespaced {
            "namespaced rules cannot apply to non-resource URLs"
        } else if mixed {
            "rules cannot apply to both regular resources and non-resource URLs"
        } else {
            return causes;
        };
        let message = format!("Invalid value: []string{{{}}}: {why}", quoted.join(", "));
        let field = format!("{at}.nonResourceURLs");
        causes.push(Cause::new("FieldValueInvalid", &field, message));
        return causes;
    }
    for (field, list, what) in [
        ("apiGroups", &rule.groups, "api group"),
        ("resources", &rule.resources, "resource"),
    ] {
        if list.is_empty() {
            let why = format!("resource rules must supply at least one {what}");
            causes.push(Cause::required(&format!("{at}.{field}"), &why));
        }
    }
    causes
}

fn binding(granting: Granting, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let cluster = granting == Granting::ClusterRoleBinding;
    let mut causes = Vec::new();
    let role = |field: &str| text(object, &["roleRef", field]);
    if role("apiGroup") != GROUP {
        let given = role("apiGroup").into();
        causes.push(Cause::unsupported("roleRef.apiGroup", &given, &[GROUP]));
    }
    let kinds: &[&str] = if cluster {
        &["ClusterRole"]
    } else {
        &["Role", "ClusterRole"]
    };
    if !kinds.contains(&role("kind")) {
        causes.push(Cause::unsupported(
            "roleRef.kind",
            &role("kind").into(),
            kinds,
        ));
    }
    match role("name") {
        "" => causes.push(Cause::required("roleRef.name", "")),
        name => causes.extend(
            path_segment_problem(name)
                .map(|why| Cause::invalid("roleRef.name", &name.into(), &why)),
        ),
    }
    let subjects = object.get("subjects").and_then(Value::as_array);
    for (index, subject) in subjects.into_iter().flatten().enumerate() {
        causes.extend(subject_problems(
            subject,
            cluster,
            &format!("subjects[{index}]"),
        ));
    }
    if let Some(old) = old.filter(|old| old.get("roleRef") != object.get("roleRef")) {
        tracing::debug!(
            was = text(old, &["roleRef", "name"]),
            "a binding cannot change its role"
        );
        let message = format!(
            "Invalid value: rbac.RoleRef{{APIGroup:{:?}, Kind:{:?}, Name:{:?}}}: cannot change \
             roleRef",
            role("apiGroup"),
            role("kind"),
            role("name")
        );
        causes.push(Cause::new("FieldValueInvalid", "roleRef", message));
    }
    causes
}

fn subject_problems(subject: &Value, cluster: bool, at: &str) -> Vec<Cause> {
    let field = |name: &str| format!("{at}.{name}");
    let (name, group) = (text(subject, &["name"]), text(subject, &["apiGroup"]));
    let mut causes = Vec::new();
    if name.is_empty() {
        causes.push(Cause::required(&field("name"), ""));
    }
    let wrong_group = |wanted: &str| {
        (group != wanted).then(|| Cause::unsupported(&field("apiGroup"), &group.into(), &[wanted]))
    };
    match text(subject, &["kind"]) {
        "ServiceAccount" => {
            let problem = subdomain_problem(name).filter(|_| !name.is_empty());
            causes.extend(problem.map(|why| Cause::invalid(&field("name"), &name.into(), &why)));
            causes.extend(wrong_group(""));
            if cluster && text(subject, &["namespace"]).is_empty() {
                causes.push(Cause::required(&field("namespace"), ""));
            }
        }
        "User" | "Group" => causes.extend(wrong_group(GROUP)),
        other => {
            let kinds = ["ServiceAccount", "User", "Group"];
            causes.push(Cause::unsupported(&field("kind"), &other.into(), &kinds));
        }
    }
    causes
}
