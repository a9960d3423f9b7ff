//! The cells of volumes, their claims and attachments.

use serde_json::{Value, json};

use super::builtin_cells::{list, text};

const UNSET: &str = "<unset>";

/// The phase; what is being deleted is said to end.
pub(super) fn phase(volume: &Value) -> Value {
    if text(volume, "/metadata/deletionTimestamp").is_empty() {
        json!(text(volume, "/status/phase"))
    } else {
        json!("Terminating")
    }
}

/// How a volume may be mounted, in short: `RWO,ROX`.
pub(super) fn access_modes(volume: &Value) -> Value {
    modes(volume, "/spec/accessModes")
}

fn modes(volume: &Value, pointer: &str) -> Value {
    const SHORT: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let given = list(volume, pointer);
    let has = |mode: &str| given.iter().any(|given| given == mode);
    let short = SHORT.iter().filter(|(mode, _)| has(mode));
    let short: Vec<&str> = short.map(|(_, short)| *short).collect();
    json!(short.join(","))
}

/// The claim that a volume is bound to.
pub(super) fn claim(volume: &Value) -> Value {
    match volume.pointer("/spec/claimRef") {
        Some(claim) if !claim.is_null() => {
            json!(format!(
                "{}/{}",
                text(claim, "/namespace"),
                text(claim, "/name")
            ))
        }
        _ => json!(""),
    }
}

/// The class, from the field or from the annotation that came before it.
pub(super) fn class(volume: &Value) -> Value {
    const ANNOTATION: &str = "/metadata/annotations/volume.beta.kubernetes.io~1storage-class";
    match text(volume, ANNOTATION) {
        "" => json!(text(volume, "/spec/storageClassName")),
        class => json!(class),
    }
}

/// A text, or that there is none.
pub(super) fn or_unset(volume: &Value, pointer: &str) -> Value {
    match text(volume, pointer) {
        "" => json!(UNSET),
        found => json!(found),
    }
}

/// What a claim got; nothing before it has a volume.
pub(super) fn claimed_capacity(claim: &Value) -> Value {
    match (is_bound(claim), text(claim, "/status/capacity/storage")) {
        (false, _) => json!(""),
        (true, "") => json!("0"),
        (true, size) => json!(size),
    }
}

/// How the volume of a claim may be mounted.
pub(super) fn claimed_modes(claim: &Value) -> Value {
    if is_bound(claim) {
        modes(claim, "/status/accessModes")
    } else {
        json!("")
    }
}

fn is_bound(claim: &Value) -> bool {
    !text(claim, "/spec/volumeName").is_empty()
}

/// Whether a volume hangs at its node.
pub(super) fn attached(attachment: &Value) -> Value {
    let attached = attachment.pointer("/status/attached") == Some(&json!(true));
    json!(attached.to_string())
}
