//! What a process tells of itself, whatever it does.

use clap::{Args, ValueEnum};

/// Flags of every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct TelemetryArgs {
    /// Say more on standard error: -v for what is done, -vv for every call.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// How lines of the log are written.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "FORMAT",
        env = "REMUDA_LOG_FORMAT"
    )]
    pub(crate) log_format: LogFormat,
    /// Where traces are sent (OTLP over HTTP), such as http://127.0.0.1:4318 [default: nowhere].
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "OTEL_EXPORTER_OTLP_ENDPOINT"
    )]
    pub(crate) otlp_endpoint: Option<String>,
}

/// How lines of the log are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}
