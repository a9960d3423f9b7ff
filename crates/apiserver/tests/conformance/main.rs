//! The same requests to two targets: the embedded server and a genuine Kubernetes API server.
//!
//! `cases/` holds the requests, `recorded/` what a genuine server answered, one answer a line. The
//! embedded server must answer like the recording, everywhere; where a genuine server can be had
//! (see `genuine.rs`), both are asked and compared, and the recording is checked. A step that may
//! differ says why. `CONFORMANCE_RECORD=1` records anew, `CONFORMANCE_TOPIC=NAME` runs one topic,
//! `CONFORMANCE_EXPLAINED=1` shows how the explained answers differ.
#![allow(clippy::panic, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "a test tells what it did not do")]

use kube::Client;
use remuda_apiserver::ApiServer;
use serde_json::Value;

mod cases;
mod client;
mod compare;
mod genuine;
mod kubectl;

use cases::Topic;

/// Asks for new recordings.
const RECORD: &str = "CONFORMANCE_RECORD";

/// What the embedded server answers to a topic: each starts with an empty one, in virtual time.
fn embedded(topic: &Topic) -> Vec<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let server = ApiServer::builder().seed(1).build().expect("a server");
        let client = Client::new(server.management().router(), "default");
        client::answers(&client, topic).await
    })
}

/// Where ours is not what a genuine server answers, although nothing explains it; and explanations
/// that explain nothing, which would hide the next difference.
fn differences(topic: &Topic, ours: &[Value], genuine: &[Value]) -> Vec<String> {
    let steps = topic.steps();
    if genuine.len() != steps.len() {
        return vec![format!("{}: record the genuine server anew", topic.name)];
    }
    let compare = |((step, ours), genuine): ((&cases::Step, &Value), &Value)| {
        let ours = &compare::without(ours, &topic.without);
        let genuine = &compare::without(genuine, &topic.without);
        let title = format!("{} / {}", topic.name, step.title);
        let explained = step.differs.is_some() || step.age.is_some();
        let code = step
            .code
            .map_or_else(|| genuine["code"].clone(), Value::from);
        if ours["code"] != code || (!explained && ours != genuine) {
            let places = compare::places("", ours, genuine).join("\n  ");
            return Some(format!("{title}\n  {places}"));
        }
        if explained && std::env::var_os("CONFORMANCE_EXPLAINED").is_some() {
            let why = step
                .differs
                .as_ref()
                .or(step.age.as_ref())
                .map_or("", String::as_str);
            println!(
                "{title}: {why}\n  {}",
                compare::places("", ours, genuine).join("\n  ")
            );
        }
        (explained && ours == genuine).then(|| format!("{title}: does not differ any more"))
    };
    steps
        .iter()
        .zip(ours)
        .zip(genuine)
        .filter_map(compare)
        .collect()
}

fn refuse(wrong: &[String]) {
    assert!(
        wrong.is_empty(),
        "{} differences:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn the_embedded_server_answers_as_the_genuine_one_did() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for topic in cases::topics() {
        let ours = embedded(&topic);
        count += ours.len();
        wrong.extend(differences(&topic, &ours, &cases::recorded(&topic.name)));
    }
    println!("{count} answers compared");
    refuse(&wrong);
}

#[tokio::test]
async fn the_genuine_server_answers_as_the_embedded_one_does() {
    let topics = cases::topics();
    let Some(genuine) = genuine::find().await else {
        println!("skipped: {}", genuine::HOW);
        return;
    };
    let client = genuine.client().await;
    let asked = topics.iter().map(|topic| client::answers(&client, topic));
    let answers = futures::future::join_all(asked).await;
    let mut wrong = Vec::new();
    for (topic, fresh) in topics.iter().zip(&answers) {
        if std::env::var_os(RECORD).is_some() {
            record(topic, fresh);
        } else if genuine.is_recorded {
            wrong.extend(stale(topic, fresh));
        } else {
            let own = std::thread::scope(|scope| scope.spawn(|| embedded(topic)).join());
            wrong.extend(differences(
                topic,
                &own.expect("the embedded server answers"),
                fresh,
            ));
        }
    }
    refuse(&wrong);
}

fn record(topic: &Topic, answers: &[Value]) {
    let lines: Vec<String> = answers.iter().map(Value::to_string).collect();
    let path = cases::recording(&topic.name);
    std::fs::write(path, lines.join("\n") + "\n").expect("the recording is writable");
}

/// Where a recording is not what the server answers that it was made with.
fn stale(topic: &Topic, fresh: &[Value]) -> Vec<String> {
    let recorded = cases::recorded(&topic.name);
    let steps = topic.steps();
    let pairs = steps.iter().zip(fresh).zip(&recorded);
    let mut wrong: Vec<String> = pairs
        .filter(|((_, fresh), recorded)| compare::settled(fresh) != compare::settled(recorded))
        .map(|((step, fresh), recorded)| {
            let places = compare::places("", fresh, recorded).join("\n  ");
            format!(
                "{} / {}: the recording is stale\n  {places}",
                topic.name, step.title
            )
        })
        .collect();
    if recorded.len() != steps.len() {
        wrong.push(format!("{}: record the genuine server anew", topic.name));
    }
    wrong
}
