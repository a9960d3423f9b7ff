//! What this process has taken of the machine, as Linux tells it; nothing elsewhere.

use std::{fs, time::Duration};

/// Processor time of all threads so far, user and system.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spent(Duration);

/// Ticks a second of the kernel's accounts: the same on every Linux that Rust runs on.
const TICKS: u64 = 100;

impl Spent {
    /// Until now.
    pub(crate) fn now() -> Option<Self> {
        spent(&fs::read_to_string("/proc/self/stat").ok()?)
    }

    /// In seconds.
    pub(crate) fn as_secs_f64(self) -> f64 {
        self.0.as_secs_f64()
    }
}

/// Most memory that was resident at once, in MiB.
pub(crate) fn peak_rss_mib() -> Option<u64> {
    memory("VmHWM:")
}

/// Memory that is resident, in MiB.
pub(crate) fn rss_mib() -> Option<u64> {
    memory("VmRSS:")
}

fn memory(field: &str) -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/self/status").ok()?, field).map(|kib| kib / 1024)
}

fn kibibytes(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Fields 14 and 15. The second one, the program's name, may hold anything: it ends at the last
/// parenthesis.
fn spent(stat: &str) -> Option<Spent> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<u64>().ok();
    let ticks = next()? + next()?;
    Some(Spent(Duration::from_millis(ticks * 1000 / TICKS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_accounts_are_read() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 4 0 1 2 3";
        assert_eq!(spent(stat).map(|it| it.0), Some(Duration::from_secs(3)));
        let status = "Name:\tremuda\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\n";
        assert_eq!(kibibytes(status, "VmHWM:"), Some(2048));
        assert_eq!(kibibytes(status, "VmSwap:"), None);
    }
}
