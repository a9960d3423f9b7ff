//! The cases: `cases/*.yaml`, one file a topic.
//!
//! A step is a request in short: `do: METHOD PATH [MEDIA]`, then the body. A path that does not
//! begin with `/` begins with a resource of `kinds.yaml`; the body of a create, an update or an
//! apply to such a path may leave its type out. `$NS` and `$GROUP` stand for a namespace and an API
//! group of the file's own, `$NAME` for what an earlier step kept.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A file of cases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Topic {
    /// The file's name without its ending; also its namespace.
    #[serde(skip)]
    pub(crate) name: String,
    /// What the file is about.
    #[serde(rename = "about")]
    _about: String,
    /// Definitions (`definitions/NAME.yaml`) that the cases need.
    #[serde(default)]
    pub(crate) definitions: Vec<String>,
    /// Fields of metadata that no answer is compared by, each with the reason.
    #[serde(default)]
    pub(crate) without: BTreeMap<String, String>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    steps: Vec<Step>,
}

/// One request, or one look at an open watch.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    #[serde(skip)]
    pub(crate) title: String,
    #[serde(rename = "do")]
    pub(crate) request: String,
    pub(crate) body: Option<Value>,
    /// The `Accept` header.
    pub(crate) accept: Option<String>,
    /// The body is the object at this path with `body` laid over it.
    pub(crate) live: Option<String>,
    /// Adds an annotation of this many bytes to the body.
    pub(crate) pad: Option<usize>,
    /// Sends the request again until the answer has this code: a genuine server follows a changed
    /// definition by a moment that nothing announces.
    pub(crate) until: Option<u16>,
    /// Values of the answer that later steps name: NAME: JSON pointer.
    #[serde(default)]
    pub(crate) keep: BTreeMap<String, String>,
    /// The answer is a watch, of which this many events are read.
    pub(crate) events: Option<usize>,
    /// The answer is a watch that stays open under this name; `do: READ NAME` reads from it.
    pub(crate) open: Option<String>,
    /// Of an object that is answered, only the code counts.
    #[serde(default)]
    pub(crate) brief: bool,
    /// Why this server answers differently by design.
    pub(crate) differs: Option<String>,
    /// What explains the difference by the age of the recorded server's core kinds (1.20).
    pub(crate) age: Option<String>,
    /// Our status code where it is not the genuine one.
    pub(crate) code: Option<u16>,
}

/// Where a resource is, and what its objects are.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Resource {
    at: String,
    api_version: String,
    kind: String,
}

fn here(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/conformance")
        .join(file)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every topic, or the one that `CONFORMANCE_TOPIC` names.
pub(crate) fn topics() -> Vec<Topic> {
    let wanted = std::env::var("CONFORMANCE_TOPIC").ok();
    let folder = std::fs::read_dir(here("cases")).expect("there is a folder of cases");
    let mut paths: Vec<PathBuf> = folder.map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    let stem = |path: &Path| {
        path.file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    paths.retain(|path| wanted.as_ref().is_none_or(|wanted| stem(path) == *wanted));
    let topic = |path: PathBuf| {
        let topic: Result<Topic, _> = serde_saphyr::from_str(&read(&path));
        let mut topic = topic.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        topic.name = stem(&path);
        topic
    };
    paths.into_iter().map(topic).collect()
}

/// The file with what a genuine server answered to a topic.
pub(crate) fn recording(topic: &str) -> PathBuf {
    here("recorded").join(format!("{topic}.jsonl"))
}

/// The recorded answers to a topic.
pub(crate) fn recorded(topic: &str) -> Vec<Value> {
    let line = |line: &str| serde_json::from_str(line).expect("one answer a line");
    read(&recording(topic)).lines().map(line).collect()
}

impl Topic {
    /// The steps in order, with their short forms written out.
    pub(crate) fn steps(&self) -> Vec<Step> {
        let kinds: BTreeMap<String, Resource> =
            serde_saphyr::from_str(&read(&here("kinds.yaml"))).expect("a table of resources");
        let numbered = |case: &Case| {
            let name = case.name.clone();
            let titled = move |(index, step): (usize, &Step)| {
                let title = format!("{name} {index}: {}", step.request);
                Step {
                    title,
                    ..step.clone()
                }
            };
            let steps = case.steps.iter().enumerate().map(titled);
            steps.collect::<Vec<Step>>()
        };
        let steps = self.cases.iter().flat_map(numbered);
        steps.map(|step| self.complete(step, &kinds)).collect()
    }

    /// A definition in the topic's own group.
    pub(crate) fn definition(&self, name: &str) -> Value {
        let text = read(&here("definitions").join(format!("{name}.yaml")));
        serde_saphyr::from_str(&self.own(&text)).expect("a definition")
    }

    /// A text with the topic's own namespace and group.
    fn own(&self, text: &str) -> String {
        let group = format!("{}.conformance.dev", self.name);
        text.replace("$GROUP", &group).replace("$NS", &self.name)
    }

    fn complete(&self, mut step: Step, kinds: &BTreeMap<String, Resource>) -> Step {
        let long = |path: &str| -> (String, Option<&Resource>) {
            let end = path.find(['/', '?']).unwrap_or(path.len());
            let (word, rest) = path.split_at(end);
            match kinds.get(word) {
                Some(kind) => (format!("{}{rest}", kind.at), Some(kind)),
                None => (path.to_owned(), None),
            }
        };
        let mut words = step.request.split(' ');
        let (method, path) = (words.next().unwrap_or("GET"), words.next().unwrap_or("/"));
        let media = match words.next().unwrap_or("json") {
            "json" => "application/json",
            "yaml" => "application/yaml",
            "merge" => "application/merge-patch+json",
            "jsonpatch" => "application/json-patch+json",
            "strategic" => "application/strategic-merge-patch+json",
            "apply" => "application/apply-patch+yaml",
            other => other,
        };
        let (path, kind) = if method == "READ" {
            (path.to_owned(), None)
        } else {
            long(path)
        };
        let main = ![
            "/status",
            "/scale",
            "/approval",
            "/eviction",
            "/finalize",
            "/token",
        ]
        .iter()
        .any(|sub| path.split('?').next().unwrap_or_default().ends_with(sub));
        let whole = matches!(method, "POST" | "PUT") && main && step.live.is_none()
            || media.starts_with("application/apply");
        if let (true, Some(kind), Some(Value::Object(body))) = (whole, kind, &mut step.body) {
            body.entry("apiVersion")
                .or_insert_with(|| json!(kind.api_version));
            body.entry("kind").or_insert_with(|| json!(kind.kind));
        }
        if let Some(size) = step.pad {
            let body = step.body.get_or_insert_with(|| json!({}));
            overlay(
                body,
                &json!({"metadata": {"annotations": {"pad": "x".repeat(size)}}}),
            );
        }
        step.request = self.own(&format!("{method} {path} {media}"));
        step.live = step.live.map(|path| self.own(&long(&path).0));
        step.body = step.body.map(|body| match body {
            Value::String(text) => Value::String(self.own(&text)),
            body => serde_json::from_str(&self.own(&body.to_string())).expect("still JSON"),
        });
        step
    }
}

/// Lays `change` over `object`, map by map.
pub(crate) fn overlay(object: &mut Value, change: &Value) {
    match (object, change) {
        (Value::Object(object), Value::Object(change)) => {
            for (name, value) in change {
                overlay(
                    object.entry(name).or_insert(Value::Object(Map::new())),
                    value,
                );
            }
        }
        (object, change) => *object = change.clone(),
    }
}
