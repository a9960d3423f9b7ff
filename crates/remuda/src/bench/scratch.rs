//! A data directory for one run.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Result, ensure};

/// The directory. One that nobody asked for is removed when this is dropped.
pub(crate) struct Scratch {
    path: PathBuf,
    kept: bool,
}

impl Scratch {
    /// Names the directory; `remuda up` makes it.
    ///
    /// # Errors
    /// It is there already: its pools would be measured, too.
    pub(crate) fn make(given: Option<&Path>) -> Result<Self> {
        let path = if let Some(given) = given {
            std::path::absolute(given)?
        } else {
            let process = std::process::id();
            let name = format!("remuda-bench-{process}-{:08x}", fastrand::u32(..));
            env::temp_dir().join(name)
        };
        ensure!(
            !path.exists(),
            "the directory {} is there already: a measurement begins with an empty one, give another \
             --data-dir",
            path.display()
        );
        Ok(Self {
            path,
            kept: given.is_some(),
        })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.kept {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
