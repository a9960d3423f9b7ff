//! How values are written on the command line.

use std::time::Duration;

/// An address to listen on; `None`: do not.
pub(crate) type Address = Option<std::net::SocketAddr>;

/// Reads `90`, `90s`, `2m`, `1m30s`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.parse::<u64>() {
        return Ok(Duration::from_secs(seconds));
    }
    let spoken: jiff::SignedDuration = text
        .parse()
        .map_err(|_| format!("{text} is not a duration like 90s or 2m"))?;
    Duration::try_from(spoken).map_err(|_| "a duration cannot be negative".to_owned())
}

/// Reads `127.0.0.1:9440`, `:9440` for every address of this machine, or `0` for none.
pub(super) fn address(text: &str) -> Result<Address, String> {
    if text == "0" {
        return Ok(None);
    }
    let whole = if text.starts_with(':') {
        format!("0.0.0.0{text}")
    } else {
        text.to_owned()
    };
    let read = whole.parse();
    read.map(Some)
        .map_err(|_| format!("{text} is not an address like 127.0.0.1:9440 or :9440"))
}

/// Reads a positive factor.
pub(super) fn speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor >= 0.1 => Ok(factor),
        _ => Err("the factor is a number of at least 0.1".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("2m"), Ok(Duration::from_mins(2)));
        assert!(duration("soon").is_err());
        assert!(duration("-5s").is_err());
    }

    #[test]
    fn addresses_are_read_as_people_write_them() {
        let read = |text: &str| address(text).map(|it| it.map(|it| it.to_string()));
        assert_eq!(read(":9440"), Ok(Some("0.0.0.0:9440".to_owned())));
        assert_eq!(read("127.0.0.1:1"), Ok(Some("127.0.0.1:1".to_owned())));
        assert_eq!(read("0"), Ok(None));
        assert!(read("9440").is_err());
    }
}
