//! The log, on standard error, and traces, where a collector is given.
//!
//! Every line of a pass stands in its span: the kind and name of the object, and the number of the
//! pass, which is unique in the process.

use anyhow::Result;
use tokio::runtime::Handle;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::{
    EnvFilter, Registry,
    filter::Targets,
    fmt,
    layer::{Layer, SubscriberExt as _},
    util::SubscriberInitExt as _,
};

use super::trace::Traces;
use crate::cli::{LogFormat, TelemetryArgs};

/// Whose spans are traced: ours. Libraries below tell of bodies and headers.
const TRACED: [&str; 4] = ["remuda", "remuda_controllers", "remuda_aws", "remuda_azure"];

/// Starts both: `RUST_LOG` decides what is said, else how often -v was given, at least `verbose`
/// times. Traces go out until what is returned is dropped.
///
/// # Errors
/// No traces can be sent to the endpoint that was given.
pub(crate) fn start(args: &TelemetryArgs, verbose: u8, runtime: &Handle) -> Result<Option<Traces>> {
    let endpoint = args.otlp_endpoint.as_deref();
    let endpoint = endpoint.filter(|endpoint| !endpoint.is_empty());
    let traces = endpoint
        .map(|endpoint| Traces::to(endpoint, runtime))
        .transpose()?;
    let traced = traces.as_ref().map(|traces| {
        tracing_opentelemetry::layer()
            .with_tracer(traces.tracer())
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_filter(Targets::new().with_targets(TRACED.map(|of| (of, LevelFilter::DEBUG))))
    });
    let lines = lines(args.log_format).with_filter(filter(args.verbose.max(verbose)));
    tracing_subscriber::registry()
        .with(lines)
        .with(traced)
        .init();
    Ok(traces)
}

fn filter(verbose: u8) -> EnvFilter {
    let level = match verbose {
        0 => "error",
        1 => "info",
        2 => {
            "info,remuda_controllers=debug,remuda_aws=debug,remuda_azure=debug,remuda_apiserver=debug"
        }
        _ => "debug",
    };
    EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level))
}

fn lines(format: LogFormat) -> Box<dyn Layer<Registry> + Send + Sync> {
    let lines = fmt::layer().with_writer(std::io::stderr);
    match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines
            .json()
            .flatten_event(true)
            // The list begins with the pass, whatever it is in the middle of.
            .with_current_span(false)
            .with_span_list(true)
            .boxed(),
    }
}
