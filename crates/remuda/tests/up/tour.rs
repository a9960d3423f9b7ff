//! The tour of the README, step by step, with the real kubectl.

use std::{fs, process::Output};

use super::running::{Kubectl, Running};

const NAMESPACE: [&str; 2] = ["-n", "team-a"];

fn text(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_tour() {
    let running = Running::start();
    let Some(kubectl) = running.kubectl() else {
        return;
    };
    objects_read_well(&kubectl);
    the_tree_shows_zones_machines_and_nodes(&running);
    scaling_out_adds_nodes(&running, &kubectl);
    an_upgrade_is_planned_then_rolled(&running, &kubectl);
    deleting_leaves_nothing(&running, &kubectl);
}

fn objects_read_well(kubectl: &Kubectl<'_>) {
    let pools = kubectl.run(&["get", "machinepools", "-n", "team-a"]);
    assert!(
        pools.contains("demo-pool-0") && pools.contains("Running"),
        "{pools}"
    );
    let infra = kubectl.run(&["get", "terraformmachinepools", "-n", "team-a"]);
    assert!(infra.contains("True"), "{infra}");
    let described = kubectl.run(&[
        "describe",
        "terraformmachinepool",
        "demo-pool-0",
        "-n",
        "team-a",
    ]);
    assert!(described.contains("InfrastructureHealthy"), "{described}");
    assert!(described.contains("Provisioned"), "events: {described}");
    let explained = kubectl.run(&["explain", "terraformmachinepool.spec.variables"]);
    assert!(explained.contains("variables"), "{explained}");
}

fn the_tree_shows_zones_machines_and_nodes(running: &Running) {
    let pools = text(&running.remuda(&["get", "pools", "-A"]));
    assert!(
        pools.contains("team-a/demo-pool-0") && pools.contains("Healthy"),
        "{pools}"
    );
    assert!(pools.contains("team-a/demo-azure-pool-0"), "{pools}");
    for zone in ["us-east-1a", "us-east-1b", "us-east-1c"] {
        assert!(pools.contains(zone), "{pools}");
    }
    let nodes: serde_json::Value = serde_json::from_str(&text(
        &running.remuda(&["get", "nodes", "-n", "team-a", "-o", "json"]),
    ))
    .unwrap();
    let pools = nodes["items"].as_array().unwrap();
    assert_eq!(pools.len(), 2, "{nodes}");
    for pool in pools {
        let machines = pool["machines"].as_array().unwrap();
        assert_eq!(machines.len(), 3);
        let mut nodes = machines.iter().map(|machine| &machine["node"]["ready"]);
        assert!(nodes.all(|ready| ready == true), "{machines:?}");
    }
}

fn scaling_out_adds_nodes(running: &Running, kubectl: &Kubectl<'_>) {
    let ready = [
        "get",
        "machinepool",
        "demo-pool-0",
        "-n",
        "team-a",
        "-o",
        "jsonpath={.status.readyReplicas}",
    ];
    kubectl.run(&[
        "scale",
        "machinepool",
        "demo-pool-0",
        "-n",
        "team-a",
        "--replicas",
        "5",
    ]);
    kubectl.until(&ready, |ready| ready == "5");
    let nothing = running.remuda(&["plan", "demo-pool-0", "-n", "team-a", "--exit-code"]);
    assert_eq!(nothing.status.code(), Some(0), "{nothing:?}");
}

fn an_upgrade_is_planned_then_rolled(running: &Running, kubectl: &Kubectl<'_>) {
    let file = running.home.path().join("pool.yaml");
    let live = kubectl.run(&[
        "get",
        "machinepool",
        "demo-pool-0",
        "-n",
        "team-a",
        "-o",
        "yaml",
    ]);
    fs::write(&file, live.replace("v1.34.1", "v1.35.0")).unwrap();
    let file = file.to_str().unwrap();

    let plan = running.remuda(&["plan", "-f", file, "--exit-code", "-o", "json"]);
    assert_eq!(
        plan.status.code(),
        Some(2),
        "{}",
        String::from_utf8_lossy(&plan.stderr)
    );
    let plan: serde_json::Value = serde_json::from_slice(&plan.stdout).unwrap();
    assert_eq!(plan["pools"][0]["effect"], "rolls", "{plan}");
    let version = [
        "get",
        "machinepool",
        "demo-pool-0",
        "-n",
        "team-a",
        "-o",
        "jsonpath={.spec.template.spec.version}",
    ];
    assert_eq!(kubectl.run(&version), "v1.34.1", "a plan changes nothing");

    kubectl.run(&["apply", "--server-side", "--force-conflicts", "-f", file]);
    let rolled = [
        "get",
        "machinepool",
        "demo-pool-0",
        "-n",
        "team-a",
        "-o",
        "jsonpath={.metadata.generation} {.status.observedGeneration} {.status.upToDateReplicas}",
    ];
    // The count of the generation before is no answer.
    kubectl.until(&rolled, |told| {
        let words: Vec<&str> = told.split(' ').collect();
        matches!(words[..], [newest, seen, "5"] if newest == seen)
    });
    assert_eq!(kubectl.run(&version), "v1.35.0");
    let again = running.remuda(&["get", "machines", NAMESPACE[0], NAMESPACE[1]]);
    assert!(text(&again).contains("team-a/demo-pool-0"));
}

fn deleting_leaves_nothing(running: &Running, kubectl: &Kubectl<'_>) {
    let deleted = kubectl.output(&[
        "delete",
        "machinepool",
        "demo-pool-0",
        "demo-azure-pool-0",
        "-n",
        "team-a",
        "--timeout=240s",
    ]);
    if !deleted.status.success() {
        let kinds = "machinepools,terraformmachinepools,machines,terraformmachinepoolmachines";
        let held = kubectl.run(&["get", kinds, "-n", "team-a", "-o", "yaml"]);
        panic!("{}\n{held}", String::from_utf8_lossy(&deleted.stderr));
    }
    let left = kubectl.run(&["get", "terraformmachinepools", "-n", "team-a", "-o", "name"]);
    assert_eq!(left, "");
    let none = running.remuda(&["get", "pools", "-n", "team-a"]);
    assert!(
        String::from_utf8_lossy(&none.stderr).contains("No machine pools"),
        "{none:?}"
    );
}
