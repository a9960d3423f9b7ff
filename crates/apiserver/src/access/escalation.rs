//! Nobody grants what they lack: what a change of a role or binding needs beyond the right to
//! write it.
//!
//! In: the caller, the policy, the old and the new object. Out: a refusal, or nothing.

use serde_json::Value;

use super::attributes::{Attributes, Resource};
use super::caller::Caller;
use super::policy::{Held, Policy};
use super::rules::{Rule, uncovered};
use crate::object::{name, namespace, text};
use crate::status_error::Failure;

const GROUP: &str = "rbac.authorization.k8s.io";

/// Which of the four kinds is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Granting {
    Role,
    ClusterRole,
    RoleBinding,
    ClusterRoleBinding,
}

impl Granting {
    /// The kind of this group and plural.
    pub(crate) fn of(group: &str, plural: &str) -> Option<Self> {
        match plural {
            _ if group != GROUP => None,
            "roles" => Some(Self::Role),
            "clusterroles" => Some(Self::ClusterRole),
            "rolebindings" => Some(Self::RoleBinding),
            "clusterrolebindings" => Some(Self::ClusterRoleBinding),
            _ => None,
        }
    }

    fn plural(self) -> &'static str {
        match self {
            Self::Role => "roles",
            Self::ClusterRole => "clusterroles",
            Self::RoleBinding => "rolebindings",
            Self::ClusterRoleBinding => "clusterrolebindings",
        }
    }
}

/// Whether the caller may write `new` in the place of `old`.
pub(crate) fn check(
    policy: &Policy,
    caller: &Caller,
    kind: Granting,
    old: Option<&Value>,
    new: &Value,
) -> Result<(), Failure> {
    if caller.is_master() {
        return Ok(());
    }
    match kind {
        Granting::Role | Granting::ClusterRole => role(policy, caller, kind, old, new),
        Granting::RoleBinding | Granting::ClusterRoleBinding => {
            binding(policy, caller, kind, old, new)
        }
    }
}

fn role(
    policy: &Policy,
    caller: &Caller,
    kind: Granting,
    old: Option<&Value>,
    new: &Value,
) -> Result<(), Failure> {
    let same = |field: &str| {
        old.is_some_and(|old| {
            let value = |object: &Value| object.get(field).filter(|v| !is_empty(v)).cloned();
            value(old) == value(new)
        })
    };
    if same("rules") && same("aggregationRule") {
        return Ok(());
    }
    // A name is part of the question only when the object was named before.
    let own = old.map(name).unwrap_or_default();
    let asked = question("escalate", kind.plural(), new, own);
    if policy.decide(caller, &asked).allowed {
        return Ok(());
    }
    let held = policy.held(caller, namespace(new));
    if kind == Granting::ClusterRole && new.get("aggregationRule").is_some_and(|v| !v.is_null()) {
        let all = [Rule::everything_on_resources(), Rule::everything_on_paths()];
        if !uncovered(&held.rules, &all).is_empty() {
            let why = "must have cluster-admin privileges to use the aggregationRule";
            return Err(Failure::forbidden_in(GROUP, kind.plural(), name(new), why));
        }
    }
    grant(caller, &held, &Rule::of_role(new), kind, new)
}

fn binding(
    policy: &Policy,
    caller: &Caller,
    kind: Granting,
    old: Option<&Value>,
    new: &Value,
) -> Result<(), Failure> {
    // Who may be bound is the point: a change of anything else grants nothing.
    let same = |field: &str| old.is_some_and(|old| old.get(field) == new.get(field));
    if same("subjects") && same("roleRef") {
        return Ok(());
    }
    let (role_kind, role_name) = (
        text(new, &["roleRef", "kind"]),
        text(new, &["roleRef", "name"]),
    );
    let plural = if role_kind == "ClusterRole" {
        "clusterroles"
    } else {
        "roles"
    };
    let asked = question("bind", plural, new, role_name);
    if policy.decide(caller, &asked).allowed {
        return Ok(());
    }
    let rules = policy
        .role(role_kind, namespace(new), role_name)
        .ok_or_else(|| Failure::not_found_in(GROUP, plural, role_name))?;
    grant(
        caller,
        &policy.held(caller, namespace(new)),
        rules,
        kind,
        new,
    )
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

fn question(verb: &str, plural: &str, object: &Value, name: &str) -> Attributes {
    Attributes::on(
        verb,
        Resource {
            group: GROUP.into(),
            plural: plural.into(),
            subresource: String::new(),
            namespace: namespace(object).into(),
            name: name.into(),
        },
    )
}

fn grant(
    caller: &Caller,
    held: &Held,
    rules: &[Rule],
    kind: Granting,
    object: &Value,
) -> Result<(), Failure> {
    let missing = uncovered(&held.rules, rules);
    if missing.is_empty() {
        return Ok(());
    }
    let mut lines: Vec<String> = missing.iter().map(Rule::to_string).collect();
    lines.sort();
    lines.dedup();
    let groups: Vec<String> = caller
        .groups
        .iter()
        .map(|group| format!("{group:?}"))
        .collect();
    let mut why = format!(
        "user {:?} (groups=[{}]) is attempting to grant RBAC permissions not currently held:\n{}",
        caller.name,
        groups.join(" "),
        lines.join("\n")
    );
    if !held.problems.is_empty() {
        why = format!("{why}; resolution errors: [{}]", held.problems.join(", "));
    }
    Err(Failure::forbidden_in(
        GROUP,
        kind.plural(),
        name(object),
        &why,
    ))
}
