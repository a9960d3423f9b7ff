//! The dashboard and the alert rules of `deploy/monitoring` speak of metrics and labels that the
//! code has.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test reports by panicking, and says what it skips"
)]

use std::{collections::BTreeSet, path::Path, process::Command};

use remuda_controllers::metrics::table::{METRICS, Metric, MetricKind};
use serde_json::Value;

const DASHBOARD: &str = include_str!("../../../deploy/monitoring/dashboard.json");
const ALERTS: &str = include_str!("../../../deploy/monitoring/alerts.yaml");
const ALERT_TESTS: &str = include_str!("../../../deploy/monitoring/alerts_test.yaml");
const CAPTF: &str = include_str!("../../../docs/spec/captf-contract.md");
const MOVING: &str = include_str!("../../../docs/howto/moving-from-captf.md");
const CONFORMANCE: &str = include_str!("../../../docs/reference/conformance.md");

/// Labels that Prometheus itself gives.
const GIVEN: [&str; 3] = ["le", "instance", "job"];

/// Every text at a key, at any depth.
fn texts<'a>(value: &'a Value, key: &str, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if name == key {
                    found.extend(value.as_str());
                }
                texts(value, key, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, key, found)),
        _ => {}
    }
}

/// The metric that a name in an expression means.
fn metric(name: &str) -> Option<&'static Metric> {
    let named = |metric: &&&Metric| match metric.kind {
        MetricKind::Histogram(_) => ["_bucket", "_sum", "_count"]
            .iter()
            .any(|suffix| name.strip_suffix(suffix) == Some(metric.name)),
        MetricKind::Counter | MetricKind::Gauge => name == metric.name,
    };
    METRICS.iter().find(named).copied()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .filter(|word| !word.is_empty())
}

/// Labels that an expression groups by or matches on: those in `by (...)`, `on (...)` and `{...}`.
fn labels(expression: &str) -> BTreeSet<&str> {
    let mut labels = BTreeSet::new();
    for opening in [" by (", " on ("] {
        for rest in expression.split(opening).skip(1) {
            labels.extend(words(rest.split(')').next().unwrap()));
        }
    }
    for rest in expression.split('{').skip(1) {
        let matchers = rest.split('}').next().unwrap();
        let quoted_apart = matchers.split('"').step_by(2);
        labels.extend(quoted_apart.flat_map(words));
    }
    labels
}

/// What is wrong with an expression.
fn problems(expression: &str) -> Vec<String> {
    let names: Vec<&str> = words(expression)
        .filter(|word| word.starts_with("remuda_"))
        .collect();
    let mut problems = Vec::new();
    if names.is_empty() {
        problems.push(format!("no metric of ours in {expression}"));
    }
    let mut known: BTreeSet<&str> = GIVEN.into();
    for name in names {
        match metric(name) {
            Some(metric) => known.extend(metric.labels),
            None => problems.push(format!("{name} is no metric: {expression}")),
        }
    }
    for label in labels(expression) {
        if !known.contains(label) {
            problems.push(format!("no metric has the label {label}: {expression}"));
        }
    }
    for (open, close) in [('(', ')'), ('{', '}'), ('[', ']')] {
        let count = |of| expression.matches(of).count();
        if count(open) != count(close) {
            problems.push(format!("{open} without {close}: {expression}"));
        }
    }
    problems
}

#[test]
fn every_panel_shows_metrics_that_exist() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let mut expressions = Vec::new();
    texts(&dashboard, "expr", &mut expressions);
    assert!(expressions.len() > 20, "{}", expressions.len());
    let found: Vec<String> = expressions.iter().flat_map(|it| problems(it)).collect();
    assert_eq!(found, [""; 0]);
    let mut legends = Vec::new();
    texts(&dashboard, "legendFormat", &mut legends);
    let all: BTreeSet<&str> = METRICS
        .iter()
        .flat_map(|metric| metric.labels)
        .copied()
        .collect();
    for legend in legends {
        for label in legend.split("{{").skip(1) {
            let label = label.split("}}").next().unwrap();
            assert!(all.contains(label), "{legend}");
        }
    }
    let mut variables = Vec::new();
    texts(&dashboard, "definition", &mut variables);
    assert_eq!(variables.len(), 2);
    for variable in variables {
        let asked = variable.strip_prefix("label_values(").unwrap();
        let (of, label) = asked.trim_end_matches(')').rsplit_once(", ").unwrap();
        let metric = metric(words(of).next().unwrap()).unwrap();
        assert!(metric.labels.contains(&label), "{variable}");
    }
}

#[test]
fn every_metric_is_on_the_dashboard() {
    let shown: BTreeSet<&str> = words(DASHBOARD)
        .filter_map(|word| metric(word).map(|metric| metric.name))
        .collect();
    let all: BTreeSet<&str> = METRICS
        .iter()
        .map(|metric| metric.name)
        .filter(|name| !name.starts_with("captf_"))
        .collect();
    assert_eq!(shown, all);
}

/// A row of captf document 3.4.
struct Row {
    names: Vec<&'static str>,
    /// One for all names, or one each.
    kinds: Vec<&'static str>,
    labels: Vec<&'static str>,
    is_kept: bool,
}

fn rows_of_captf() -> Vec<Row> {
    let section = CAPTF.split("### 3.4 Metrics").nth(1).unwrap();
    let section = section.split("### 3.5").next().unwrap();
    let mut rows: Vec<Row> = Vec::new();
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let quoted = |cell: &'static str| cell.split('`').skip(1).step_by(2).collect();
        let kinds = cells[2].split(", ");
        let kinds = kinds.map(|kind| kind.split(' ').next().unwrap());
        let labels = match cells[3] {
            "same" => rows.last().unwrap().labels.clone(),
            // Values of a label stand in brackets behind it.
            labels => quoted(labels.split('(').next().unwrap()),
        };
        rows.push(Row {
            names: quoted(cells[1]),
            kinds: kinds.collect(),
            labels,
            is_kept: cells[4].starts_with("keep"),
        });
    }
    rows
}

#[test]
fn captfs_metrics_are_there_as_captf_has_them_or_the_pages_say_that_they_are_not() {
    let mut there = BTreeSet::new();
    for row in rows_of_captf() {
        for (index, name) in row.names.iter().enumerate() {
            let known = METRICS.iter().find(|metric| metric.name == *name);
            let Some(metric) = known else {
                for page in [MOVING, CONFORMANCE].iter().filter(|_| row.is_kept) {
                    assert!(page.contains(&format!("`{name}`")), "{name}");
                }
                continue;
            };
            assert!(row.is_kept, "{name}");
            assert_eq!(metric.labels, row.labels, "{name}");
            let kind = row.kinds.get(index).or(row.kinds.last());
            assert_eq!(Some(&metric.kind.as_str()), kind, "{name}");
            there.insert(*name);
        }
    }
    let ours = METRICS.iter().map(|metric| metric.name);
    let ours: BTreeSet<&str> = ours.filter(|name| name.starts_with("captf_")).collect();
    assert_eq!(ours, there);
    assert!(ours.len() > 10, "{ours:?}");
}

#[test]
fn panels_do_not_overlap_and_have_numbers_of_their_own() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut taken = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{}", panel["id"]);
        let at = |field: &str| panel["gridPos"][field].as_u64().unwrap();
        assert!(at("x") + at("w") <= 24, "{}", panel["title"]);
        for x in at("x")..at("x") + at("w") {
            for y in at("y")..at("y") + at("h") {
                assert!(taken.insert((x, y)), "{} lies over another", panel["title"]);
            }
        }
    }
}

#[test]
fn every_alert_asks_for_metrics_that_exist_and_says_what_to_do() {
    let alerts: Value = serde_saphyr::from_str(ALERTS).unwrap();
    let rules = alerts["groups"][0]["rules"].as_array().unwrap();
    assert!(rules.len() > 10);
    let page = include_str!("../../../docs/howto/monitoring.md");
    let mut names = BTreeSet::new();
    for rule in rules {
        let text = |pointer: &str| {
            rule.pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let name = text("/alert");
        assert!(names.insert(name), "{name} is there twice");
        assert_eq!(problems(text("/expr")), [""; 0], "{name}");
        assert!(
            page.contains(name),
            "docs/howto/monitoring.md does not speak of {name}"
        );
        let severity = text("/labels/severity");
        assert!(
            ["critical", "warning", "info"].contains(&severity),
            "{name}"
        );
        for said in ["/annotations/summary", "/annotations/description"] {
            assert!(!text(said).is_empty(), "{name} has no {said}");
        }
        let known = labels(text("/expr"));
        let whole = words(text("/expr"))
            .filter_map(metric)
            .flat_map(|metric| metric.labels);
        let known: BTreeSet<&str> = known.into_iter().chain(whole.copied()).collect();
        let said = format!(
            "{}{}",
            text("/annotations/summary"),
            text("/annotations/description")
        );
        for label in said.split("$labels.").skip(1) {
            let label = words(label).next().unwrap();
            assert!(known.contains(label), "{name} says {label}");
        }
    }
}

#[test]
fn every_alert_is_tried_both_ways() {
    let tests: Value = serde_saphyr::from_str(ALERT_TESTS).unwrap();
    let (mut fires, mut waits) = (BTreeSet::new(), BTreeSet::new());
    let cases = tests["tests"].as_array().unwrap().iter();
    for case in cases.flat_map(|case| case["alert_rule_test"].as_array().unwrap()) {
        let name = case["alertname"].as_str().unwrap();
        let expected = case["exp_alerts"].as_array().unwrap();
        let side = if expected.is_empty() {
            &mut waits
        } else {
            &mut fires
        };
        side.insert(name);
    }
    let alerts: Value = serde_saphyr::from_str(ALERTS).unwrap();
    let mut names = Vec::new();
    texts(&alerts, "alert", &mut names);
    let names: BTreeSet<&str> = names.into_iter().collect();
    assert_eq!((&fires, &waits), (&names, &names));
}

/// Prometheus' own parser, and its own clock.
#[test]
fn promtool_takes_the_alert_rules_and_they_fire_when_they_should() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/monitoring");
    for arguments in [["check", "alerts.yaml"], ["test", "alerts_test.yaml"]] {
        let output = Command::new("promtool")
            .args([arguments[0], "rules", arguments[1]])
            .current_dir(&folder)
            .output();
        let Ok(output) = output else {
            eprintln!("skipped: promtool (Debian's package prometheus) is not in PATH");
            return;
        };
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(output.status.success(), "{said}");
    }
}

#[test]
fn a_wrong_name_a_wrong_label_and_a_lost_bracket_are_found() {
    assert_eq!(problems("sum(remuda_reconciles_totl)").len(), 1);
    assert_eq!(problems("sum by (colour) (remuda_leader)").len(), 1);
    assert_eq!(problems("remuda_drains_total{resul=\"done\"}").len(), 1);
    assert_eq!(problems("sum(remuda_leader").len(), 1);
    assert_eq!(
        problems("rate(remuda_cloud_call_duration_seconds[5m])").len(),
        1
    );
    assert_eq!(problems("vector(1)").len(), 1);
}
