//! The roles and bindings that every instance has from the start.
//!
//! At each start missing ones are made and missing rules are put back, unless the object's
//! annotation says otherwise; what people added stays.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::aggregation;
use super::rules::{Rule, uncovered};
use crate::object::{at, meta, text};

const TABLE: &str = include_str!("bootstrap_roles.yaml");
/// `"false"` on a role or binding: its owner keeps it.
const AUTO_UPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

/// The file of roles.
#[derive(Deserialize)]
struct Table {
    roles: Vec<Row>,
    bindings: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    #[serde(default)]
    rules: Vec<Value>,
    into: Option<String>,
    gathers: Option<String>,
}

/// ClusterRoles, then ClusterRoleBindings: without uid and time.
pub(crate) static OBJECTS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let table: Table = serde_saphyr::from_str(TABLE).expect("the table of this crate is valid");
    let mut roles: Vec<Value> = table.roles.iter().map(Row::object).collect();
    // Roles that gather from roles that gather: as often as there are levels.
    for _ in 0..3 {
        let all = roles.clone();
        for role in &mut roles {
            if let Some(rules) = aggregation::gathered(role, all.iter()) {
                role["rules"] = rules;
            }
        }
    }
    let bindings = table.bindings.iter();
    roles.extend(bindings.map(|(role, groups)| binding(role, groups)));
    roles
});

impl Row {
    fn object(&self) -> Value {
        let mut labels = Map::new();
        labels.insert("kubernetes.io/bootstrapping".into(), "rbac-defaults".into());
        if let Some(into) = &self.into {
            labels.insert(aggregation::label(into), "true".into());
        }
        let mut role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": metadata(&self.name, &labels),
            "rules": self.rules.iter().map(|rule| Rule::read(rule).value()).collect::<Vec<_>>(),
        });
        if let Some(gathers) = &self.gathers {
            let label = aggregation::label(gathers);
            role["aggregationRule"] =
                json!({"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]});
        }
        role
    }
}

fn binding(role: &str, groups: &[String]) -> Value {
    let labels = json!({"kubernetes.io/bootstrapping": "rbac-defaults"});
    let group = |name: &String| json!({"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": name});
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": metadata(role, labels.as_object().unwrap_or(&Map::new())),
        "subjects": groups.iter().map(group).collect::<Vec<_>>(),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
    })
}

fn metadata(name: &str, labels: &Map<String, Value>) -> Value {
    json!({"name": name, "labels": labels, "annotations": {AUTO_UPDATE: "true"}})
}

/// The stored object with what it lacks of the one it should be; `None` when it lacks nothing.
pub(crate) fn repaired(live: &Value, wanted: &Value) -> Option<Value> {
    let kept = text(live, &["metadata", "annotations", AUTO_UPDATE]) == "false";
    if kept || meta(live).is_some_and(|meta| meta.contains_key("deletionTimestamp")) {
        return None;
    }
    let mut new = live.clone();
    let missing = missing_entries(live, wanted);
    if missing.is_empty() {
        return None;
    }
    let field = if wanted.get("roleRef").is_some() {
        "subjects"
    } else {
        "rules"
    };
    let list = at(live, &[field]).and_then(Value::as_array);
    let all = list.into_iter().flatten().cloned().chain(missing);
    new[field] = all.collect();
    Some(new)
}

fn missing_entries(live: &Value, wanted: &Value) -> Vec<Value> {
    if wanted.get("roleRef").is_none() {
        let missing = uncovered(&Rule::of_role(live), &Rule::of_role(wanted));
        return missing.iter().map(Rule::value).collect();
    }
    let subjects = |object: &Value| {
        let list = object.get("subjects").and_then(Value::as_array);
        list.cloned().unwrap_or_default()
    };
    let known = subjects(live);
    let same = |one: &Value, other: &Value| {
        text(one, &["kind"]) == text(other, &["kind"])
            && text(one, &["name"]) == text(other, &["name"])
    };
    let mut wanted = subjects(wanted);
    wanted.retain(|subject| !known.iter().any(|known| same(known, subject)));
    wanted
}
