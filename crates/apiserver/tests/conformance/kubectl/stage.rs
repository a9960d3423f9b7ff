//! Where a scenario plays: a server, a namespace, a folder and kubectl.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::process::Command;

use super::here;
use super::settle::settled;
use super::transcript::Shown;

/// No command of a scenario takes longer.
const LONGEST: Duration = Duration::from_mins(1);

/// A folder, and a kubeconfig in it whose namespace is the scenario's.
pub(super) struct Stage {
    folder: tempfile::TempDir,
}

impl Stage {
    /// `kubeconfig` says which server; `namespace` is made there.
    pub(super) async fn set(kubectl: &Path, kubeconfig: &str, namespace: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let inside = |name: &str| folder.path().join(name);
        std::fs::create_dir(inside("bin")).expect("a folder");
        std::os::unix::fs::symlink(kubectl, inside("bin/kubectl")).expect("a link");
        std::fs::write(inside("kubeconfig"), kubeconfig).expect("a file");
        let stage = Self { folder };
        stage
            .ok(&format!(
                "kubectl create namespace {namespace}; \
                 kubectl config set-context --current --namespace={namespace}"
            ))
            .await;
        stage
    }

    /// Makes the kinds of the scenarios; a genuine server takes a while to serve them.
    pub(super) async fn define(&self) {
        let file = here("definitions.yaml");
        self.ok(&format!(
            "kubectl apply -f {} && kubectl wait --for=condition=established crd widgets.example.com fleets.example.com && \
             until kubectl get widgets,fleets && kubectl explain widget; do :; done",
            file.display()
        ))
        .await;
    }

    async fn ok(&self, command: &str) {
        let shown = self.run(command).await;
        assert_eq!(shown.code, 0, "{command}: {}", shown.render());
    }

    /// Runs a bash command.
    pub(super) async fn run(&self, command: &str) -> Shown {
        let folder = self.folder.path();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut bash = Command::new("bash");
        bash.args(["-c", command])
            .current_dir(folder)
            .env_clear()
            .env("PATH", format!("{}:{path}", folder.join("bin").display()))
            .env("HOME", folder)
            .env("TMPDIR", folder)
            .env("KUBECONFIG", folder.join("kubeconfig"))
            .env("BASH_ENV", here("prelude.bash"))
            .env("LC_ALL", "C")
            .env("TZ", "UTC")
            .stdin(std::process::Stdio::null())
            .kill_on_drop(true);
        let output = tokio::time::timeout(LONGEST, bash.output()).await;
        let Ok(output) = output else {
            return Shown {
                err: format!("still running after {LONGEST:?}\n"),
                code: -1,
                ..Shown::default()
            };
        };
        let output = output.expect("bash starts");
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            settled(&text, &folder.display().to_string())
        };
        Shown {
            out: text(&output.stdout),
            err: text(&output.stderr),
            code: output.status.code().unwrap_or(-1),
        }
    }
}

/// kubectl of the release that the recordings are of.
pub(super) fn kubectl(release: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join("kubectl"))
        .find(|program| program.exists())?
        .canonicalize()
        .ok()?;
    let beside = found.with_file_name(format!("kubectl.{release}"));
    if beside.exists() {
        return Some(beside);
    }
    let version = std::process::Command::new(&found)
        .args(["version", "--client"])
        .output()
        .ok()?;
    let wanted = format!("Client Version: v{release}.");
    String::from_utf8_lossy(&version.stdout)
        .contains(&wanted)
        .then_some(found)
}
