//! This project's server as a process of its own, so that its memory and its start are its own.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use remuda_apiserver::ApiServer;

use crate::client::Target;

/// Tells a process of this bench to be the server, in which folder.
const FOLDER: &str = "SPEED_SERVER_FOLDER";
const KUBECONFIG: &str = "kubeconfig";

/// Serves until standard input ends, if this process was started for that.
pub(crate) fn serve_if_asked() -> bool {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return false;
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let folder = Path::new(&folder);
        let server = ApiServer::builder().data_dir(folder).build();
        let server = server.expect("a store");
        let address = "127.0.0.1:0".parse().expect("an address");
        let serving = server.serve(address).await.expect("a port");
        let kubeconfig = serving.kubeconfig(&server.management());
        std::fs::write(folder.join(KUBECONFIG), kubeconfig).expect("a file");
        println!("ready");
        let end = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
        let _ = end.await;
        serving.shutdown().await;
        server.close().await;
    });
    true
}

/// A server at work.
pub(crate) struct Server {
    child: Child,
    /// Its end is the server's.
    input: Option<ChildStdin>,
    pub(crate) kubeconfig: String,
}

impl Server {
    /// Starts one; also how long it took until it answered a request over TLS.
    pub(crate) async fn start(folder: &Path) -> (Self, Duration) {
        let begun = Instant::now();
        let mut child = Command::new(std::env::current_exe().expect("this bench is a program"))
            .env(FOLDER, folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the bench starts itself");
        let output = child.stdout.take().expect("it is piped");
        let mut line = String::new();
        let read = BufReader::new(output).read_line(&mut line);
        assert_eq!((read.ok(), line.as_str()), (Some(6), "ready\n"));
        let kubeconfig = std::fs::read_to_string(folder.join(KUBECONFIG)).expect("a file");
        let server = Self {
            input: child.stdin.take(),
            child,
            kubeconfig,
        };
        let target = Target::connect(&server.kubeconfig, 1).await;
        let path = "/api/v1/namespaces/default";
        target
            .call(http::Method::GET, path, bytes::Bytes::new())
            .await;
        (server, begun.elapsed())
    }

    /// Resident memory in MiB.
    pub(crate) fn memory(&self) -> Option<u64> {
        resident(self.child.id())
    }

    /// Stops it and waits until it is gone.
    pub(crate) fn stop(mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Resident memory of a process in MiB, where the system tells it.
pub(crate) fn resident(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes / 1024)
}
