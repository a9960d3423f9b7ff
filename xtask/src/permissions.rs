//! `cargo xtask permissions`: `deploy/aws/iam-policy.json` and `deploy/azure/role.json`, from the
//! tables of cloud calls.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};

use crate::tools;

/// Cloud and file.
const FILES: [(&str, &str); 2] = [
    ("aws", "deploy/aws/iam-policy.json"),
    ("azure", "deploy/azure/role.json"),
];

/// Writes the files, or compares them with what the tables say.
pub(crate) fn run(root: &Path, check: bool) -> Result<()> {
    for (cloud, name) in FILES {
        let wanted = tools::remuda_says(root, &["permissions", cloud, "--output", "json"])?;
        let file = root.join(name);
        if check {
            let found = fs::read_to_string(&file).unwrap_or_default();
            ensure!(
                found == wanted,
                "{name} is not up to date: run `cargo xtask permissions`"
            );
        } else {
            fs::create_dir_all(file.parent().context("a file in a folder")?)?;
            fs::write(&file, wanted)?;
            println!("{name}");
        }
    }
    Ok(())
}
