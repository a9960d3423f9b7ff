//! The cells of built-in kinds.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age;

pub(super) const NONE: &str = "<none>";

pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

pub(super) fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object
        .pointer(pointer)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn or(text: &str, otherwise: &str) -> Value {
    json!(if text.is_empty() { otherwise } else { text })
}

fn joined(texts: &[String]) -> Value {
    or(&texts.join(","), NONE)
}

/// A text, or nothing.
pub(super) fn at(object: &Value, pointer: &str) -> Value {
    json!(text(object, pointer))
}

/// The first text that isn't empty.
pub(super) fn first(object: &Value, pointers: &[&str]) -> Value {
    let found = pointers
        .iter()
        .map(|pointer| text(object, pointer))
        .find(|text| !text.is_empty());
    json!(found.unwrap_or_default())
}

/// A text or `<none>`.
pub(super) fn or_none(object: &Value, pointer: &str) -> Value {
    or(text(object, pointer), NONE)
}

/// A text or `<unknown>`.
pub(super) fn known(object: &Value, pointer: &str) -> Value {
    or(text(object, pointer), "<unknown>")
}

/// A number or percentage, or `N/A`.
pub(super) fn or_na(object: &Value, pointer: &str) -> Value {
    match object.pointer(pointer) {
        Some(Value::String(text)) => json!(text),
        Some(Value::Number(number)) => json!(number.to_string()),
        _ => json!("N/A"),
    }
}

/// A number; zero when absent.
pub(super) fn number(object: &Value, pointer: &str) -> Value {
    json!(object.pointer(pointer).and_then(Value::as_i64).unwrap_or(0))
}

/// `READY/WANTED`.
pub(super) fn fraction(object: &Value, ready: &str, wanted: &str) -> Value {
    json!(format!(
        "{}/{}",
        number(object, ready),
        number(object, wanted)
    ))
}

/// How many entries some lists or maps have together.
pub(super) fn length(object: &Value, pointers: &[&str]) -> Value {
    let count = |pointer: &&str| match object.pointer(pointer) {
        Some(Value::Object(map)) => map.len(),
        Some(Value::Array(list)) => list.len(),
        _ => 0,
    };
    json!(pointers.iter().map(count).sum::<usize>())
}

/// Labels as `a=b,c=d`.
pub(super) fn labels(object: &Value, pointer: &str) -> Value {
    let map = object.pointer(pointer).and_then(Value::as_object);
    let pairs: Vec<String> = map
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    joined(&pairs)
}

/// `Ready`, `NotReady` or `Unknown`, and whether pods are kept away.
pub(super) fn node_status(node: &Value) -> Value {
    let ready = list(node, "/status/conditions")
        .iter()
        .find(|c| text(c, "/type") == "Ready");
    let mut out = match ready.map(|condition| text(condition, "/status")) {
        Some("True") => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if node.pointer("/spec/unschedulable").and_then(Value::as_bool) == Some(true) {
        out.push_str(",SchedulingDisabled");
    }
    json!(out)
}

/// The roles that a node's labels name.
pub(super) fn node_roles(node: &Value) -> Value {
    const ROLE_PREFIX: &str = "node-role.kubernetes.io/";
    let labels = node.pointer("/metadata/labels").and_then(Value::as_object);
    let mut roles: Vec<String> = labels
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| match key.strip_prefix(ROLE_PREFIX) {
            Some(role) if !role.is_empty() => Some(role.to_owned()),
            _ if key == "kubernetes.io/role" => value.as_str().map(str::to_owned),
            _ => None,
        })
        .filter(|role| !role.is_empty())
        .collect();
    roles.sort();
    roles.dedup();
    joined(&roles)
}

/// The first address of a type.
pub(super) fn node_address(node: &Value, kind: &str) -> Value {
    let addresses = list(node, "/status/addresses");
    let found = addresses
        .iter()
        .find(|address| text(address, "/type") == kind);
    or(
        found
            .map(|address| text(address, "/address"))
            .unwrap_or_default(),
        NONE,
    )
}

/// The addresses at which a service is reached from outside.
pub(super) fn external_ip(service: &Value) -> Value {
    let ingress = list(service, "/status/loadBalancer/ingress");
    let mut out: Vec<String> = ingress
        .iter()
        .filter_map(|entry| {
            first(entry, &["/ip", "/hostname"])
                .as_str()
                .map(str::to_owned)
        })
        .collect();
    let given = list(service, "/spec/externalIPs");
    out.extend(given.iter().filter_map(Value::as_str).map(str::to_owned));
    if out.is_empty() && text(service, "/spec/type") == "LoadBalancer" {
        return json!("<pending>");
    }
    joined(&out)
}

/// `PORT[:NODEPORT]/PROTOCOL` of each port.
pub(super) fn service_ports(service: &Value) -> Value {
    let ports: Vec<String> = list(service, "/spec/ports")
        .iter()
        .map(|port| {
            let protocol = match text(port, "/protocol") {
                "" => "TCP",
                given => given,
            };
            match port
                .pointer("/nodePort")
                .and_then(Value::as_i64)
                .filter(|port| *port > 0)
            {
                Some(node) => format!("{}:{node}/{protocol}", number(port, "/port")),
                None => format!("{}/{protocol}", number(port, "/port")),
            }
        })
        .collect();
    joined(&ports)
}

/// One field of each container of a workload's pods.
pub(super) fn containers(workload: &Value, pointer: &str) -> Value {
    let containers = list(workload, "/spec/template/spec/containers");
    let texts: Vec<&str> = containers
        .iter()
        .map(|container| text(container, pointer))
        .collect();
    json!(texts.join(","))
}

/// A label selector as text.
pub(super) fn selector(workload: &Value) -> Value {
    let Some(selector) = workload.pointer("/spec/selector") else {
        return json!(NONE);
    };
    let mut terms: Vec<String> = selector
        .get("matchLabels")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    for expression in list(selector, "/matchExpressions") {
        let key = text(expression, "/key");
        let values: Vec<&str> = list(expression, "/values")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        terms.push(match text(expression, "/operator") {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    joined(&terms)
}

/// How long a certificate was asked for.
pub(super) fn requested_duration(csr: &Value) -> Value {
    match csr
        .pointer("/spec/expirationSeconds")
        .and_then(Value::as_i64)
    {
        Some(seconds) => json!(age::human(seconds)),
        None => json!(NONE),
    }
}

/// `Pending`, `Approved`, `Denied`, `Failed`, and whether there is a certificate.
pub(super) fn csr_condition(csr: &Value) -> Value {
    let conditions = list(csr, "/status/conditions");
    let has = |kind: &str| {
        conditions
            .iter()
            .any(|condition| text(condition, "/type") == kind)
    };
    let mut out = if has("Denied") {
        "Denied".to_owned()
    } else if has("Approved") {
        "Approved".to_owned()
    } else {
        "Pending".to_owned()
    };
    if has("Failed") {
        out.push_str(",Failed");
    }
    if !text(csr, "/status/certificate").is_empty() {
        out.push_str(",Issued");
    }
    json!(out)
}

/// `KIND/NAME` of a binding's role.
pub(super) fn role_ref(binding: &Value) -> Value {
    json!(format!(
        "{}/{}",
        text(binding, "/roleRef/kind"),
        text(binding, "/roleRef/name")
    ))
}

/// The subjects of one kind.
pub(super) fn subjects(binding: &Value, kind: &str) -> Value {
    let names: Vec<String> = list(binding, "/subjects")
        .iter()
        .filter(|subject| text(subject, "/kind") == kind)
        .map(|subject| match text(subject, "/namespace") {
            namespace if kind == "ServiceAccount" => {
                format!("{namespace}/{}", text(subject, "/name"))
            }
            _ => text(subject, "/name").to_owned(),
        })
        .collect();
    json!(names.join(", "))
}

/// `kind/name` of what an event is about.
pub(super) fn event_object(event: &Value) -> Value {
    let kind = first(event, &["/involvedObject/kind", "/regarding/kind"]);
    let name = first(event, &["/involvedObject/name", "/regarding/name"]);
    let kind = kind.as_str().unwrap_or_default().to_lowercase();
    let name = name.as_str().unwrap_or_default();
    if kind.is_empty() {
        json!(name)
    } else {
        json!(format!("{kind}/{name}"))
    }
}

/// Who reported an event.
pub(super) fn event_source(event: &Value) -> Value {
    let component = first(
        event,
        &[
            "/source/component",
            "/deprecatedSource/component",
            "/reportingComponent",
            "/reportingController",
        ],
    );
    let host = first(
        event,
        &[
            "/source/host",
            "/deprecatedSource/host",
            "/reportingInstance",
        ],
    );
    let parts: Vec<&str> = [&component, &host]
        .iter()
        .filter_map(|v| v.as_str())
        .filter(|t| !t.is_empty())
        .collect();
    json!(parts.join(", "))
}

/// How often an event happened: once more than its series repeated it.
pub(super) fn event_count(event: &Value) -> Value {
    let at = |pointer: &str| event.pointer(pointer).and_then(Value::as_i64);
    let counted = at("/count")
        .or_else(|| at("/deprecatedCount"))
        .filter(|count| *count > 0);
    json!(at("/series/count").map_or_else(|| counted.unwrap_or(1), |count| count + 1))
}

/// When an event was first seen.
pub(super) fn first_seen(event: &Value, now: Timestamp) -> Value {
    let time = first(
        event,
        &["/firstTimestamp", "/deprecatedFirstTimestamp", "/eventTime"],
    );
    json!(age::since(time.as_str(), now))
}

/// When an event was last seen.
pub(super) fn last_seen(event: &Value, now: Timestamp) -> Value {
    let time = first(
        event,
        &[
            "/series/lastObservedTime",
            "/lastTimestamp",
            "/deprecatedLastTimestamp",
            "/firstTimestamp",
            "/eventTime",
        ],
    );
    json!(age::since(time.as_str(), now))
}
