//! `remuda manager` as it is deployed: processes of their own against an API server over its socket.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what a test cannot start, it cannot test, and it says what it skips"
)]

#[path = "../../../apiserver/tests/conformance/genuine.rs"]
#[allow(dead_code, reason = "the conformance suite asks more of it")]
mod genuine;
mod installed;
mod load;
mod mounted;
mod packages;
#[path = "../pages/mod.rs"]
#[allow(dead_code, reason = "the tests of `remuda up` follow whole pages")]
mod pages;
mod place;
mod telemetry;
mod tracing;

use std::{path::PathBuf, process::Command, time::Duration};

use remuda_controllers::kinds::Kind;
use serde_json::json;

use crate::place::{PATIENCE, POOL, Place, free_port, status_of, until};

/// How long a lease holds without renewal, and what a busy machine adds.
const TAKEOVER: Duration = Duration::from_secs(15 + 5);

#[tokio::test(flavor = "multi_thread")]
async fn of_two_managers_one_works_and_the_other_takes_over() {
    let place = Place::filled().await;
    let quiet = ["--webhooks", "false", "--health-addr", "0"];
    let mut first = place.manager(&quiet);
    until("the first leads", PATIENCE, async || {
        !place.leader().await.is_empty()
    })
    .await;
    let leader = place.leader().await;
    let mut second = place.manager(&quiet);
    until("the group has three", PATIENCE, async || {
        place.is_running(POOL, 3).await
    })
    .await;
    assert_eq!(place.calls("autoscaling:CreateAutoScalingGroup"), 1);
    assert_eq!(place.leader().await, leader);

    first.kill();
    place.scale(POOL, 4).await;
    until("the second leads", TAKEOVER, async || {
        place.leader().await != leader
    })
    .await;
    until("the group has four", PATIENCE, async || {
        place.is_running(POOL, 4).await
    })
    .await;
    assert_eq!(place.calls("autoscaling:CreateAutoScalingGroup"), 1);
    assert!(second.terminate(), "it ends well");
    assert_eq!(place.leader().await, "", "the lease was given up");
    drop(first);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_is_ready_when_its_webhooks_can_be_called() {
    let place = Place::filled().await;
    let health = free_port();
    let address = format!("127.0.0.1:{health}");
    let mut manager = place.manager(&[
        "--health-addr",
        &address,
        "--webhook-port",
        "0",
        "--webhook-host",
        "127.0.0.1",
        "--feature-gates",
        "MachinePool=false",
    ]);
    until("it is ready", PATIENCE, async || {
        status_of(health, "/readyz").await == Some(200)
    })
    .await;
    assert_eq!(status_of(health, "/healthz").await, Some(200));
    let pool = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool",
        "metadata": { "name": "new", "namespace": "team-a" },
        "spec": {
            "clusterName": "demo",
            "template": { "spec": {
                "clusterName": "demo",
                "bootstrap": { "dataSecretName": "data" },
                "infrastructureRef": {
                    "apiGroup": "infrastructure.cluster.x-k8s.io",
                    "kind": "TerraformMachinePool", "name": "new",
                },
            } },
        },
    });
    let kind = Kind::MachinePool.resource();
    let refused = place
        .objects
        .create(&kind, Some("team-a"), &pool, "test")
        .await;
    let said = refused.unwrap_err().to_string();
    assert!(
        said.contains("the feature gate MachinePool is off"),
        "{said}"
    );
    assert!(manager.terminate(), "it ends well");
    assert_eq!(status_of(health, "/healthz").await, None);
}

#[test]
fn what_is_missing_is_told() {
    let nowhere = PathBuf::from("/nonexistent/kubeconfig");
    let output = Command::new(env!("CARGO_BIN_EXE_remuda"))
        .args(["manager", "--kubeconfig"])
        .arg(nowhere)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(said.contains("/nonexistent/kubeconfig"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_serves_the_dashboard_to_this_machine_only() {
    let place = Place::filled().await;
    let port = free_port();
    let address = format!("127.0.0.1:{port}");
    let quiet = ["--webhooks", "false", "--health-addr", "0", "--dashboard"];
    let mut manager = place.manager(&[&quiet[..], &["--dashboard-addr", &address]].concat());
    until("it answers", PATIENCE, async || {
        status_of(port, "/healthz").await.is_some()
    })
    .await;
    let page = status_of(port, "/").await;
    assert!(matches!(page, Some(200 | 303)), "{page:?}");
    assert!(manager.terminate(), "it ends well");
    let open = place.remuda(&["manager", "--dashboard", "--dashboard-addr", "0.0.0.0:0"]);
    let said = String::from_utf8_lossy(&open.stderr);
    assert!(
        said.contains("can be reached from other machines"),
        "{said}"
    );
}
