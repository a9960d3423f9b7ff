//! Whether outputs keep the contract's limits (captf document 2.2), checked before anything of
//! them is written.

use super::{members::Address, outputs::Outputs};
use crate::limits;

/// Verdict on outputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Fine.
    Valid,
    /// Fine, but only the first 1,000 instances are shown.
    Truncated,
    /// A required value is not known yet.
    Pending(String),
    /// Out of limits; all problems, in the order of the outputs.
    Invalid(Vec<String>),
}

const ADDRESS_TYPES: [&str; 5] = [
    "Hostname",
    "ExternalIP",
    "InternalIP",
    "ExternalDNS",
    "InternalDNS",
];

/// Checks outputs.
pub fn check(outputs: &Outputs) -> Verdict {
    let mut problems = Vec::new();
    if let Some(id) = &outputs.provider_id
        && !in_limits(id, limits::PROVIDER_ID_CHARS)
    {
        problems.push("provider_id must have 1 to 512 characters".to_owned());
    }
    if outputs.provider_id_list.len() > limits::PROVIDER_IDS {
        problems.push(format!(
            "provider_id_list has {} entries, at most {} are allowed",
            outputs.provider_id_list.len(),
            limits::PROVIDER_IDS
        ));
    }
    let bad = outputs
        .provider_id_list
        .iter()
        .filter(|id| !in_limits(id, limits::PROVIDER_ID_CHARS))
        .count();
    if bad > 0 {
        problems.push(format!(
            "provider_id_list has {bad} entries that do not have 1 to 512 characters"
        ));
    }
    if let Some(replicas) = outputs.replicas
        && !(0..=i64::from(i32::MAX)).contains(&replicas)
    {
        problems.push(format!("replicas is {replicas}, a count is required"));
    }
    for (index, member) in outputs.instances.iter().enumerate() {
        let addresses = &member.addresses;
        if !in_limits(&member.provider_id, limits::PROVIDER_ID_CHARS)
            || member.instance_id.chars().count() > limits::SHORT_TEXT_CHARS
            || addresses.len() > limits::ADDRESSES
            || !addresses.iter().all(address_fits)
            || !member
                .failure_domain
                .as_deref()
                .is_none_or(|zone| in_limits(zone, limits::SHORT_TEXT_CHARS))
        {
            problems.push(format!("instances[{index}] has a value out of limits"));
        }
    }
    if !problems.is_empty() {
        return Verdict::Invalid(problems);
    }
    if super::membership::capacity(outputs).is_none() {
        return Verdict::Pending("replicas is not known: the group does not exist".to_owned());
    }
    if outputs.instances.len() > limits::INSTANCES {
        return Verdict::Truncated;
    }
    Verdict::Valid
}

fn in_limits(text: &str, most: usize) -> bool {
    !text.is_empty() && text.chars().count() <= most
}

fn address_fits(address: &Address) -> bool {
    ADDRESS_TYPES.contains(&address.kind.as_str())
        && in_limits(&address.address, limits::SHORT_TEXT_CHARS)
}
