//! `remuda manager` as it is deployed: processes of their own against an API server over its socket.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what a test cannot start, it cannot test"
)]

mod telemetry;
mod tracing;

use std::{
    net::SocketAddr,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use kube::{Client, core::ApiResource, core::GroupVersionKind};
use remuda_apiserver::{ApiServer, Serving};
use remuda_controllers::{
    kinds::Kind,
    objects::{LiveObjects, Target},
};
use remuda_sim::{SimClock, aws::AwsSim};
use serde_json::{Value, json};
use tempfile::TempDir;

const DEMO: [&str; 4] = [
    include_str!("../../../../examples/demo/00-identity.yaml"),
    include_str!("../../../../examples/demo/10-cluster.yaml"),
    include_str!("../../../../examples/demo/20-machinepool.yaml"),
    include_str!("../../../../examples/demo/30-terraformmachinepool.yaml"),
];
/// How long anything on this page may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);
/// How long a lease holds without renewal, and what a busy machine adds.
const TAKEOVER: Duration = Duration::from_secs(15 + 15);

/// An API server and a simulated AWS on loopback.
struct Place {
    _serving: Serving,
    objects: LiveObjects,
    aws: AwsSim,
    aws_address: SocketAddr,
    home: TempDir,
}

fn resource(object: &Value) -> ApiResource {
    let version = object["apiVersion"].as_str().unwrap();
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let kind = object["kind"].as_str().unwrap();
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

impl Place {
    async fn new() -> Self {
        let server = ApiServer::builder().build().unwrap();
        let serving = server.serve("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let home = tempfile::tempdir().unwrap();
        let kubeconfig = serving.kubeconfig(&server.management());
        std::fs::write(home.path().join("kubeconfig"), kubeconfig).unwrap();
        let aws = AwsSim::builder()
            .clock(SimClock::starting_at(Timestamp::now()).with_speed(10.0))
            .demo();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let aws_address = listener.local_addr().unwrap();
        let router = aws.router();
        tokio::spawn(async move { axum::serve(listener, router).await });
        let objects = LiveObjects::new(Client::new(server.management().router(), "default"));
        let place = Self {
            _serving: serving,
            objects,
            aws,
            aws_address,
            home,
        };
        place.fill().await;
        place
    }

    /// The kinds, and the demo.
    async fn fill(&self) {
        for definition in remuda_api::crds() {
            self.create(&serde_json::to_value(definition).unwrap(), None)
                .await;
        }
        let namespace = |name: &str| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        self.create(&namespace("team-a"), None).await;
        for text in DEMO {
            let documents: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
            for document in documents {
                let kind = document["kind"].as_str().unwrap();
                let clusterwide = matches!(kind, "Namespace" | "TerraformClusterIdentity");
                let namespace = document["metadata"]["namespace"]
                    .as_str()
                    .unwrap_or("team-a");
                self.create(&document, (!clusterwide).then_some(namespace))
                    .await;
            }
        }
    }

    async fn create(&self, object: &Value, namespace: Option<&str>) {
        let resource = resource(object);
        let deadline = Instant::now() + PATIENCE;
        // A definition is served a moment after it was created.
        while let Err(error) = self
            .objects
            .create(&resource, namespace, object, "test")
            .await
        {
            assert!(Instant::now() < deadline, "{error}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        if let Some(status) = object.get("status") {
            let target = Target {
                resource: &resource,
                namespace,
                name: object["metadata"]["name"].as_str().unwrap(),
                subresource: Some("status"),
            };
            let patch = json!({ "status": status });
            self.objects
                .merge_patch(&target, &patch, "test")
                .await
                .unwrap();
        }
    }

    fn manager(&self, arguments: &[&str]) -> Manager {
        Manager(self.command(arguments).spawn().unwrap())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_remuda"));
        command
            .arg("manager")
            .arg("--kubeconfig")
            .arg(self.home.path().join("kubeconfig"))
            .arg("--aws-endpoint-url")
            .arg(format!("http://{}", self.aws_address))
            .args(arguments)
            .env("RUST_LOG", "warn")
            .stdout(Stdio::null());
        command
    }

    /// Who holds the lease.
    async fn leader(&self) -> String {
        let lease = json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease" });
        let found = self
            .objects
            .get_of(&resource(&lease), Some("remuda-system"), "remuda-manager")
            .await
            .unwrap();
        let lease = found.unwrap_or_default();
        lease["spec"]["holderIdentity"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    fn calls(&self, name: &str) -> usize {
        let calls = self.aws.journal().calls();
        calls.iter().filter(|call| call.name() == name).count()
    }

    async fn scale(&self, replicas: u32) {
        let resource = Kind::MachinePool.resource();
        let target = Target {
            resource: &resource,
            namespace: Some("team-a"),
            name: "demo-pool-0",
            subresource: None,
        };
        let patch = json!({ "spec": { "replicas": replicas } });
        self.objects
            .merge_patch(&target, &patch, "test")
            .await
            .unwrap();
    }

    /// What the pool last saw of its group.
    async fn replicas(&self) -> Value {
        let kind = Kind::TerraformMachinePool.resource();
        let found = self
            .objects
            .get_of(&kind, Some("team-a"), "demo-pool-0")
            .await;
        found.unwrap().unwrap()["status"]["replicas"].clone()
    }
}

/// A process. Dropping it kills it.
struct Manager(Child);

impl Manager {
    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Asks it to stop; whether it ended well.
    fn terminate(mut self) -> bool {
        let id = self.0.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status().unwrap();
        self.0.wait().unwrap().success()
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn until<F: AsyncFnMut() -> bool>(what: &str, within: Duration, mut check: F) {
    let deadline = Instant::now() + within;
    while !check().await {
        assert!(Instant::now() < deadline, "not within {within:?}: {what}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// The status of an HTTP answer on loopback; `None` while nobody answers.
async fn status_of(port: u16, path: &str) -> Option<u16> {
    let answer = ask(port, path, "*/*").await?;
    answer.split(' ').nth(1)?.parse().ok()
}

/// An HTTP answer on loopback, head and body; `None` while nobody answers.
async fn ask(port: u16, path: &str, accept: &str) -> Option<String> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port))
        .await
        .ok()?;
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: a\r\nAccept: {accept}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    Some(answer)
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_managers_one_works_and_the_other_takes_over() {
    let place = Place::new().await;
    let quiet = ["--webhooks", "false", "--health-addr", "0"];
    let mut first = place.manager(&quiet);
    until("the first leads", PATIENCE, async || {
        !place.leader().await.is_empty()
    })
    .await;
    let leader = place.leader().await;
    let second = place.manager(&quiet);
    until("the group has three", PATIENCE, async || {
        place.replicas().await == 3
    })
    .await;
    assert_eq!(place.calls("autoscaling:CreateAutoScalingGroup"), 1);
    assert_eq!(place.leader().await, leader);

    first.kill();
    place.scale(4).await;
    until("the second leads", TAKEOVER, async || {
        place.leader().await != leader
    })
    .await;
    until("the group has four", PATIENCE, async || {
        place.replicas().await == 4
    })
    .await;
    assert_eq!(place.calls("autoscaling:CreateAutoScalingGroup"), 1);
    assert!(second.terminate(), "it ends well");
    assert_eq!(place.leader().await, "", "the lease was given up");
    drop(first);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_is_ready_when_its_webhooks_can_be_called() {
    let place = Place::new().await;
    let health = free_port();
    let address = format!("127.0.0.1:{health}");
    let manager = place.manager(&[
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
