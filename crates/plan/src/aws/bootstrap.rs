//! The boot stub that an instance gets as user data (AWS document 7). The payload itself lies in
//! S3: neither it nor its base64 ever enters user data.
//!
//! The stub holds `region=`, `object=` and `node_labels=` as plain assignments, each on its own
//! line, so that people and the simulated nodes can read what an instance will fetch.

use serde_json::json;

use crate::pool::boothook::{LABELS, quoted};

/// The cloud-config stub's text; `@…@` marks what is filled in.
const STUB: &str = include_str!("boothook.sh");

/// A cloud-init boothook: registers node labels on every boot, and installs the payload once.
/// `label_string` is `k=v,k2=v2`, empty without labels.
pub fn boothook(region: &str, bucket: &str, key: &str, label_string: &str) -> String {
    STUB.replace("@label_functions@\n", LABELS)
        .replace("@region@", &quoted(region))
        .replace("@object@", &quoted(&object(bucket, key)))
        .replace("@node_labels@", &quoted(label_string))
}

/// An Ignition configuration that is replaced by the payload.
pub fn ignition(bucket: &str, key: &str) -> String {
    json!({
        "ignition": {
            "version": "3.0.0",
            "config": { "replace": { "source": object(bucket, key) } },
        }
    })
    .to_string()
}

fn object(bucket: &str, key: &str) -> String {
    format!("s3://{bucket}/{key}")
}
