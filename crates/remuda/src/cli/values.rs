//! How values are written on the command line.

use std::time::Duration;

use remuda_plan::share::Share;

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

/// Reads a duration that a Lease can hold: whole seconds, and enough of them for several tries.
pub(super) fn lease(text: &str) -> Result<Duration, String> {
    let read = duration(text)?;
    if read.subsec_nanos() == 0 && read >= Duration::from_secs(3) {
        return Ok(read);
    }
    Err(format!(
        "{text} is no lease: write at least 3s, in whole seconds"
    ))
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

/// Reads a name that a namespace can have.
pub(super) fn namespace(text: &str) -> Result<String, String> {
    let is_plain = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit();
    let is_name = !text.is_empty()
        && text.len() <= 63
        && text.chars().all(|it| is_plain(it) || it == '-')
        && text.starts_with(is_plain)
        && text.ends_with(is_plain);
    if is_name {
        return Ok(text.to_owned());
    }
    Err(format!(
        "{text} is no namespace: at most 63 lower-case letters, digits and '-', none of them at an end"
    ))
}

/// Reads the name of an image.
pub(super) fn image(text: &str) -> Result<String, String> {
    let is_part = |it: char| it.is_ascii_alphanumeric() || "._-/:@".contains(it);
    let ends_well = text.ends_with(|it: char| it.is_ascii_alphanumeric());
    if text.starts_with(|it: char| it.is_ascii_alphanumeric())
        && ends_well
        && text.chars().all(is_part)
    {
        return Ok(text.to_owned());
    }
    Err(format!(
        "{text} is no image: write it like example.com/remuda:v1.0.0"
    ))
}

/// Reads a share of the work: `0/3` is the first of three.
pub(super) fn share(text: &str) -> Result<Share, String> {
    let wrong = || format!("{text} is no share: write 0/3, 1/3 and 2/3 for three of them");
    let (index, of) = text.split_once('/').ok_or_else(wrong)?;
    let number = |text: &str| text.parse::<u16>().map_err(|_| wrong());
    Share::new(number(index)?, number(of)?).ok_or_else(wrong)
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
    fn a_lease_holds_whole_seconds() {
        assert_eq!(lease("15s"), Ok(Duration::from_secs(15)));
        assert!(lease("1500ms").is_err());
        assert!(lease("2s").is_err());
    }

    #[test]
    fn names_that_would_break_a_manifest_are_refused() {
        assert!(namespace("remuda-system").is_ok());
        for wrong in ["", "-a", "a-", "A", "a b", "a\nb", "a: b", &"a".repeat(64)] {
            assert!(namespace(wrong).is_err(), "{wrong}");
        }
        assert!(image("example.com:5000/a/remuda:v1@sha256:00").is_ok());
        for wrong in ["", "a b", "a\n", "a #b", "{{a}}", "a:"] {
            assert!(image(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_share_is_one_of_several() {
        assert!(share("0/1").is_ok());
        assert!(share("2/3").is_ok());
        for wrong in ["", "1", "3/3", "0/0", "-1/2", "a/b", "1/2/3"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
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
