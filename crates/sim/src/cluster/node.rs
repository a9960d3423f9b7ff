//! What is kept of a Node: a cluster may have thousands.

use serde_json::Value;

use super::{
    client::text,
    state::{condition, is_deleting, list, name, tolerates},
};

/// The parts of a Node that something is decided by.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) name: Box<str>,
    /// Its resource version.
    pub(super) revision: u64,
    pub(super) taints: Box<[Value]>,
    pub(super) is_cordoned: bool,
    pub(super) is_deleting: bool,
    /// What it says of its condition `Ready`.
    pub(super) ready: Option<Box<str>>,
    /// `key=value`, one a line.
    labels: Box<str>,
}

impl Node {
    pub(super) fn of(node: &Value, revision: u64) -> Self {
        let labels = node.pointer("/metadata/labels").and_then(Value::as_object);
        let labels = labels
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some(format!("{key}={}\n", value.as_str()?)));
        Self {
            name: name(node).into(),
            revision,
            taints: list(node, "/spec/taints").into(),
            is_cordoned: node.pointer("/spec/unschedulable") == Some(&Value::Bool(true)),
            is_deleting: is_deleting(node),
            ready: condition(node, "Ready").map(Into::into),
            labels: labels.collect::<String>().into(),
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.ready.as_deref() == Some("True")
    }

    /// Whether its labels are those that a pod of this spec asks for.
    pub(super) fn is_selected(&self, pod_spec: &Value) -> bool {
        let wanted = pod_spec.get("nodeSelector").and_then(Value::as_object);
        wanted
            .into_iter()
            .flatten()
            .all(|(key, value)| self.label(key).is_some_and(|label| *value == *label))
    }

    fn label(&self, key: &str) -> Option<&str> {
        let mut labels = self.labels.lines().filter_map(|line| line.split_once('='));
        labels
            .find(|(label, _)| *label == key)
            .map(|(_, value)| value)
    }

    /// Whether it has a taint of one of these effects that a pod of this spec cannot stand.
    pub(super) fn repels(&self, pod_spec: &Value, effects: &[&str]) -> bool {
        let tolerations = list(pod_spec, "/tolerations");
        self.taints.iter().any(|taint| {
            effects.contains(&text(taint, "/effect"))
                && !tolerations
                    .iter()
                    .any(|toleration| tolerates(toleration, taint))
        })
    }
}
