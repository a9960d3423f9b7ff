//! Where managers are tried: an API server over its socket, a simulated AWS whose instances become
//! Nodes, and managers as processes of their own.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
    core::{ApiResource, GroupVersionKind},
};
use remuda_apiserver::{ApiServer, Serving};
use remuda_controllers::{
    kinds::Kind,
    objects::{ApiError, LiveObjects, Target},
};
use remuda_sim::{Outcome, SimClock, aws::AwsSim, kubelet::WorkloadApis};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::task::AbortOnDropHandle;

use crate::genuine::Genuine;

const DEMO: [&str; 4] = [
    include_str!("../../../../examples/demo/00-identity.yaml"),
    include_str!("../../../../examples/demo/10-cluster.yaml"),
    include_str!("../../../../examples/demo/20-machinepool.yaml"),
    include_str!("../../../../examples/demo/30-terraformmachinepool.yaml"),
];
/// Namespace of the demo.
pub(crate) const TEAM: &str = "team-a";
/// The demo's pool.
pub(crate) const POOL: &str = "demo-pool-0";
/// Namespace of the manager.
pub(crate) const SYSTEM: &str = "remuda-system";
/// How long anything on these pages may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// See the module's words.
pub(crate) struct Place {
    /// The management API, with an administrator's rights.
    pub(crate) objects: LiveObjects,
    pub(crate) aws: AwsSim,
    aws_address: SocketAddr,
    home: TempDir,
    server: ApiServer,
    serving: Serving,
    _nodes: AbortOnDropHandle<()>,
    _genuine: Option<Genuine>,
}

/// Every cluster id means the one workload cluster.
struct OneCluster(axum::Router);

impl WorkloadApis for OneCluster {
    fn for_cluster(&self, _: &str) -> Option<axum::Router> {
        Some(self.0.clone())
    }
}

fn resource(object: &Value) -> ApiResource {
    let version = object["apiVersion"].as_str().unwrap();
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let kind = object["kind"].as_str().unwrap();
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

impl Place {
    /// With the embedded API; the kinds are not there yet.
    pub(crate) async fn embedded() -> Self {
        Self::with(None).await
    }

    /// With a genuine API server; workload clusters are embedded ones.
    pub(crate) async fn genuine(genuine: Genuine) -> Self {
        Self::with(Some(genuine)).await
    }

    async fn with(genuine: Option<Genuine>) -> Self {
        let server = ApiServer::builder().build().unwrap();
        let serving = server.serve("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let home = tempfile::tempdir().unwrap();
        let kubeconfig = match &genuine {
            Some(genuine) => genuine.kubeconfig.clone(),
            None => serving.kubeconfig(&server.management()),
        };
        std::fs::write(home.path().join("kubeconfig"), &kubeconfig).unwrap();
        let kubeconfig = Kubeconfig::from_yaml(&kubeconfig).unwrap();
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
        let client = Client::try_from(config.unwrap()).unwrap();
        let aws = AwsSim::builder()
            .clock(SimClock::starting_at(Timestamp::now()).with_speed(20.0))
            .demo();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let aws_address = listener.local_addr().unwrap();
        let router = aws.router();
        tokio::spawn(async move { axum::serve(listener, router).await });
        let workload = server.instance(&format!("{TEAM}/demo")).router();
        let nodes = aws.run_nodes(Arc::new(OneCluster(workload)));
        Self {
            objects: LiveObjects::new(client),
            aws,
            aws_address,
            home,
            server,
            serving,
            _nodes: AbortOnDropHandle::new(nodes),
            _genuine: genuine,
        }
    }

    /// With the embedded API, the kinds and the demo.
    pub(crate) async fn filled() -> Self {
        let place = Self::embedded().await;
        for definition in remuda_api::crds() {
            place
                .create(&serde_json::to_value(definition).unwrap(), None)
                .await;
        }
        place.demo().await;
        place
    }

    /// The demo, and the way to its workload cluster.
    pub(crate) async fn demo(&self) {
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": TEAM },
        });
        self.create(&namespace, None).await;
        let workload = self.server.instance(&format!("{TEAM}/demo"));
        let kubeconfig = STANDARD.encode(self.serving.kubeconfig(&workload));
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {
                "name": "demo-kubeconfig", "namespace": TEAM,
                "labels": { "cluster.x-k8s.io/cluster-name": "demo" },
            },
            "type": "cluster.x-k8s.io/secret",
            "data": { "value": kubeconfig },
        });
        self.create(&secret, Some(TEAM)).await;
        for text in DEMO {
            let documents: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
            for document in documents {
                let kind = document["kind"].as_str().unwrap();
                let clusterwide = matches!(kind, "Namespace" | "TerraformClusterIdentity");
                let namespace = document["metadata"]["namespace"].as_str().unwrap_or(TEAM);
                self.create(&document, (!clusterwide).then_some(namespace))
                    .await;
            }
        }
    }

    /// Another pool of the demo's cluster, a copy of the first.
    pub(crate) async fn another_pool(&self, name: &str) {
        for text in &DEMO[2..] {
            let documents: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
            for mut document in documents {
                if document["kind"] == "Secret" {
                    continue;
                }
                document["metadata"]["name"] = name.into();
                if document["kind"] == "MachinePool" {
                    document["spec"]["template"]["spec"]["infrastructureRef"]["name"] = name.into();
                }
                self.create(&document, Some(TEAM)).await;
            }
        }
    }

    /// Creates an object that the server must take.
    pub(crate) async fn create_once(&self, object: &Value, namespace: &str) {
        let resource = resource(object);
        let created = self
            .objects
            .create(&resource, Some(namespace), object, "test");
        created
            .await
            .unwrap_or_else(|error| panic!("{error}: {object:#}"));
    }

    /// Creates an object with its status; one that is there stays.
    async fn create(&self, object: &Value, namespace: Option<&str>) {
        let resource = resource(object);
        let deadline = Instant::now() + PATIENCE;
        // A definition is served a moment after it was created.
        loop {
            let created = self.objects.create(&resource, namespace, object, "test");
            match created.await {
                Ok(_) | Err(ApiError::AlreadyExists(_)) => break,
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
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
            let patched = self.objects.merge_patch(&target, &patch, "test").await;
            patched.unwrap();
        }
    }

    /// The administrator's kubeconfig.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.home.path().join("kubeconfig")
    }

    /// The same with another token.
    pub(crate) fn kubeconfig_with(&self, token: &str) -> PathBuf {
        let text = std::fs::read_to_string(self.kubeconfig()).unwrap();
        let mut kubeconfig: Value = serde_saphyr::from_str(&text).unwrap();
        kubeconfig["users"][0]["user"] = json!({ "token": token });
        let path = self.home.path().join("kubeconfig-of-manager");
        std::fs::write(&path, kubeconfig.to_string()).unwrap();
        path
    }

    /// Runs the program to its end.
    pub(crate) fn remuda(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_remuda"))
            .args(arguments)
            .arg("--kubeconfig")
            .arg(self.kubeconfig())
            .output()
            .unwrap()
    }

    /// A manager with an administrator's rights.
    pub(crate) fn manager(&self, arguments: &[&str]) -> Manager {
        self.manager_as(&self.kubeconfig(), arguments)
    }

    /// A manager with the rights of a kubeconfig.
    pub(crate) fn manager_as(&self, kubeconfig: &Path, arguments: &[&str]) -> Manager {
        self.start(self.command(kubeconfig, arguments))
    }

    /// What starts a manager.
    pub(crate) fn command(&self, kubeconfig: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_remuda"));
        command
            .arg("manager")
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .arg("--aws-endpoint-url")
            .arg(format!("http://{}", self.aws_address))
            .args(arguments)
            .env("RUST_LOG", "warn,remuda_controllers::election=info");
        command
    }

    /// Starts it; what it logs is kept.
    pub(crate) fn start(&self, mut command: Command) -> Manager {
        let log = tempfile::NamedTempFile::new_in(self.home.path()).unwrap();
        let (log, path) = log.keep().unwrap();
        command.stdout(Stdio::null()).stderr(log);
        Manager {
            child: command.spawn().unwrap(),
            log: path,
        }
    }

    /// Who holds the lease.
    pub(crate) async fn leader(&self) -> String {
        let lease = json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease" });
        let found = self
            .objects
            .get_of(&resource(&lease), Some(SYSTEM), "remuda-manager")
            .await
            .unwrap();
        let lease = found.unwrap_or_default();
        lease["spec"]["holderIdentity"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// How often the manager called the cloud so.
    pub(crate) fn calls(&self, name: &str) -> usize {
        let calls = self.aws.journal().calls();
        calls.iter().filter(|call| call.name() == name).count()
    }

    /// How many of those calls were refused.
    pub(crate) fn failed_calls(&self, name: &str) -> usize {
        let calls = self.aws.journal().calls();
        let failed = calls
            .iter()
            .filter(|call| matches!(call.outcome, Outcome::Refused { .. }));
        failed.filter(|call| call.name() == name).count()
    }

    /// How many instances there are, of whichever group.
    pub(crate) fn alive(&self) -> usize {
        let world = self.aws.world();
        let groups = world.instances().into_iter().filter_map(|it| it.group);
        let groups: BTreeSet<String> = groups.collect();
        let alive = groups.iter().map(|group| world.live_instances(group).len());
        alive.sum()
    }

    pub(crate) async fn scale(&self, pool: &str, replicas: u32) {
        let resource = Kind::MachinePool.resource();
        let target = Target {
            resource: &resource,
            namespace: Some(TEAM),
            name: pool,
            subresource: None,
        };
        let patch = json!({ "spec": { "replicas": replicas } });
        self.objects
            .merge_patch(&target, &patch, "test")
            .await
            .unwrap();
    }

    /// A cluster-scoped object of whichever kind; it must be there.
    pub(crate) async fn get_any(&self, of_kind: &Value, name: &str) -> Value {
        let found = self.objects.get_of(&resource(of_kind), None, name).await;
        found.unwrap().unwrap_or_else(|| panic!("no {name}"))
    }

    /// An object of the team.
    pub(crate) async fn get(&self, kind: Kind, name: &str) -> Option<Value> {
        let resource = kind.resource();
        let found = self.objects.get_of(&resource, Some(TEAM), name).await;
        found.unwrap()
    }

    /// All objects of a kind of the team.
    pub(crate) async fn list(&self, kind: Kind) -> Vec<Value> {
        let resource = kind.resource();
        let found = self.objects.list_of(&resource, Some(TEAM), "").await;
        found.unwrap()
    }

    pub(crate) async fn delete(&self, kind: Kind, name: &str) {
        let resource = kind.resource();
        let deleted = self.objects.delete(&resource, Some(TEAM), name, None).await;
        deleted.unwrap();
    }

    /// Whether a MachinePool is Running with this many Nodes, all Ready.
    pub(crate) async fn is_running(&self, pool: &str, replicas: u64) -> bool {
        let Some(pool) = self.get(Kind::MachinePool, pool).await else {
            return false;
        };
        let status = &pool["status"];
        let nodes = status["nodeRefs"].as_array().map_or(0, Vec::len);
        status["phase"] == "Running"
            && status["replicas"] == replicas
            && status["readyReplicas"] == replicas
            && u64::try_from(nodes) == Ok(replicas)
    }
}

/// A process. Dropping it kills it.
pub(crate) struct Manager {
    child: Child,
    log: PathBuf,
}

impl Manager {
    /// As `kill -9` does.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to stop; whether it ended well.
    pub(crate) fn terminate(&mut self) -> bool {
        let id = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status().unwrap();
        self.child.wait().unwrap().success()
    }

    /// What it warned of so far.
    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("a manager said:\n{}", self.said());
        }
    }
}

/// Waits until something holds.
pub(crate) async fn until<F: AsyncFnMut() -> bool>(what: &str, within: Duration, mut check: F) {
    let deadline = Instant::now() + within;
    while !check().await {
        assert!(Instant::now() < deadline, "not within {within:?}: {what}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The status of an HTTP answer on loopback; `None` while nobody answers.
pub(crate) async fn status_of(port: u16, path: &str) -> Option<u16> {
    let answer = ask(port, path, "*/*").await?;
    answer.split(' ').nth(1)?.parse().ok()
}

/// An HTTP answer on loopback, head and body; `None` while nobody answers.
pub(crate) async fn ask(port: u16, path: &str, accept: &str) -> Option<String> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port))
        .await
        .ok()?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\nAccept: {accept}\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    Some(answer)
}

/// Whether kubectl can be run.
pub(crate) fn has_kubectl() -> bool {
    let mut asked = Command::new("kubectl");
    asked.args(["version", "--client"]);
    asked.output().is_ok_and(|output| output.status.success())
}

/// A port that nothing listens on.
pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
