//! `remuda bench`: many pools in one process as `remuda up` makes it.
//!
//! ```text
//! scratch  a data directory of its own
//! ranch    clusters and pools, created through the API
//! ready    waits until every pool is Ready with all its machines
//! tally    what was asked of the Kubernetes API and of the clouds, and what the process took
//! report   the figures, the bars, the table
//! ```
//!
//! The measuring is part of the process that is measured: creating 1,000 pools and following their
//! status costs about a second of processor time, which is in the figures.

mod process;
mod ranch;
mod ready;
mod report;
mod scratch;
mod tally;

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result, bail};
use kube::{Api, Client, api::ListParams};
use remuda_api::capi::Machine;
use tokio::time::{Instant, sleep};

pub(crate) use self::report::{Report, draw};
use self::{
    ranch::Ranch,
    report::{Converged, Steady},
    scratch::Scratch,
    tally::Witness,
};
use crate::{
    cli::{BenchArgs, CloudArgs, CloudKind, Features, Switch, UpArgs},
    up::{
        Setting, Up, clouds::Pace, dashboard_address, progress::Progress, requests::RequestCounts,
    },
};

/// Nothing may be written for so long before the steady state is measured: longer than between two
/// looks at a pool (60 s and a tenth), so that each pool was looked at once with nothing to tell.
const QUIET: Duration = Duration::from_secs(75);
/// How long that may take. What goes on longer is measured as part of the steady state.
const SETTLE: Duration = Duration::from_mins(5);
/// How often it is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// A cycle of reads: how long an answer of a cloud serves a steady pool.
const CYCLE: Duration = Duration::from_secs(30);

/// Runs everything once.
///
/// # Errors
/// Something could not be started or created, or not everything was Ready in time.
pub(crate) async fn measure(args: &BenchArgs, progress: &mut Progress) -> Result<Report> {
    let scratch = Scratch::make(args.data_dir.as_deref())?;
    let requests = Arc::<RequestCounts>::default();
    let setting = Setting {
        pace: Pace::AtOnce,
        keeps_clouds: false,
        requests: Some(requests.clone()),
    };
    let up = Up::start_in(&setting, scratch.path(), &up_args(args, &scratch), progress).await?;
    let measured = run(args, &up, requests, progress).await;
    let stopped = up.stop().await;
    let report = measured?;
    stopped?;
    Ok(report)
}

async fn run(
    args: &BenchArgs,
    up: &Up,
    requests: Arc<RequestCounts>,
    progress: &mut Progress,
) -> Result<Report> {
    // Not through the counters: what the bench itself asks is none of Remuda's requests.
    let client = Client::new(up.server.management().router(), "default");
    let ranch = Ranch::of(args)?;
    progress.begin("clusters");
    ranch.furnish(up.azure.as_ref());
    ranch.create_clusters(&client).await?;
    progress.done(&format!("{} applied", ranch.clusters()));
    let mut witness = Witness::new(up, requests, ranch.cluster_names());

    let before = witness.look();
    let started = Instant::now();
    let ready = async {
        let mut ready = ready::Ready::new(client.clone(), ranch.pools());
        let pools = ranch.create_pools(&client);
        tokio::try_join!(pools, ready.wait(args.timeout, progress)).map(drop)
    };
    ready.await?;
    let converged = Converged {
        seconds: started.elapsed().as_secs_f64(),
        tally: witness.look().since(&before),
        peak_rss_mib: process::peak_rss_mib(),
    };
    if args.machines_objects == Switch::On {
        every_machine_has_its_object(&client, args).await?;
    }

    progress.begin("settling");
    let settled = settle(&mut witness).await;
    progress.done(if settled {
        "nothing is written any more"
    } else {
        "something is written still"
    });
    progress.begin("steady state");
    let steady = steady(args, &mut witness).await;
    progress.done("measured");
    Ok(Report::new(args, converged, steady))
}

async fn every_machine_has_its_object(client: &Client, args: &BenchArgs) -> Result<()> {
    let machines: Api<Machine> = Api::all(client.clone());
    // One item and the count of the others.
    let first = machines.list(&ListParams::default().limit(1)).await;
    let first = first.context("counting Machines")?;
    let listed = i64::try_from(first.items.len()).unwrap_or(0);
    let found = first.metadata.remaining_item_count.unwrap_or(0) + listed;
    let wanted = i64::from(args.pools) * i64::from(args.machines);
    if found != wanted {
        bail!("{found} Machines where {wanted} are wanted, though every pool is Ready");
    }
    Ok(())
}

/// Waits until nothing was written for a while; whether that came.
async fn settle(witness: &mut Witness<'_>) -> bool {
    let (start, mut last_write) = (Instant::now(), Instant::now());
    let mut writes = witness.look().writes();
    while start.elapsed() < SETTLE {
        sleep(LOOK).await;
        let now = witness.look().writes();
        if now != writes {
            (writes, last_write) = (now, Instant::now());
        } else if last_write.elapsed() >= QUIET {
            return true;
        }
    }
    false
}

/// What the pools cost at rest, cycle by cycle.
async fn steady(args: &BenchArgs, witness: &mut Witness<'_>) -> Steady {
    let start = Instant::now();
    let first = witness.look();
    let mut most_aws_reads = 0;
    let mut last = first.clone();
    while start.elapsed() < args.steady {
        let left = args.steady.saturating_sub(start.elapsed());
        sleep(left.min(CYCLE)).await;
        let now = witness.look();
        most_aws_reads = most_aws_reads.max(now.since(&last).cloud_reads(tally::AWS));
        last = now;
    }
    let seconds = start.elapsed().as_secs_f64();
    let tally = last.since(&first);
    Steady {
        seconds,
        cpu_percent: tally.cpu_seconds.map(|spent| 100.0 * spent / seconds),
        rss_mib: process::rss_mib(),
        tally,
        aws_reads_in_a_cycle: most_aws_reads,
        written: witness.written_since(&first),
    }
}

/// `remuda up` without what only a person needs.
fn up_args(args: &BenchArgs, scratch: &Scratch) -> UpArgs {
    UpArgs {
        demo: false,
        data_dir: Some(scratch.path().to_owned()),
        key_file: None,
        port: 0,
        exit_when_ready: true,
        timeout: args.timeout,
        speed: 1.0,
        aws: CloudKind::Simulated,
        azure: CloudKind::Simulated,
        clouds: CloudArgs {
            cloud_concurrency: 32,
            ambient_credentials: false,
        },
        dashboard_addr: dashboard_address(),
        no_dashboard: true,
        health_addr: None,
        features: Features::default(),
        print_kubeconfig_path: false,
    }
}
