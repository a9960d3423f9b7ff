//! The same requests against this server and against a genuine Kubernetes API server.
//!
//! `cases.yaml` holds the requests, `genuine.jsonl` the answers of a genuine server, one a line.
//! The embedded server must answer like the recording. Where a genuine server can be had, the
//! recording is checked against it: `CONFORMANCE_KUBECONFIG` names one, else the workplace's own is
//! started; `CONFORMANCE_RECORD=1` records anew.
#![allow(clippy::panic, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use http::Request;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use remuda_apiserver::ApiServer;
use serde_json::{Map, Value, json};

mod compare;
mod kubectl;
use compare::{normalize, overlay};

const RECORD: &str = "CONFORMANCE_RECORD";
const KUBECONFIG: &str = "CONFORMANCE_KUBECONFIG";

fn here(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/conformance")
        .join(file)
}

/// One request of a case.
struct Step {
    title: String,
    spec: Value,
}

fn steps() -> Vec<Step> {
    let text = std::fs::read_to_string(here("cases.yaml")).expect("the cases are readable");
    let cases: Vec<Value> = serde_saphyr::from_str(&text).expect("the cases are YAML");
    let mut steps = Vec::new();
    for case in &cases {
        let name = case["name"].as_str().expect("a case has a name");
        for (index, spec) in case["steps"]
            .as_array()
            .expect("a case has steps")
            .iter()
            .enumerate()
        {
            let title = format!(
                "{name} {index}: {}",
                spec["do"].as_str().unwrap_or_default()
            );
            steps.push(Step {
                title,
                spec: spec.clone(),
            });
        }
    }
    steps
}

/// Sends one request; a server that is still setting up a kind is asked again.
async fn send(client: &Client, request: impl Fn() -> Request<Body>) -> Value {
    for _ in 0..20 {
        let response = client.send(request()).await.expect("the server answers");
        let status = response.status().as_u16();
        let warnings: Vec<String> = response
            .headers()
            .get_all(http::header::WARNING)
            .iter()
            .filter_map(|value| value.to_str().ok().map(str::to_owned))
            .collect();
        let bytes = response
            .into_body()
            .collect_bytes()
            .await
            .expect("the answer is whole");
        if status == 429 {
            tokio::time::sleep(Duration::from_millis(300)).await;
            continue;
        }
        let body = decode(&bytes);
        return json!({"code": status, "body": body, "warnings": warnings});
    }
    panic!("the server is busy for good");
}

/// One JSON value, the JSON lines of a watch, or a text.
fn decode(bytes: &[u8]) -> Value {
    let text = String::from_utf8_lossy(bytes);
    serde_json::from_str(&text)
        .or_else(|_| {
            text.lines()
                .map(serde_json::from_str::<Value>)
                .collect::<Result<Value, _>>()
        })
        .unwrap_or_else(|_| text.into_owned().into())
}

/// The newest revision of a collection.
async fn revision(client: &Client, path: &str) -> String {
    let get = || {
        Request::get(path)
            .body(Body::empty())
            .expect("a valid request")
    };
    let list = send(client, get).await;
    list["body"]["metadata"]["resourceVersion"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

async fn perform(client: &Client, step: &Step, mark: &mut String) -> Value {
    if let Some(path) = step.spec.get("mark").and_then(Value::as_str) {
        *mark = revision(client, path).await;
    }
    let mut words = step.spec["do"]
        .as_str()
        .expect("a step does something")
        .split(' ');
    let method = words.next().unwrap_or("GET").to_owned();
    let path = words.next().unwrap_or("/").replace("MARK", mark);
    let media_type = words.next().unwrap_or("application/json").to_owned();
    let mut body = step.spec.get("body").cloned();
    if let Some(live) = step.spec.get("live").and_then(Value::as_str) {
        let get = || {
            Request::get(live)
                .body(Body::empty())
                .expect("a valid request")
        };
        let mut object = send(client, get).await["body"].take();
        overlay(
            &mut object,
            &body.unwrap_or_else(|| Value::Object(Map::new())),
        );
        body = Some(object);
    }
    let accept = step
        .spec
        .get("accept")
        .and_then(Value::as_str)
        .unwrap_or("application/json");
    let request = || {
        let request = Request::builder()
            .method(method.as_str())
            .uri(&path)
            .header("accept", accept)
            .header("user-agent", "conformance/1");
        match &body {
            // Text that YAML cannot hold, a field that is named twice for one, is written as it is.
            Some(Value::String(text)) => {
                let request = request.header("content-type", &media_type);
                request.body(Body::from(text.clone().into_bytes()))
            }
            Some(body) => request
                .header("content-type", &media_type)
                .body(Body::from(body.to_string().into_bytes())),
            None => request.body(Body::empty()),
        }
        .expect("a valid request")
    };
    let answer = normalize(send(client, request).await);
    if step.spec.get("settle").is_some() {
        wait_until_established(client, body.as_ref()).await;
    }
    answer
}

/// A genuine server sets up a new kind in the background.
async fn wait_until_established(client: &Client, definition: Option<&Value>) {
    let name = definition
        .and_then(|d| d["metadata"]["name"].as_str())
        .unwrap_or_default();
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
    for _ in 0..100 {
        let get = || {
            Request::get(&path)
                .body(Body::empty())
                .expect("a valid request")
        };
        let answer = send(client, get).await;
        let conditions = answer["body"]["status"]["conditions"].as_array().cloned();
        let is_established = |c: &Value| c["type"] == "Established" && c["status"] == "True";
        if conditions.into_iter().flatten().any(|c| is_established(&c)) {
            // Its handlers follow the condition by a moment that nothing announces.
            tokio::time::sleep(Duration::from_secs(2)).await;
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{name} was never established");
}

async fn answers(client: &Client) -> Vec<Value> {
    let mut answers = Vec::new();
    let mut mark = String::new();
    for step in steps() {
        answers.push(perform(client, &step, &mut mark).await);
    }
    answers
}

fn recorded() -> Vec<Value> {
    let text = std::fs::read_to_string(here("genuine.jsonl")).expect("the recording is readable");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("one answer a line"))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn the_embedded_server_answers_as_the_genuine_one_did() {
    let server = ApiServer::builder().seed(1).build().unwrap();
    let client = Client::new(server.management().router(), "default");
    let (steps, ours, genuine) = (steps(), answers(&client).await, recorded());
    assert_eq!(steps.len(), genuine.len(), "record the genuine server anew");
    let mut wrong = Vec::new();
    for ((step, ours), genuine) in steps.iter().zip(&ours).zip(&genuine) {
        let explained = step.spec.get("differs").is_some();
        let code = step.spec.get("code").unwrap_or(&genuine["code"]);
        if ours["code"] != *code || (!explained && ours != genuine) {
            wrong.push(format!(
                "{}\n  genuine: {genuine}\n  ours:    {ours}",
                step.title
            ));
        }
        // An explanation that explains nothing hides the next difference.
        if explained && ours == genuine {
            wrong.push(format!("{}: does not differ any more", step.title));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        steps.len(),
        wrong.join("\n")
    );
}

/// A genuine server that was started for this test.
struct Genuine {
    tool: PathBuf,
    folder: tempfile::TempDir,
}

impl Drop for Genuine {
    fn drop(&mut self) {
        let _ = Command::new(&self.tool)
            .arg("stop")
            .arg(self.folder.path())
            .output();
    }
}

impl Genuine {
    fn start() -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let tool = root.join("../shared/tools/real-apiserver");
        if !tool.exists() {
            return None;
        }
        let genuine = Self {
            tool,
            folder: tempfile::tempdir().expect("a folder"),
        };
        let started = Command::new(&genuine.tool)
            .arg("start")
            .arg(genuine.folder.path())
            .output()
            .ok()?;
        assert!(
            started.status.success(),
            "{}",
            String::from_utf8_lossy(&started.stderr)
        );
        Some(genuine)
    }
}

async fn genuine_client() -> Option<(Client, Option<Genuine>)> {
    let (path, genuine) = if let Some(path) = std::env::var_os(KUBECONFIG) {
        (PathBuf::from(path), None)
    } else {
        let genuine = Genuine::start()?;
        (genuine.folder.path().join("kubeconfig"), Some(genuine))
    };
    let kubeconfig = Kubeconfig::read_from(path).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .expect("a usable kubeconfig");
    Some((Client::try_from(config).expect("a client"), genuine))
}

#[tokio::test]
async fn the_recording_is_what_a_genuine_server_answers() {
    let Some((client, _genuine)) = genuine_client().await else {
        println!("skipped: no genuine server here; name one in {KUBECONFIG} (an empty one)");
        return;
    };
    let fresh = answers(&client).await;
    if std::env::var_os(RECORD).is_some() {
        let lines: Vec<String> = fresh.iter().map(Value::to_string).collect();
        std::fs::write(here("genuine.jsonl"), lines.join("\n") + "\n").unwrap();
        return;
    }
    for ((step, fresh), recorded) in steps().iter().zip(&fresh).zip(&recorded()) {
        assert_eq!(
            compare::settled(fresh),
            compare::settled(recorded),
            "{}",
            step.title
        );
    }
}
