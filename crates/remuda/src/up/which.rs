//! Simulated or real: what a `remuda up` may be asked for, decided before anything is touched.

use std::path::Path;

use anyhow::{Result, bail, ensure};

use super::state::UpState;
use crate::cli::{CloudKind, UpArgs};

/// What was asked for, a cloud each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Which {
    /// AWS.
    pub(crate) aws: CloudKind,
    /// Azure.
    pub(crate) azure: CloudKind,
}

impl Which {
    /// What was typed, where it goes together with the data directory and with itself.
    ///
    /// # Errors
    /// The demo on a real cloud, or a data directory whose machines are in the other one.
    pub(crate) fn of(args: &UpArgs, dir: &Path, last: &UpState) -> Result<Self> {
        let which = Self {
            aws: args.aws,
            azure: args.azure,
        };
        ensure!(
            !args.clouds.ambient_credentials || !which.both_simulated(),
            "simulated clouds know nothing of this machine's identity: leave out \
             --ambient-credentials, or say --aws real or --azure real"
        );
        which.check(args.demo, dir, last)?;
        Ok(which)
    }

    fn check(self, demo: bool, dir: &Path, last: &UpState) -> Result<()> {
        ensure!(
            !demo || self.both_simulated(),
            "the demo's pools and credentials are the simulated clouds': leave out --demo, or \
             --aws real and --azure real"
        );
        // Directories from before the choice there was name a port.
        let aws = last.aws_is_real.or(last.aws_port.map(|_| false));
        let azure = last.azure_is_real.or(last.azure_port.map(|_| false));
        stays("AWS", "--aws", self.aws, aws, dir)?;
        stays("Azure", "--azure", self.azure, azure, dir)
    }

    fn both_simulated(self) -> bool {
        self.aws == CloudKind::Simulated && self.azure == CloudKind::Simulated
    }

    /// The cloud that a cluster's exports are about runs in this process.
    pub(crate) fn simulates(self, is_aws: bool) -> bool {
        let kind = if is_aws { self.aws } else { self.azure };
        kind == CloudKind::Simulated
    }
}

/// Pools of one cloud would all count as deleted by hand in the other, and be made again there.
fn stays(
    name: &str,
    flag: &str,
    kind: CloudKind,
    was_real: Option<bool>,
    dir: &Path,
) -> Result<()> {
    let dir = dir.display();
    match (kind, was_real) {
        (CloudKind::Real, Some(false)) => bail!(
            "the data directory {dir} holds pools of a simulated {name}: give another --data-dir \
             for the real one, or leave out {flag} real"
        ),
        (CloudKind::Simulated, Some(true)) => bail!(
            "the data directory {dir} holds pools of the real {name}: say {flag} real, or give \
             another --data-dir"
        ),
        (CloudKind::Real, Some(true) | None) | (CloudKind::Simulated, Some(false) | None) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(aws: CloudKind, azure: CloudKind, demo: bool, last: &UpState) -> Option<String> {
        let checked = Which { aws, azure }.check(demo, Path::new("/data"), last);
        checked.err().map(|error| error.to_string())
    }

    #[test]
    fn the_demo_is_for_simulated_clouds() {
        use CloudKind::{Real, Simulated};
        let new = UpState::default();
        assert_eq!(refusal(Simulated, Simulated, true, &new), None);
        assert_eq!(refusal(Real, Real, false, &new), None);
        for (aws, azure) in [(Real, Simulated), (Simulated, Real)] {
            let text = refusal(aws, azure, true, &new).expect("refused");
            assert!(text.contains("--demo"), "{text}");
        }
    }

    #[test]
    fn a_data_directory_stays_with_its_cloud() {
        use CloudKind::{Real, Simulated};
        let real = UpState {
            aws_is_real: Some(true),
            azure_is_real: Some(false),
            ..UpState::default()
        };
        assert_eq!(refusal(Real, Simulated, false, &real), None);
        let text = refusal(Simulated, Simulated, false, &real).expect("refused");
        assert!(
            text.contains("--aws real") && text.contains("/data"),
            "{text}"
        );
        let text = refusal(Real, Real, false, &real).expect("refused");
        assert!(text.contains("simulated Azure"), "{text}");
        let before = UpState {
            aws_port: Some(4566),
            ..UpState::default()
        };
        assert!(refusal(Real, Simulated, false, &before).is_some());
    }
}
