//! `remuda backup`.

use std::{
    fs,
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail, ensure};
use futures::AsyncReadExt;
use kube::{
    Client,
    config::{KubeConfigOptions, Kubeconfig},
};
use remuda_apiserver::{BackupSummary, DataDir, StoreError, verify_backup};

use crate::{
    cli::BackupArgs,
    config::{self, KUBECONFIG},
    output,
    up::state,
};

/// Where the management API gives its backup.
const PATH: &str = "/backup";

/// Writes a backup of the data directory: from its store, or through the server that holds it.
pub(crate) async fn run(args: BackupArgs) -> Result<ExitCode> {
    let file = &args.file;
    ensure!(
        !file.exists(),
        "{} exists: a backup overwrites nothing; choose another name",
        file.display()
    );
    let dir = config::data_dir(args.data_dir.as_deref())?;
    let store = state::store(&dir);
    ensure!(
        store.is_dir(),
        "{} holds no store: --data-dir names the data directory of a `remuda up`",
        dir.display()
    );
    let mut data = DataDir::new(store);
    if let Some(keys) = &args.key_file {
        data = data.key_file(keys);
    }
    match data.backup() {
        Ok(backup) => backup.write_new(file)?,
        Err(StoreError::InUse { .. }) => through_server(&dir, file).await?,
        Err(error) => bail!(error),
    }
    let summary = match verify_backup(file) {
        Ok(summary) => summary,
        Err(error) => {
            let _ = fs::remove_file(file);
            bail!(error);
        }
    };
    let keys = args
        .key_file
        .unwrap_or_else(|| state::store(&dir).join("store.key"));
    output::text(&said(file, &summary, &keys))?;
    Ok(ExitCode::SUCCESS)
}

fn said(file: &Path, summary: &BackupSummary, keys: &Path) -> String {
    let (objects, revision) = (summary.objects, summary.revision);
    let wrote = format!(
        "Wrote {}: {objects} objects as of revision {revision}.\n",
        file.display()
    );
    if summary.keys.is_empty() {
        return wrote;
    }
    format!(
        "{wrote}Its Secrets are sealed: keep a copy of the key file, {}, apart from it.\n",
        keys.display()
    )
}

/// Asks the server that holds the store.
async fn through_server(dir: &Path, file: &PathBuf) -> Result<()> {
    let kubeconfig = dir.join(KUBECONFIG);
    let kubeconfig = Kubeconfig::read_from(&kubeconfig).with_context(|| {
        format!(
            "the store is in use, so the server that holds it is asked, with {}",
            kubeconfig.display()
        )
    })?;
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    let request = http::Request::get(PATH).body(Vec::new())?;
    let answer = Client::try_from(config)?.request_stream(request).await;
    let mut answer = std::pin::pin!(answer.context("asking the running server for a backup")?);
    let mut out = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)
        .with_context(|| format!("making {}", file.display()))?;
    let mut chunk = vec![0; 64 * 1024];
    loop {
        // A stream that breaks off leaves a file that does not verify, and is removed.
        let read = answer.read(&mut chunk).await.unwrap_or(0);
        let Some(read) = chunk.get(..read).filter(|read| !read.is_empty()) else {
            break;
        };
        out.write_all(read)
            .with_context(|| format!("writing {}", file.display()))?;
    }
    out.sync_all()
        .with_context(|| format!("writing {}", file.display()))
}
