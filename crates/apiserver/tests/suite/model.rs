//! Random sequences of verbs, from a seed, against the server and against a plain map.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::{AsyncBufReadExt, StreamExt};
use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client, ResourceExt};
use remuda_apiserver::{ApiServer, TokioClock};
use serde_json::{Value, json};

/// What the model knows of an object.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    value: String,
    held: bool,
    deleting: bool,
    revision: u64,
}

type Model = BTreeMap<String, Known>;

fn revision(map: &ConfigMap) -> u64 {
    map.resource_version()
        .and_then(|text| text.parse().ok())
        .expect("a revision")
}

fn known(map: &ConfigMap) -> Known {
    Known {
        value: map
            .data
            .as_ref()
            .and_then(|data| data.get("v").cloned())
            .unwrap_or_default(),
        held: !map.finalizers().is_empty(),
        deleting: map.metadata.deletion_timestamp.is_some(),
        revision: revision(map),
    }
}

fn code(error: kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        other => unreachable!("{other}"),
    }
}

/// One world: the server, the model, and what the watch has said.
struct World {
    api: Api<ConfigMap>,
    model: Model,
    newest: u64,
    rng: fastrand::Rng,
}

impl World {
    fn name(&mut self) -> String {
        format!("m-{}", self.rng.usize(..5))
    }

    fn text(&mut self) -> String {
        self.rng.usize(..3).to_string()
    }

    fn wrote(&mut self, revision: u64) {
        assert!(revision > self.newest, "revisions grow");
        self.newest = revision;
    }

    async fn create(&mut self) {
        let (name, value, held) = (self.name(), self.text(), self.rng.bool());
        let finalizers = if held {
            json!(["example.com/hold"])
        } else {
            json!([])
        };
        let map =
            json!({"metadata": {"name": name, "finalizers": finalizers}, "data": {"v": value}});
        let map = serde_json::from_value(map).expect("a config map");
        match (
            self.api.create(&PostParams::default(), &map).await,
            self.model.get(&name),
        ) {
            (Ok(made), None) => {
                let now = known(&made);
                assert_eq!((&now.value, now.held, now.deleting), (&value, held, false));
                self.wrote(now.revision);
                self.model.insert(name, now);
            }
            (Err(error), Some(_)) => assert_eq!(code(error), 409),
            (outcome, known) => unreachable!("{outcome:?} {known:?}"),
        }
    }

    async fn replace(&mut self) {
        let (name, value, stale) = (self.name(), self.text(), self.rng.u8(..4) == 0);
        let Some(before) = self.model.get(&name).cloned() else {
            let map = json!({"metadata": {"name": name}});
            let map = serde_json::from_value(map).expect("a config map");
            let error = self
                .api
                .replace(&name, &PostParams::default(), &map)
                .await
                .expect_err("it is not there");
            return assert_eq!(code(error), 404);
        };
        let mut map = self.api.get(&name).await.expect("the model knows it");
        assert_eq!(known(&map), before);
        map.data = Some([("v".to_owned(), value.clone())].into());
        if stale {
            map.metadata.resource_version = Some((before.revision - 1).to_string());
        }
        match self.api.replace(&name, &PostParams::default(), &map).await {
            Ok(after) => {
                assert!(!stale);
                self.changed(&name, Known { value, ..before }, &after);
            }
            Err(error) => assert_eq!((code(error), stale), (409, true)),
        }
    }

    /// An answer to a write that may have changed nothing.
    fn changed(&mut self, name: &str, expected: Known, after: &ConfigMap) {
        let now = known(after);
        let before = self.model.get(name).cloned().expect("the model knows it");
        if expected == before {
            assert_eq!(
                now, before,
                "a write without effect makes no revision: {after:#?}"
            );
            return;
        }
        assert_eq!(
            Known {
                revision: 0,
                ..now.clone()
            },
            Known {
                revision: 0,
                ..expected
            }
        );
        self.wrote(now.revision);
        self.model.insert(name.to_owned(), now);
    }

    async fn patch(&mut self) {
        let (name, value) = (self.name(), self.text());
        let patch = Patch::Merge(json!({"data": {"v": value}}));
        match (
            self.api.patch(&name, &PatchParams::default(), &patch).await,
            self.model.get(&name),
        ) {
            (Ok(after), Some(before)) => {
                let expected = Known {
                    value,
                    ..before.clone()
                };
                self.changed(&name, expected, &after);
            }
            (Err(error), None) => assert_eq!(code(error), 404),
            (outcome, known) => unreachable!("{outcome:?} {known:?}"),
        }
    }

    async fn release(&mut self) {
        let name = self.name();
        let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        match (
            self.api.patch(&name, &PatchParams::default(), &patch).await,
            self.model.get(&name),
        ) {
            (Ok(after), Some(before)) if before.deleting => {
                self.wrote(revision(&after));
                self.model.remove(&name);
            }
            (Ok(after), Some(before)) => {
                let expected = Known {
                    held: false,
                    ..before.clone()
                };
                self.changed(&name, expected, &after);
            }
            (Err(error), None) => assert_eq!(code(error), 404),
            (outcome, known) => unreachable!("{outcome:?} {known:?}"),
        }
    }

    async fn delete(&mut self) {
        let (name, guarded) = (self.name(), self.rng.u8(..4) == 0);
        let mut params = DeleteParams::default();
        if guarded {
            let resource_version = Some("1".to_owned());
            params.preconditions = Some(Preconditions {
                resource_version,
                uid: None,
            });
        }
        let outcome = self.api.delete(&name, &params).await;
        match (outcome, self.model.get(&name).cloned()) {
            (Err(error), None) => assert_eq!(code(error), 404),
            (Err(error), Some(_)) => assert_eq!((code(error), guarded), (409, true)),
            (Ok(answer), Some(before)) => {
                assert!(!guarded);
                if before.held {
                    let after = answer.left().expect("a held object is shown");
                    let expected = Known {
                        deleting: true,
                        ..before
                    };
                    self.changed(&name, expected, &after);
                } else {
                    assert!(answer.is_right());
                    self.model.remove(&name);
                }
            }
            (Ok(answer), None) => unreachable!("{answer:?}"),
        }
    }

    async fn check(&self) {
        let list = self
            .api
            .list(&ListParams::default().limit(2))
            .await
            .expect("a list");
        let mut all = list.items;
        let mut token = list.metadata.continue_.unwrap_or_default();
        while !token.is_empty() {
            let params = ListParams::default().limit(2).continue_token(&token);
            let page = self.api.list(&params).await.expect("a page");
            all.extend(page.items);
            token = page.metadata.continue_.unwrap_or_default();
        }
        let stored: Model = all.iter().map(|map| (map.name_any(), known(map))).collect();
        assert_eq!(stored, self.model);
    }
}

/// Applies every event of a watch to an empty map; names may only come and go in turn.
async fn replay(client: &Client, until: u64) -> Model {
    let path =
        "/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=4&timeoutSeconds=1";
    let request = Request::get(path)
        .body(Vec::new())
        .expect("a valid request");
    let mut lines = client
        .request_stream(request)
        .await
        .expect("a stream")
        .lines();
    let mut seen = Model::new();
    let mut newest = 0;
    while let Some(line) = lines.next().await {
        let event: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        let map: ConfigMap = serde_json::from_value(event["object"].clone()).expect("a config map");
        assert!(revision(&map) > newest, "events come in order");
        newest = revision(&map);
        let before = match event["type"].as_str() {
            Some("ADDED") => {
                assert!(seen.insert(map.name_any(), known(&map)).is_none());
                continue;
            }
            Some("MODIFIED") => seen.insert(map.name_any(), known(&map)),
            _ => seen.remove(&map.name_any()),
        };
        assert!(before.is_some());
    }
    assert!(newest >= until);
    seen
}

async fn run(seed: u64) {
    let epoch = "2026-01-01T00:00:00Z".parse().expect("a time");
    let clock = Arc::new(TokioClock::starting_at(epoch));
    let server = ApiServer::builder()
        .clock(clock)
        .seed(seed)
        .build()
        .expect("a server");
    let client = Client::new(server.management().router(), "default");
    let rng = fastrand::Rng::with_seed(seed);
    let api = Api::namespaced(client.clone(), "default");
    let mut world = World {
        api,
        model: Model::new(),
        newest: 0,
        rng,
    };
    for _ in 0..120 {
        match world.rng.usize(..6) {
            0 => world.create().await,
            1 => world.replace().await,
            2 => world.patch().await,
            3 => world.release().await,
            4 => world.delete().await,
            _ => world.check().await,
        }
    }
    world.check().await;
    assert_eq!(replay(&client, world.newest).await, world.model);
}

#[tokio::test(start_paused = true)]
async fn the_server_is_a_map_with_revisions() {
    for seed in 0..40 {
        println!("seed {seed}");
        run(seed).await;
    }
}
