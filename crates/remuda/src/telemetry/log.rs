//! The log, on standard error.
//!
//! Every line of a pass stands in its span: the kind and name of the object, and the number of the
//! pass, which is unique in the process.

use tracing_subscriber::{EnvFilter, fmt::Subscriber};

use crate::cli::LogFormat;

/// Starts it: `RUST_LOG` decides what is said, else how often -v was given.
pub(crate) fn start(verbose: u8, format: LogFormat) {
    let level = match verbose {
        0 => "error",
        1 => "info",
        2 => {
            "info,remuda_controllers=debug,remuda_aws=debug,remuda_azure=debug,remuda_apiserver=debug"
        }
        _ => "debug",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let lines = Subscriber::builder()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => lines.init(),
        LogFormat::Json => lines
            .json()
            .flatten_event(true)
            // The list begins with the pass, whatever it is in the middle of.
            .with_current_span(false)
            .with_span_list(true)
            .init(),
    }
}
