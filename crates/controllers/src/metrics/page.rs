//! The reference page of the metrics, from the table.

use std::fmt::Write as _;

use super::table::{METRICS, MetricKind};

/// What comes before the table.
const HEAD: &str = "\
# Metrics

<!-- Written by `cargo xtask metrics` from crates/controllers/src/metrics/table.rs. -->

`remuda manager` answers `GET /metrics` beside its health checks (`--health-addr`, port 9440), and
`remuda up` on loopback (it prints where). The format is OpenMetrics 1.0 where it is asked for, as
Prometheus does, else Prometheus' text format. [Monitoring](../howto/monitoring.md) says how to
scrape it, and has a dashboard and alert rules.

Labels take few values, or such as go with their object, so that the number of series is bounded:
for `p` pools, `r` regions in use and both clouds it is about `4 p + 400 r + 1,300`, and most of
the second part never appears, since an action fails in few ways. Series of a deleted pool are gone
with the next scrape. Counters begin at 0 when the process begins; series that counted nothing yet
are not there.

Every replica of a manager can be scraped. Only the leader runs controllers: the others show
`remuda_leader 0` and no pools, so sums over replicas are right.

| metric | kind | labels | what it says | series |
| --- | --- | --- | --- | --- |
";

/// The page.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    for metric in METRICS {
        let labels: Vec<String> = metric
            .labels
            .iter()
            .map(|label| format!("`{label}`"))
            .collect();
        let labels = labels.join(", ");
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "| `{}` | {} | {labels} | {} | {} |",
            metric.name,
            metric.kind.as_str(),
            metric.help,
            metric.series
        );
    }
    page.push_str("\nUpper bounds of the histograms, in seconds:\n\n");
    for metric in METRICS {
        if let MetricKind::Histogram(bounds) = metric.kind {
            let bounds: Vec<String> = bounds.iter().map(ToString::to_string).collect();
            let _ = writeln!(page, "* `{}`: {}", metric.name, bounds.join(", "));
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cargo xtask metrics` writes it.
    #[test]
    fn the_reference_page_of_metrics_is_what_the_table_says() {
        let file = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/reference/metrics.md"
        );
        if std::env::var_os("REMUDA_WRITE_DOCS").is_some() {
            std::fs::write(file, page()).expect("docs can be written");
        }
        let held = std::fs::read_to_string(file).unwrap_or_default();
        assert_eq!(held, page(), "`cargo xtask metrics` writes it");
    }
}
