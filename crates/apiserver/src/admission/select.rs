//! Whether a webhook is asked about a request: selectors, rules, conditions. Pure.

use std::sync::Arc;

use serde_json::Value;

use super::attributes::{Attributes, Invocation, NamespaceLabels, Operation, Resource};
use super::hook::{Hook, Rule};
use crate::object::at;
use crate::request::selector::LabelSelector;
use crate::status_error::{Failure, Outcome};

/// The group of configurations that no webhook sees, so that a broken one can be removed.
const EXEMPT_GROUP: &str = "admissionregistration.k8s.io";
const EXEMPT: [&str; 6] = [
    "mutatingwebhookconfigurations",
    "validatingwebhookconfigurations",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
];

/// Whether no webhook is ever asked about this resource.
pub(crate) fn is_exempt(resource: &Resource) -> bool {
    is_exempt_kind(&resource.group, &resource.resource)
}

/// Whether no webhook is ever asked about this kind.
pub(crate) fn is_exempt_kind(group: &str, plural: &str) -> bool {
    group == EXEMPT_GROUP && EXEMPT.contains(&plural)
}

/// Whether a webhook could be asked about a request of which little is known yet: most requests are
/// about things that no rule names, and need not be shown to anybody.
pub(crate) fn may_concern(
    hook: &Hook,
    operation: Operation,
    plural: &str,
    subresource: &str,
) -> bool {
    hook.rules.iter().any(|rule| {
        named(&rule.operations, operation.name()) && names_resource(rule, plural, subresource)
    })
}

fn names_resource(rule: &Rule, plural: &str, subresource: &str) -> bool {
    let mut patterns = rule.resources.iter();
    patterns.any(|pattern| about(pattern, plural, subresource))
}

/// Whether a webhook is to be asked, its conditions aside, and about which version.
///
/// # Errors
/// The namespace of the object is not there, and a selector would need its labels.
pub(crate) fn invocation(hook: &Hook, request: &Attributes) -> Outcome<Option<Invocation>> {
    let namespace = in_namespace(&hook.namespaces, request);
    if namespace == Some(false) || !selects_object(&hook.objects, request) {
        return Ok(None);
    }
    let Some(invocation) = by_rules(hook, request) else {
        return Ok(None);
    };
    if namespace.is_none() {
        return Err(Failure::not_found_in("", "namespaces", &request.namespace));
    }
    Ok(Some(invocation))
}

/// `None` when the namespace is not there.
fn in_namespace(selector: &LabelSelector, request: &Attributes) -> Option<bool> {
    if selector.is_empty() {
        return Some(true);
    }
    match &request.namespace_labels {
        NamespaceLabels::Cluster => Some(true),
        NamespaceLabels::Of(labels) => {
            Some(selector.matches(|key| labels.get(key).and_then(Value::as_str)))
        }
        NamespaceLabels::Missing => None,
    }
}

fn selects_object(selector: &LabelSelector, request: &Attributes) -> bool {
    let selects = |object: &Option<Arc<Value>>| {
        let object = object.as_deref().filter(|object| object.is_object());
        object.is_some_and(|object| {
            let labels = at(object, &["metadata", "labels"]);
            selector.matches(|key| labels?.get(key)?.as_str())
        })
    };
    selector.is_empty() || selects(&request.object) || selects(&request.old)
}

/// The first rule that is about the resource itself, else the first that is about an equivalent.
fn by_rules(hook: &Hook, request: &Attributes) -> Option<Invocation> {
    let own = &request.resource;
    if hook.rules.iter().any(|rule| applies(rule, request, own)) {
        return Some(Invocation {
            kind: request.kind.clone(),
            resource: own.clone(),
        });
    }
    if !hook.equivalent {
        return None;
    }
    hook.rules.iter().find_map(|rule| {
        let (resource, kind) = request
            .equivalents
            .iter()
            .find(|(resource, _)| resource != own && applies(rule, request, resource))?;
        Some(Invocation {
            kind: kind.clone(),
            resource: resource.clone(),
        })
    })
}

fn applies(rule: &Rule, request: &Attributes, resource: &Resource) -> bool {
    let is_namespace = resource.group.is_empty() && resource.resource == "namespaces";
    let clusterwide = is_namespace || request.namespace.is_empty();
    let in_scope = match rule.scope.as_str() {
        "Cluster" => clusterwide,
        "Namespaced" => !clusterwide,
        _ => true,
    };
    in_scope
        && named(&rule.operations, request.operation.name())
        && named(&rule.groups, &resource.group)
        && named(&rule.versions, &resource.version)
        && names_resource(rule, &resource.resource, &request.subresource)
}

fn named(patterns: &[String], name: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| pattern == "*" || pattern == name)
}

fn about(pattern: &str, resource: &str, subresource: &str) -> bool {
    let (wanted, below) = pattern.split_once('/').unwrap_or((pattern, ""));
    (wanted == "*" || wanted == resource) && (below == "*" || below == subresource)
}

#[cfg(test)]
mod tests {
    use super::super::attributes::{KindName, Operation};
    use super::*;
    use serde_json::json;

    fn request(operation: Operation, resource: &str, subresource: &str) -> Attributes {
        let at = |version: &str| {
            let group = "apps.example.com".to_owned();
            let resource = Resource {
                group: group.clone(),
                version: version.into(),
                resource: resource.into(),
            };
            let kind = KindName {
                group,
                version: version.into(),
                kind: "Widget".into(),
            };
            (resource, kind)
        };
        let (own, kind) = at("v1");
        Attributes {
            operation,
            kind,
            resource: own,
            subresource: subresource.into(),
            equivalents: vec![at("v1"), at("v2"), at("v3")],
            name: "a".into(),
            namespace: "default".into(),
            namespace_labels: NamespaceLabels::Of(json!({"team": "x"})),
            user: json!({}),
            dry_run: false,
            options: json!({}),
            object: Some(Arc::new(json!({"metadata": {"labels": {"app": "new"}}}))),
            old: Some(Arc::new(json!({"metadata": {"labels": {"app": "old"}}}))),
        }
    }

    fn hook(rule: &Value, more: &Value) -> Hook {
        let mut hook = json!({"name": "h", "rules": [rule]});
        for (field, value) in more.as_object().unwrap() {
            hook[field] = value.clone();
        }
        Hook::of(&hook)
    }

    fn rule(operation: &str, version: &str, resource: &str) -> Value {
        json!({"operations": [operation], "apiGroups": ["apps.example.com"],
               "apiVersions": [version], "resources": [resource]})
    }

    #[test]
    fn a_rule_names_operation_group_version_and_resource() {
        let create = request(Operation::Create, "widgets", "");
        let status = request(Operation::Update, "widgets", "status");
        let table = [
            (&create, rule("CREATE", "v1", "widgets"), true),
            (&create, rule("*", "*", "*"), true),
            (&create, rule("UPDATE", "v1", "widgets"), false),
            (&create, rule("CREATE", "v9", "widgets"), false),
            (&create, rule("CREATE", "v1", "gadgets"), false),
            (&create, rule("CREATE", "v1", "widgets/*"), true),
            (&create, rule("CREATE", "v1", "*/*"), true),
            (&create, rule("CREATE", "v1", "widgets/status"), false),
            (&status, rule("UPDATE", "v1", "widgets"), false),
            (&status, rule("UPDATE", "v1", "*"), false),
            (&status, rule("UPDATE", "v1", "widgets/status"), true),
            (&status, rule("UPDATE", "v1", "*/status"), true),
            (&status, rule("UPDATE", "v1", "*/scale"), false),
            (&status, rule("UPDATE", "v1", "widgets/*"), true),
        ];
        for (request, rule, expected) in table {
            let hook = hook(&rule, &json!({"matchPolicy": "Exact"}));
            let found = invocation(&hook, request).unwrap().is_some();
            assert_eq!(found, expected, "{rule}");
            let (plural, subresource) = (&request.resource.resource, &request.subresource);
            let may = may_concern(&hook, request.operation, plural, subresource);
            assert!(
                may || !found,
                "{rule}: who is asked must not be passed over"
            );
            let other_version = rule["apiVersions"][0] == "v9";
            assert_eq!(may, expected || other_version, "{rule}");
        }
    }

    #[test]
    fn another_version_counts_when_the_policy_is_equivalent() {
        let create = request(Operation::Create, "widgets", "");
        let v2 = rule("*", "v2", "widgets");
        let exact = hook(&v2, &json!({"matchPolicy": "Exact"}));
        assert_eq!(invocation(&exact, &create).unwrap(), None);
        let equivalent = hook(&v2, &json!({}));
        let found = invocation(&equivalent, &create).unwrap().unwrap();
        assert_eq!(
            (found.kind.version, found.resource.version),
            ("v2".into(), "v2".into())
        );
        let own = hook(&rule("*", "*", "widgets"), &json!({}));
        assert_eq!(
            invocation(&own, &create).unwrap().unwrap().kind.version,
            "v1"
        );
    }

    #[test]
    fn a_scope_tells_namespaced_objects_from_the_others() {
        let mut namespaced = rule("*", "*", "*/*");
        namespaced["scope"] = "Namespaced".into();
        let mut cluster = namespaced.clone();
        cluster["scope"] = "Cluster".into();
        let inside = request(Operation::Create, "widgets", "");
        let mut outside = inside.clone();
        outside.namespace = String::new();
        outside.namespace_labels = NamespaceLabels::Cluster;
        for (request, rule, expected) in [
            (&inside, &namespaced, true),
            (&inside, &cluster, false),
            (&outside, &namespaced, false),
            (&outside, &cluster, true),
        ] {
            let found = invocation(&hook(rule, &json!({})), request).unwrap();
            assert_eq!(found.is_some(), expected, "{rule}");
        }
        let mut namespace = outside.clone();
        namespace.resource = Resource {
            group: String::new(),
            version: "v1".into(),
            resource: "namespaces".into(),
        };
        namespace.namespace = "own".into();
        let mut core = cluster.clone();
        core["apiGroups"] = json!([""]);
        assert!(
            invocation(&hook(&core, &json!({})), &namespace)
                .unwrap()
                .is_some()
        );
    }

    #[test]
    fn selectors_look_at_the_namespace_and_at_either_state_of_the_object() {
        let update = request(Operation::Update, "widgets", "");
        let any = rule("*", "*", "*");
        let select =
            |field: &str, key: &str, value: &str| json!({field: {"matchLabels": {key: value}}});
        for (selector, expected) in [
            (select("namespaceSelector", "team", "x"), true),
            (select("namespaceSelector", "team", "y"), false),
            (select("objectSelector", "app", "new"), true),
            (select("objectSelector", "app", "old"), true),
            (select("objectSelector", "app", "other"), false),
        ] {
            let found = invocation(&hook(&any, &selector), &update).unwrap();
            assert_eq!(found.is_some(), expected, "{selector}");
        }
        let mut delete = update.clone();
        delete.object = None;
        let new = select("objectSelector", "app", "new");
        assert!(invocation(&hook(&any, &new), &delete).unwrap().is_none());
    }

    #[test]
    fn a_missing_namespace_matters_only_to_a_webhook_that_would_be_asked() {
        let mut lost = request(Operation::Create, "widgets", "");
        lost.namespace_labels = NamespaceLabels::Missing;
        let selector = json!({"namespaceSelector": {"matchLabels": {"a": "b"}}});
        let asked = hook(&rule("*", "*", "widgets"), &selector);
        assert_eq!(invocation(&asked, &lost).unwrap_err().code, 404);
        let not_asked = hook(&rule("*", "*", "gadgets"), &selector);
        assert_eq!(invocation(&not_asked, &lost).unwrap(), None);
        let without = hook(&rule("*", "*", "widgets"), &json!({}));
        assert!(invocation(&without, &lost).unwrap().is_some());
    }

    #[test]
    fn configurations_of_webhooks_are_exempt() {
        let of = |group: &str, resource: &str| Resource {
            group: group.into(),
            version: "v1".into(),
            resource: resource.into(),
        };
        assert!(is_exempt(&of(
            EXEMPT_GROUP,
            "mutatingwebhookconfigurations"
        )));
        assert!(!is_exempt(&of(
            "example.com",
            "mutatingwebhookconfigurations"
        )));
        assert!(!is_exempt(&of(EXEMPT_GROUP, "widgets")));
    }
}
