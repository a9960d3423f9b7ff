//! The server and the model side by side: every operation goes to both, and what the server then
//! holds must be what the model holds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use http::Request;
use kube::Client;
use kube::client::Body;
use remuda_apiserver::{ApiServer, TokioClock};
use serde_json::{Value, json};

use super::operation::{Operation, Texts};
use super::plain::{CLIENT, Known, Objects};

const PATH: &str = "/apis/model.example.com/v1/namespaces/default/things";
const API: &str = "model.example.com/v1";

pub(super) struct World {
    _server: ApiServer,
    client: Client,
    objects: Objects,
    /// The revision of the last change, and of the beginning.
    newest: u64,
    first: u64,
    /// What there was at each revision that an operation ended with.
    past: BTreeMap<u64, Objects>,
}

type Outcome<T> = Result<T, String>;

fn definition() -> Value {
    let texts = json!({"type": "string"});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.model.example.com"},
        "spec": {
            "group": "model.example.com", "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"a": texts, "b": texts, "c": texts}},
                    "status": {"type": "object", "properties": {"note": texts}},
                }}},
            }],
        },
    })
}

/// The revision that metadata names.
fn revision(object: &Value) -> Outcome<u64> {
    let text = object["metadata"]["resourceVersion"].as_str();
    text.and_then(|text| text.parse().ok())
        .ok_or_else(|| format!("no revision in {object}"))
}

fn name(object: &Value) -> String {
    object["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// What an object says of itself, in the model's words.
fn known(object: &Value) -> Known {
    let meta = &object["metadata"];
    let texts = |value: &Value| -> Texts {
        let map = value.as_object().into_iter().flatten();
        map.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()))
            .collect()
    };
    let mut owners: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for entry in meta["managedFields"].as_array().into_iter().flatten() {
        let fields = entry["fieldsV1"]["f:spec"]
            .as_object()
            .into_iter()
            .flatten();
        let keys: BTreeSet<String> = fields
            .filter_map(|(field, _)| field.strip_prefix("f:").map(str::to_owned))
            .collect();
        if !keys.is_empty() {
            let manager = entry["manager"].as_str().unwrap_or_default();
            owners.insert(manager.to_owned(), keys);
        }
    }
    Known {
        label: meta["labels"]["c"].as_str().unwrap_or_default().to_owned(),
        spec: texts(&object["spec"]),
        note: object["status"]["note"].as_str().map(str::to_owned),
        held: meta["finalizers"]
            .as_array()
            .is_some_and(|list| !list.is_empty()),
        deleting: !meta["deletionTimestamp"].is_null(),
        generation: meta["generation"].as_u64().unwrap_or_default(),
        owners,
    }
}

fn items(list: &Value) -> Objects {
    let items = list["items"].as_array().into_iter().flatten();
    items.map(|item| (name(item), known(item))).collect()
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, server: &T, model: &T) -> Outcome<()> {
    if server == model {
        return Ok(());
    }
    Err(format!("{what}\n  server: {server:?}\n  model:  {model:?}"))
}

impl World {
    pub(super) async fn new(seed: u64) -> Outcome<Self> {
        let epoch = "2026-01-01T00:00:00Z".parse().expect("a time");
        let clock = Arc::new(TokioClock::starting_at(epoch));
        let server = ApiServer::builder()
            .clock(clock)
            .seed(seed)
            .build()
            .expect("a server");
        let client = Client::new(server.management().router(), "default");
        let mut world = Self {
            _server: server,
            client,
            objects: Objects::new(),
            newest: 0,
            first: 0,
            past: BTreeMap::new(),
        };
        let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let (code, answer) = world
            .send("POST", crds, "application/json", &definition())
            .await;
        same("the definition", &code, &201).map_err(|why| format!("{why}: {answer}"))?;
        let (_, list) = world.get(PATH).await;
        world.newest = revision(&list)?;
        world.first = world.newest;
        world.past.insert(world.newest, Objects::new());
        Ok(world)
    }

    async fn send(&self, method: &str, path: &str, media: &str, body: &Value) -> (u16, Value) {
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", media)
            .body(Body::from(text.into_bytes()))
            .expect("a valid request");
        let response = self.client.send(request).await.expect("the server answers");
        let code = response.status().as_u16();
        let bytes = response
            .into_body()
            .collect_bytes()
            .await
            .expect("the answer is whole");
        let value = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into_owned().into());
        (code, value)
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        self.send("GET", path, "application/json", &Value::Null)
            .await
    }

    async fn merge(&self, path: &str, body: &Value) -> (u16, Value) {
        self.send("PATCH", path, "application/merge-patch+json", body)
            .await
    }

    /// Does it to both, and compares.
    pub(super) async fn perform(&mut self, operation: &Operation) -> Outcome<()> {
        let before = self.objects.clone();
        let (code, expected) = self.carry_out(operation).await?;
        same("the status code", &code, &expected)?;
        let (_, list) = self.get(PATH).await;
        same("the objects", &items(&list), &self.objects)?;
        let newest = revision(&list)?;
        if before == self.objects {
            same(
                "a write without effect makes no revision",
                &newest,
                &self.newest,
            )?;
        } else if newest <= self.newest {
            return Err(format!("revision {newest} follows {}", self.newest));
        }
        self.newest = newest;
        self.past.insert(newest, self.objects.clone());
        Ok(())
    }

    /// The server's status code and the model's.
    async fn carry_out(&mut self, operation: &Operation) -> Outcome<(u16, u16)> {
        match operation {
            Operation::Create {
                name,
                label,
                spec,
                held,
                dry,
            } => {
                let finalizers = if *held {
                    json!(["x.dev/hold"])
                } else {
                    json!([])
                };
                let body = json!({
                    "apiVersion": API, "kind": "Thing", "spec": spec,
                    "metadata": {"name": name, "labels": {"c": label}, "finalizers": finalizers},
                });
                let path = query(PATH, *dry);
                let (code, _) = self.send("POST", &path, "application/json", &body).await;
                if self.objects.contains_key(name) {
                    return Ok((code, 409));
                }
                if !dry {
                    let known = Known::new(CLIENT, label, spec.clone(), *held);
                    self.objects.insert(name.clone(), known);
                }
                Ok((code, 201))
            }
            Operation::Apply {
                name,
                manager,
                spec,
                force,
            } => {
                let body = json!({
                    "apiVersion": API, "kind": "Thing", "metadata": {"name": name}, "spec": spec,
                });
                let path = format!("{PATH}/{name}?fieldManager={manager}&force={force}");
                let (code, _) = self
                    .send("PATCH", &path, "application/apply-patch+yaml", &body)
                    .await;
                let Some(known) = self.objects.get_mut(name) else {
                    let known = Known::new(manager, "", spec.clone(), false);
                    self.objects.insert(name.clone(), known);
                    return Ok((code, 201));
                };
                Ok((
                    code,
                    if known.apply(manager, spec, *force).is_ok() {
                        200
                    } else {
                        409
                    },
                ))
            }
            Operation::Replace { .. }
            | Operation::Merge { .. }
            | Operation::Swap { .. }
            | Operation::Relabel { .. }
            | Operation::Status { .. }
            | Operation::Release { .. } => self.change(operation).await,
            Operation::Delete { name, guarded, dry } => self.delete(name, *guarded, *dry).await,
            Operation::DeleteAll { label } => {
                let path = format!("{PATH}?labelSelector=c%3D{label}");
                let (code, _) = self
                    .send("DELETE", &path, "application/json", &Value::Null)
                    .await;
                self.objects
                    .retain(|_, known| known.label != *label || known.held);
                let held = self
                    .objects
                    .values_mut()
                    .filter(|known| known.label == *label);
                held.for_each(Known::mark);
                Ok((code, 200))
            }
            Operation::Get { name } => {
                let (code, object) = self.get(&format!("{PATH}/{name}")).await;
                let Some(model) = self.objects.get(name) else {
                    return Ok((code, 404));
                };
                same("the object", &known(&object), model)?;
                Ok((code, 200))
            }
            Operation::List { label, limit } => self.list(label.as_deref(), *limit).await,
            Operation::Past { back } => {
                let place = usize::try_from(*back).unwrap_or_default();
                let Some((at, model)) = self.past.iter().rev().nth(place) else {
                    return Ok((200, 200));
                };
                let path = format!("{PATH}?resourceVersion={at}&resourceVersionMatch=Exact");
                let (code, list) = self.get(&path).await;
                same("the past", &items(&list), model)?;
                Ok((code, 200))
            }
        }
    }

    /// Changes of an object that is there.
    async fn change(&mut self, operation: &Operation) -> Outcome<(u16, u16)> {
        let (Operation::Replace { name, .. }
        | Operation::Merge { name, .. }
        | Operation::Swap { name, .. }
        | Operation::Relabel { name, .. }
        | Operation::Status { name, .. }
        | Operation::Release { name }) = operation
        else {
            return Err("not a change".to_owned());
        };
        let path = format!("{PATH}/{name}");
        let Some(mut known) = self.objects.get(name).cloned() else {
            let (code, _) = self
                .merge(&format!("{path}?fieldManager={CLIENT}"), &json!({}))
                .await;
            return Ok((code, 404));
        };
        let own = format!("{path}?fieldManager={CLIENT}");
        let (code, expected) = match operation {
            Operation::Replace { spec, stale, .. } => {
                let (_, mut object) = self.get(&path).await;
                object["spec"] = json!(spec);
                if *stale {
                    object["metadata"]["resourceVersion"] = "1".into();
                    (
                        self.send("PUT", &own, "application/json", &object).await.0,
                        409,
                    )
                } else {
                    known.update(CLIENT, spec.clone());
                    (
                        self.send("PUT", &own, "application/json", &object).await.0,
                        200,
                    )
                }
            }
            Operation::Merge {
                key, value, dry, ..
            } => {
                let dry_run = if *dry { "&dryRun=All" } else { "" };
                let body = json!({"spec": {key: value}});
                if !dry {
                    let mut spec = known.spec.clone();
                    match value {
                        Some(value) => spec.insert(key.clone(), value.clone()),
                        None => spec.remove(key),
                    };
                    known.update(CLIENT, spec);
                }
                (self.merge(&format!("{own}{dry_run}"), &body).await.0, 200)
            }
            Operation::Swap {
                key,
                expected,
                value,
                ..
            } => {
                let place = format!("/spec/{key}");
                let body = json!([
                    {"op": "test", "path": place, "value": expected},
                    {"op": "replace", "path": place, "value": value},
                ]);
                let fits = known.spec.get(key) == Some(expected);
                if fits {
                    let mut spec = known.spec.clone();
                    spec.insert(key.clone(), value.clone());
                    known.update(CLIENT, spec);
                }
                let media = "application/json-patch+json";
                (
                    self.send("PATCH", &own, media, &body).await.0,
                    if fits { 200 } else { 422 },
                )
            }
            Operation::Relabel { label, .. } => {
                known.label.clone_from(label);
                (
                    self.merge(&own, &json!({"metadata": {"labels": {"c": label}}}))
                        .await
                        .0,
                    200,
                )
            }
            Operation::Status { note, .. } => {
                known.note = Some(note.clone());
                let path = format!("{path}/status?fieldManager={CLIENT}");
                let body = json!({"spec": {"a": "not by this path"}, "status": {"note": note}});
                (self.merge(&path, &body).await.0, 200)
            }
            _ => {
                known.held = false;
                (
                    self.merge(&own, &json!({"metadata": {"finalizers": null}}))
                        .await
                        .0,
                    200,
                )
            }
        };
        if known.deleting && !known.held {
            self.objects.remove(name);
        } else {
            self.objects.insert(name.clone(), known);
        }
        Ok((code, expected))
    }

    async fn delete(&mut self, name: &str, guarded: bool, dry: bool) -> Outcome<(u16, u16)> {
        let body = if guarded {
            json!({"preconditions": {"resourceVersion": "1"}})
        } else {
            json!({})
        };
        let path = query(&format!("{PATH}/{name}"), dry);
        let (code, _) = self.send("DELETE", &path, "application/json", &body).await;
        let Some(known) = self.objects.get_mut(name) else {
            return Ok((code, 404));
        };
        if guarded {
            return Ok((code, 409));
        }
        if !dry && known.held {
            known.mark();
        } else if !dry {
            self.objects.remove(name);
        }
        Ok((code, 200))
    }

    /// All pages of a list.
    async fn list(&self, label: Option<&str>, limit: usize) -> Outcome<(u16, u16)> {
        let selector = label.map_or(String::new(), |label| format!("&labelSelector=c%3D{label}"));
        let mut found = Vec::new();
        let mut next = String::new();
        loop {
            let path = format!("{PATH}?limit={limit}{selector}&continue={next}");
            let (code, list) = self.get(&path).await;
            same("the status code of a page", &code, &200)?;
            found.extend(
                list["items"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|o| (name(o), known(o))),
            );
            let Some(token) = list["metadata"]["continue"].as_str() else {
                break;
            };
            token.clone_into(&mut next);
        }
        let selected = |known: &Known| label.is_none_or(|label| known.label == label);
        let model = self.objects.iter().filter(|(_, known)| selected(known));
        let model: Vec<(String, Known)> = model.map(|(n, k)| (n.clone(), k.clone())).collect();
        same("a list", &found, &model)?;
        Ok((200, 200))
    }

    /// Watches from the beginning must tell how it came to this.
    pub(super) async fn check_end(&self) -> Outcome<()> {
        let all = self.replay("").await?;
        same("the end of a watch", &all, &self.objects)?;
        let red = self.replay("&labelSelector=c%3Dred").await?;
        let model = self
            .objects
            .iter()
            .filter(|(_, known)| known.label == "red");
        let model: Objects = model
            .map(|(name, known)| (name.clone(), known.clone()))
            .collect();
        same("the end of a watch with a selector", &red, &model)
    }

    /// Applies every event of a watch to nothing; names may only come and go in turn.
    async fn replay(&self, selector: &str) -> Outcome<Objects> {
        let first = self.first;
        let path = format!("{PATH}?watch=true&timeoutSeconds=1&resourceVersion={first}{selector}");
        let (code, text) = self.get(&path).await;
        same("the status code of a watch", &code, &200)?;
        let text = match text {
            Value::String(text) => text,
            one => one.to_string(),
        };
        let (mut seen, mut newest) = (Objects::new(), first);
        for line in text.lines() {
            let event: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
            let object = &event["object"];
            let at = revision(object)?;
            if at <= newest {
                return Err(format!("an event of revision {at} follows {newest}"));
            }
            newest = at;
            let (known_before, kind) = (seen.contains_key(&name(object)), event["type"].as_str());
            same(
                "who comes was away",
                &known_before,
                &(kind != Some("ADDED")),
            )?;
            match kind {
                Some("DELETED") => seen.remove(&name(object)),
                _ => seen.insert(name(object), known(object)),
            };
        }
        Ok(seen)
    }
}

fn query(path: &str, dry: bool) -> String {
    let dry_run = if dry { "&dryRun=All" } else { "" };
    format!("{path}?fieldManager={CLIENT}{dry_run}")
}
