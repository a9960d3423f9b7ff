//! Names of what stands for a member, and the values of its labels.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use crate::pool::hash::hex;

/// Longest label value, and longest name that is also a host name.
const LONGEST: usize = 63;
/// Hexadecimal digits that tell members of a pool apart.
const DIGITS: usize = 10;

/// Value of a label that names an object: the name where that is a valid value, else `hash_`, its
/// FNV-1a hash and `_z`. Look-ups by such a label use the same function (Cluster API document,
/// 1.10).
pub fn label_value(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let edge = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    let valid = name.len() <= LONGEST
        && name.chars().all(plain)
        && edge(name.chars().next())
        && edge(name.chars().next_back());
    if valid {
        return name.to_owned();
    }
    let digest = URL_SAFE_NO_PAD.encode(fnv1a(name.as_bytes()).to_be_bytes());
    format!("hash_{digest}_z")
}

/// The 32-bit FNV-1a hash.
pub(crate) fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

/// Name of the object that stands for a member, and of its Machine: the pool's name and a digest
/// of the provider id, at most 63 characters that a host name may have. The digest does not tell
/// letter cases apart, as the clouds do not.
pub fn member_name(pool: &str, provider_id: &str) -> String {
    let digest: String = hex(&Sha256::digest(instance_key(provider_id).as_bytes()))
        .chars()
        .take(DIGITS)
        .collect();
    let head: String = pool
        .chars()
        .map(|c| if c == '.' { '-' } else { c })
        .take(LONGEST - DIGITS - 1)
        .collect();
    format!("{}-{digest}", head.trim_end_matches('-'))
}

/// What makes two provider ids mean one instance: everything but the case of letters.
pub fn instance_key(provider_id: &str) -> String {
    provider_id.to_ascii_lowercase()
}

/// What a cluster autoscaler takes for the identity of an instance: the part after the last slash,
/// and the whole id of a member of an Azure scale set, whose last part is a mere number. It must be
/// unique over all pools of a cluster (Cluster API document, 4.9).
pub fn scaler_key(provider_id: &str) -> String {
    if provider_id.starts_with("azure://") && provider_id.contains("virtualMachineScaleSets") {
        return instance_key(provider_id);
    }
    let last = provider_id.rsplit('/').next().unwrap_or(provider_id);
    instance_key(last)
}
