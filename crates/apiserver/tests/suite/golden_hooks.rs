//! Replays what a genuine server asked of webhooks, and what it made of their answers
//! (`golden/hooks.py`, `golden/hooks_cases.py`).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::path::PathBuf;

use regex::Regex;
use remuda_apiserver::{ApiServer, Instance};
use serde_json::{Map, Value, json};

use crate::hooks::{Answered, Hooks, configure, define, post, send};

/// Cases whose words come from the recording machine's name server: no service is routed here.
const ELSEWHERE: [&str; 2] = ["no such service", "no such service with a port"];

fn golden(topic: &str) -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(format!("hooks_{topic}.json"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Without what differs from run to run.
struct Cleaner {
    uid: Regex,
    time: Regex,
    generated: Regex,
    url: String,
}

impl Cleaner {
    fn new(url: &str) -> Self {
        let uid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
        Self {
            uid: Regex::new(uid).unwrap(),
            time: Regex::new("20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z").unwrap(),
            generated: Regex::new("^g-[a-z0-9]{5}$").unwrap(),
            url: url.to_owned(),
        }
    }

    fn clean(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let text = text.replace(&self.url, "@URL@");
                let text = self.uid.replace_all(&text, "@uid@");
                let text = self.generated.replace(&text, "@generated@");
                self.time.replace_all(&text, "@time@").into_owned().into()
            }
            Value::Array(list) => list.iter().map(|entry| self.clean(entry)).collect(),
            Value::Object(map) => Value::Object(self.fields(map)),
            other => other.clone(),
        }
    }

    fn fields(&self, map: &Map<String, Value>) -> Map<String, Value> {
        let stamps = [
            "uid",
            "resourceVersion",
            "creationTimestamp",
            "time",
            "lastTransitionTime",
            "deletionTimestamp",
        ];
        let mut out = Map::new();
        // It also shows the owners of a scale's fields to webhooks.
        let scale = map.get("kind") == Some(&"Scale".into());
        for (name, value) in map {
            if scale && name == "metadata" {
                let mut meta = value.clone();
                meta.as_object_mut().unwrap().remove("managedFields");
                out.insert(name.clone(), self.clean(&meta));
                continue;
            }
            let cleaned = match name.as_str() {
                // How a list goes on is each server's own.
                "continue" | "remainingItemCount" => continue,
                // Who asks differs between the two servers.
                "userInfo" => continue,
                // A genuine server forgets when the fields of a scale were set.
                "time" if map.get("subresource") == Some(&"scale".into()) => continue,
                stamp if stamps.contains(&stamp) && value == "" => continue,
                stamp if stamps.contains(&stamp) && value.is_string() => format!("@{name}@").into(),
                "managedFields" => {
                    let mut entries: Vec<Value> = value
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|e| self.clean(e))
                        .collect();
                    entries.sort_by_key(ToString::to_string);
                    entries.into()
                }
                _ => self.clean(value),
            };
            out.insert(name.clone(), cleaned);
        }
        out
    }
}

/// The first difference between two values.
fn difference(at: &str, ours: &Value, theirs: &Value) -> Option<String> {
    match (ours, theirs) {
        (Value::Object(one), Value::Object(other)) => {
            let names = one.keys().chain(other.keys());
            names.into_iter().find_map(|name| {
                let null = Value::Null;
                let (mine, yours) = (one.get(name), other.get(name));
                difference(
                    &format!("{at}/{name}"),
                    mine.unwrap_or(&null),
                    yours.unwrap_or(&null),
                )
            })
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let pairs = one.iter().zip(other).enumerate();
            pairs
                .into_iter()
                .find_map(|(i, (mine, yours))| difference(&format!("{at}/{i}"), mine, yours))
        }
        _ if ours == theirs => None,
        _ => Some(format!("{at}:\n      ours {ours}\n    theirs {theirs}")),
    }
}

async fn play(instance: &Instance, step: &Value) -> Answered {
    let kind = step["type"].as_str().unwrap_or("application/json");
    let method = step["method"].as_str().unwrap();
    send(
        instance,
        method,
        step["path"].as_str().unwrap(),
        kind,
        &step["body"],
    )
    .await
}

/// A call as the recording keeps it.
fn brief(call: &Value) -> Value {
    let review = &call["review"];
    let mut request = json!({});
    for name in [
        "operation",
        "name",
        "subResource",
        "resource",
        "kind",
        "requestKind",
        "options",
    ] {
        request[name] = review["request"].get(name).cloned().unwrap_or_default();
    }
    json!({"path": call["path"], "query": call["query"], "apiVersion": review["apiVersion"],
           "request": request})
}

/// A webhook of a case with what the recorder fills in.
fn completed(hook: &Value, hooks: &Hooks) -> Value {
    let mut hook = hook.clone();
    let defaults = [
        ("admissionReviewVersions", json!(["v1"])),
        ("sideEffects", json!("None")),
        (
            "rules",
            json!([{"apiGroups": ["hooks.example.com"], "apiVersions": ["v1"],
                          "operations": ["*"], "resources": ["widgets"]}]),
        ),
    ];
    for (field, value) in defaults {
        if hook.get(field).is_none() {
            hook[field] = value;
        }
    }
    if let Some(url) = hook["clientConfig"]["url"].as_str() {
        hook["clientConfig"]["url"] = url.replace("@URL@", &hooks.url).into();
        if hook["clientConfig"].get("caBundle").is_none() {
            hook["clientConfig"]["caBundle"] = hooks.ca.as_str().into();
        }
    }
    hook
}

fn compare(cleaner: &Cleaner, step: &Value, answered: &Answered) -> Option<String> {
    let ours =
        json!({"code": answered.code, "answer": answered.body, "warnings": answered.warnings});
    let theirs =
        json!({"code": step["code"], "answer": step["answer"], "warnings": step["warnings"]});
    let (mut ours, mut theirs) = (cleaner.clean(&ours), cleaner.clean(&theirs));
    if step["path"].as_str().unwrap().contains("conv.example.com") {
        // A genuine server follows ownership through a webhook's conversion.
        for side in [&mut ours, &mut theirs] {
            let meta = side["answer"]
                .get_mut("metadata")
                .and_then(Value::as_object_mut);
            meta.map(|meta| meta.remove("managedFields"));
        }
    }
    // The whole object is quoted here, each server's fields in their own order.
    let quotes = |value: &Value| {
        value["answer"]["message"]
            .to_string()
            .contains("is missing in")
    };
    if quotes(&ours) && quotes(&theirs) {
        return difference("", &ours["code"], &theirs["code"]);
    }
    difference("", &ours, &theirs)
}

#[tokio::test(start_paused = true)]
async fn admission_goes_as_on_a_genuine_server() {
    let hooks = Hooks::start().await;
    let server = ApiServer::builder().seed(1).build().unwrap();
    let cleaner = Cleaner::new(&hooks.url);
    let (mut failures, mut compared) = (Vec::new(), 0);
    for (index, case) in golden("admission").iter().enumerate() {
        let name = case["name"].as_str().unwrap();
        if ELSEWHERE.contains(&name) {
            continue;
        }
        hooks.hold();
        let instance = server.instance(&format!("golden/case-{index}"));
        define(&instance, "hooks.example.com", None).await;
        for step in case["before"].as_array().into_iter().flatten() {
            play(&instance, step).await;
        }
        for (path, answers) in case["answers"].as_object().into_iter().flatten() {
            hooks.script(path, answers.as_array().unwrap());
        }
        for entry in case["configurations"].as_array().unwrap() {
            let list = entry["webhooks"].as_array().unwrap();
            let list: Vec<Value> = list.iter().map(|hook| completed(hook, &hooks)).collect();
            let (phase, own) = (
                entry["phase"].as_str().unwrap(),
                entry["name"].as_str().unwrap(),
            );
            configure(&instance, phase, own, &list).await;
        }
        hooks.calls();
        for (at, step) in case["steps"].as_array().unwrap().iter().enumerate() {
            let answered = play(&instance, step).await;
            let mut calls = hooks.calls();
            // The recording server has no garbage collector.
            calls.retain(|call| {
                call["review"]["request"]["userInfo"]["username"] != "system:apiserver"
            });
            if case.get("whole").is_none() {
                calls = calls.iter().map(brief).collect();
            }
            let calls = cleaner.clean(&calls.into());
            let asked = difference("calls", &calls, &cleaner.clean(&step["calls"]));
            compared += 1;
            if let Some(why) = compare(&cleaner, step, &answered).or(asked) {
                failures.push(format!("{name}, step {at}: {why}"));
            }
        }
        for path in case["answers"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(path, _)| path)
        {
            hooks.script(path, &[]);
        }
    }
    assert!(compared > 100, "{compared}");
    assert!(
        failures.is_empty(),
        "{} of {compared}:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[tokio::test(start_paused = true)]
async fn conversion_goes_as_on_a_genuine_server() {
    let hooks = Hooks::start().await;
    let server = ApiServer::builder().seed(1).build().unwrap();
    let cleaner = Cleaner::new(&hooks.url);
    let path = "/apis/conv.example.com/v1/namespaces/default/widgets";
    let (mut failures, mut compared) = (Vec::new(), 0);
    for (index, case) in golden("conversion").iter().enumerate() {
        let instance = server.instance(&format!("golden/case-{index}"));
        hooks.script("/c", &[]);
        let conversion = json!({"strategy": "Webhook", "webhook": {
            "conversionReviewVersions": ["v1"], "clientConfig": hooks.config("/c")}});
        define(&instance, "conv.example.com", Some(conversion)).await;
        for name in ["a", "a2"] {
            let body = json!({"apiVersion": "conv.example.com/v1", "kind": "Widget",
                "metadata": {"name": name, "labels": {"old": "label"}}, "spec": {"size": 1}});
            assert_eq!(post(&instance, path, &body).await.code, 201);
        }
        hooks.script("/c", case["answers"]["/c"].as_array().unwrap());
        for (at, step) in case["steps"].as_array().unwrap().iter().enumerate() {
            let mut step = step.clone();
            // A genuine server converts the objects of a list one by one for its cache, ours all
            // at once: their order matters, and how many came back.
            if case["name"] == "another order" {
                continue;
            }
            let answered = play(&instance, &step).await;
            if !step["path"].as_str().unwrap().contains("widgets/")
                && let Some(text) = step["answer"]["message"].as_str()
            {
                let text = text.replace("0 objects, expected 1", "1 objects, expected 2");
                let text = text.replace("2 objects, expected 1", "4 objects, expected 2");
                step["answer"]["message"] = text.into();
            }
            compared += 1;
            if let Some(why) = compare(&cleaner, &step, &answered) {
                failures.push(format!("{}, step {at}: {why}", case["name"]));
            }
        }
    }
    assert!(compared > 50, "{compared}");
    assert!(
        failures.is_empty(),
        "{} of {compared}:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// The outcome of a create as the recording keeps it.
fn outcome(answered: &Answered, field: &str, value: Option<&Value>) -> Value {
    if answered.code < 300 {
        return json!({field: value});
    }
    json!({"code": answered.code, "message": answered.body["message"],
           "causes": answered.body["details"]["causes"]})
}

#[tokio::test(start_paused = true)]
async fn configurations_are_completed_and_refused_as_on_a_genuine_server() {
    let server = ApiServer::builder().seed(1).build().unwrap();
    let instance = server.management();
    let mut failures = Vec::new();
    for case in golden("configurations") {
        for (phase, kind) in [
            ("mutating", "MutatingWebhookConfiguration"),
            ("validating", "ValidatingWebhookConfiguration"),
        ] {
            // Answers of the decoder quote the request byte by byte.
            if case[phase]["code"] == 400 {
                continue;
            }
            let mut body = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
                                  "metadata": {"name": "c"}});
            if !case["webhooks"].is_null() {
                body["webhooks"] = case["webhooks"].clone();
            }
            let path =
                format!("/apis/admissionregistration.k8s.io/v1/{phase}webhookconfigurations");
            let answered = post(&instance, &path, &body).await;
            let mut ours = outcome(&answered, "webhooks", answered.body.get("webhooks"));
            let mut theirs = case[phase].clone();
            for side in [&mut ours, &mut theirs] {
                // An empty list may be left out; newer servers give no detail.
                let mut text = side
                    .to_string()
                    .replace("\"webhooks\":[]", "\"webhooks\":null");
                for what in ["name", "namespace"] {
                    text = text.replace(&format!(": service {what} is required"), "");
                }
                *side = serde_json::from_str(&text.replace("\"rules\":[],", "")).unwrap();
            }
            if let Some(why) = difference("", &ours, &theirs) {
                failures.push(format!("{phase} {}: {why}", case["webhooks"]));
            }
            send(&instance, "DELETE", &format!("{path}/c"), "", &Value::Null).await;
        }
    }
    assert!(
        failures.is_empty(),
        "{}:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[tokio::test(start_paused = true)]
async fn definitions_are_completed_and_refused_as_on_a_genuine_server() {
    let server = ApiServer::builder().seed(1).build().unwrap();
    let mut failures = Vec::new();
    // Kubernetes shows versions as its own code names their fields.
    let fields = Regex::new(r"Invalid value: \[\{.*?\}\]: must").unwrap();
    for (index, case) in golden("definitions").iter().enumerate() {
        let instance = server.instance(&format!("golden/case-{index}"));
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let answered = post(&instance, path, &case["definition"]).await;
        let conversion = answered.body["spec"].get("conversion");
        let ours = outcome(&answered, "conversion", conversion);
        let shown = |value: &Value| -> Value {
            let text = value.to_string();
            let text = fields.replace_all(&text, "Invalid value: [...]: must");
            serde_json::from_str(&text).unwrap()
        };
        if let Some(why) = difference("", &shown(&ours), &shown(&case["outcome"])) {
            failures.push(format!("{index}: {why}"));
        }
    }
    assert!(
        failures.is_empty(),
        "{}:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
