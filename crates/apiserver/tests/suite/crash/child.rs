//! The process that is killed: a server and its clients, who tell what they do.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may fail, and this one speaks to the one that kills it"
)]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{DeleteParams, ListParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{CLIENTS, FOLDER, MARK, OBJECTS, SEED, State};
use crate::on_disk;

/// One line, whole or not at all.
fn say(text: &str) {
    println!("{MARK}{text} .");
}

/// Not a test of its own: see the module above.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn storm() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        return;
    };
    let seed: u64 = std::env::var(SEED).unwrap().parse().unwrap();
    let server = on_disk::open(&folder).unwrap();
    let client = Client::new(server.management().router(), "default");
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let secrets: Api<Secret> = Api::default_namespaced(client);
    let (mut found, _) = listed(&maps).await;
    let (more, at) = listed(&secrets).await;
    found.extend(more);
    for (name, (revision, value)) in &found {
        say(&format!("have {name} {revision} {value}"));
    }
    let watches = [
        tokio::spawn(tell(maps.clone(), at)),
        tokio::spawn(tell(secrets.clone(), at)),
    ];
    say(&format!("at {at}"));
    let clients = (0..CLIENTS).map(|number| {
        let own = |(name, _): &(&String, &State)| name.starts_with(&format!("c{number}-"));
        let client = Writer {
            number,
            maps: maps.clone(),
            secrets: secrets.clone(),
            objects: found
                .iter()
                .filter(own)
                .map(|(name, (revision, _))| (name.clone(), *revision))
                .collect(),
            random: fastrand::Rng::with_seed(seed * 100 + number as u64),
            seed,
        };
        client.write()
    });
    futures::future::join_all(clients).await;
    for watch in watches {
        watch.await.unwrap();
    }
}

/// The objects of a kind that clients made, and the revision of the list.
async fn listed<K>(api: &Api<K>) -> (BTreeMap<String, State>, u64)
where
    K: Resource + Clone + DeserializeOwned + Serialize + Debug,
{
    let list = api.list(&ListParams::default()).await.unwrap();
    let at = list.metadata.resource_version.clone().unwrap();
    let states = list.iter().map(|object| (object.name_any(), state(object)));
    (states.collect(), at.parse().unwrap())
}

/// Tells every event from a revision on.
async fn tell<K>(api: Api<K>, from: u64)
where
    K: Resource + Clone + DeserializeOwned + Serialize + Debug,
{
    let params = WatchParams::default();
    let watch = api.watch(&params, &from.to_string()).await.unwrap();
    let mut watch = Box::pin(watch);
    while let Some(event) = watch.next().await {
        let (kind, object) = match event.unwrap() {
            WatchEvent::Added(object) => ("ADDED", object),
            WatchEvent::Modified(object) => ("MODIFIED", object),
            WatchEvent::Deleted(object) => ("DELETED", object),
            other => panic!("{other:?}"),
        };
        let (revision, value) = state(&object);
        say(&format!(
            "saw {kind} {} {revision} {value}",
            object.name_any()
        ));
    }
}

/// Revision and value of an object; an object that is not as one write made it has the value
/// `torn`, which nothing writes.
fn state<K: Resource + Serialize>(object: &K) -> State {
    let revision = object.resource_version().unwrap().parse().unwrap();
    let object = serde_json::to_value(object).unwrap();
    let labelled = object["metadata"]["labels"]["value"].as_str();
    let value = labelled.unwrap_or("torn");
    let whole = object["metadata"]["annotations"]["fill"].as_str() == Some(&fill(value));
    let value = if whole { value } else { "torn" };
    (revision, value.to_owned())
}

/// A text that only this value has, of up to some thousand bytes.
fn fill(value: &str) -> String {
    let sum: usize = value.bytes().map(usize::from).sum();
    value.repeat(1 + sum * 7 % 300)
}

struct Writer {
    number: usize,
    maps: Api<ConfigMap>,
    secrets: Api<Secret>,
    /// The revisions of what there is.
    objects: BTreeMap<String, u64>,
    random: fastrand::Rng,
    seed: u64,
}

impl Writer {
    async fn write(mut self) {
        for count in 0.. {
            let index = self.random.usize(..OBJECTS);
            let name = format!("c{}-{index}", self.number);
            let value = format!("v{}-{}-{count}", self.seed, self.number);
            let revision = self.objects.remove(&name);
            let deletes = revision.is_some() && self.random.u8(..4) == 0;
            let shown = if deletes { "-" } else { &value };
            say(&format!("begin {} {name} {shown}", self.number));
            let wished = (!deletes).then(|| object(&name, &value, revision));
            let made = if index % 2 == 1 {
                perform(&self.secrets, &name, revision, wished).await
            } else {
                perform(&self.maps, &name, revision, wished).await
            };
            say(&format!("done {} {made}", self.number));
            if !deletes {
                self.objects.insert(name, made);
            }
        }
    }
}

/// Creates, replaces or deletes; the revision of what there is now.
async fn perform<K>(api: &Api<K>, name: &str, revision: Option<u64>, wished: Option<Value>) -> u64
where
    K: Resource + Clone + DeserializeOwned + Serialize + Debug,
{
    let Some(wished) = wished else {
        api.delete(name, &DeleteParams::default()).await.unwrap();
        return 0;
    };
    let wished: K = serde_json::from_value(wished).unwrap();
    let made = match revision {
        None => api.create(&PostParams::default(), &wished).await,
        Some(_) => api.replace(name, &PostParams::default(), &wished).await,
    };
    state(&made.unwrap()).0
}

fn object(name: &str, value: &str, revision: Option<u64>) -> Value {
    json!({"metadata": {
        "name": name, "resourceVersion": revision.map(|revision| revision.to_string()),
        "labels": {"value": value}, "annotations": {"fill": fill(value)},
    }})
}
