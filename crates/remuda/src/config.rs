//! The only reader of the environment: data directory, kubeconfig, colour, cloud identity.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::cli::Connection;

/// File in the data directory that `kubectl` reads.
pub(crate) const KUBECONFIG: &str = "kubeconfig";

/// The data directory: what was given, else `remuda` under the user's data home.
pub(crate) fn data_dir(given: Option<&Path>) -> Result<PathBuf> {
    if let Some(given) = given {
        return Ok(std::path::absolute(given)?);
    }
    if let Some(home) = set("XDG_DATA_HOME") {
        return Ok(PathBuf::from(home).join("remuda"));
    }
    match set("HOME") {
        Some(home) => Ok(PathBuf::from(home).join(".local/share/remuda")),
        None => bail!("no home directory is known (HOME is not set): give --data-dir"),
    }
}

/// Where a Kubernetes API was found, and the data directory of the `remuda up` it belongs to.
pub(crate) struct Found {
    /// The client's configuration.
    pub(crate) config: kube::Config,
    /// Set when the API is a `remuda up`'s: its simulated clouds are listed there.
    pub(crate) data_dir: Option<PathBuf>,
}

/// Finds the Kubernetes API: flag, `KUBECONFIG`, that of `remuda up`, `~/.kube/config`.
pub(crate) async fn find_api(connection: &Connection) -> Result<Found> {
    let local = data_dir(connection.data_dir.as_deref()).ok();
    let local_file = local.as_ref().map(|dir| dir.join(KUBECONFIG));
    let file = match (&connection.kubeconfig, set("KUBECONFIG"), &local_file) {
        (Some(given), _, _) => Some(given.clone()),
        (None, Some(_), _) if connection.data_dir.is_none() => None,
        (None, _, Some(local)) if local.is_file() => Some(local.clone()),
        _ => None,
    };
    let kubeconfig = match &file {
        Some(file) => Kubeconfig::read_from(file)
            .with_context(|| format!("reading the kubeconfig {}", file.display()))?,
        None => Kubeconfig::read()
            .context("no Kubernetes API: start one with `remuda up`, or set KUBECONFIG")?,
    };
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .context("the kubeconfig")?;
    let ours = local_file
        .as_deref()
        .is_some_and(|local| same_server(local, &config));
    Ok(Found {
        config,
        data_dir: local.filter(|_| ours),
    })
}

/// Whether a kubeconfig file names the server that a configuration talks to.
fn same_server(file: &Path, config: &kube::Config) -> bool {
    let server = config.cluster_url.to_string();
    Kubeconfig::read_from(file).is_ok_and(|local| {
        local
            .clusters
            .iter()
            .filter_map(|named| named.cluster.as_ref())
            .any(|cluster| {
                let named = cluster.server.as_deref().unwrap_or_default();
                named.trim_end_matches('/') == server.trim_end_matches('/')
            })
    })
}

/// An environment variable that is set and not empty.
fn set(name: &str) -> Option<std::ffi::OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// The text of an environment variable that is set and not empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    set(name)?.into_string().ok()
}

/// Whether colour is wanted at all (https://no-color.org).
pub(crate) fn colour_is_welcome() -> bool {
    set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
}
