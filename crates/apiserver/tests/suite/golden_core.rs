//! Replays patches, applies and tables of built-in kinds that a genuine API server answered
//! (`golden/record.py`, `golden/core_cases.py`).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::path::PathBuf;

use jiff::Timestamp;
use remuda_apiserver::schema::{Structural, builtin};
use remuda_apiserver::{apply, patch, table};
use serde_json::{Map, Value, json};

fn golden(name: &str) -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn schema_of(object: &Value) -> Structural {
    let api_version = object["apiVersion"].as_str().unwrap();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    // The recording server is older than policy/v1.
    let version = if group == "policy" { "v1" } else { version };
    builtin::schema(group, version, object["kind"].as_str().unwrap()).unwrap()
}

/// Where ours and the recorded object differ in more than what the server fills in by itself.
fn differences(at: &str, ours: &Value, recorded: &Value) -> Vec<String> {
    match (ours, recorded) {
        (Value::Object(one), Value::Object(other)) => one
            .iter()
            // The recording server leaves empty lists of built-in kinds out.
            .filter(|(name, mine)| other.contains_key(*name) || **mine != json!([]))
            .flat_map(|(name, mine)| match other.get(name) {
                Some(theirs) => differences(&format!("{at}/{name}"), mine, theirs),
                None => vec![format!("{at}/{name}: ours {mine}, not recorded")],
            })
            .collect(),
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => one
            .iter()
            .zip(other)
            .enumerate()
            .flat_map(|(i, (mine, theirs))| differences(&format!("{at}/{i}"), mine, theirs))
            .collect(),
        _ if ours == recorded => Vec::new(),
        _ => vec![format!("{at}: ours {ours} recorded {recorded}")],
    }
}

/// Fields of the live object that the recorded answer keeps and ours lost.
fn lost(at: &str, ours: &Value, recorded: &Value, live: &Value) -> Vec<String> {
    match (recorded, live) {
        (Value::Object(other), Value::Object(before)) => other
            .iter()
            .filter_map(|(name, theirs)| Some((name, theirs, before.get(name)?)))
            .flat_map(|(name, theirs, before)| match ours.get(name) {
                Some(mine) => lost(&format!("{at}/{name}"), mine, theirs, before),
                None => vec![format!("{at}/{name}: lost")],
            })
            .collect(),
        _ => Vec::new(),
    }
}

#[test]
fn strategic_patches_merge_like_on_a_genuine_server() {
    let mut failures = Vec::new();
    let mut compared = 0;
    for case in golden("strategic.json") {
        let (live, change) = (&case["live"], &case["patch"]);
        let ours = patch::strategic(live, change, &schema_of(live));
        let problem = match (ours, case["outcome"].get("object")) {
            (Ok(ours), Some(recorded)) => {
                compared += 1;
                let mut all = differences("", &ours, recorded);
                all.extend(lost("", &ours, recorded, live));
                all.join("\n  ")
            }
            (Err(_), None) => {
                compared += 1;
                String::new()
            }
            (Err(error), Some(recorded)) => format!("ours {error} recorded {recorded}"),
            // What a genuine server refuses after the merge is the caller's to refuse.
            (Ok(_), None) if case["outcome"]["code"] == 422 => String::new(),
            (Ok(_), None) if case["outcome"].to_string().contains("undeterminable") => {
                String::new()
            }
            (Ok(ours), None) => format!("ours {ours} recorded {}", case["outcome"]),
        };
        if !problem.is_empty() {
            failures.push(format!("{} {change}\n  {problem}", live["kind"]));
        }
    }
    assert!(compared > 40, "only {compared} patches compared");
    assert!(
        failures.is_empty(),
        "{}:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// Owned fields as a newer server names them: since the recorded version, these became atomic.
fn modern(fields: &Value) -> Value {
    const ATOMIC: [&str; 2] = ["f:nodeSelector", "f:selector"];
    const ATOMIC_ENTRIES: [&str; 3] = ["f:imagePullSecrets", "f:secrets", "f:ownerReferences"];
    let Value::Object(map) = fields else {
        return fields.clone();
    };
    let below = |name: &String, value: &Value| {
        if ATOMIC.contains(&name.as_str()) {
            return json!({});
        }
        if !ATOMIC_ENTRIES.contains(&name.as_str()) {
            return modern(value);
        }
        let entries = value.as_object().unwrap().keys();
        entries
            .map(|key| (key.clone(), json!({})))
            .collect::<Map<_, _>>()
            .into()
    };
    // An empty object in a configuration is owned only by newer servers.
    let known = map.iter().filter(|(name, _)| *name != "f:emptyDir");
    known
        .map(|(name, value)| (name.clone(), below(name, value)))
        .collect::<Map<_, _>>()
        .into()
}

/// Owned fields, by owner.
fn owners(object: &Value) -> Vec<Value> {
    let mut out: Vec<Value> = object["metadata"]["managedFields"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|entry| {
            let fields = modern(&entry["fieldsV1"]);
            json!([
                entry["manager"],
                entry["operation"],
                entry["apiVersion"],
                fields
            ])
        })
        .collect();
    out.sort_by_key(Value::to_string);
    out
}

/// What the request handler had in hand when it recorded owners: before the server filled in what
/// isn't the client's.
fn as_sent(stored: &Value, created: bool) -> Value {
    let mut out = stored.clone();
    if created && out["kind"] != "Node" {
        out.as_object_mut().unwrap().remove("status");
    }
    for path in [
        "/status/nodeInfo",
        "/status/daemonEndpoints",
        "/spec/clusterIP",
        "/spec/clusterIPs",
    ]
    .into_iter()
    .chain([
        "/spec/priority",
        "/spec/preemptionPolicy",
        "/spec/template/metadata/creationTimestamp",
    ]) {
        let (parent, name) = path.rsplit_once('/').unwrap();
        if let Some(parent) = out.pointer_mut(parent).and_then(Value::as_object_mut) {
            parent.remove(name);
        }
    }
    out
}

/// Refusals without the object's name, which older servers don't tell.
fn unnamed(message: &str) -> String {
    match (
        message.split_once(" (default/a; "),
        message.split_once("): "),
    ) {
        (Some((start, _)), Some((_, end))) => format!("{start}: {end}"),
        _ => message.to_owned(),
    }
}

#[test]
fn built_in_kinds_are_owned_like_on_a_genuine_server() {
    let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let mut failures = Vec::new();
    for case in golden("core.json") {
        for (number, step) in case["steps"].as_array().unwrap().iter().enumerate() {
            let manager = step["manager"].as_str().unwrap();
            let live = (!step["live"].is_null()).then_some(&step["live"]);
            let body = &step["body"];
            let schema = schema_of(live.unwrap_or(body));
            let recorded = &step["outcome"];
            let result = if step["verb"] == "apply" {
                let force = step["force"].as_bool().unwrap_or(false);
                apply::apply(live, body, manager, force, &schema, now, "")
                    .map_err(|error| error.to_string())
            } else {
                let mut new = as_sent(&recorded["object"], live.is_none());
                let before = live.map(|live| live["metadata"]["managedFields"].clone());
                new["metadata"]["managedFields"] = before.unwrap_or(Value::Null);
                let live = live.map(|live| as_sent(live, false));
                apply::track_update(live.as_ref(), &mut new, manager, &schema, now, "");
                Ok(new)
            };
            let problem = match (result, recorded.get("object")) {
                (Ok(ours), Some(object)) if owners(&ours) == owners(object) => continue,
                (Ok(ours), Some(object)) => {
                    let print = |owners: Vec<Value>| {
                        owners
                            .iter()
                            .map(Value::to_string)
                            .collect::<Vec<_>>()
                            .join("\n    ")
                    };
                    format!(
                        "ours\n    {}\n  recorded\n    {}",
                        print(owners(&ours)),
                        print(owners(object))
                    )
                }
                (Err(ours), None) if recorded["message"] == json!(unnamed(&ours)) => continue,
                // Ports have had a default protocol since.
                (Ok(_), None) if recorded.to_string().contains("omits key field") => continue,
                (ours, _) => format!("ours {ours:?}\n  recorded {recorded}"),
            };
            failures.push(format!("{} step {number}\n  {problem}", case["name"]));
        }
    }
    assert!(
        failures.is_empty(),
        "{}:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn built_in_tables_look_like_those_of_a_genuine_server() {
    let mut failures = Vec::new();
    for case in golden("core_table.json") {
        let object = &case["object"];
        let api_version = object["apiVersion"].as_str().unwrap();
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let kind = object["kind"].as_str().unwrap();
        let created = object["metadata"]["creationTimestamp"].as_str().unwrap();
        let now: Timestamp = created.parse().unwrap();
        let columns = table::builtin_columns(group, kind);
        let include = table::IncludeObject::None;
        let ours = table::render(&columns, std::slice::from_ref(object), include, now);
        let heads = |columns: &Value| -> Vec<String> {
            let head = |column: &Value| {
                format!(
                    "{} {} {} {}",
                    column["name"], column["type"], column["format"], column["priority"]
                )
            };
            columns.as_array().unwrap().iter().map(head).collect()
        };
        let (mine, theirs) = (heads(&ours["columnDefinitions"]), heads(&case["columns"]));
        // Restarts have been told as text since, with the time of the last one.
        let modern = |heads: Vec<String>| -> Vec<String> {
            heads
                .iter()
                .map(|head| head.replace("\"Restarts\" \"integer\"", "\"Restarts\" \"string\""))
                .collect()
        };
        let theirs = modern(theirs);
        if mine != theirs {
            failures.push(format!("{kind}: ours {mine:#?} recorded {theirs:#?}"));
            continue;
        }
        let cells = ours["rows"][0]["cells"].as_array().unwrap();
        for ((head, mine), theirs) in theirs
            .iter()
            .zip(cells)
            .zip(case["cells"].as_array().unwrap())
        {
            let age = |cell: &Value| {
                cell.as_str().is_some_and(|text| {
                    text.ends_with(['s', 'd']) && text.starts_with(|c: char| c.is_ascii_digit())
                })
            };
            let restarts = head.starts_with("\"Restarts\"") && *mine == json!(theirs.to_string());
            if mine != theirs && !restarts && !(age(mine) && age(theirs)) {
                failures.push(format!("{kind} {head}: ours {mine} recorded {theirs}"));
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{}:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
