//! What `remuda up` leaves in its data directory for other commands: where things listen.
//!
//! ```text
//! <data-dir>/kubeconfig   for kubectl; holds the administrator's token, mode 0600
//! <data-dir>/up.json      this file
//! <data-dir>/aws.json     the simulated AWS, mode 0600
//! <data-dir>/azure.json   the simulated Azure, mode 0600
//! <data-dir>/api/         the Kubernetes API's store, keys and certificates
//! ```

use std::{
    fs,
    io::Write,
    net::SocketAddr,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

const FILE: &str = "up.json";

/// Where a `remuda up` listens, or last listened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct UpState {
    /// Port of the Kubernetes API.
    pub(crate) api_port: u16,
    /// Port of the admission webhooks.
    pub(crate) webhook_port: Option<u16>,
    /// Port of the simulated AWS; absent when AWS is real.
    pub(crate) aws_port: Option<u16>,
    /// Port of the simulated Azure; absent when Azure is real.
    pub(crate) azure_port: Option<u16>,
    /// Whether AWS is the real one; absent before the first start.
    pub(crate) aws_is_real: Option<bool>,
    /// Whether Azure is the real one; absent before the first start.
    pub(crate) azure_is_real: Option<bool>,
    /// Port of the dashboard; absent when there is none.
    pub(crate) dashboard_port: Option<u16>,
    /// Port of health checks and metrics; absent when there is none.
    pub(crate) health_port: Option<u16>,
    /// How fast the simulated clouds run.
    pub(crate) speed: f64,
}

impl UpState {
    /// What a data directory says; the default when it says nothing.
    pub(crate) fn read(data_dir: &Path) -> Self {
        let text = fs::read_to_string(data_dir.join(FILE)).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Writes it.
    pub(crate) fn write(&self, data_dir: &Path) -> Result<()> {
        private_file(&data_dir.join(FILE), serde_json::to_string_pretty(self)?)
    }

    /// Where the simulated AWS answers.
    pub(crate) fn aws_endpoint(&self) -> Option<String> {
        self.aws_port.map(at)
    }

    /// Where the simulated Azure answers.
    pub(crate) fn azure_endpoint(&self) -> Option<String> {
        self.azure_port.map(at)
    }
}

fn at(port: u16) -> String {
    format!("http://{}", loopback(port))
}

/// A loopback address.
pub(crate) fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// Makes the data directory, readable by its owner only, or checks that it is so: it holds the
/// administrator's token.
pub(crate) fn prepare(data_dir: &Path) -> Result<PathBuf> {
    if let Ok(found) = fs::metadata(data_dir) {
        let mode = found.permissions().mode() & 0o777;
        let of_others = mode & 0o077;
        ensure!(
            of_others == 0,
            "the data directory {0} is open to other users (mode {mode:03o}), and it holds keys and \
             Secrets: chmod 700 {0}",
            data_dir.display()
        );
    }
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(data_dir)
        .with_context(|| format!("making the data directory {}", data_dir.display()))?;
    Ok(store(data_dir))
}

/// Where the API's store is in a data directory.
pub(crate) fn store(data_dir: &Path) -> PathBuf {
    data_dir.join("api")
}

/// Replaces a file in one step; only its owner may read it.
pub(crate) fn private_file(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    let part = path.with_extension("part");
    let write = || -> std::io::Result<()> {
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&part)?;
        file.write_all(content.as_ref())?;
        file.sync_all()?;
        fs::rename(&part, path)
    };
    write().with_context(|| format!("writing {}", path.display()))
}
