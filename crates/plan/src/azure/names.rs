//! Every cloud name of a pool, with its length rules, and the ARM IDs made of them (Azure document
//! 3.1, 7.1).

use super::{limits, place::Place};
use crate::pool::{payload::sha256_hex, record::GenerationKey};

/// Set name: `workers-7d91b187`, at most 50 characters. Another generation has another name, but
/// for what members are made from.
pub fn set(machinepool_name: &str, key: &GenerationKey) -> String {
    hashed(machinepool_name, &hash_input(machinepool_name, key))
}

/// The same with a hash that also covers what members are made from.
pub fn set_of_template(machinepool_name: &str, key: &GenerationKey) -> String {
    let template = serde_json::json!(key.template);
    let input = format!("{}/{template}", hash_input(machinepool_name, key));
    hashed(machinepool_name, &input)
}

fn hashed(machinepool_name: &str, input: &str) -> String {
    let base: String = machinepool_name
        .to_lowercase()
        .chars()
        .map(|c| if is_name_char(c) { c } else { '-' })
        .take(limits::SET_BASE_CHARS)
        .collect();
    let base = base.strip_suffix('-').unwrap_or(&base);
    let hash: String = sha256_hex(input.as_bytes())
        .chars()
        .take(limits::SET_HASH_CHARS)
        .collect();
    format!("{base}-{hash}")
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'
}

/// What the hash of a set name covers: the name as given, and what cannot change in place.
fn hash_input(machinepool_name: &str, key: &GenerationKey) -> String {
    let json = serde_json::json!({
        "failure_domains": key.failure_domains,
        "kubernetes_version": key.kubernetes_version,
        "os_disk_storage_account_type": key.os_disk_storage_account_type,
        "spot": key.spot,
        "trusted_launch": key.trusted_launch,
    });
    format!("{machinepool_name}/{}", escaped(&json.to_string()))
}

/// Terraform's JSON encoder escapes these, and names must not differ from the module's.
fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => text.push_str("\\u003c"),
            '>' => text.push_str("\\u003e"),
            '&' => text.push_str("\\u0026"),
            '\u{2028}' => text.push_str("\\u2028"),
            '\u{2029}' => text.push_str("\\u2029"),
            other => text.push(other),
        }
    }
    text
}

/// Name of a set's autoscale setting.
pub fn setting(set: &str) -> String {
    format!("{set}-autoscale")
}

/// ARM ID of a resource group.
pub fn group_id(place: &Place) -> String {
    format!(
        "/subscriptions/{}/resourceGroups/{}",
        place.subscription_id, place.resource_group_name
    )
}

/// ARM ID of a set.
pub fn set_id(place: &Place, set: &str) -> String {
    format!(
        "{}/providers/Microsoft.Compute/virtualMachineScaleSets/{set}",
        group_id(place)
    )
}

/// ARM ID of an autoscale setting, by its own name.
pub fn setting_id(place: &Place, setting: &str) -> String {
    format!(
        "{}/providers/Microsoft.Insights/autoscalesettings/{setting}",
        group_id(place)
    )
}

/// The pool's provider id: built from known names, for the case of what ARM returns varies.
pub fn provider_id(place: &Place, set: &str) -> String {
    format!("azure://{}", set_id(place, set))
}

/// A member's provider id, as cloud-provider-azure writes it on the Node.
pub fn member_provider_id(place: &Place, set: &str, instance_id: &str) -> String {
    format!("{}/virtualMachines/{instance_id}", provider_id(place, set))
}

/// Whether two ARM IDs name the same resource: their case carries no meaning.
pub fn same_id(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}
