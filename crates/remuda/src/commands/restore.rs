//! `remuda restore`.

use std::process::ExitCode;

use anyhow::Result;
use remuda_apiserver::DataDir;

use crate::{cli::RestoreArgs, config, output, up::state};

/// Makes a data directory from a backup.
pub(crate) fn run(args: &RestoreArgs) -> Result<ExitCode> {
    let dir = config::data_dir(Some(&args.data_dir))?;
    let store = state::prepare(&dir)?;
    let restored = DataDir::new(store).restore(&args.file, args.key_file.as_deref())?;
    output::text(&format!(
        "Restored {0} objects as of revision {1} to {2}.\nStart it: remuda up --data-dir {2}\n",
        restored.objects,
        restored.revision,
        dir.display(),
    ))?;
    Ok(ExitCode::SUCCESS)
}
