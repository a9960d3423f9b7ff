//! The figures, the bars they are held against, and the table for people.

use serde::Serialize;

use super::tally::Tally;
use crate::{
    cli::{BenchArgs, BenchClouds, Switch},
    output::lines,
    up::requests::Counted,
};

/// Seconds until 1,000 pools of 10 machines are Ready (design, section 10).
const CONVERGED_SECONDS: f64 = 60.0;
/// MiB of the whole process (same place).
const PEAK_RSS_MIB: f64 = 400.0;
/// Percent of one core at rest (same place).
const STEADY_CPU_PERCENT: f64 = 3.0;
/// Calls that read AWS, a cycle (same place).
const AWS_READS: f64 = 25.0;

/// Everything that was measured.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// What ran.
    pub(crate) setup: Setup,
    /// From the first pool's creation until all are Ready with all machines.
    pub(crate) converged: Converged,
    /// A span in which nobody wants anything.
    pub(crate) steady: Steady,
    /// What was promised, and whether it holds.
    pub(crate) bars: Vec<Bar>,
}

/// What ran.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Setup {
    pools: u32,
    machines_each: u16,
    pools_per_cluster: u32,
    clouds: &'static str,
    machine_objects: bool,
    cores: usize,
    optimised: bool,
}

/// The way there.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Converged {
    /// Seconds it took.
    pub(crate) seconds: f64,
    /// Most memory resident until its end, in MiB.
    pub(crate) peak_rss_mib: Option<u64>,
    /// What it took.
    #[serde(flatten)]
    pub(crate) tally: Tally,
}

/// At rest.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Steady {
    /// Seconds that were measured.
    pub(crate) seconds: f64,
    /// Processor time as a share of one core.
    pub(crate) cpu_percent: Option<f64>,
    /// Memory resident at the end, in MiB.
    pub(crate) rss_mib: Option<u64>,
    /// Most reads of AWS within 30 seconds.
    pub(crate) aws_reads_in_a_cycle: u64,
    /// The newest writes to the management API: there should be none.
    pub(crate) written: Vec<String>,
    /// What it took.
    #[serde(flatten)]
    pub(crate) tally: Tally,
}

/// A promise and what was measured.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Bar {
    what: &'static str,
    at_most: f64,
    /// Absent where the system does not tell.
    measured: Option<f64>,
    /// Whether it holds.
    pub(crate) met: bool,
}

impl Bar {
    fn new(what: &'static str, at_most: f64, measured: Option<f64>) -> Self {
        Self {
            what,
            at_most,
            measured,
            met: measured.is_some_and(|measured| measured <= at_most),
        }
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "counts of requests and MiB are small"
)]
fn number(count: u64) -> f64 {
    count as f64
}

impl Report {
    /// Holds what was measured against the bars.
    pub(crate) fn new(args: &BenchArgs, converged: Converged, steady: Steady) -> Self {
        let bars = vec![
            Bar::new(
                "seconds until every pool is Ready",
                CONVERGED_SECONDS,
                Some(converged.seconds),
            ),
            Bar::new(
                "MiB of the process, at most",
                PEAK_RSS_MIB,
                converged.peak_rss_mib.map(number),
            ),
            Bar::new(
                "percent of one core at rest",
                STEADY_CPU_PERCENT,
                steady.cpu_percent,
            ),
            Bar::new("writes at rest", 0.0, Some(number(steady.tally.writes()))),
            Bar::new(
                "reads of AWS within 30 s at rest",
                AWS_READS,
                Some(number(steady.aws_reads_in_a_cycle)),
            ),
        ];
        let setup = Setup {
            pools: args.pools,
            machines_each: args.machines,
            pools_per_cluster: args.pools_per_cluster,
            clouds: match args.cloud {
                BenchClouds::Aws => "AWS",
                BenchClouds::Azure => "Azure",
                BenchClouds::Both => "AWS and Azure",
            },
            machine_objects: args.machines_objects == Switch::On,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            optimised: !cfg!(debug_assertions),
        };
        Self {
            setup,
            converged,
            steady,
            bars,
        }
    }
}

/// The report as text.
pub(crate) fn draw(report: &Report) -> String {
    let Setup {
        pools,
        machines_each,
        clouds,
        cores,
        ..
    } = &report.setup;
    let objects = if report.setup.machine_objects {
        "with Machines"
    } else {
        "without Machines"
    };
    let build = if report.setup.optimised {
        "release"
    } else {
        "debug"
    };
    let mut text = vec![
        format!(
            "{pools} pools of {machines_each} machines on simulated {clouds}, {objects}; {cores} \
             cores, {build} build"
        ),
        String::new(),
        "converging".to_owned(),
        row("seconds", &format!("{:.1}", report.converged.seconds)),
        row("most memory", &mebibytes(report.converged.peak_rss_mib)),
    ];
    text.extend(tally(&report.converged.tally));
    let steady = &report.steady;
    text.push(String::new());
    text.push("at rest".to_owned());
    text.push(row("seconds", &format!("{:.1}", steady.seconds)));
    text.push(row("share of one core", &percent(steady.cpu_percent)));
    text.push(row("memory", &mebibytes(steady.rss_mib)));
    text.extend(tally(&steady.tally));
    for written in &steady.written {
        text.push(row("written", written));
    }
    text.push(String::new());
    text.push("bars".to_owned());
    for bar in &report.bars {
        let mark = if bar.met { "met" } else { "MISSED" };
        let measured = bar
            .measured
            .map_or_else(|| "unknown".to_owned(), |measured| format!("{measured:.1}"));
        text.push(format!(
            "  {mark:<7} {:<36} {measured:>9}  of {:.0}",
            bar.what, bar.at_most
        ));
    }
    lines(text)
}

fn tally(tally: &Tally) -> Vec<String> {
    let seconds = tally
        .cpu_seconds
        .map_or_else(|| "unknown".to_owned(), |cpu| format!("{cpu:.1}"));
    let mut text = vec![row("processor seconds", &seconds)];
    text.extend(counted("Kubernetes reads", &tally.kubernetes_reads));
    text.extend(counted("Kubernetes writes", &tally.kubernetes_writes));
    let workload = tally.workload_writes.to_string();
    text.push(row("writes to workload APIs", &workload));
    text.extend(counted("cloud reads", &tally.cloud_reads));
    text.extend(counted("cloud writes", &tally.cloud_writes));
    text
}

/// A sum, and what it is made of, the largest first.
fn counted(what: &str, counted: &Counted) -> Vec<String> {
    let mut parts: Vec<(&String, &u64)> = counted.iter().collect();
    parts.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let sum: u64 = counted.values().sum();
    let mut text = vec![row(what, &sum.to_string())];
    let parts = parts.into_iter();
    text.extend(parts.map(|(name, count)| format!("    {count:>9}  {name}")));
    text
}

fn row(what: &str, value: &str) -> String {
    format!("  {what:<24} {value}")
}

fn mebibytes(mib: Option<u64>) -> String {
    mib.map_or_else(|| "unknown".to_owned(), |mib| format!("{mib} MiB"))
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "unknown".to_owned(), |share| format!("{share:.2} %"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_or_unknown_is_missed() {
        assert!(Bar::new("x", 3.0, Some(3.0)).met);
        assert!(!Bar::new("x", 3.0, Some(3.1)).met);
        assert!(!Bar::new("x", 3.0, None).met);
    }

    #[test]
    fn parts_of_a_sum_stand_below_it_largest_first() {
        let counts = Counted::from([("get a".to_owned(), 2), ("list b".to_owned(), 11)]);
        let text = counted("reads", &counts);
        assert_eq!(text.len(), 3);
        assert!(text[0].ends_with("13"), "{}", text[0]);
        assert!(text[1].ends_with("11  list b"), "{}", text[1]);
    }
}
