//! The other target: a genuine Kubernetes API server.
//!
//! `CONFORMANCE_KUBECONFIG` names a running, empty one; `KUBEBUILDER_ASSETS` a folder with etcd and
//! kube-apiserver (envtest's convention), which are started here; else the workplace's own pair is.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;

const KUBECONFIG: &str = "CONFORMANCE_KUBECONFIG";
const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// How to have a genuine server where there is none.
pub(crate) const HOW: &str = "no genuine API server here: name an empty one in \
    CONFORMANCE_KUBECONFIG, or a folder with etcd and kube-apiserver in KUBEBUILDER_ASSETS \
    (`setup-envtest use -p path` prints one)";

/// A genuine server, stopped when dropped if it was started here.
pub(crate) struct Genuine {
    pub(crate) kubeconfig: String,
    /// Whether it is the pair that the recordings were made with.
    pub(crate) is_recorded: bool,
    processes: Processes,
}

impl Genuine {
    /// The ids of its processes; none for one that was not started here.
    #[allow(dead_code, reason = "the bench asks how much memory they take")]
    pub(crate) fn process_ids(&self) -> Vec<u32> {
        match &self.processes {
            Processes::Foreign => Vec::new(),
            Processes::Own { children, .. } => children.iter().map(|one| one.0.id()).collect(),
            Processes::Tool { folder, .. } => {
                let files = std::fs::read_dir(folder.path()).expect("the folder is readable");
                files
                    .filter_map(|file| Some(file.ok()?.path()))
                    .filter(|path| path.extension().is_some_and(|end| end == "pid"))
                    .filter_map(|path| std::fs::read_to_string(path).ok()?.trim().parse().ok())
                    .collect()
            }
        }
    }

    /// A client with every right.
    pub(crate) async fn client(&self) -> Client {
        let config = Kubeconfig::from_yaml(&self.kubeconfig).expect("a kubeconfig");
        let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await;
        Client::try_from(config.expect("a usable kubeconfig")).expect("a client")
    }
}

enum Processes {
    Foreign,
    Tool {
        program: PathBuf,
        folder: tempfile::TempDir,
    },
    Own {
        children: [Stopped; 2],
        _folder: tempfile::TempDir,
    },
}

impl Drop for Processes {
    fn drop(&mut self) {
        if let Self::Tool { program, folder } = self {
            let _ = Command::new(program)
                .arg("stop")
                .arg(folder.path())
                .output();
        }
    }
}

/// A process that ends with its owner.
struct Stopped(Child);

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The genuine server of this place, if there is one.
pub(crate) async fn find() -> Option<Genuine> {
    if let Some(path) = std::env::var_os(KUBECONFIG) {
        return Some(Genuine {
            kubeconfig: read(Path::new(&path)),
            is_recorded: false,
            processes: Processes::Foreign,
        });
    }
    if let Some(folder) = std::env::var_os(ASSETS) {
        return Some(start(Path::new(&folder)).await);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = root.join("../shared/tools/real-apiserver");
    if !program.exists() {
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let started = Command::new(&program)
        .arg("start")
        .arg(folder.path())
        .output();
    let started = started.expect("the tool runs");
    let said = String::from_utf8_lossy(&started.stderr);
    assert!(started.status.success(), "{said}");
    Some(Genuine {
        kubeconfig: read(&folder.path().join("kubeconfig")),
        is_recorded: true,
        processes: Processes::Tool { program, folder },
    })
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a kubeconfig is readable")
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

/// Starts etcd and kube-apiserver on loopback, with an empty store and one administrator.
async fn start(assets: &Path) -> Genuine {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (client, peer, port) = (free_port(), free_port(), free_port());
    let (client, peer) = (
        format!("http://127.0.0.1:{client}"),
        format!("http://127.0.0.1:{peer}"),
    );
    let etcd = run(
        &assets.join("etcd"),
        &at("etcd.log"),
        &[
            ("data-dir", &at("etcd")),
            ("listen-client-urls", &client),
            ("advertise-client-urls", &client),
            ("listen-peer-urls", &peer),
            ("initial-advertise-peer-urls", &peer),
            ("initial-cluster", &format!("default={peer}")),
        ],
    );
    let key = rcgen::KeyPair::generate().expect("a key");
    write(&at("sa.key"), &key.serialize_pem());
    write(&at("sa.pub"), &key.public_key_pem());
    let token = "conformance";
    write(
        &at("tokens.csv"),
        &format!("{token},admin,admin,system:masters\n"),
    );
    let server = run(
        &assets.join("kube-apiserver"),
        &at("kube-apiserver.log"),
        &[
            ("etcd-servers", &client),
            ("bind-address", "127.0.0.1"),
            ("secure-port", &port.to_string()),
            ("cert-dir", &at("certificates")),
            ("token-auth-file", &at("tokens.csv")),
            ("authorization-mode", "RBAC"),
            ("service-account-issuer", "https://kubernetes.default.svc"),
            ("service-account-key-file", &at("sa.pub")),
            ("service-account-signing-key-file", &at("sa.key")),
            ("service-cluster-ip-range", "10.0.0.0/24"),
            ("disable-admission-plugins", "ServiceAccount"),
        ],
    );
    let config = json!({
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {
            "server": format!("https://127.0.0.1:{port}"), "insecure-skip-tls-verify": true,
        }}],
        "users": [{"name": "c", "user": {"token": token}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    });
    let children = [Stopped(server), Stopped(etcd)];
    let log = at("kube-apiserver.log");
    let genuine = Genuine {
        kubeconfig: config.to_string(),
        is_recorded: false,
        processes: Processes::Own {
            children,
            _folder: folder,
        },
    };
    wait_until_ready(&genuine.client().await, &log).await;
    genuine
}

fn write(path: &str, text: &str) {
    std::fs::write(path, text).expect("the folder is writable");
}

fn run(program: &Path, log: &str, flags: &[(&str, &str)]) -> Child {
    let log = std::fs::File::create(log).expect("the folder is writable");
    Command::new(program)
        .args(
            flags
                .iter()
                .map(|(name, value)| format!("--{name}={value}")),
        )
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}", program.display()))
}

async fn wait_until_ready(client: &Client, log: &str) {
    for _ in 0..600 {
        let request = http::Request::get("/readyz")
            .body(Vec::new())
            .expect("a valid request");
        if client
            .request_text(request)
            .await
            .is_ok_and(|text| text == "ok")
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let log = std::fs::read_to_string(log).unwrap_or_default();
    let end: Vec<&str> = log.lines().rev().take(20).collect();
    panic!("kube-apiserver does not become ready:\n{}", end.join("\n"));
}
