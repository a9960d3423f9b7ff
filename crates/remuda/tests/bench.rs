//! `remuda bench` in small: many pools come to rest, and at rest nothing is written.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test reports by panicking"
)]

use std::process::Command;

use serde_json::{Value, json};

/// Runs it; its report. No figure of time is judged: other tests run beside. The steady state is
/// longer than between two looks at a pool: 60 s and a tenth.
fn bench(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_remuda"))
        .args(["bench", "--steady", "75s", "--output", "json"])
        .args(arguments)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn sum(counts: &Value) -> u64 {
    let counts = counts.as_object().unwrap().values();
    counts.map(|count| count.as_u64().unwrap()).sum()
}

#[test]
fn pools_of_both_clouds_converge_and_settle_without_a_write() {
    let report = bench(&[
        "--pools",
        "20",
        "--machines",
        "5",
        "--cloud",
        "both",
        "--pools-per-cluster",
        "10",
    ]);
    let steady = &report["steady"];
    let story = format!("{report:#}");
    assert_eq!(steady["kubernetesWrites"], json!({}), "{story}");
    assert_eq!(steady["managementWrites"], 0, "{story}");
    assert_eq!(steady["workloadWrites"], 0, "{story}");
    assert_eq!(steady["cloudWrites"], json!({}), "{story}");
    // It did look, and what it counts is there to be counted.
    assert!(sum(&steady["cloudReads"]) > 0, "{story}");
    let made = &report["converged"]["cloudWrites"];
    assert_eq!(
        made["AWS autoscaling:CreateAutoScalingGroup"], 10,
        "{story}"
    );
}
