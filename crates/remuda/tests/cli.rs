//! The command line as a person types it, without any server.

#![allow(
    clippy::unwrap_used,
    reason = "what a test cannot start, it cannot test"
)]

use assert_cmd::Command;

fn remuda() -> Command {
    let mut command = Command::cargo_bin("remuda").unwrap();
    command.env_clear();
    command
}

fn stdout(command: &mut Command) -> String {
    String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
}

#[test]
fn version_is_one_line_or_json() {
    assert!(stdout(remuda().arg("version")).starts_with("remuda "));
    let json: serde_json::Value =
        serde_json::from_str(&stdout(remuda().args(["version", "-o", "json"]))).unwrap();
    assert_eq!(json["contract"], "v1alpha1");
}

#[test]
fn every_shell_gets_a_completion_script() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout(remuda().args(["completions", shell]));
        assert!(script.contains("remuda"), "{shell}");
    }
}

#[test]
fn crds_are_documents_that_apply_understands() {
    let stream = stdout(remuda().arg("crds"));
    let documents: Vec<serde_json::Value> = serde_saphyr::from_multiple(&stream).unwrap();
    let names: Vec<&str> = documents
        .iter()
        .map(|crd| crd["metadata"]["name"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"machinepools.cluster.x-k8s.io"),
        "{names:?}"
    );
    assert!(
        names.contains(&"terraformmachinepools.infrastructure.cluster.x-k8s.io"),
        "{names:?}"
    );
    let list: serde_json::Value =
        serde_json::from_str(&stdout(remuda().args(["crds", "-o", "json"]))).unwrap();
    assert_eq!(list["items"].as_array().unwrap().len(), names.len());
}

#[test]
fn a_usage_error_ends_with_1_and_names_the_argument() {
    let output = remuda()
        .args(["get", "cows"])
        .assert()
        .code(1)
        .get_output()
        .stderr
        .clone();
    let text = String::from_utf8(output).unwrap();
    assert!(text.contains("cows") && text.contains("pools"), "{text}");
}

#[test]
fn without_an_api_get_says_how_to_have_one() {
    let home = tempfile::tempdir().unwrap();
    let output = remuda()
        .env("HOME", home.path())
        .args(["get", "pools"])
        .assert()
        .code(1)
        .get_output()
        .stderr
        .clone();
    let text = String::from_utf8(output).unwrap();
    assert!(text.contains("remuda up"), "{text}");
}

#[test]
fn a_simulated_cloud_serves_loopback_only() {
    let output = remuda()
        .args(["sim", "aws", "--listen", "0.0.0.0:4566"])
        .assert()
        .code(1)
        .get_output()
        .stderr
        .clone();
    assert!(String::from_utf8(output).unwrap().contains("loopback"));
}

#[test]
fn the_demo_does_not_go_to_a_real_cloud_and_nothing_is_made_before_that_is_said() {
    for flag in ["--aws", "--azure"] {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("data");
        let output = remuda()
            .args(["up", "--demo", flag, "real", "--data-dir"])
            .arg(&dir)
            .assert()
            .code(1)
            .get_output()
            .stderr
            .clone();
        let text = String::from_utf8(output).unwrap();
        assert!(text.contains("--demo"), "{text}");
        assert!(!dir.exists());
    }
}
