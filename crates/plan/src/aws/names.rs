//! Every cloud name of a pool, with its length rules (AWS document 3.1).

use jiff::Timestamp;
use serde_json::json;

use super::limits;
use crate::pool::{payload::sha256_hex, record::RollKey};

/// Name of the CPU policy; fixed.
pub const POLICY: &str = "captf-cpu-target-tracking";

/// Name of the lifecycle hook; fixed.
pub const HOOK: &str = "remuda-drain";

/// The process that stays suspended: a new zone fills only through new launches.
pub const SUSPENDED_PROCESS: &str = "AZRebalance";

/// Group name, fixed for life and known before the group exists:
/// `captf-team-a-demo-pool-0-43c6d828`, at most 63 characters.
pub fn group(namespace: &str, machinepool_name: &str) -> String {
    let base: String = format!("captf-{namespace}-{machinepool_name}")
        .to_lowercase()
        .chars()
        .map(|c| if is_name_char(c) { c } else { '-' })
        .take(limits::GROUP_BASE_CHARS)
        .collect();
    let base = base.strip_suffix('-').unwrap_or(&base);
    let hash: String = sha256_hex(format!("{namespace}/{machinepool_name}").as_bytes())
        .chars()
        .take(limits::GROUP_HASH_CHARS)
        .collect();
    format!("{base}-{hash}")
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'
}

/// What the names of a group's launch templates start with.
pub fn template_prefix(group_name: &str) -> String {
    format!("{group_name}-")
}

/// Name of a new launch template: the prefix, the UTC time, `r` (the module's names have none) and
/// the roll digest, by which a pass after a crash finds a template nobody uses yet.
pub fn template(group_name: &str, now_epoch_seconds: i64, key: &RollKey) -> String {
    let time = Timestamp::from_second(now_epoch_seconds).unwrap_or(Timestamp::UNIX_EPOCH);
    format!(
        "{}{}r{}",
        template_prefix(group_name),
        time.strftime("%Y%m%d%H%M%S"),
        roll_digest(key)
    )
}

/// The first digits of the SHA-256 over version, a zero byte and explicit image id; with pool
/// Machines on also over what members are made from.
pub fn roll_digest(key: &RollKey) -> String {
    let mut bytes = key.kubernetes_version.clone().unwrap_or_default();
    bytes.push('\0');
    bytes.push_str(key.image_id.as_deref().unwrap_or_default());
    if let Some(template) = &key.template {
        bytes.push('\0');
        bytes.push_str(&json!(template).to_string());
    }
    sha256_hex(bytes.as_bytes())
        .chars()
        .take(limits::ROLL_DIGEST_CHARS)
        .collect()
}

/// Whether a template name is one of ours for `key`.
pub fn is_template_for(name: &str, group_name: &str, key: &RollKey) -> bool {
    name.strip_prefix(&template_prefix(group_name))
        .and_then(|suffix| suffix.split_once('r'))
        .is_some_and(|(time, digest)| {
            time.len() == 14
                && time.chars().all(|c| c.is_ascii_digit())
                && digest == roll_digest(key)
        })
}

/// Version description of a launch template, cut to AWS's 255 characters.
pub fn template_description(namespace: &str, machinepool_name: &str) -> String {
    format!("CAPTF machine pool {namespace}/{machinepool_name}")
        .chars()
        .take(limits::DESCRIPTION_CHARS)
        .collect()
}

/// Key of the payload object. Holds no namespace: the bucket is the cluster's.
pub fn payload_key(machinepool_name: &str) -> String {
    format!("pool/{machinepool_name}")
}
