//! Refusals that need no read (Azure document 10.1): each check looks at good inputs only, so that
//! one mistake is told once.

use std::collections::BTreeSet;

use super::{
    bootstrap,
    desired::CustomData,
    exports::Exports,
    image::{self, ImageReference},
    limits,
    remembered::azure_record,
    vars::{self, Vars},
};
use crate::{
    driver::PoolContext,
    error::Refusal,
    pool::{
        checks::{self, Codes},
        inputs::{Autoscaling, Inputs},
        labels::Filtered,
        payload::Format,
        zones,
    },
};

/// Codes of the checks that every cloud makes.
pub(super) const CODES: Codes = Codes {
    contract: "E-CONTRACT",
    replicas: "E-REPLICAS",
    format: "E-FORMAT",
    labels: "E-LABELS",
    autoscaling: "E-AUTOSCALING",
    ignition_labels: "E-LABELS-IGNITION",
    ignition_gzip: "E-GZIP-IGNITION",
    most: Some((limits::SET_INSTANCES, "the limit of a scale set")),
};

/// Zones of a pool, and what to record of them.
pub(super) struct ChosenZones {
    pub(super) requested: BTreeSet<String>,
    pub(super) pinned: BTreeSet<String>,
    pub(super) used: BTreeSet<String>,
    pub(super) missing: BTreeSet<String>,
}

/// E-ZONES. A pinned zone that left the exports refuses nothing.
pub(super) fn choose_zones(
    inputs: &Inputs,
    exports: &Exports,
    context: &PoolContext<'_>,
    refusals: &mut Vec<Refusal>,
) -> Option<ChosenZones> {
    let requested: BTreeSet<String> = inputs.failure_domains.iter().cloned().collect();
    let unknown = zones::unknown(&requested, &exports.zones);
    if !unknown.is_empty() {
        let known: Vec<&str> = exports.zones.iter().map(String::as_str).collect();
        let has = if known.is_empty() {
            "the cluster's region has no zones".to_owned()
        } else {
            format!("the cluster has {}", known.join(", "))
        };
        refusals.push(
            Refusal::new(
                "E-ZONES",
                "failure_domains",
                format!("asks for {}; {has}", unknown.join(", ")),
            )
            .with_remedy("use zones of the cluster, or none to use all of them"),
        );
        return None;
    }
    let pinned = azure_record(context)
        .and_then(|record| record.pinned_zones.clone())
        .unwrap_or_else(|| zones::defaults(&inputs.cluster_failure_domains, &exports.zones));
    let used = zones::used(&requested, &pinned);
    let missing = used.difference(&exports.zones).cloned().collect();
    Some(ChosenZones {
        requested,
        pinned,
        used,
        missing,
    })
}

/// A pool stays where it is: E-IMMUTABLE-EXPORTS, one for each value that moved.
pub(super) fn check_immutable(
    exports: &Exports,
    context: &PoolContext<'_>,
    refusals: &mut Vec<Refusal>,
) {
    let Some(record) = azure_record(context) else {
        return;
    };
    let place = record.place.as_ref();
    let new = &exports.place;
    let rows = [
        (
            "subscription_id",
            place.map(|place| &place.subscription_id),
            &new.subscription_id,
        ),
        (
            "resource_group_name",
            place.map(|place| &place.resource_group_name),
            &new.resource_group_name,
        ),
        ("region", place.map(|place| &place.region), &new.region),
        (
            "admin_username",
            record.admin_username.as_ref(),
            &exports.admin_username,
        ),
    ];
    for (name, old, new) in rows {
        if let Some(old) = old.filter(|old| *old != new) {
            refusals.push(
                Refusal::new(
                    "E-IMMUTABLE-EXPORTS",
                    name,
                    format!("the pool was made with {old} and the exports now say {new}"),
                )
                .with_remedy(format!(
                    "restore the cluster's {name}, or delete the pool and make a new one"
                )),
            );
        }
    }
}

/// E-CPU-ORDER; a scaler outside has its own thresholds.
pub(super) fn check_thresholds(vars: &Vars, autoscaling: Autoscaling, refusals: &mut Vec<Refusal>) {
    if autoscaling.enabled && vars.autoscaler == vars::EXTERNAL {
        return;
    }
    let low = vars.autoscaling_scale_in_cpu_percent;
    let high = vars.autoscaling_scale_out_cpu_percent;
    if low >= high {
        refusals.push(Refusal::new(
            "E-CPU-ORDER",
            "autoscaling_scale_in_cpu_percent",
            format!(
                "is {low} and must be below autoscaling_scale_out_cpu_percent, which is {high}"
            ),
        ));
    }
}

/// E-IMAGE where there is none, E-IMAGE-VERSION.
pub(super) fn check_image(
    vars: &Vars,
    kubernetes_version: Option<&str>,
    refusals: &mut Vec<Refusal>,
) -> Option<ImageReference> {
    let Some(image_id) = &vars.image_id else {
        refusals.push(Refusal::new("E-IMAGE", "image_id", image::FORMS));
        return None;
    };
    let reference = image::reference(image_id, kubernetes_version);
    if reference.is_none() {
        refusals.push(
            Refusal::new(
                "E-IMAGE-VERSION",
                "image_id",
                "asks for the Kubernetes version, and the MachinePool has none",
            )
            .with_remedy(
                "set spec.template.spec.version of the MachinePool, or an image_id without \
                 {version} and {semver}",
            ),
        );
    }
    reference
}

/// Custom data of either format: E-LABELS-IGNITION, E-GZIP-IGNITION, E-CUSTOM-DATA. `None` where
/// an input it needs is bad.
pub(super) fn custom_data(
    inputs: &Inputs,
    exports: Option<&Exports>,
    format: Option<Format>,
    labels: &Filtered,
    refusals: &mut Vec<Refusal>,
) -> Option<CustomData> {
    let payload = &inputs.bootstrap_data;
    let data = match format? {
        Format::CloudConfig => {
            let hook = bootstrap::boothook(&exports?.cloud_provider_config, &labels.label_string());
            bootstrap::of_cloud_config(&hook, payload)
        }
        Format::Ignition => {
            let is_gzip = bootstrap::is_gzip(payload.reveal());
            refusals.extend(checks::ignition(labels, is_gzip, &CODES));
            bootstrap::of_ignition(payload)
        }
    };
    let length = data.base64.reveal().len();
    if length > limits::CUSTOM_DATA_CHARS {
        refusals.push(
            Refusal::new(
                "E-CUSTOM-DATA",
                "bootstrap_data",
                format!(
                    "custom data would have {length} characters, Azure takes {} (64 KiB before base64)",
                    limits::CUSTOM_DATA_CHARS
                ),
            )
            .with_remedy("make the bootstrap data smaller, or let the bootstrap provider compress it"),
        );
        return None;
    }
    Some(data)
}
