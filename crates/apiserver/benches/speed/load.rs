//! What is measured, on any server.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt;
use serde_json::json;
use tokio::task::JoinSet;

use crate::client::Target;

/// Bytes of the data of one object.
const PAYLOAD: usize = 2 * 1024;
const OBJECTS: usize = 10_000;
const TIMED: usize = 4_000;
const CLIENTS: usize = 32;
const WATCHERS: usize = 1_000;
const WATCHED_WRITES: usize = 40;
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The figures of one server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) name: String,
    /// To the first answer, with an empty store and with the objects in it.
    pub(crate) start: Option<Duration>,
    pub(crate) start_full: Option<Duration>,
    pub(crate) create_alone: Spread,
    pub(crate) create: Spread,
    pub(crate) update: Spread,
    pub(crate) get: Spread,
    pub(crate) list: Duration,
    pub(crate) list_bytes: usize,
    pub(crate) watch: Spread,
    /// Resident memory with the objects loaded by requests, in MiB.
    pub(crate) memory: Option<u64>,
    /// The same after lists and watches.
    pub(crate) memory_after: Option<u64>,
    /// The same after a restart.
    pub(crate) memory_restarted: Option<u64>,
}

/// Latencies and how many a second.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spread {
    pub(crate) per_second: f64,
    pub(crate) median: Duration,
    pub(crate) p99: Duration,
}

impl Spread {
    fn of(mut times: Vec<Duration>, whole: Duration) -> Self {
        times.sort_unstable();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        Self {
            per_second: times.len() as f64 / whole.as_secs_f64(),
            median: at(0.5),
            p99: at(0.99),
        }
    }
}

/// A ConfigMap of the usual size; its text depends on the number, so that nothing is shared.
fn object(number: usize, generation: usize) -> Bytes {
    let seed = format!("{number:08}-{generation:04}-");
    let payload = seed.repeat(PAYLOAD / seed.len() + 1);
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": format!("map-{number:06}"), "labels": {"app": "speed"}},
        "data": {"payload": &payload[..PAYLOAD]},
    })
    .to_string()
    .into()
}

fn path(number: usize) -> String {
    format!("{MAPS}/map-{number:06}")
}

/// Runs numbered requests from several clients, each waiting for its answer.
async fn timed<F>(
    target: &Target,
    numbers: std::ops::Range<usize>,
    clients: usize,
    request: F,
) -> Spread
where
    F: Fn(usize) -> (Method, String, Bytes) + Clone + Send + 'static,
{
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    for client in 0..clients {
        let (target, request) = (target.clone(), request.clone());
        let mine = numbers.clone().skip(client).step_by(clients);
        tasks.spawn(async move {
            let mut times = Vec::new();
            for number in mine {
                let (method, path, body) = request(number);
                let begun = Instant::now();
                target.call(method, &path, body).await;
                times.push(begun.elapsed());
            }
            times
        });
    }
    let times = tasks.join_all().await.concat();
    Spread::of(times, begun.elapsed())
}

/// Everything but starts and memory; `memory` is asked at the right moments.
pub(crate) async fn measure(
    target: &Target,
    figures: &mut Figures,
    memory: impl Fn() -> Option<u64>,
) {
    let create = |number| (Method::POST, MAPS.to_owned(), object(number, 0));
    figures.create_alone = timed(target, 0..500, 1, create).await;
    figures.create = timed(target, 500..500 + TIMED, CLIENTS, create).await;
    timed(target, 500 + TIMED..OBJECTS, CLIENTS, create).await;
    figures.memory = memory();
    let update = |number| (Method::PUT, path(number), object(number, 1));
    figures.update = timed(target, 0..TIMED, CLIENTS, update).await;
    let get = |number| (Method::GET, path(number), Bytes::new());
    figures.get = timed(target, 0..2 * TIMED, CLIENTS, get).await;
    list(target, figures).await;
    figures.watch = watch(target).await;
    figures.memory_after = memory();
}

/// The whole collection in one answer; the best of three, as the first one fills caches.
async fn list(target: &Target, figures: &mut Figures) {
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let begun = Instant::now();
        let text = target.call(Method::GET, MAPS, Bytes::new()).await;
        best = best.min(begun.elapsed());
        figures.list_bytes = text.len();
        let count = memchr::memmem::find_iter(&text, b"\"payload\":\"").count();
        assert_eq!(count, OBJECTS, "the list is whole");
    }
    figures.list = best;
}

/// From sending a write to each watcher having its event.
async fn watch(target: &Target) -> Spread {
    let (sender, mut events) = tokio::sync::mpsc::unbounded_channel();
    let list = target
        .call(Method::GET, &format!("{MAPS}?limit=1"), Bytes::new())
        .await;
    let list: serde_json::Value = serde_json::from_slice(&list).expect("a list");
    let from = list["metadata"]["resourceVersion"]
        .as_str()
        .expect("a revision");
    let watch = format!("{MAPS}?watch=1&resourceVersion={from}");
    let mut watchers = JoinSet::new();
    for _ in 0..WATCHERS {
        let answer = target.send(Method::GET, &watch, Bytes::new()).await;
        assert!(answer.status().is_success(), "{}", answer.status());
        let sender = sender.clone();
        watchers.spawn(async move {
            let mut body = answer.into_body();
            while let Some(Ok(frame)) = body.frame().await {
                let lines = frame
                    .data_ref()
                    .map_or(0, |data| memchr::memchr_iter(b'\n', data).count());
                for _ in 0..lines {
                    if sender.send(Instant::now()).is_err() {
                        return;
                    }
                }
            }
        });
    }
    let begun = Instant::now();
    let mut times = Vec::new();
    for write in 0..WATCHED_WRITES {
        let sent = Instant::now();
        let name = object(write, 2 + write);
        target.call(Method::PUT, &path(write), name).await;
        for _ in 0..WATCHERS {
            let seen = events.recv().await.expect("watchers are there");
            times.push(seen.saturating_duration_since(sent));
        }
    }
    Spread::of(times, begun.elapsed())
}
