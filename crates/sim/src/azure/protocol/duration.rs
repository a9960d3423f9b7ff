//! ISO 8601 durations: `PT5M`.

use std::time::Duration;

/// Reads a duration without years and months.
pub(crate) fn read(text: &str) -> Option<Duration> {
    // What people say (`10m`) is a span too, but none ARM takes.
    let span: jiff::Span = text.starts_with('P').then(|| text.parse().ok())??;
    if span.get_years() != 0 || span.get_months() != 0 {
        return None;
    }
    let days = i64::from(span.get_days()) + 7 * i64::from(span.get_weeks());
    let seconds = days * 86_400
        + i64::from(span.get_hours()) * 3600
        + span.get_minutes() * 60
        + span.get_seconds();
    u64::try_from(seconds).ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        assert_eq!(read("PT5M"), Some(Duration::from_mins(5)));
        assert_eq!(read("PT1H30M"), Some(Duration::from_mins(90)));
        assert_eq!(read("P1D"), Some(Duration::from_hours(24)));
        assert_eq!(read("10m"), None);
    }
}
