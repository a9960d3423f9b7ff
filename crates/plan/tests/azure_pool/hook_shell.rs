//! The boot hook, run by a real `sh` in a root directory of its own. The root is put in by
//! replacing text: the shipped hook has no switch for it.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    process::{Command, Output},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::demo::{CLIENT_ID, Demo, demo};

const PROVIDER: &str = "etc/kubernetes/azure.json";
const RKE2: &str = "etc/rancher/rke2/config.yaml.d/50-captf-node-labels.yaml";
const DEBIAN: &str = "etc/default/kubelet";
const REDHAT: &str = "etc/sysconfig/kubelet";

/// An instance's file system.
struct Machine {
    root: TempDir,
}

impl Machine {
    fn new() -> Self {
        let machine = Self {
            root: TempDir::new().expect("a temporary directory"),
        };
        fs::create_dir_all(machine.path("etc/default")).expect("a directory");
        machine
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn read(&self, path: &str) -> Option<String> {
        let bytes = fs::read(self.path(path)).ok()?;
        Some(String::from_utf8(bytes).expect("text"))
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.path(path), text).expect("a file");
    }

    fn mode(&self, path: &str) -> u32 {
        let meta = fs::metadata(self.path(path)).expect("a file");
        meta.permissions().mode() & 0o777
    }

    /// Boots once: cloud-init runs the boot hook of the message.
    fn boot(&self, demo: &Demo) -> Output {
        let message = demo.message();
        let start = message.find("#!/bin/sh").expect("a boot hook");
        let hook = &message[start..];
        let end = hook.find("--==CAPTF-BOUNDARY==").expect("a boundary");
        let root = self.root.path().display();
        let hook = hook[..end].replace("/etc/", &format!("{root}/etc/"));
        self.write("hook", &hook);
        Command::new("/bin/sh")
            .arg(self.path("hook"))
            .env_clear()
            .output()
            .expect("a shell")
    }

    /// Boots and must come through.
    fn boots(&self, demo: &Demo) {
        let output = self.boot(demo);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}");
    }
}

fn labelled() -> Demo {
    demo().labels([("team", "payments"), ("example.com/tier", "gold")])
}

/// Proves: AZURE-107.
#[test]
fn the_cloud_providers_file_is_written_once() {
    let machine = Machine::new();
    machine.boots(&demo());
    assert_eq!(machine.mode(PROVIDER), 0o644);
    let text = machine.read(PROVIDER).expect("written");
    let written: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(written["userAssignedIdentityID"], json!(CLIENT_ID));
    assert_eq!(written["maximumLoadBalancerRuleCount"], json!(250));
    let keys: Vec<&str> = text
        .split('"')
        .skip(1)
        .step_by(2)
        .filter(|key| text.contains(&format!("\"{key}\":")))
        .collect();
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    assert_eq!(keys, sorted);
    let other = demo().exports(|e| e["cloud_provider_config"]["subnetName"] = json!("other"));
    machine.boots(&other);
    assert_eq!(machine.read(PROVIDER), Some(text));
}

/// Proves: AZURE-49.
#[test]
fn an_existing_file_is_left_alone() {
    let machine = Machine::new();
    fs::create_dir_all(machine.path("etc/kubernetes")).expect("a directory");
    machine.write(PROVIDER, "{}");
    machine.boots(&demo());
    assert_eq!(machine.read(PROVIDER).as_deref(), Some("{}"));
}

#[test]
fn nothing_in_the_configuration_is_expanded_by_the_shell() {
    let machine = Machine::new();
    let odd = "it's $(touch /tmp/no) `id` \"$HOME\" \\n";
    machine.boots(&demo().exports(|e| e["cloud_provider_config"]["subnetName"] = json!(odd)));
    let text = machine.read(PROVIDER).expect("written");
    let written: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(written["subnetName"], json!(odd));
}

/// Proves: AZURE-48.
#[test]
fn labels_are_one_marked_block_however_often_the_hook_runs() {
    let machine = Machine::new();
    let image = "KUBELET_EXTRA_ARGS=\"--v=2\"\n";
    machine.write(DEBIAN, image);
    machine.boots(&labelled());
    let first = machine.read(DEBIAN).expect("written");
    let args = "KUBELET_EXTRA_ARGS=\"--v=2 --node-labels=example.com/tier=gold,team=payments\"";
    let block = format!("# captf-node-labels begin\n{args}\n# captf-node-labels end\n");
    assert_eq!(first, format!("{image}{block}"));
    let rke2 = machine.read(RKE2).expect("written");
    assert!(rke2.starts_with("node-label+:\n") && rke2.contains("team=payments"));
    machine.boots(&labelled());
    assert_eq!(machine.read(DEBIAN), Some(first));
    assert_eq!(machine.read(RKE2), Some(rke2));
    assert_eq!(machine.read(REDHAT), None, "its directory does not exist");
    machine.boots(&demo());
    assert_eq!(machine.read(DEBIAN).as_deref(), Some(image));
    assert_eq!(machine.read(RKE2), None);
}

#[test]
fn without_labels_nothing_but_the_providers_file_is_made() {
    let machine = Machine::new();
    machine.boots(&demo());
    assert_eq!(machine.read(DEBIAN), None);
    assert_eq!(machine.read(RKE2), None);
}
