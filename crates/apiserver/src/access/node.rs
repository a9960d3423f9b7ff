//! What a kubelet may do: the rules of `system:node`, less what does not concern its node.
//!
//! Like Kubernetes' Node authorizer: Secrets, ConfigMaps, volume claims and ServiceAccount tokens
//! only when a pod on the node uses them, the node's own Node and Lease, the pods on it. Of what
//! Kubernetes leaves to admission, mirror pods are refused altogether, and the labels that a node
//! must not set on itself are not checked.

use std::sync::LazyLock;

use serde_json::Value;

use super::attributes::{Asked, Attributes, Resource};
use super::bootstrap;
use super::caller::Caller;
use super::policy::Decision;
use super::rules::Rule;
use crate::object::{name, text};

const GROUP: &str = "system:nodes";
const USER: &str = "system:node:";
const ROLE: &str = "system:node";
const LEASES: &str = "kube-node-lease";

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let role = bootstrap::OBJECTS
        .iter()
        .find(|role| name(role) == ROLE && role.get("roleRef").is_none());
    role.map(Rule::of_role).unwrap_or_default()
});

/// The node that a caller is the kubelet of.
pub(crate) fn of(caller: &Caller) -> Option<&str> {
    let node = caller.name.strip_prefix(USER)?;
    (!node.is_empty() && caller.groups.iter().any(|group| group == GROUP)).then_some(node)
}

/// Whether the kubelet of `node` may do what is asked. `pods` are those of a namespace.
pub(crate) fn decide(
    node: &str,
    asked: &Attributes,
    pods: impl FnOnce(&str) -> Vec<Value>,
) -> Decision {
    let refused = |reason: String| Decision {
        allowed: false,
        reason,
    };
    if !RULES.iter().any(|rule| rule.allows(asked)) {
        return refused(String::new());
    }
    let Asked::Resource(resource) = &asked.object else {
        return refused(String::new());
    };
    let own = match (resource.group.as_str(), resource.plural.as_str()) {
        // The name of a new Node is in its body, which only admission would see.
        ("", "nodes") => asked.verb == "create" || resource.name == node,
        ("coordination.k8s.io", "leases") => {
            resource.namespace == LEASES && (asked.verb == "create" || resource.name == node)
        }
        ("", "secrets" | "configmaps" | "persistentvolumeclaims" | "serviceaccounts") => {
            let pods = pods(&resource.namespace);
            let mut here = pods
                .iter()
                .filter(|pod| text(pod, &["spec", "nodeName"]) == node);
            !resource.name.is_empty() && here.any(|pod| uses(pod, resource))
        }
        // A pod that a kubelet made could mount any Secret and so give it away.
        ("", "pods") if asked.verb == "create" && resource.subresource.is_empty() => false,
        ("", "pods") => {
            let named = |pod: &Value| name(pod) == resource.name;
            let here = |pod: &Value| text(pod, &["spec", "nodeName"]) == node;
            resource.name.is_empty()
                || pods(&resource.namespace)
                    .iter()
                    .any(|pod| named(pod) && here(pod))
        }
        _ => true,
    };
    if own {
        return Decision {
            allowed: true,
            reason: String::new(),
        };
    }
    refused(format!(
        "no relationship found between node '{node}' and this object"
    ))
}

/// Whether a pod uses an object of its namespace.
fn uses(pod: &Value, resource: &Resource) -> bool {
    let Some(spec) = pod.get("spec") else {
        return false;
    };
    let name = resource.name.as_str();
    match resource.plural.as_str() {
        "secrets" => mentions(
            spec,
            name,
            &["secretName"],
            &["secret", "secretRef", "secretKeyRef", "imagePullSecrets"],
        ),
        "configmaps" => mentions(
            spec,
            name,
            &[],
            &["configMap", "configMapRef", "configMapKeyRef"],
        ),
        "persistentvolumeclaims" => mentions(spec, name, &["claimName"], &[]),
        "serviceaccounts" => text(spec, &["serviceAccountName"]) == name,
        _ => false,
    }
}

/// Whether some field of `texts` is the name, or something under a field of `holders` is named so.
fn mentions(value: &Value, name: &str, texts: &[&str], holders: &[&str]) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(field, inner)| {
            let field = field.as_str();
            (texts.contains(&field) && inner == name)
                || (holders.contains(&field) && is_named(inner, name))
                || mentions(inner, name, texts, holders)
        }),
        Value::Array(list) => list
            .iter()
            .any(|inner| mentions(inner, name, texts, holders)),
        _ => false,
    }
}

fn is_named(value: &Value, name: &str) -> bool {
    match value {
        Value::Array(list) => list.iter().any(|inner| is_named(inner, name)),
        _ => text(value, &["name"]) == name,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn on(verb: &str, group: &str, what: &str, namespace: &str, name: &str) -> Attributes {
        let (plural, subresource) = what.split_once('/').unwrap_or((what, ""));
        Attributes::on(
            verb,
            Resource {
                group: group.into(),
                plural: plural.into(),
                subresource: subresource.into(),
                namespace: namespace.into(),
                name: name.into(),
            },
        )
    }

    #[test]
    fn a_kubelet_reaches_its_node_and_what_its_pods_use() {
        let pod = |node: &str, secret: &str| {
            json!({"metadata": {"name": secret}, "spec": {"nodeName": node, "serviceAccountName": "robot",
                "volumes": [{"secret": {"secretName": secret}}, {"persistentVolumeClaim": {"claimName": "disk"}}],
                "imagePullSecrets": [{"name": "pull"}],
                "containers": [{"env": [{"valueFrom": {"configMapKeyRef": {"name": "map", "key": "k"}}}]}]}})
        };
        let pods = [pod("n1", "mine"), pod("n2", "theirs")];
        for (asked, allowed) in [
            (on("create", "", "nodes", "", ""), true),
            (on("get", "", "nodes", "", "n1"), true),
            (on("patch", "", "nodes/status", "", "n1"), true),
            (on("patch", "", "nodes/status", "", "n2"), false),
            (on("delete", "", "nodes", "", "n1"), false),
            (
                on(
                    "update",
                    "coordination.k8s.io",
                    "leases",
                    "kube-node-lease",
                    "n1",
                ),
                true,
            ),
            (
                on("update", "coordination.k8s.io", "leases", "default", "n1"),
                false,
            ),
            (on("get", "", "secrets", "default", "mine"), true),
            (on("get", "", "secrets", "default", "pull"), true),
            (on("get", "", "secrets", "default", "theirs"), false),
            (on("list", "", "secrets", "default", ""), false),
            (on("get", "", "configmaps", "default", "map"), true),
            (on("get", "", "configmaps", "default", "other"), false),
            (
                on("get", "", "persistentvolumeclaims", "default", "disk"),
                true,
            ),
            (
                on("create", "", "serviceaccounts/token", "default", "robot"),
                true,
            ),
            (
                on("create", "", "serviceaccounts/token", "default", "other"),
                false,
            ),
            (on("create", "", "secrets", "default", ""), false),
            (on("list", "", "pods", "", ""), true),
            (on("patch", "", "pods/status", "default", "mine"), true),
            (on("patch", "", "pods/status", "default", "theirs"), false),
            (
                on("create", "", "pods/eviction", "default", "theirs"),
                false,
            ),
            (on("create", "", "pods", "default", ""), false),
        ] {
            let decision = decide("n1", &asked, |_| pods.to_vec());
            assert_eq!(decision.allowed, allowed, "{asked:?}");
        }
    }

    #[test]
    fn only_kubelets_are_nodes() {
        let node = Caller::user("system:node:n1");
        assert_eq!(of(&node), None);
        assert_eq!(of(&node.in_group(GROUP)), Some("n1"));
        assert_eq!(of(&Caller::user("n1").in_group(GROUP)), None);
    }
}
