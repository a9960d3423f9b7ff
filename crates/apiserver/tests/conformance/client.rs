//! Carries steps out, as any client of the API would.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use http::{Request, Response};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use crate::cases::{Step, Topic, overlay};
use crate::compare::normalize;

/// How often a request is sent again to a server that is still setting up.
const TRIES: usize = 100;
/// How long a server gets between two tries, and before an event that is due.
const PAUSE: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(20);
/// How long one step may take.
const LONGEST: Duration = Duration::from_mins(1);

type Chunks = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

/// The events of a watch.
struct Watch {
    chunks: Chunks,
    text: Vec<u8>,
    ready: VecDeque<Value>,
}

impl Watch {
    fn of(response: Response<Body>) -> Self {
        let frames = response.into_body().into_data_stream();
        let chunks = frames.filter_map(|chunk| async move { chunk.ok() });
        Self {
            chunks: Box::pin(chunks),
            text: Vec::new(),
            ready: VecDeque::new(),
        }
    }

    /// The next event; `None` when the watch has ended or says nothing any more.
    async fn next(&mut self) -> Option<Value> {
        while self.ready.is_empty() {
            let chunk = tokio::time::timeout(PATIENCE, self.chunks.next())
                .await
                .ok()?;
            let ended = chunk.is_none();
            self.text.extend_from_slice(&chunk.unwrap_or_default());
            while let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.text.drain(..=end).collect();
                self.ready.push_back(decode(&line));
            }
            if ended && self.text.is_empty() {
                break;
            } else if ended {
                self.ready
                    .push_back(decode(&std::mem::take(&mut self.text)));
            }
        }
        self.ready.pop_front()
    }

    async fn take(&mut self, count: usize) -> Vec<Value> {
        let mut events = Vec::new();
        while events.len() < count {
            match self.next().await {
                Some(event) => events.push(event),
                None => break,
            }
        }
        events
    }
}

/// One topic on one server.
pub(crate) struct Run<'a> {
    client: &'a Client,
    kept: BTreeMap<String, String>,
    watches: BTreeMap<String, Watch>,
}

/// Carries out every step of a topic; one answer a step.
pub(crate) async fn answers(client: &Client, topic: &Topic) -> Vec<Value> {
    let mut run = Run {
        client,
        kept: BTreeMap::new(),
        watches: BTreeMap::new(),
    };
    run.prepare(topic).await;
    let mut answers = Vec::new();
    for step in topic.steps() {
        let answer = tokio::time::timeout(LONGEST, run.step(&step)).await;
        let unanswered = |_| panic!("{} / {}: no end of the answer", topic.name, step.title);
        answers.push(answer.unwrap_or_else(unanswered));
    }
    answers
}

fn get(path: &str) -> Request<Body> {
    Request::get(path)
        .body(Body::empty())
        .expect("a valid request")
}

fn post(path: &str, body: &Value) -> Request<Body> {
    Request::post(path)
        .header("content-type", "application/json")
        .header("user-agent", "conformance/1")
        .body(Body::from(body.to_string().into_bytes()))
        .expect("a valid request")
}

impl Run<'_> {
    /// Makes the topic's namespace and definitions.
    async fn prepare(&self, topic: &Topic) {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": topic.name}});
        self.made(post("/api/v1/namespaces", &namespace)).await;
        for name in &topic.definitions {
            let definition = topic.definition(name);
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            self.made(post(path, &definition)).await;
            self.wait_until_served(&definition).await;
        }
    }

    async fn made(&self, request: Request<Body>) {
        let answer = read(self.client.send(request).await.expect("the server answers")).await;
        assert_eq!(answer["code"], 201, "{answer}");
    }

    /// A genuine server sets up a new kind in the background.
    async fn wait_until_served(&self, definition: &Value) {
        let text = |pointer: &str| {
            definition
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let plural = text("/spec/names/plural");
        let path = format!(
            "/apis/{}/{}/{plural}",
            text("/spec/group"),
            text("/spec/versions/0/name")
        );
        let mut served = 0;
        for _ in 0..TRIES {
            let answer = self
                .client
                .send(get(&path))
                .await
                .expect("the server answers");
            // Its handlers are swapped once more right after they came.
            served = if answer.status().is_success() {
                served + 1
            } else {
                0
            };
            if served == 2 {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
        panic!("{plural} are not served");
    }

    /// A text with what was kept.
    fn filled(&self, text: &str) -> String {
        let fill = |text: String, (name, value): (&String, &String)| {
            text.replace(&format!("${name}"), value)
        };
        self.kept.iter().rev().fold(text.to_owned(), fill)
    }

    async fn step(&mut self, step: &Step) -> Value {
        let request = self.filled(&step.request);
        let mut words = request.split(' ');
        let mut word = || words.next().expect("the steps are written out");
        let (method, path, media) = (word(), word(), word());
        if method == "READ" {
            let watch = self.watches.get_mut(path).expect("an open watch");
            let events = watch.take(step.events.expect("a count of events")).await;
            return normalize(json!({"code": 200, "body": events, "warnings": []}));
        }
        let body = self.body(step).await;
        let accept = step.accept.as_deref().unwrap_or("application/json");
        let make = || {
            let request = Request::builder()
                .method(method)
                .uri(path)
                .header("accept", accept)
                .header("user-agent", "conformance/1");
            match &body {
                Some(body) => request
                    .header("content-type", media)
                    .body(Body::from(body.clone().into_bytes())),
                None => request.body(Body::empty()),
            }
            .expect("a valid request")
        };
        let streams = step.events.is_some() || step.open.is_some();
        let answer = self.send(make, step.until, streams).await;
        let response = match answer {
            Ok(response) => response,
            Err(mut answer) => {
                self.keep(step, &answer["body"]);
                if step.brief && answer["body"]["kind"] != "Status" {
                    answer["body"] = Value::Null;
                }
                return normalize(answer);
            }
        };
        let mut watch = Watch::of(response);
        let events = watch.take(step.events.unwrap_or_default()).await;
        if let Some(last) = events.last() {
            self.keep(step, last);
        }
        if let Some(name) = &step.open {
            self.watches.insert(name.clone(), watch);
        }
        normalize(json!({"code": 200, "body": events, "warnings": []}))
    }

    fn keep(&mut self, step: &Step, body: &Value) {
        for (name, pointer) in &step.keep {
            let value = match body.pointer(pointer) {
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => String::new(),
            };
            self.kept.insert(name.clone(), value);
        }
    }

    /// The body as text. Text that YAML cannot hold, a field that is named twice for one, is sent as
    /// it is written.
    async fn body(&self, step: &Step) -> Option<String> {
        if let Some(path) = &step.live {
            let response = self.client.send(get(&self.filled(path))).await;
            let mut object = read(response.expect("the server answers")).await["body"].take();
            if let Some(body) = &step.body {
                overlay(&mut object, body);
            }
            return Some(self.filled(&object.to_string()));
        }
        match step.body.as_ref()? {
            Value::String(text) => Some(self.filled(text)),
            body => Some(self.filled(&body.to_string())),
        }
    }

    /// Sends a request until it is answered as it should be. A watch is handed over unread, every
    /// other answer whole.
    async fn send(
        &self,
        make: impl Fn() -> Request<Body>,
        until: Option<u16>,
        streams: bool,
    ) -> Result<Response<Body>, Value> {
        let mut last = Value::Null;
        for _ in 0..TRIES {
            let response = self.client.send(make()).await.expect("the server answers");
            let status = response.status().as_u16();
            if streams && status == 200 {
                return Ok(response);
            }
            last = read(response).await;
            // Busy while it sets up a kind; an eviction that must wait says so too, but not this.
            let busy = status == 429 && last["body"].to_string().contains("initializ");
            if !busy && until.is_none_or(|until| until == status) {
                return Err(last);
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(last)
    }
}

async fn read(response: Response<Body>) -> Value {
    let code = response.status().as_u16();
    let warnings: Vec<String> = response
        .headers()
        .get_all(http::header::WARNING)
        .iter()
        .filter_map(|value| value.to_str().ok().map(str::to_owned))
        .collect();
    let yaml = response.headers().get(http::header::CONTENT_TYPE);
    let yaml = yaml.is_some_and(|media| media == "application/yaml");
    let bytes = response
        .into_body()
        .collect_bytes()
        .await
        .expect("the answer is whole");
    let body = if yaml {
        let value: Value = serde_saphyr::from_slice(&bytes).expect("an answer in YAML");
        json!({"yaml": value})
    } else {
        decode(&bytes)
    };
    json!({"code": code, "body": body, "warnings": warnings})
}

/// One JSON value, the JSON lines of a watch, or a text.
fn decode(bytes: &[u8]) -> Value {
    let text = String::from_utf8_lossy(bytes);
    let lines = || -> Result<Value, serde_json::Error> {
        text.lines().map(serde_json::from_str::<Value>).collect()
    };
    serde_json::from_str(&text)
        .or_else(|_| lines())
        .unwrap_or_else(|_| text.into_owned().into())
}
