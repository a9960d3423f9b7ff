//! `remuda bench`.

use std::process::ExitCode;

use anyhow::Result;

use crate::{
    bench,
    cli::{BenchArgs, TextFormat},
    output,
    up::{clouds, progress::Progress},
};

/// Measures and tells.
pub(crate) async fn run(args: BenchArgs) -> Result<ExitCode> {
    let mut progress = Progress::new();
    let report = tokio::select! {
        report = bench::measure(&args, &mut progress) => report?,
        () = clouds::interrupted() => anyhow::bail!("interrupted; nothing was measured"),
    };
    progress.finish();
    match args.output {
        TextFormat::Text => output::text(&bench::draw(&report))?,
        TextFormat::Json => output::json(&report)?,
    }
    let missed = report.bars.iter().any(|bar| !bar.met);
    if args.check && missed {
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
