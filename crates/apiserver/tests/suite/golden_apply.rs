//! Replays writes of several managers to one object and compares object, managed fields and
//! refusals with what a genuine API server answered (`golden/record.py`).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may fail"
)]

use std::path::PathBuf;

use jiff::Timestamp;
use remuda_apiserver::apply::{self, ApplyError};
use remuda_apiserver::patch::{self, PatchError};
use remuda_apiserver::schema::{self, Structural};
use serde_json::{Map, Value, json};

fn golden(name: &str) -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// What a handler does around the pure functions, for one object.
struct Server {
    structural: Structural,
    kind: String,
    status: bool,
    live: Option<Value>,
    /// All writes of a case fall into one second, as they mostly did in the recording.
    clock: Timestamp,
}

type Answer = Result<Value, (u16, String, Vec<(String, String)>)>;

impl Server {
    fn now(&self) -> Timestamp {
        self.clock
    }

    fn full(&self, body: &Value) -> Value {
        let mut out = body.clone();
        out["apiVersion"] = json!("golden.example.com/v1");
        out["kind"] = json!(self.kind);
        if !out["metadata"].is_object() {
            out["metadata"] = json!({});
        }
        out["metadata"]["name"] = json!("a");
        out
    }

    fn play(&mut self, step: &Value) -> Answer {
        let manager = step["manager"].as_str().unwrap_or("test");
        let subresource = step["subresource"].as_str().unwrap_or("");
        let now = self.now();
        let body = &step["body"];
        match step["verb"].as_str().unwrap() {
            "apply" => {
                let config = self.full(body);
                let config = if self.status {
                    scope(config, subresource)
                } else {
                    config
                };
                let force = step["force"].as_bool().unwrap_or(false);
                let live = self.live.clone();
                let applied = apply::apply(
                    live.as_ref(),
                    &config,
                    manager,
                    force,
                    &self.structural,
                    now,
                    subresource,
                )
                .map_err(refusal)?;
                let mut applied = applied;
                self.finish(&mut applied, subresource)
            }
            verb => {
                let live = self.live.clone();
                let known = || live.clone().ok_or((404, String::new(), Vec::new()));
                let mut new = match verb {
                    "create" | "update" => self.full(body),
                    "merge" => patch::merge(&known()?, body).map_err(unpatched)?,
                    "json" => patch::json(&known()?, body).map_err(unpatched)?,
                    other => panic!("unknown verb {other}"),
                };
                if self.status {
                    keep_other_side(&mut new, live.as_ref(), subresource);
                }
                schema::prune(&mut new, &self.structural);
                schema::default(&mut new, &self.structural);
                let s = &self.structural;
                apply::track_update(live.as_ref(), &mut new, manager, s, now, subresource);
                self.finish(&mut new, subresource)
            }
        }
    }

    fn finish(&mut self, new: &mut Value, subresource: &str) -> Answer {
        if self.status {
            keep_other_side(new, self.live.as_ref(), subresource);
        }
        schema::prune(new, &self.structural);
        schema::default(new, &self.structural);
        let errors = schema::validate(new, self.live.as_ref(), &self.structural);
        if !errors.is_empty() {
            let causes = errors
                .iter()
                .map(|e| (e.field().to_owned(), e.body()))
                .collect();
            return Err((422, String::new(), causes));
        }
        self.live = Some(new.clone());
        Ok(new.clone())
    }
}

/// Applied to the object itself, status is ignored; applied to status, all else is.
fn scope(mut config: Value, subresource: &str) -> Value {
    let map = config.as_object_mut().unwrap();
    if subresource == "status" {
        map.retain(|name, _| ["apiVersion", "kind", "metadata", "status"].contains(&name.as_str()));
    } else {
        map.remove("status");
    }
    config
}

fn keep_other_side(new: &mut Value, live: Option<&Value>, subresource: &str) {
    let empty = json!({});
    let live = live.unwrap_or(&empty);
    let map = new.as_object_mut().unwrap();
    if subresource == "status" {
        let status = map.remove("status");
        let managed = map
            .get("metadata")
            .and_then(|m| m.get("managedFields"))
            .cloned();
        *map = live.as_object().cloned().unwrap_or_default();
        if let Some(managed) = managed {
            map["metadata"]["managedFields"] = managed;
        }
        map.remove("status");
        map.extend(status.map(|status| ("status".to_owned(), status)));
    } else {
        map.remove("status");
        if let Some(status) = live.get("status") {
            map.insert("status".to_owned(), status.clone());
        }
    }
}

fn refusal(error: ApplyError) -> (u16, String, Vec<(String, String)>) {
    let text = error.to_string();
    match error {
        ApplyError::Conflict(conflicts) => {
            let causes = conflicts
                .iter()
                .map(|c| (c.field.clone(), c.message()))
                .collect();
            (409, text, causes)
        }
        ApplyError::BadRequest(_) => (400, text, Vec::new()),
        ApplyError::Untyped(_) => (500, text, Vec::new()),
    }
}

fn unpatched(error: PatchError) -> (u16, String, Vec<(String, String)>) {
    let text = error.to_string();
    match error {
        PatchError::Malformed(_) => (400, text, Vec::new()),
        PatchError::Unprocessable(_) => (422, text, Vec::new()),
        PatchError::TooLarge(_) => (413, text, Vec::new()),
        PatchError::Ambiguous(_) => (500, text, Vec::new()),
    }
}

/// Times differ from run to run and the recording leaves them out.
fn comparable(object: &Value) -> Value {
    let mut out = object.clone();
    let entries = out["metadata"]["managedFields"].as_array_mut();
    for entry in entries.into_iter().flatten() {
        entry.as_object_mut().unwrap().remove("time");
    }
    if let Some(entries) = out["metadata"]["managedFields"].as_array_mut() {
        let key = |e: &Value| {
            ["operation", "manager", "apiVersion", "subresource"]
                .map(|name| e[name].as_str().unwrap_or("").to_owned())
        };
        entries.sort_by_key(key);
    } else if let Some(metadata) = out["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    out
}

fn compare(ours: &Answer, genuine: &Value) -> Result<(), String> {
    match (ours, genuine.get("object")) {
        (Ok(object), Some(recorded)) => {
            let (ours, recorded) = (comparable(object), comparable(recorded));
            if ours == recorded {
                return Ok(());
            }
            Err(differences("", &ours, &recorded).join("\n  "))
        }
        (Err((code, message, causes)), None) => {
            let recorded_code = genuine["code"].as_u64().unwrap();
            let recorded = genuine["message"].as_str().unwrap();
            let mut causes: Vec<String> = causes.iter().map(|(f, m)| format!("{f}|{m}")).collect();
            let text = |cause: &Value, name: &str| cause[name].as_str().unwrap_or("").to_owned();
            let mut recorded_causes: Vec<String> = genuine["causes"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|c| format!("{}|{}", text(c, "field"), text(c, "message")))
                .collect();
            causes.sort();
            recorded_causes.sort();
            let same_text = message.is_empty() || message == recorded;
            let same_causes = causes.is_empty() || causes == recorded_causes;
            if u64::from(*code) == recorded_code && same_text && same_causes {
                return Ok(());
            }
            Err(format!(
                "ours:    {code} {message} {causes:?}\n  genuine: {recorded_code} {recorded} {recorded_causes:?}"
            ))
        }
        (Ok(object), None) => Err(format!("ours: {object}\n  genuine: {genuine}")),
        (Err(error), Some(object)) => Err(format!("ours: {error:?}\n  genuine: {object}")),
    }
}

fn differences(at: &str, ours: &Value, genuine: &Value) -> Vec<String> {
    match (ours, genuine) {
        (Value::Object(one), Value::Object(other)) => {
            let mut names: Vec<&String> = one.keys().chain(other.keys()).collect();
            names.sort();
            names.dedup();
            names
                .into_iter()
                .flat_map(|name| {
                    let get = |map: &Map<String, Value>| map.get(name).cloned();
                    match (get(one), get(other)) {
                        (Some(a), Some(b)) => differences(&format!("{at}/{name}"), &a, &b),
                        (a, b) => vec![format!("{at}/{name}: ours {a:?} genuine {b:?}")],
                    }
                })
                .collect()
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => one
            .iter()
            .zip(other)
            .enumerate()
            .flat_map(|(i, (a, b))| differences(&format!("{at}/{i}"), a, b))
            .collect(),
        _ if ours == genuine => Vec::new(),
        _ => vec![format!("{at}: ours {ours} genuine {genuine}")],
    }
}

fn replay(file: &str, least: usize) {
    let mut failures = Vec::new();
    let mut steps = 0;
    let mut schema = Value::Null;
    for case in golden(file) {
        if let Some(given) = case.get("schema") {
            schema = given.clone();
        }
        let mut server = Server {
            structural: Structural::parse(&schema).unwrap(),
            kind: case["kind"].as_str().unwrap().to_owned(),
            status: case["status"].as_bool().unwrap_or(false),
            live: None,
            clock: "2026-01-01T00:00:00Z".parse().unwrap(),
        };
        for (number, step) in case["steps"].as_array().unwrap().iter().enumerate() {
            // A genuine server turns what it empties into null and then refuses the null; ours
            // leaves it empty. It also refuses nulls in a configuration that it drops elsewhere.
            let genuine = step["outcome"]["message"].as_str();
            if genuine.is_some_and(|message| message.contains("\"null\"")) {
                break;
            }
            steps += 1;
            let ours = server.play(step);
            if let Err(problem) = compare(&ours, &step["outcome"]) {
                failures.push(format!(
                    "{} step {number}: {}\n  {problem}",
                    case["name"], step["body"]
                ));
                break;
            }
        }
    }
    assert!(steps > least, "only {steps} steps recorded");
    assert!(
        failures.is_empty(),
        "{} cases:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn writes_of_several_managers_end_like_on_a_genuine_server() {
    replay("apply.json", 100);
}

#[test]
fn random_writes_end_like_on_a_genuine_server() {
    replay("random.json", 200);
}
