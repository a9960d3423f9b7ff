//! Metrics: the table that is counted by.

use std::fmt::Write as _;

use remuda_controllers::metrics::table::{METRICS, MetricKind};

use super::{cell, page};

/// What comes before the table.
const ABOUT: &str = "\
`remuda manager` answers `GET /metrics` beside its health checks (`--health-addr`, port 9440), and
`remuda up` on loopback (it prints where). The format is OpenMetrics 1.0 where it is asked for, as
Prometheus does, else Prometheus' text format. [Monitoring](../howto/monitoring.md) says how to
scrape it, and has a dashboard and alert rules.

Labels take few values, or such as go with their object, so that the number of series is bounded:
for `p` pools, `r` regions in use and both clouds it is about `11 p + 400 r + 1,600`, and most of
the second part never appears, since an action fails in few ways. Series of a deleted pool are gone
with the next scrape. Counters begin at 0 when the process begins; series that counted nothing yet
are not there.

Every replica of a manager can be scraped. Only the leader runs controllers: the others show
`remuda_leader 0` and no pools, so sums over replicas are right.

Names that begin with `captf_` are captf's own, for dashboards and alerts that were made for it
([Moving from captf](../howto/moving-from-captf.md)).";

/// Every metric with its labels, and how many series it can have.
pub(crate) fn metrics() -> String {
    let mut text = page("Metrics", ABOUT);
    text.push_str(
        "\n| metric | kind | labels | what it says | series |\n| --- | --- | --- | --- | --- |\n",
    );
    for metric in METRICS {
        let labels: Vec<String> = metric
            .labels
            .iter()
            .map(|label| format!("`{label}`"))
            .collect();
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} |",
            metric.name,
            metric.kind.as_str(),
            labels.join(", "),
            cell(metric.help),
            cell(metric.series)
        );
    }
    text.push_str("\nUpper bounds of the histograms, in seconds where they are durations:\n\n");
    for metric in METRICS {
        if let MetricKind::Histogram(bounds) = metric.kind {
            let bounds: Vec<String> = bounds.iter().map(ToString::to_string).collect();
            let _ = writeln!(text, "* `{}`: {}", metric.name, bounds.join(", "));
        }
    }
    text
}
