//! A pool on the simulated Azure beside the demo's pool on the simulated AWS.

use super::running::Running;

const POOL: &str = "demo-azure-pool-0";

#[test]
fn the_pool_on_azure_is_ready_grows_and_goes() {
    let running = Running::start();
    let Some(kubectl) = running.kubectl() else {
        return;
    };
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
