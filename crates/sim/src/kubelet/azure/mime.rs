//! MIME multipart messages, as cloud-init takes them apart.

use base64::{Engine, engine::general_purpose::STANDARD};

/// One part of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// `text/cloud-boothook`.
    pub(super) kind: String,
    pub(super) content: Vec<u8>,
}

/// Whether a text is a MIME message.
pub(super) fn is_message(text: &str) -> bool {
    let head = text.lines().take_while(|line| !line.is_empty());
    let mut names = head.filter_map(|line| line.split_once(':'));
    names.any(|(name, _)| name.eq_ignore_ascii_case("content-type"))
}

/// The parts of a multipart message.
pub(super) fn parts(text: &str) -> Result<Vec<Part>, String> {
    let (head, body) = split(text).ok_or("the MIME message has no body")?;
    let kind = header(head, "content-type");
    let boundary = parameter(&kind, "boundary").ok_or("the MIME message names no boundary")?;
    let delimiter = format!("--{boundary}");
    let end = format!("{delimiter}--");
    let mut parts = Vec::new();
    let mut current: Option<String> = None;
    let mut closed = false;
    for line in body.split_inclusive('\n') {
        let plain = line.trim_end_matches(['\r', '\n', ' ']);
        if plain == delimiter || plain == end {
            parts.extend(current.take());
            if plain == end {
                closed = true;
                break;
            }
            current = Some(String::new());
        } else if let Some(part) = &mut current {
            part.push_str(line);
        }
    }
    if !closed {
        return Err("the MIME message has no closing delimiter".to_owned());
    }
    parts.iter().map(|part| read(part)).collect()
}

fn read(part: &str) -> Result<Part, String> {
    let (head, body) = split(part).ok_or("a part of the MIME message has no body")?;
    let kind = header(head, "content-type");
    let kind = kind
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    // The line break before a delimiter belongs to the delimiter.
    let body = body.strip_suffix('\n').unwrap_or(body);
    let body = body.strip_suffix('\r').unwrap_or(body);
    let encoding = header(head, "content-transfer-encoding").to_ascii_lowercase();
    let content = match encoding.as_str() {
        "base64" => {
            let compact: String = body.split_whitespace().collect();
            STANDARD
                .decode(compact)
                .map_err(|_| format!("the part {kind} is not base64"))?
        }
        "" | "7bit" | "8bit" | "binary" => body.as_bytes().to_vec(),
        other => return Err(format!("the part {kind} has the encoding {other}")),
    };
    Ok(Part { kind, content })
}

/// Header lines and body.
fn split(text: &str) -> Option<(&str, &str)> {
    let breaks = ["\n\n", "\r\n\r\n"];
    breaks
        .iter()
        .filter_map(|gap| text.find(gap).map(|at| (at, gap.len())))
        .min()
        .map(|(at, length)| (&text[..at], &text[at + length..]))
}

/// A header's value, folded lines joined; empty when there is none.
fn header(head: &str, name: &str) -> String {
    let mut value: Option<String> = None;
    for line in head.lines() {
        if line.starts_with([' ', '\t']) {
            if let Some(value) = &mut value {
                value.push(' ');
                value.push_str(line.trim());
            }
            continue;
        }
        if value.is_some() {
            break;
        }
        if let Some((found, text)) = line.split_once(':')
            && found.eq_ignore_ascii_case(name)
        {
            value = Some(text.trim().to_owned());
        }
    }
    value.unwrap_or_default()
}

fn parameter(value: &str, name: &str) -> Option<String> {
    value.split(';').skip(1).find_map(|pair| {
        let (found, text) = pair.split_once('=')?;
        let text = text.trim().trim_matches('"');
        found
            .trim()
            .eq_ignore_ascii_case(name)
            .then(|| text.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &str = "Content-Type: multipart/mixed; boundary=\"==B==\"\nMIME-Version: 1.0\n\n\
        --==B==\nContent-Type: text/cloud-boothook; charset=\"us-ascii\"\n\
        Content-Transfer-Encoding: 7bit\n\n#!/bin/sh\necho hi\n\n\
        --==B==\nContent-Type: text/plain\nContent-Transfer-Encoding: base64\n\nI2Ns\nb3Vk\n\
        --==B==--\n";

    #[test]
    fn a_message_falls_into_its_parts() {
        assert!(is_message(MESSAGE));
        let parts = parts(MESSAGE).unwrap();
        assert_eq!(parts[0].kind, "text/cloud-boothook");
        assert_eq!(parts[0].content, b"#!/bin/sh\necho hi\n");
        assert_eq!(parts[1].content, b"#cloud");
        assert_eq!(parts.len(), 2);
    }

    #[test]
    fn a_broken_message_says_why() {
        let open = MESSAGE.replace("--==B==--", "");
        assert!(parts(&open).unwrap_err().contains("closing delimiter"));
        let damaged = MESSAGE.replace("I2Ns", "I2N*");
        assert!(parts(&damaged).unwrap_err().contains("not base64"));
        assert!(!is_message("#cloud-config\nruncmd: []\n"));
    }
}
