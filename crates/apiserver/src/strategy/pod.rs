//! Pods: what the API fills in, refuses and lets nobody change. Nothing here runs them.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::metadata::label_problem;
use crate::object::{at, child_mut, text};
use crate::status_error::Cause;

const LISTS: [&str; 2] = ["containers", "initContainers"];
const RESTARTS: [&str; 3] = ["Always", "OnFailure", "Never"];
/// Seconds that a pod stays on a node in trouble: Kubernetes' own default.
const PATIENCE_SECONDS: i64 = 300;

/// The containers under one of the lists of a pod.
fn containers<'a>(pod: &'a Value, list: &str) -> &'a [Value] {
    let list = at(pod, &["spec", list]).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

/// Fills in what a pod leaves out.
pub(super) fn prepare(pod: &mut Value) {
    let spec = child_mut(pod, "spec");
    let defaults = [
        ("restartPolicy", json!("Always")),
        ("dnsPolicy", json!("ClusterFirst")),
        ("schedulerName", json!("default-scheduler")),
        ("terminationGracePeriodSeconds", json!(30)),
        ("securityContext", json!({})),
        ("enableServiceLinks", json!(true)),
    ];
    fill(spec, defaults);
    for list in LISTS {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        let maps = containers.into_iter().flatten();
        maps.filter_map(Value::as_object_mut)
            .for_each(prepare_container);
    }
}

fn prepare_container(container: &mut Map<String, Value>) {
    let image = container
        .get("image")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let last = image.rsplit('/').next().unwrap_or_default();
    let latest = !last.contains(':') || image.ends_with(":latest");
    let pull = if latest { "Always" } else { "IfNotPresent" };
    let defaults = [
        ("imagePullPolicy", json!(pull)),
        ("terminationMessagePath", json!("/dev/termination-log")),
        ("terminationMessagePolicy", json!("File")),
        ("resources", json!({})),
    ];
    fill(container, defaults);
    let ports = container.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        fill(port, [("protocol", json!("TCP"))]);
    }
    // What is limited and not asked for is asked for.
    let resources = container
        .get_mut("resources")
        .and_then(Value::as_object_mut);
    let Some(resources) = resources else { return };
    if let Some(Value::Object(limits)) = resources.get("limits").cloned() {
        let requests = resources.entry("requests").or_insert_with(|| json!({}));
        for (name, amount) in limits {
            if requests.get(&name).is_none() {
                requests[name] = amount;
            }
        }
    }
}

fn fill<const N: usize>(map: &mut Map<String, Value>, defaults: [(&str, Value); N]) {
    for (field, value) in defaults {
        map.entry(field).or_insert(value);
    }
}

/// What admission adds to a new pod; nobody owns it.
pub(super) fn admit(pod: &mut Value) {
    pod["status"] = json!({"phase": "Pending", "qosClass": quality(pod)});
    let spec = child_mut(pod, "spec");
    let defaults = [
        ("priority", json!(0)),
        ("preemptionPolicy", json!("PreemptLowerPriority")),
    ];
    fill(spec, defaults);
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    let Some(tolerations) = tolerations.as_array_mut() else {
        return;
    };
    for key in [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ] {
        let tolerated = |toleration: &Value| {
            text(toleration, &["key"]) == key
                && matches!(text(toleration, &["effect"]), "" | "NoExecute")
        };
        if !tolerations.iter().any(tolerated) {
            tolerations.push(json!({
                "key": key, "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": PATIENCE_SECONDS,
            }));
        }
    }
}

/// The class of service that a pod's requests and limits amount to.
fn quality(pod: &Value) -> &'static str {
    let all = LISTS.iter().flat_map(|list| containers(pod, list));
    let amounts = |container: &Value, field: &str| {
        let amounts = at(container, &["resources", field]).and_then(Value::as_object);
        amounts.cloned().unwrap_or_default()
    };
    let (mut any, mut guaranteed) = (false, true);
    for container in all {
        let (requests, limits) = (amounts(container, "requests"), amounts(container, "limits"));
        any |= !requests.is_empty() || !limits.is_empty();
        let bounded = |name: &str| {
            limits
                .get(name)
                .is_some_and(|limit| requests.get(name) == Some(limit))
        };
        guaranteed &= bounded("cpu") && bounded("memory");
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

/// What is wrong with a pod, or with its change.
pub(super) fn validate(pod: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    if containers(pod, "containers").is_empty() {
        causes.push(Cause::required("spec.containers", ""));
    }
    let mut names = HashSet::new();
    for list in LISTS {
        for (index, container) in containers(pod, list).iter().enumerate() {
            let path = format!("spec.{list}[{index}]");
            causes.extend(name_problem(&path, text(container, &["name"]), &mut names));
            if text(container, &["image"]).is_empty() {
                causes.push(Cause::required(&format!("{path}.image"), ""));
            }
        }
    }
    let restart = text(pod, &["spec", "restartPolicy"]);
    if !RESTARTS.contains(&restart) {
        causes.push(Cause::unsupported(
            "spec.restartPolicy",
            &restart.into(),
            &RESTARTS,
        ));
    }
    let changed = old.is_some_and(|old| fixed(old) != fixed(pod));
    if causes.is_empty() && changed {
        let why = "pod updates may not change fields other than `spec.containers[*].image`,\
                   `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` \
                   (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` \
                   (allow it to be set to 1 if it was previously negative)";
        causes.push(Cause::forbidden("spec", why));
    }
    causes
}

fn name_problem<'a>(path: &str, name: &'a str, names: &mut HashSet<&'a str>) -> Option<Cause> {
    let field = format!("{path}.name");
    if name.is_empty() {
        return Some(Cause::required(&field, ""));
    }
    if let Some(why) = label_problem(name) {
        return Some(Cause::invalid(&field, &name.into(), &why));
    }
    if names.insert(name) {
        return None;
    }
    let message = format!("Duplicate value: {name:?}");
    Some(Cause::new("FieldValueDuplicate", &field, message))
}

/// The part of a pod's wish that stays as it was made.
fn fixed(pod: &Value) -> Value {
    let mut spec = pod.get("spec").cloned().unwrap_or_default();
    let Some(map) = spec.as_object_mut() else {
        return spec;
    };
    for field in [
        "activeDeadlineSeconds",
        "tolerations",
        "terminationGracePeriodSeconds",
    ] {
        map.remove(field);
    }
    for list in LISTS {
        let containers = map.get_mut(list).and_then(Value::as_array_mut);
        for container in containers
            .into_iter()
            .flatten()
            .filter_map(Value::as_object_mut)
        {
            container.remove("image");
            // It follows from the image where nobody sets it.
            container.remove("imagePullPolicy");
        }
    }
    spec
}
