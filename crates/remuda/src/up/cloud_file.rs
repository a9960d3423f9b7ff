//! The simulated clouds of `remuda up` on disk: `<data-dir>/aws.json` and `azure.json`.
//!
//! In: the data directory, and a world that changes. Out: the world as it was when the last
//! `remuda up` ended, however it ended. The Kubernetes objects stay in the data directory, and a
//! cloud that forgot would make every pool count as deleted by hand.
//!
//! Invariants: the file is replaced in one step, is for its owner only, and is never written over
//! before it was read.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use remuda_sim::{Sim, Simulated};
use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{
    clouds::{self, Pace, Paced},
    state,
};

/// Shortest pause between two writes: what a crash may lose at most.
const PAUSE: Duration = Duration::from_millis(500);

/// The world a data directory holds, or a new one with the demo world.
///
/// # Errors
/// There is a file, and it cannot be read; it is left as it is.
pub(crate) fn open<C: Paced>(data_dir: &Path, pace: Pace) -> Result<Sim<C>> {
    let path = data_dir.join(clouds::file::<C>());
    let builder = clouds::simulated::<C>(pace);
    let saved = match fs::read(&path) {
        Ok(saved) => saved,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(builder.demo()),
        Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
    };
    builder.restore(&saved).map_err(|error| {
        anyhow!(
            "the simulated {} in {} cannot be restored: {error}. Move the file away to begin with a \
             new one; machines of the old one are gone then",
            C::NAME,
            path.display()
        )
    })
}

/// Writes a world to its data directory as it changes.
pub(crate) struct CloudFile {
    writer: JoinHandle<Result<()>>,
    close: CancellationToken,
}

impl CloudFile {
    /// Writes from now on.
    pub(crate) fn keep<C: Simulated>(data_dir: &Path, sim: &Sim<C>) -> Self {
        let close = CancellationToken::new();
        let writer = Writer {
            sim: sim.clone(),
            path: data_dir.join(clouds::file::<C>()),
        };
        let writer = tokio::spawn(writer.run(sim.changes(), close.clone()));
        Self { writer, close }
    }

    /// Writes what changed last, and ends.
    ///
    /// # Errors
    /// The last write failed.
    pub(crate) async fn close(self) -> Result<()> {
        self.close.cancel();
        self.writer
            .await
            .context("the writer of a simulated cloud ended")?
    }
}

struct Writer<C: Simulated> {
    sim: Sim<C>,
    path: PathBuf,
}

impl<C: Simulated> Writer<C> {
    async fn run(self, mut changes: watch::Receiver<u64>, close: CancellationToken) -> Result<()> {
        loop {
            changes.borrow_and_update();
            let written = self.write().await;
            if let Err(error) = &written {
                tracing::warn!(
                    error = format!("{error:#}"),
                    cloud = C::NAME,
                    "the simulated cloud is not on disk"
                );
            }
            let changed = async {
                tokio::time::sleep(PAUSE).await;
                // What failed is tried again, changed or not.
                if written.is_ok() {
                    let _ = changes.changed().await;
                }
            };
            tokio::select! {
                () = changed => {}
                () = close.cancelled() => return self.write().await,
            }
        }
    }

    async fn write(&self) -> Result<()> {
        let (sim, path) = (self.sim.clone(), self.path.clone());
        let write = move || state::private_file(&path, sim.save());
        tokio::task::spawn_blocking(write)
            .await
            .context("saving a simulated cloud")?
    }
}
