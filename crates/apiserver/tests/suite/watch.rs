//! Watches: selections that objects enter and leave, bookmarks, resumption, expiry, timeouts.

use std::sync::Arc;
use std::time::Duration;

use futures::{AsyncBufReadExt, StreamExt};
use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use remuda_apiserver::{ApiServer, TokioClock};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn client() -> Client {
    let epoch = "2026-01-01T00:00:00Z".parse().expect("a time");
    let clock = Arc::new(TokioClock::starting_at(epoch));
    let server = ApiServer::builder()
        .clock(clock)
        .seed(3)
        .build()
        .expect("a server");
    Client::new(server.management().router(), "default")
}

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), "default")
}

fn map(name: &str, color: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name, "labels": {"color": color}}}))
        .expect("a config map")
}

/// Opens a watch and returns its events as (type, object).
async fn watch(
    client: &Client,
    query: &str,
) -> impl futures::Stream<Item = (String, Value)> + Unpin + use<> {
    let request = Request::get(format!("{MAPS}?watch=true&{query}"));
    let request = request.body(Vec::new()).expect("a valid request");
    let lines = client
        .request_stream(request)
        .await
        .expect("a stream")
        .lines();
    lines
        .map(|line| {
            let mut event: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
            let kind = event["type"].as_str().expect("a type").to_owned();
            (kind, event["object"].take())
        })
        .boxed()
}

fn named(event: &(String, Value)) -> (&str, &str) {
    (
        &event.0,
        event.1["metadata"]["name"].as_str().unwrap_or_default(),
    )
}

async fn label(client: &Client, name: &str, color: &str) {
    let patch = Patch::Merge(json!({"metadata": {"labels": {"color": color}}}));
    maps(client)
        .patch(name, &PatchParams::default(), &patch)
        .await
        .expect("a patch");
}

#[tokio::test(start_paused = true)]
async fn an_object_enters_and_leaves_a_selection() {
    let client = client();
    let mut events = watch(&client, "labelSelector=color%3Dred").await;
    maps(&client)
        .create(&PostParams::default(), &map("a", "blue"))
        .await
        .unwrap();
    label(&client, "a", "red").await;
    let entered = events.next().await.unwrap();
    assert_eq!(named(&entered), ("ADDED", "a"));
    let patch = Patch::Merge(json!({"data": {"k": "v"}}));
    maps(&client)
        .patch("a", &PatchParams::default(), &patch)
        .await
        .unwrap();
    assert_eq!(named(&events.next().await.unwrap()), ("MODIFIED", "a"));
    label(&client, "a", "blue").await;
    let left = events.next().await.unwrap();
    assert_eq!(named(&left), ("DELETED", "a"));
    assert_eq!(
        left.1["metadata"]["labels"]["color"], "red",
        "the last state that was selected"
    );
    let now = maps(&client)
        .get("a")
        .await
        .unwrap()
        .resource_version()
        .unwrap();
    assert_eq!(
        left.1["metadata"]["resourceVersion"], now,
        "but of the change's revision"
    );
    maps(&client)
        .delete("a", &DeleteParams::default())
        .await
        .unwrap();
    maps(&client)
        .create(&PostParams::default(), &map("b", "red"))
        .await
        .unwrap();
    assert_eq!(
        named(&events.next().await.unwrap()),
        ("ADDED", "b"),
        "no event in between"
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_one_name_sees_no_other() {
    let client = client();
    let mut events = watch(&client, "fieldSelector=metadata.name%3Db").await;
    for name in ["a", "b", "c"] {
        maps(&client)
            .create(&PostParams::default(), &map(name, "x"))
            .await
            .unwrap();
    }
    assert_eq!(named(&events.next().await.unwrap()), ("ADDED", "b"));
    maps(&client)
        .delete("b", &DeleteParams::default())
        .await
        .unwrap();
    assert_eq!(named(&events.next().await.unwrap()), ("DELETED", "b"));
}

#[tokio::test(start_paused = true)]
async fn a_watch_resumes_after_a_revision_without_loss_or_repetition() {
    let client = client();
    let first = maps(&client)
        .create(&PostParams::default(), &map("a", "x"))
        .await
        .unwrap();
    maps(&client)
        .create(&PostParams::default(), &map("b", "x"))
        .await
        .unwrap();
    maps(&client)
        .delete("a", &DeleteParams::default())
        .await
        .unwrap();
    let from = first.resource_version().unwrap();
    let mut events = watch(&client, &format!("resourceVersion={from}")).await;
    let seen = [events.next().await.unwrap(), events.next().await.unwrap()];
    assert_eq!(
        seen.each_ref().map(named),
        [("ADDED", "b"), ("DELETED", "a")]
    );
    let quiet = timeout(Duration::from_secs(30), events.next()).await;
    assert!(quiet.is_err(), "nothing else happened");
}

#[tokio::test(start_paused = true)]
async fn initial_events_end_with_a_marked_bookmark() {
    let client = client();
    maps(&client)
        .create(&PostParams::default(), &map("a", "x"))
        .await
        .unwrap();
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut events = watch(&client, query).await;
    assert_eq!(named(&events.next().await.unwrap()), ("ADDED", "a"));
    let (kind, object) = events.next().await.unwrap();
    assert_eq!(kind, "BOOKMARK");
    assert_eq!(
        object["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
}

#[tokio::test(start_paused = true)]
async fn a_quiet_watch_gets_a_bookmark_a_minute_and_ends_in_time() {
    let client = client();
    let start = Instant::now();
    let list = maps(&client).list(&ListParams::default()).await.unwrap();
    let from = list.metadata.resource_version.unwrap();
    let query = format!("resourceVersion={from}&allowWatchBookmarks=true&timeoutSeconds=290");
    let mut events = watch(&client, &query).await;
    let mut bookmarks = Vec::new();
    while let Some((kind, object)) = events.next().await {
        assert_eq!(
            (kind.as_str(), &object["metadata"]["resourceVersion"]),
            ("BOOKMARK", &json!(from))
        );
        bookmarks.push(start.elapsed().as_secs());
    }
    assert_eq!(bookmarks, [60, 120, 180, 240]);
    assert_eq!(start.elapsed().as_secs(), 290);
}

#[tokio::test(start_paused = true)]
async fn a_revision_before_the_log_is_gone() {
    let client = client();
    let first = maps(&client)
        .create(&PostParams::default(), &map("a", "x"))
        .await
        .unwrap();
    let from = first.resource_version().unwrap();
    let page = maps(&client)
        .list(&ListParams::default().limit(1))
        .await
        .unwrap();
    // The log is bounded in events and in bytes; bytes that cannot be packed are quicker to fill.
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..40 {
        let letters = std::iter::repeat_with(|| random.alphanumeric());
        let filler: String = letters.take(300_000).collect();
        let patch = Patch::Merge(json!({"data": {"filler": filler}}));
        maps(&client)
            .patch("a", &PatchParams::default(), &patch)
            .await
            .unwrap();
    }
    let mut events = watch(&client, &format!("resourceVersion={from}")).await;
    let (kind, status) = events.next().await.unwrap();
    assert_eq!(kind, "ERROR");
    assert_eq!(
        (&status["code"], &status["reason"]),
        (&json!(410), &json!("Expired"))
    );
    assert!(events.next().await.is_none(), "and the stream ends");
    let old = ListParams::default().matching(kube::api::VersionMatch::Exact);
    let old = old.at(&page.metadata.resource_version.unwrap());
    let kube::Error::Api(status) = maps(&client).list(&old).await.unwrap_err() else {
        panic!("an API error")
    };
    assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
}

#[tokio::test(start_paused = true)]
async fn a_thousand_watchers_see_every_change() {
    let client = client();
    let mut watchers = Vec::new();
    for _ in 0..1_000 {
        watchers.push(watch(&client, "").await);
    }
    for index in 0..5 {
        maps(&client)
            .create(&PostParams::default(), &map(&format!("m-{index}"), "x"))
            .await
            .unwrap();
    }
    for watcher in watchers {
        let seen: Vec<(String, Value)> = watcher.take(5).collect().await;
        let names: Vec<&str> = seen.iter().map(|event| named(event).1).collect();
        assert_eq!(names, ["m-0", "m-1", "m-2", "m-3", "m-4"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_at_an_earlier_revision_shows_that_moment() {
    let client = client();
    maps(&client)
        .create(&PostParams::default(), &map("a", "x"))
        .await
        .unwrap();
    let then = maps(&client)
        .create(&PostParams::default(), &map("b", "x"))
        .await
        .unwrap();
    maps(&client)
        .delete("a", &DeleteParams::default())
        .await
        .unwrap();
    label(&client, "b", "y").await;
    let exact = ListParams::default().matching(kube::api::VersionMatch::Exact);
    let old = maps(&client)
        .list(&exact.at(&then.resource_version().unwrap()))
        .await
        .unwrap();
    let shown: Vec<(String, String)> = old
        .iter()
        .map(|map| (map.name_any(), map.labels()["color"].clone()))
        .collect();
    assert_eq!(shown, [("a".into(), "x".into()), ("b".into(), "x".into())]);
}

#[tokio::test(start_paused = true)]
async fn events_are_one_store_with_two_spellings() {
    use k8s_openapi::api::events::v1::Event;
    let client = client();
    let core: Api<k8s_openapi::api::core::v1::Event> = Api::namespaced(client.clone(), "default");
    let event = serde_json::from_value(json!({
        "metadata": {"name": "e"}, "reason": "Drained", "message": "gone",
        "involvedObject": {"kind": "Node", "name": "n1"},
        "source": {"component": "drainer"}, "count": 3, "type": "Normal",
    }))
    .unwrap();
    core.create(&PostParams::default(), &event).await.unwrap();
    let grouped: Api<Event> = Api::namespaced(client, "default");
    let seen = grouped.get("e").await.unwrap();
    assert_eq!(seen.note.as_deref(), Some("gone"));
    assert_eq!(seen.regarding.unwrap().name.as_deref(), Some("n1"));
    assert_eq!(seen.deprecated_count, Some(3));
    let by_object = ListParams::default().fields("involvedObject.name=n1,reason=Drained");
    assert_eq!(core.list(&by_object).await.unwrap().items.len(), 1);
    let other = ListParams::default().fields("involvedObject.name=n2");
    assert_eq!(core.list(&other).await.unwrap().items.len(), 0);
    let regarding = ListParams::default().fields("regarding.name=n1");
    assert_eq!(grouped.list(&regarding).await.unwrap().items.len(), 1);
}
