//! A pool on the simulated Azure beside the demo's pool on the simulated AWS.

use serde_json::{Value, json};

use super::running::Running;

const FILES: [&str; 4] = [
    "40-azure-identity.yaml",
    "50-azure-cluster.yaml",
    "60-azure-machinepool.yaml",
    "70-azure-terraformmachinepool.yaml",
];
const POOL: &str = "demo-azure-pool-0";

#[test]
fn a_pool_on_azure_gets_ready_grows_and_goes() {
    let running = Running::start();
    let Some(kubectl) = running.kubectl() else {
        return;
    };
    for file in FILES {
        let path = format!("{}/../../examples/demo/{file}", env!("CARGO_MANIFEST_DIR"));
        let apply = ["apply", "-f", &path];
        // The identity says itself where its Secret is.
        let namespace: &[&str] = match file {
            "40-azure-identity.yaml" => &[],
            _ => &["-n", "team-a"],
        };
        kubectl.run(&[&apply[..], namespace].concat());
        // The cluster's own controller would write its status; here the test does.
        let text = std::fs::read_to_string(&path).unwrap();
        for object in serde_saphyr::from_multiple::<Value>(&text).unwrap() {
            let Some(status) = object.get("status") else {
                continue;
            };
            let (kind, name) = (&object["kind"], &object["metadata"]["name"]);
            let target = format!("{}/{}", kind.as_str().unwrap(), name.as_str().unwrap());
            let patch = json!({ "status": status }).to_string();
            let patch = [
                "patch",
                &target,
                "-n",
                "team-a",
                "--type=merge",
                "-p",
                &patch,
            ];
            kubectl.run(&[&patch[..], &["--subresource=status"]].concat());
        }
    }
    let owner = ["machinepool", POOL, "-n", "team-a"];
    let ready = ["-o", "jsonpath={.status.readyReplicas}"];
    let ready = [&["get"], &owner[..], &ready].concat();
    kubectl.until(&ready, |nodes| nodes == "3");
    let ids = ["-o", "jsonpath={.spec.providerIDList}"];
    let ids = kubectl.run(
        &[
            &["get", "terraformmachinepool", POOL, "-n", "team-a"],
            &ids[..],
        ]
        .concat(),
    );
    assert_eq!(ids.matches("azure:///subscriptions/").count(), 3, "{ids}");

    let plan = running.remuda(&["plan", POOL, "-n", "team-a", "--exit-code"]);
    let shown = String::from_utf8_lossy(&plan.stdout);
    assert_eq!(plan.status.code(), Some(0), "nothing would change: {shown}");

    kubectl.run(&[&["scale"], &owner[..], &["--replicas", "4"]].concat());
    kubectl.until(&ready, |nodes| nodes == "4");

    kubectl.run(&[&["delete", "--wait=false"], &owner[..]].concat());
    let left = ["get", "terraformmachinepools", "-n", "team-a", "-o", "name"];
    kubectl.until(&left, |pools| !pools.contains(POOL));
    // The pool on AWS did not notice.
    let aws = ["get", "machinepool", "demo-pool-0", "-n", "team-a"];
    let aws = kubectl.run(&[&aws[..], &["-o", "jsonpath={.status.readyReplicas}"]].concat());
    assert_eq!(aws, "3");
}
