//! `cargo xtask reference`: the pages of `docs/reference` that the program prints itself.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::tools;

const FOLDER: &str = "docs/reference";

/// Pages, by the name that `remuda reference` knows.
const PAGES: [&str; 5] = ["commands", "variables", "conditions", "fields", "metrics"];

/// Writes the pages, or compares them with what the program says.
pub(crate) fn run(root: &Path, check: bool) -> Result<()> {
    let mut stale = Vec::new();
    for page in PAGES {
        let wanted = tools::remuda_says(root, &["reference", page])?;
        let file = root.join(FOLDER).join(format!("{page}.md"));
        if check {
            if fs::read_to_string(&file).unwrap_or_default() != wanted {
                stale.push(page);
            }
        } else {
            fs::write(&file, wanted).with_context(|| format!("writing {}", file.display()))?;
        }
    }
    if !stale.is_empty() {
        bail!("{FOLDER} is not up to date ({stale:?}): run `cargo xtask reference`");
    }
    Ok(())
}
