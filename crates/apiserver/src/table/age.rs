//! Ages as kubectl prints them: `45s`, `3m12s`, `5h`, `12d`, `3y40d`.

use jiff::Timestamp;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// How long ago a time was; `<unknown>` when there is none, `<invalid>` when it isn't a time.
pub fn since(time: Option<&str>, now: Timestamp) -> String {
    let Some(text) = time.filter(|text| !text.is_empty()) else {
        return "<unknown>".to_owned();
    };
    match text.parse::<Timestamp>() {
        Ok(time) => human(now.as_second() - time.as_second()),
        Err(_) => "<invalid>".to_owned(),
    }
}

/// A duration in at most two units; small clock differences count as zero.
pub fn human(seconds: i64) -> String {
    match seconds {
        ..=-2 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        _ if seconds < 10 * MINUTE => two(seconds / MINUTE, 'm', seconds % MINUTE, 's'),
        _ if seconds < 3 * HOUR => format!("{}m", seconds / MINUTE),
        _ if seconds < 8 * HOUR => two(seconds / HOUR, 'h', seconds % HOUR / MINUTE, 'm'),
        _ if seconds < 2 * DAY => format!("{}h", seconds / HOUR),
        _ if seconds < 8 * DAY => two(seconds / DAY, 'd', seconds % DAY / HOUR, 'h'),
        _ if seconds < 2 * YEAR => format!("{}d", seconds / DAY),
        _ if seconds < 8 * YEAR => two(seconds / YEAR, 'y', seconds % YEAR / DAY, 'd'),
        _ => format!("{}y", seconds / YEAR),
    }
}

fn two(large: i64, large_unit: char, small: i64, small_unit: char) -> String {
    if small == 0 {
        format!("{large}{large_unit}")
    } else {
        format!("{large}{large_unit}{small}{small_unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::{human, since};

    #[test]
    fn ages_have_at_most_two_units() {
        let table = [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (192, "3m12s"),
            (600, "10m"),
            (3 * 3600 - 1, "179m"),
            (3 * 3600, "3h"),
            (3 * 3600 + 720, "3h12m"),
            (8 * 3600, "8h"),
            (47 * 3600, "47h"),
            (48 * 3600, "2d"),
            (50 * 3600, "2d2h"),
            (8 * 86_400, "8d"),
            (400 * 86_400, "400d"),
            (2 * 365 * 86_400, "2y"),
            (3 * 365 * 86_400 + 40 * 86_400, "3y40d"),
            (9 * 365 * 86_400, "9y"),
        ];
        for (seconds, expected) in table {
            assert_eq!(human(seconds), expected, "{seconds} s");
        }
    }

    #[test]
    fn a_missing_time_is_unknown_and_nonsense_invalid() {
        let now = jiff::Timestamp::UNIX_EPOCH;
        assert_eq!(since(None, now), "<unknown>");
        assert_eq!(since(Some("yesterday"), now), "<invalid>");
    }
}
