//! The metrics of a `remuda up --demo`, read by a real Prometheus: every expression of the dashboard
//! and every alert rule is evaluated by it.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use super::running::{PATIENCE, Running};

const DASHBOARD: &str = include_str!("../../../../deploy/monitoring/dashboard.json");
/// What Grafana would fill in. A rate needs two scrapes in its interval.
const VARIABLES: [(&str, &str); 3] = [
    ("$__rate_interval", "1m"),
    ("$namespace", ".*"),
    ("$pool", ".*"),
];
/// Panels that are empty while all goes well: nothing is missing for long, nobody throttles.
const EMPTY: [&str; 2] = ["Machines missing by pool", "Calls held back"];

/// A Prometheus that scrapes one target every second. Dropping it kills it.
struct Prometheus {
    child: Child,
    port: u16,
}

impl Prometheus {
    fn start(home: &Path, target: &str) -> Self {
        let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/monitoring");
        let config = serde_json::json!({
            "global": { "scrape_interval": "1s", "evaluation_interval": "1s" },
            "rule_files": [rules.canonicalize().unwrap().join("alerts.yaml")],
            "scrape_configs": [{
                "job_name": "remuda",
                // As docs/howto/monitoring.md has it.
                "honor_labels": true,
                "static_configs": [{ "targets": [target] }],
            }],
        });
        // A JSON document is a YAML document.
        let file = home.join("prometheus.yaml");
        std::fs::write(&file, config.to_string()).unwrap();
        let checked = promtool(&["check", "config", file.to_str().unwrap()]);
        assert!(checked.contains("SUCCESS"), "{checked}");
        let port = {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap().port()
        };
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                home.join("tsdb").display()
            ))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, port }
    }

    /// The samples of an expression now; panics when it does not parse.
    fn query(&self, expression: &str) -> Vec<Value> {
        let server = format!("http://127.0.0.1:{}", self.port);
        let said = promtool(&["query", "instant", "-o", "json", &server, expression]);
        let samples = serde_json::from_str(&said);
        samples.unwrap_or_else(|error| panic!("{expression}: {error}: {said}"))
    }

    /// The alert rules, as Prometheus judges them.
    fn rules(&self) -> Vec<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        // HTTP/1.0: the answer ends with the connection.
        stream
            .write_all(b"GET /api/v1/rules HTTP/1.0\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        body["data"]["groups"][0]["rules"]
            .as_array()
            .unwrap()
            .clone()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What promtool says; panics when it fails.
fn promtool(arguments: &[&str]) -> String {
    let output = Command::new("promtool").args(arguments).output().unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success(),
        "promtool {arguments:?}: {out}{err}"
    );
    out.into_owned()
}

fn is_there() -> bool {
    let there = ["prometheus", "promtool"].iter().all(|program| {
        let mut asked = Command::new(program);
        asked
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        asked.status().is_ok_and(|status| status.success())
    });
    if !there {
        eprintln!("skipped: prometheus and promtool (Debian's package prometheus) are not in PATH");
    }
    there
}

/// Title and expression of every target of every panel.
fn panels(value: &Value, found: &mut Vec<(String, String)>) {
    for panel in value["panels"].as_array().into_iter().flatten() {
        let title = panel["title"].as_str().unwrap();
        for target in panel["targets"].as_array().into_iter().flatten() {
            let mut expression = target["expr"].as_str().unwrap().to_owned();
            for (variable, filled) in VARIABLES {
                expression = expression.replace(variable, filled);
            }
            found.push((title.to_owned(), expression));
        }
        panels(panel, found);
    }
}

/// The metrics in Prometheus' text format.
fn scraped(target: &str) -> String {
    let mut stream = TcpStream::connect(target).unwrap();
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// promtool's own rules of names, types and help.
fn names_are_good(home: &Path, target: &str) {
    let file: PathBuf = home.join("metrics.txt");
    std::fs::write(&file, scraped(target)).unwrap();
    let output = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(std::fs::File::open(&file).unwrap())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert_eq!(said, "", "promtool has nothing to say");
}

#[test]
fn prometheus_reads_the_metrics_and_evaluates_the_dashboard_and_the_alerts() {
    if !is_there() {
        return;
    }
    let running = Running::start();
    let target = running.said.lines().find_map(|line| {
        let url = line.trim().strip_prefix("curl http://")?;
        url.strip_suffix("/metrics")
    });
    let target = target.expect("it says where its metrics are").to_owned();
    names_are_good(running.home.path(), &target);
    let prometheus = Prometheus::start(running.home.path(), &target);
    let deadline = Instant::now() + PATIENCE;
    let up = || TcpStream::connect(("127.0.0.1", prometheus.port)).is_ok();
    while !up() {
        assert!(Instant::now() < deadline, "Prometheus does not listen");
        std::thread::sleep(Duration::from_millis(200));
    }
    // A drain, and steps that end machines and make some.
    if let Some(kubectl) = running.kubectl() {
        for replicas in ["--replicas=1", "--replicas=2"] {
            kubectl.run(&[
                "scale",
                "machinepool",
                "demo-pool-0",
                "-n",
                "team-a",
                replicas,
            ]);
            let ready = "jsonpath={.status.readyReplicas}";
            let wanted = replicas.split('=').nth(1).unwrap();
            kubectl.until(
                &[
                    "get",
                    "machinepool",
                    "demo-pool-0",
                    "-n",
                    "team-a",
                    "-o",
                    ready,
                ],
                |now| now == wanted,
            );
        }
    }
    let mut expressions = Vec::new();
    panels(&serde_json::from_str(DASHBOARD).unwrap(), &mut expressions);
    assert!(expressions.len() > 20, "{}", expressions.len());
    expressions.retain(|(title, _)| !EMPTY.contains(&title.as_str()));
    // Each must have shown samples at some time; the rest are asked again.
    while !expressions.is_empty() {
        expressions.retain(|(_, expression)| prometheus.query(expression).is_empty());
        assert!(Instant::now() < deadline, "no samples: {expressions:#?}");
        std::thread::sleep(Duration::from_millis(500));
    }
    for title in EMPTY {
        let mut all = Vec::new();
        panels(&serde_json::from_str(DASHBOARD).unwrap(), &mut all);
        all.retain(|(of, _)| of == title);
        assert!(!all.is_empty(), "{title} is no panel");
        // They parse.
        for (_, expression) in &all {
            prometheus.query(expression);
        }
    }
    let rules = prometheus.rules();
    assert!(rules.len() > 10, "{}", rules.len());
    for rule in rules {
        assert_eq!(rule["health"], "ok", "{rule:#}");
    }
}
