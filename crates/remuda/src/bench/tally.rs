//! What was asked of the Kubernetes API and of the clouds, and what the process took, between two
//! looks.

use std::{collections::BTreeMap, sync::Arc};

use remuda_apiserver::Instance;
use remuda_dashboard::CallFigures as _;
use serde::Serialize;

use super::process::Spent;
use crate::up::{
    Up,
    call_ledger::CallLedger,
    requests::{Counted, RequestCounts},
};

/// Name of a cloud in the ledger of calls.
pub(crate) const AWS: &str = "AWS";

/// Writes that are named one by one.
const NAMED: usize = 20;

/// Counts since the start of the process, or between two looks.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tally {
    /// Processor time; absent where the system does not tell.
    pub(crate) cpu_seconds: Option<f64>,
    /// Remuda's reads of the management API.
    pub(crate) kubernetes_reads: Counted,
    /// Remuda's writes to it.
    pub(crate) kubernetes_writes: Counted,
    /// Write requests to it of anybody.
    pub(crate) management_writes: u64,
    /// Write requests to workload APIs of anybody: simulated nodes and controllers, too.
    pub(crate) workload_writes: u64,
    /// Remuda's calls to clouds that read.
    pub(crate) cloud_reads: Counted,
    /// Remuda's calls to clouds that change something.
    pub(crate) cloud_writes: Counted,
}

impl Tally {
    /// What happened from an earlier look until this one.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            cpu_seconds: self
                .cpu_seconds
                .zip(earlier.cpu_seconds)
                .map(|(now, then)| now - then),
            kubernetes_reads: since(&self.kubernetes_reads, &earlier.kubernetes_reads),
            kubernetes_writes: since(&self.kubernetes_writes, &earlier.kubernetes_writes),
            management_writes: self.management_writes - earlier.management_writes,
            workload_writes: self.workload_writes.saturating_sub(earlier.workload_writes),
            cloud_reads: since(&self.cloud_reads, &earlier.cloud_reads),
            cloud_writes: since(&self.cloud_writes, &earlier.cloud_writes),
        }
    }

    /// All writes, wherever they went.
    pub(crate) fn writes(&self) -> u64 {
        let to_clouds: u64 = self.cloud_writes.values().sum();
        self.management_writes + self.workload_writes + to_clouds
    }

    /// Calls that read one cloud.
    pub(crate) fn cloud_reads(&self, cloud: &str) -> u64 {
        let of_it = self.cloud_reads.iter();
        of_it
            .filter(|(call, _)| call.starts_with(cloud))
            .map(|(_, count)| count)
            .sum()
    }
}

fn since(now: &Counted, then: &Counted) -> Counted {
    now.iter()
        .map(|(name, count)| (name, count - then.get(name).copied().unwrap_or(0)))
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| (name.clone(), count))
        .collect()
}

/// Looks.
pub(crate) struct Witness<'a> {
    up: &'a Up,
    requests: Arc<RequestCounts>,
    clusters: Vec<String>,
    /// Workload APIs that are there.
    instances: BTreeMap<String, Instance>,
}

impl<'a> Witness<'a> {
    /// A look at a process, and at these workload clusters once they have an API.
    pub(crate) fn new(up: &'a Up, requests: Arc<RequestCounts>, clusters: Vec<String>) -> Self {
        Self {
            up,
            requests,
            clusters,
            instances: BTreeMap::new(),
        }
    }

    /// Counts since the start.
    pub(crate) fn look(&mut self) -> Tally {
        for name in &self.clusters {
            if let Some(instance) = self.up.server.existing_instance(name) {
                self.instances.entry(name.clone()).or_insert(instance);
            }
        }
        let (kubernetes_reads, kubernetes_writes) = self.requests.so_far();
        let (cloud_reads, cloud_writes) = calls(&self.up.calls);
        let workload = self.instances.values();
        Tally {
            cpu_seconds: Spent::now().map(Spent::as_secs_f64),
            kubernetes_reads,
            kubernetes_writes,
            management_writes: self.up.server.management().journal().total(),
            workload_writes: workload.map(|instance| instance.journal().total()).sum(),
            cloud_reads,
            cloud_writes,
        }
    }

    /// The newest writes to the Kubernetes APIs since a look, as `verb path by whom`: a few.
    pub(crate) fn written_since(&self, earlier: &Tally) -> Vec<String> {
        let management = self.up.server.management();
        let fresh = management.journal().total() - earlier.management_writes;
        let fresh = usize::try_from(fresh).unwrap_or(NAMED).min(NAMED);
        let writes = management.journal().writes();
        let newest = writes.iter().rev().take(fresh);
        newest
            .map(|write| format!("{} {} by {}", write.verb, write.path, write.manager))
            .collect()
    }
}

/// Calls so far, reads and writes.
fn calls(ledger: &CallLedger) -> (Counted, Counted) {
    let (mut reads, mut writes) = (Counted::new(), Counted::new());
    for row in ledger.report().rows {
        let of = if row.mutating {
            &mut writes
        } else {
            &mut reads
        };
        *of.entry(format!("{} {}", row.cloud, row.call)).or_default() += row.calls;
    }
    (reads, writes)
}
