//! Metrics and log of a manager, as Prometheus and a log collector get them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::place::{PATIENCE, POOL, Place, ask, free_port, until};

/// Calls by action, as a scrape shows them.
fn calls(scrape: &str) -> BTreeMap<String, u64> {
    let mut calls = BTreeMap::new();
    for line in scrape.lines() {
        let Some(rest) = line.strip_prefix("remuda_cloud_calls_total{") else {
            continue;
        };
        let action = rest.split("action=\"").nth(1).unwrap();
        let action = action.split('"').next().unwrap().to_owned();
        let count: u64 = line.rsplit(' ').next().unwrap().parse().unwrap();
        *calls.entry(action).or_default() += count;
    }
    calls
}

/// Calls by action, as the simulated AWS counted them.
fn seen(place: &Place) -> BTreeMap<String, u64> {
    let mut calls = BTreeMap::new();
    for call in place.aws.journal().calls() {
        *calls.entry(call.name()).or_default() += 1;
    }
    calls
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_is_scraped_and_every_line_of_its_log_is_json() {
    let place = Place::filled().await;
    let health = free_port();
    let address = format!("127.0.0.1:{health}");
    let arguments = [
        "--webhooks=false",
        "--health-addr",
        &address,
        "--log-format=json",
    ];
    let mut command = place.command(&place.kubeconfig(), &arguments);
    command.env("RUST_LOG", "info,remuda_controllers=debug");
    let mut manager = place.start(command);
    until("the pool runs", PATIENCE, async || {
        place.is_running(POOL, 3).await
    })
    .await;
    let prometheus = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
    let mut scrape = String::new();
    until("figures of a quiet moment", PATIENCE, async || {
        let before = seen(&place);
        scrape = ask(health, "/metrics", prometheus).await.unwrap();
        calls(&scrape) == before && before == seen(&place)
    })
    .await;
    let (head, body) = scrape.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(head.contains("application/openmetrics-text"), "{head}");
    assert!(body.trim_end().ends_with("# EOF"), "{body}");
    let version = env!("CARGO_PKG_VERSION");
    for line in [
        "remuda_leader 1",
        &format!("remuda_build_info{{version=\"{version}\"}} 1"),
        "remuda_pool_machines_wanted{namespace=\"team-a\",pool=\"demo-pool-0\"} 3",
    ] {
        assert!(body.contains(line), "{line}: {body}");
    }
    let plain = ask(health, "/metrics", "*/*").await.unwrap();
    assert!(plain.contains("text/plain; version=0.0.4"), "{plain}");
    assert!(manager.terminate(), "it ends well");

    let log = manager.said();
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
        .collect();
    let passes: Vec<&Value> = lines
        .iter()
        .filter(|line| line["message"] == "a pass ended")
        .collect();
    assert!(passes.len() > 3, "{log}");
    let mut numbers = std::collections::BTreeSet::new();
    for pass in &passes {
        let span = &pass["spans"][0];
        assert!(numbers.insert(span["pass"].as_u64().unwrap()), "{pass}");
        assert!(
            span["kind"].is_string() && span["object"].is_string(),
            "{pass}"
        );
    }
    let done = lines.iter().find(|line| line["message"] == "done").unwrap();
    assert_eq!(done["spans"][0]["kind"], "TerraformMachinePool", "{done}");
    assert_eq!(done["spans"][0]["object"], "team-a/demo-pool-0", "{done}");
    assert!(numbers.contains(&done["spans"][0]["pass"].as_u64().unwrap()));
    for secret in [
        "wJalrXUtnFEMI",
        "aws_secret_access_key",
        "AWS_SECRET_ACCESS_KEY=",
    ] {
        assert!(
            !log.contains(secret) && !scrape.contains(secret),
            "{secret}"
        );
    }
}
