//! `remuda up`.

use std::{path::Path, process::ExitCode, time::Instant};

use anyhow::{Result, bail};

use crate::{
    cli::UpArgs,
    config::{self, KUBECONFIG},
    output,
    up::{DEMO_NAMESPACE, DEMO_POOLS, Up, clouds, progress::Progress},
};

/// Starts everything, shows how it gets ready, and serves until Ctrl-C.
pub(crate) async fn run(args: UpArgs) -> Result<ExitCode> {
    let dir = config::data_dir(args.data_dir.as_deref())?;
    if args.print_kubeconfig_path {
        output::text(&format!("{}\n", dir.join(KUBECONFIG).display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let started = Instant::now();
    let mut progress = Progress::new();
    let mut up = Up::start(&dir, &args, &mut progress).await?;
    let ready = async {
        if args.demo {
            progress.begin("demo");
            let applied = up.apply_demo().await?;
            progress.done(if applied {
                "applied to namespace team-a"
            } else {
                "as it was left"
            });
            let within = args.exit_when_ready.then_some(args.timeout);
            for pool in DEMO_POOLS {
                progress.begin(&format!("pool {DEMO_NAMESPACE}/{pool}"));
                let nodes = up.demo_ready(pool, within, &mut progress).await?;
                progress.done(&format!("Ready with {nodes} nodes"));
            }
        }
        Ok::<(), anyhow::Error>(())
    };
    let interrupted = tokio::select! {
        ready = ready => { ready?; false }
        () = clouds::interrupted() => true,
    };
    progress.finish();
    if !interrupted {
        output::text(&next_steps(&dir, &args, &up, started))?;
        if !args.exit_when_ready {
            tokio::select! {
                () = clouds::interrupted() => {}
                () = up.controllers_ended() => bail!("the controllers ended unexpectedly; -v says more"),
            }
        }
    }
    up.stop().await?;
    Ok(ExitCode::SUCCESS)
}

/// What a person can do now.
fn next_steps(dir: &Path, args: &UpArgs, up: &Up, started: Instant) -> String {
    let seconds = started.elapsed().as_secs_f64();
    let ready = format!("\nEverything is ready after {seconds:.1} s.\n");
    if args.exit_when_ready {
        return ready;
    }
    let aws = up.aws_endpoint.as_ref().map_or_else(String::new, |url| {
        format!("  export AWS_ENDPOINT_URL={url}\n")
    });
    let azure = up
        .azure_endpoint
        .as_ref()
        .map_or_else(String::new, |url| format!("  curl {url}/_sim/world\n"));
    let metrics = up.health.map_or_else(String::new, |address| {
        format!("  curl http://{address}/metrics\n")
    });
    let kubeconfig = dir.join(KUBECONFIG);
    let environment = format!(
        "\n  export KUBECONFIG={}\n{aws}{azure}{metrics}",
        kubeconfig.display()
    );
    let dashboard = up.dashboard_link().map_or_else(String::new, |link| {
        format!("\nDashboard (this link signs you in, once):\n\n  {link}\n")
    });
    let [pool, _] = DEMO_POOLS;
    let tour = format!(
        "\nTry next, in another terminal:\n\
         \n  remuda get pools -A\
         \n  kubectl get machinepools,terraformmachinepools -n {DEMO_NAMESPACE}\
         \n  kubectl scale machinepool {pool} -n {DEMO_NAMESPACE} --replicas 5\
         \n  remuda plan {pool} -n {DEMO_NAMESPACE}\
         \n  kubectl delete machinepool {pool} -n {DEMO_NAMESPACE}\n"
    );
    let tour = if args.demo { tour } else { String::new() };
    format!(
        "{ready}{dashboard}{environment}{tour}\nCtrl-C ends it; objects and simulated clouds stay in the data directory.\n"
    )
}
