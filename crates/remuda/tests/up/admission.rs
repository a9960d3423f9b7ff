//! Admission through the whole chain: kubectl, the API, the webhooks over HTTPS.

use std::{fs, process::Output};

use super::running::{Kubectl, Running};

const POOL: &str = "
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachinePool
metadata: { name: NAME, namespace: team-a }
spec:
  clusterName: demo
  template:
    spec:
      clusterName: CLUSTER
      version: VERSION
      bootstrap: { dataSecretName: demo-pool-0-bootstrap }
      infrastructureRef:
        { apiGroup: infrastructure.cluster.x-k8s.io, kind: TerraformMachinePool, name: NAME }
";

/// Applies a pool with these words in it.
fn apply(running: &Running, kubectl: &Kubectl<'_>, words: [(&str, &str); 3]) -> Output {
    let text = words.iter().fold(POOL.to_owned(), |text, (word, value)| {
        text.replace(word, value)
    });
    let file = running.home.path().join("admitted.yaml");
    fs::write(&file, text).unwrap();
    kubectl.output(&["apply", "-f", file.to_str().unwrap()])
}

#[test]
fn kubectl_shows_defaults_and_every_mistake() {
    let mut running = Running::start();
    if running.kubectl().is_none() {
        return;
    }
    defaults_and_mistakes(&running);
    // The stored configurations still lead to the webhooks after a crash.
    running.kill_and_restart();
    defaults_and_mistakes(&running);
}

fn defaults_and_mistakes(running: &Running) {
    let Some(kubectl) = running.kubectl() else {
        return;
    };
    let name = ("NAME", "extra");
    let applied = apply(
        running,
        &kubectl,
        [name, ("CLUSTER", "demo"), ("VERSION", "1.35.0")],
    );
    assert!(applied.status.success(), "{applied:?}");
    let shown = kubectl.run(&[
        "get",
        "machinepool",
        "extra",
        "-n",
        "team-a",
        "-o",
        "jsonpath={.spec.replicas} {.spec.template.spec.version} \
         {.spec.template.spec.deletion.nodeDeletionTimeoutSeconds} \
         {.metadata.labels.cluster\\.x-k8s\\.io/cluster-name}",
    ]);
    assert_eq!(shown, "1 v1.35.0 10 demo");

    let refused = apply(
        running,
        &kubectl,
        [
            ("NAME", "wrong"),
            ("CLUSTER", "other"),
            ("VERSION", "latest"),
        ],
    );
    assert!(!refused.status.success());
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(
        said,
        "The MachinePool \"wrong\" is invalid: \n\
         * spec.template.spec.clusterName: Invalid value: \"other\": must be the same as \
         spec.clusterName, \"demo\"\n\
         * spec.template.spec.version: Invalid value: \"latest\": must be a semantic version such as \
         v1.35.0\n"
    );
    kubectl.run(&[
        "delete",
        "machinepool",
        "extra",
        "-n",
        "team-a",
        "--wait=false",
    ]);
}
