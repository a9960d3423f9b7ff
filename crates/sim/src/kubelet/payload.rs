//! What a machine checks of its boot payload, on any cloud.

use std::io::Read;

use flate2::read::GzDecoder;

/// Largest payload taken after unpacking.
const MOST_BYTES: u64 = 8 << 20;
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The text of a cloud-config: unpacked if it is gzip, and refused if it is something else.
pub(super) fn cloud_config(data: &[u8]) -> Result<String, String> {
    let mut unpacked = Vec::new();
    let data = if data.starts_with(&GZIP) {
        GzDecoder::new(data)
            .take(MOST_BYTES)
            .read_to_end(&mut unpacked)
            .map_err(|_| "the gzip data is broken".to_owned())?;
        &unpacked
    } else {
        data
    };
    let text = String::from_utf8_lossy(data);
    let mut lines = text.lines().map(|line| line.trim_end_matches('\r'));
    let first = lines.next().unwrap_or_default();
    let header = if first.starts_with("## template: jinja") {
        lines.next().unwrap_or_default()
    } else {
        first
    };
    if header.starts_with("#cloud-config") {
        return Ok(text.into_owned());
    }
    Err("the bootstrap data is not cloud-config".to_owned())
}

/// Refuses what is no Ignition config.
pub(super) fn check_ignition(data: &[u8]) -> Result<(), String> {
    if data.starts_with(&GZIP) {
        return Err("Ignition cannot read a compressed config".to_owned());
    }
    let config: Option<serde_json::Value> = serde_json::from_slice(data).ok();
    match config
        .as_ref()
        .and_then(|config| config.pointer("/ignition/version"))
    {
        Some(_) => Ok(()),
        None => Err("the bootstrap data is not an Ignition config".to_owned()),
    }
}

/// Labels as a kubelet's `--node-labels` has them: `a=b,c=`.
pub(super) fn labels(text: &str) -> Vec<(String, String)> {
    text.split(',')
        .filter(|label| !label.is_empty())
        .map(|label| label.split_once('=').unwrap_or((label, "")))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// The value of the first shell assignment to a name, as a shell would read it.
pub(super) fn assignment(text: &str, name: &str) -> Option<String> {
    assignments(text)
        .find(|(left, _)| left.eq_ignore_ascii_case(name))
        .map(|(_, right)| word(right))
}

/// The values of all shell assignments, in order.
pub(super) fn assigned(text: &str) -> impl Iterator<Item = String> {
    assignments(text).map(|(_, right)| word(right))
}

fn assignments(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let line = line.trim();
        let line = line
            .strip_prefix("readonly ")
            .or(line.strip_prefix("export "))
            .unwrap_or(line);
        line.split_once('=')
    })
}

/// The first word of a shell command line, quotes removed.
fn word(text: &str) -> String {
    let mut word = String::new();
    let mut rest = text.trim_start().chars();
    while let Some(c) = rest.next() {
        match c {
            '\'' => word.extend(rest.by_ref().take_while(|c| *c != '\'')),
            '"' => {
                while let Some(c) = rest.next().filter(|c| *c != '"') {
                    word.push(if c == '\\' {
                        rest.next().unwrap_or(c)
                    } else {
                        c
                    });
                }
            }
            '\\' => word.extend(rest.next()),
            ';' | '#' => break,
            c if c.is_whitespace() => break,
            c => word.push(c),
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_word_loses_its_quotes() {
        let script = "a='x y'; b\nexport b=\"s3://k/\\\"v\" # c\nreadonly c='it'\\''s'\nd=\n";
        let value = |name| assignment(script, name).unwrap();
        assert_eq!(value("a"), "x y");
        assert_eq!(value("b"), "s3://k/\"v");
        assert_eq!(value("c"), "it's");
        assert_eq!(value("d"), "");
        assert_eq!(assignment(script, "e"), None);
    }

    #[test]
    fn only_cloud_config_is_installed() {
        assert!(cloud_config(b"#cloud-config\nruncmd: []\n").is_ok());
        assert!(cloud_config(b"## template: jinja\r\n#cloud-config\r\n").is_ok());
        assert!(cloud_config(b"## template: jinja\n#!/bin/sh\n").is_err());
        assert!(cloud_config(b"#!/bin/sh\n").is_err());
        assert!(cloud_config(&[0x1f, 0x8b, 8, 0]).is_err());
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, b"#cloud-config\n").unwrap();
        assert!(cloud_config(&packed.finish().unwrap()).is_ok());
    }
}
