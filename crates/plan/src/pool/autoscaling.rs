//! Autoscaling: the owner's two annotations, the claim on its count, and the write-back of the
//! observed count (captf document 2.5).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{findings::AutoscalingFinding, inputs::Autoscaling, keys, objects::MachinePoolObject};

/// Reads the bounds; anything but two ordered whole numbers is off.
pub fn bounds(annotations: &BTreeMap<String, String>) -> (Autoscaling, Option<String>) {
    let min = annotations.get(keys::AUTOSCALER_MIN);
    let max = annotations.get(keys::AUTOSCALER_MAX);
    let (min, max) = match (min, max) {
        (None, None) => return (Autoscaling::OFF, None),
        (Some(min), Some(max)) => (min, max),
        (Some(_), None) => return off(format!("{} is not set", keys::AUTOSCALER_MAX)),
        (None, Some(_)) => return off(format!("{} is not set", keys::AUTOSCALER_MIN)),
    };
    let Some(lower) = count(min) else {
        return off(format!("{} is not a whole number", keys::AUTOSCALER_MIN));
    };
    let Some(upper) = count(max) else {
        return off(format!("{} is not a whole number", keys::AUTOSCALER_MAX));
    };
    if lower < 0 || upper < 0 {
        return off("the bounds must not be negative".to_owned());
    }
    if lower > upper {
        return off(format!("the minimum {lower} is above the maximum {upper}"));
    }
    let bounds = Autoscaling {
        enabled: true,
        min: lower,
        max: upper,
    };
    (bounds, None)
}

fn off(problem: String) -> (Autoscaling, Option<String>) {
    (Autoscaling::OFF, Some(problem))
}

/// A whole number without sign or stray characters, except that a minus sign is read so that it
/// can be named as the mistake it is.
fn count(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse::<i32>().ok().map(i64::from)
}

/// What the owner's annotations say.
pub fn finding(owner: &MachinePoolObject) -> AutoscalingFinding {
    let annotations = &owner.metadata.annotations;
    match bounds(annotations) {
        (_, Some(problem)) => AutoscalingFinding::AnnotationsInvalid(problem),
        (Autoscaling { enabled: false, .. }, None) => AutoscalingFinding::Disabled,
        (Autoscaling { enabled: true, .. }, None) => match claim(annotations) {
            Claim::Foreign(holder) => AutoscalingFinding::ManagedExternally(holder.to_owned()),
            Claim::Free | Claim::Ours => AutoscalingFinding::Managed,
        },
    }
}

enum Claim<'a> {
    Free,
    Ours,
    Foreign(&'a str),
}

fn claim(annotations: &BTreeMap<String, String>) -> Claim<'_> {
    match annotations
        .get(keys::REPLICAS_MANAGED_BY)
        .map(String::as_str)
    {
        None | Some("false") => Claim::Free,
        Some(keys::REPLICAS_CLAIM) => Claim::Ours,
        Some(holder) => Claim::Foreign(holder),
    }
}

/// The count to render: the wish while autoscaling is off, else the observed capacity (or the wish
/// before anything was observed) within the bounds.
pub fn rendered_replicas(wish: Option<i64>, observed: Option<i64>, bounds: Autoscaling) -> i64 {
    let wish = wish.unwrap_or(1);
    if bounds.enabled {
        observed.unwrap_or(wish).clamp(bounds.min, bounds.max)
    } else {
        wish
    }
}

/// The patch the owner needs: the claim, and the observed count as it is, unclamped.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteBack {
    /// Merge patch with the resourceVersion as precondition.
    pub body: Value,
    /// Old and new `spec.replicas`, when it changes.
    pub replicas: Option<(i64, i64)>,
}

/// Decides the write-back; `None`: touch nothing.
pub fn write_back(owner: &MachinePoolObject, observed: Option<i64>) -> Option<WriteBack> {
    let annotations = &owner.metadata.annotations;
    let (bounds, _) = bounds(annotations);
    let mut claimed = None;
    let mut replicas = None;
    match (bounds.enabled, claim(annotations)) {
        (true, Claim::Foreign(_)) | (false, Claim::Free | Claim::Foreign(_)) => return None,
        (false, Claim::Ours) => claimed = Some(Value::Null),
        (true, claim) => {
            if matches!(claim, Claim::Free) {
                claimed = Some(Value::from(keys::REPLICAS_CLAIM));
            }
            let wish = owner.spec.replicas.unwrap_or(1);
            replicas = observed
                .filter(|observed| Some(*observed) != owner.spec.replicas)
                .map(|observed| (wish, observed));
        }
    }
    if claimed.is_none() && replicas.is_none() {
        return None;
    }
    let mut metadata = Map::new();
    if let Some(version) = &owner.metadata.resource_version {
        metadata.insert("resourceVersion".to_owned(), Value::from(version.as_str()));
    }
    if let Some(value) = claimed {
        metadata.insert(
            "annotations".to_owned(),
            json!({ (keys::REPLICAS_MANAGED_BY): value }),
        );
    }
    let mut body = json!({ "metadata": metadata });
    if let (Some((_, new)), Some(body)) = (replicas, body.as_object_mut()) {
        body.insert("spec".to_owned(), json!({ "replicas": new }));
    }
    Some(WriteBack { body, replicas })
}
