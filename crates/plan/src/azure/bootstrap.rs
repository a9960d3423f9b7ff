//! Custom data: cloud-config in a MIME message behind a boot hook, Ignition unchanged (Azure
//! document 6). The payload is never decoded; its first four characters alone are looked at.
//!
//! The boot hook holds `captf_node_labels=` and `cloud_provider_config=` as plain assignments, each
//! on its own line, so that people and the simulated nodes can read them.

use std::fmt::Write as _;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};

use super::{desired::CustomData, limits};
use crate::pool::{
    boothook::{LABELS, quoted},
    payload::sha256_hex,
    secret::Secret,
};

/// The boot hook's text; `@…@` marks what is filled in.
const HOOK: &str = include_str!("boothook.sh");

/// Separates the parts. No line of a part can equal it: the payload is base64, the hook is ours.
const BOUNDARY: &str = "==CAPTF-BOUNDARY==";

/// Whether base64 text holds a gzip stream: three bytes 1f 8b 08.
pub fn is_gzip(bootstrap_data: &str) -> bool {
    bootstrap_data.starts_with("H4sI")
}

/// The boot hook: writes the cloud provider's file and registers node labels. Pure ASCII.
/// `label_string` is `k=v,k2=v2`, empty without labels.
pub fn boothook(cloud_provider_config: &Map<String, Value>, label_string: &str) -> String {
    HOOK.replace("@label_functions@\n", LABELS)
        .replace("@node_labels@", &quoted(label_string))
        .replace(
            "@cloud_provider_config@",
            &quoted(&provider_file(cloud_provider_config)),
        )
}

/// The cloud provider's file: compact JSON, keys in byte order, pure ASCII.
pub fn provider_file(config: &Map<String, Value>) -> String {
    let mut text = String::new();
    for c in sorted(&Value::Object(config.clone())).to_string().chars() {
        if c.is_ascii() {
            text.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(text, "\\u{unit:04x}").expect("writing to a String does not fail");
            }
        }
    }
    text
}

/// The same value with every object's keys in byte order, whatever map the parser was built with.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut entries: Vec<(&String, &Value)> = fields.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            entries
                .into_iter()
                .map(|(key, value)| (key.clone(), sorted(value)))
                .collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// The MIME message (Azure document 6.2): boot hook, then payload.
pub fn message(boothook: &str, bootstrap_data: &str) -> String {
    let payload_type = if is_gzip(bootstrap_data) {
        "application/x-gzip"
    } else {
        "text/plain; charset=\"utf-8\""
    };
    let mut message = format!(
        "Content-Type: multipart/mixed; boundary=\"{BOUNDARY}\"\n\
         MIME-Version: 1.0\n\
         \n\
         --{BOUNDARY}\n\
         Content-Type: text/cloud-boothook; charset=\"us-ascii\"\n\
         MIME-Version: 1.0\n\
         Content-Transfer-Encoding: 7bit\n\
         Content-Disposition: attachment; filename=\"captf-boothook.sh\"\n\
         \n\
         {boothook}\
         --{BOUNDARY}\n\
         Content-Type: {payload_type}\n\
         MIME-Version: 1.0\n\
         Content-Transfer-Encoding: base64\n\
         Content-Disposition: attachment; filename=\"bootstrap\"\n\
         \n"
    );
    push_wrapped(bootstrap_data, &mut message);
    message.push_str("--");
    message.push_str(BOUNDARY);
    message.push_str("--\n");
    message
}

/// Lines of 76 characters.
fn push_wrapped(text: &str, message: &mut String) {
    for (index, c) in text.chars().enumerate() {
        if index > 0 && index % limits::MIME_LINE_CHARS == 0 {
            message.push('\n');
        }
        message.push(c);
    }
    message.push('\n');
}

/// Custom data of a cloud-config payload.
pub fn of_cloud_config(boothook: &str, bootstrap_data: &Secret<String>) -> CustomData {
    sealed(STANDARD.encode(message(boothook, bootstrap_data.reveal())))
}

/// Custom data of an Ignition payload: the payload itself.
pub fn of_ignition(bootstrap_data: &Secret<String>) -> CustomData {
    sealed(bootstrap_data.reveal().clone())
}

fn sealed(base64: String) -> CustomData {
    CustomData {
        sha256: sha256_hex(base64.as_bytes()),
        base64: Secret::new(base64),
    }
}
