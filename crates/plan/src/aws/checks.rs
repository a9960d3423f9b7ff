//! Refusals that need no read (AWS document 10.1 and 10.2): each check looks at good inputs only,
//! so that one mistake is told once.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    bootstrap,
    desired::{ChosenZones, subnets_of},
    exports::Exports,
    limits, names,
    remembered::aws_record,
};
use crate::{
    driver::PoolContext,
    error::Refusal,
    pool::{
        checks::Codes,
        inputs::Inputs,
        labels::Filtered,
        payload::{self, Format, Payload},
        zones,
    },
};

/// Codes of the checks that every cloud makes.
pub(super) const CODES: Codes = Codes {
    contract: "V-1",
    replicas: "V-5",
    format: "V-7",
    labels: "V-8",
    autoscaling: "V-9",
    ignition_labels: "R-4",
    ignition_gzip: "R-5",
    most: None,
};

/// V-6.
pub(super) fn decoded_payload(inputs: &Inputs, refusals: &mut Vec<Refusal>) -> Option<Payload> {
    let payload = payload::decode(&inputs.bootstrap_data);
    if payload.is_none() {
        refusals.push(Refusal::new(
            "V-6",
            "bootstrap_data",
            "is not padded standard base64",
        ));
    }
    payload
}

/// What the boot stub would refuse on every machine: R-12.
pub(super) fn check_cloud_config(
    format: Option<Format>,
    payload: Option<&Payload>,
    refusals: &mut Vec<Refusal>,
) {
    let refused = format == Some(Format::CloudConfig)
        && payload.is_some_and(|payload| !payload.is_cloud_config());
    if refused {
        refusals.push(
            Refusal::new(
                "R-12",
                "bootstrap_data",
                "is not a cloud-config document: its first line is not #cloud-config",
            )
            .with_remedy(
                "write cloud-config into the bootstrap Secret, or name the format it has in its \
                 key format",
            ),
        );
    }
}

/// Zones and subnets.
pub(super) fn choose_zones(
    inputs: &Inputs,
    exports: &Exports,
    context: &PoolContext<'_>,
    refusals: &mut Vec<Refusal>,
) -> Option<ChosenZones> {
    let known = &exports.zone_subnets;
    let requested: BTreeSet<String> = inputs.failure_domains.iter().cloned().collect();
    let unknown = zones::unknown(&requested, known.keys());
    let known_names: Vec<&str> = known.keys().map(String::as_str).collect();
    if !unknown.is_empty() {
        refusals.push(
            Refusal::new(
                "R-3",
                "failure_domains",
                format!(
                    "asks for {}; the cluster has {}",
                    unknown.join(", "),
                    known_names.join(", ")
                ),
            )
            .with_remedy("use zones of the cluster, or none to use all of them"),
        );
        return None;
    }
    let inherited = recorded_zones(context).unwrap_or_else(|| {
        zones::defaults(&inputs.cluster_failure_domains, known.keys())
            .into_iter()
            .map(|zone| {
                let subnet = known.get(&zone).cloned().unwrap_or_default();
                (zone, subnet)
            })
            .collect()
    });
    let used = zones::used(&requested, &inherited.keys().cloned().collect());
    let subnets = subnets_of(&used, known, &inherited);
    if subnets.is_empty() {
        let used: Vec<&str> = used.iter().map(String::as_str).collect();
        refusals.push(
            Refusal::new(
                "R-8",
                "failure_domains",
                format!(
                    "no subnet is left for the pool: it uses {}; the cluster has {}",
                    used.join(", "),
                    known_names.join(", ")
                ),
            )
            .with_remedy("set failureDomains of the MachinePool to zones of the cluster"),
        );
        return None;
    }
    Some(ChosenZones {
        requested,
        inherited,
        subnets,
    })
}

fn recorded_zones(context: &PoolContext<'_>) -> Option<BTreeMap<String, String>> {
    aws_record(context)
        .map(|record| record.inherited_zones.clone())
        .filter(|zones| !zones.is_empty())
}

/// A pool stays in its region: R-11.
pub(super) fn check_region(
    exports: &Exports,
    context: &PoolContext<'_>,
    refusals: &mut Vec<Refusal>,
) {
    let Some(applied) = aws_record(context).and_then(|record| record.applied.as_ref()) else {
        return;
    };
    if applied.region != exports.region {
        refusals.push(
            Refusal::new(
                "R-11",
                "region",
                format!(
                    "the pool runs in {} and the exports now say {}",
                    applied.region, exports.region
                ),
            )
            .with_remedy("restore the cluster's region, or delete the pool and make a new one"),
        );
    }
}

/// User data of either format: R-10.
pub(super) fn rendered(
    inputs: &Inputs,
    exports: &Exports,
    format: Format,
    labels: &Filtered,
    refusals: &mut Vec<Refusal>,
) -> Option<String> {
    let bucket = &exports.bootstrap_bucket;
    let key = names::payload_key(&inputs.machinepool_name);
    let user_data = match format {
        Format::CloudConfig => {
            bootstrap::boothook(&exports.region, bucket, &key, &labels.label_string())
        }
        Format::Ignition => bootstrap::ignition(bucket, &key),
    };
    let size = user_data.len();
    if size > limits::USER_DATA_BYTES {
        refusals.push(
            Refusal::new(
                "R-10",
                "node_labels",
                format!(
                    "user data would have {size} bytes, EC2 takes {}; the labels are the cause",
                    limits::USER_DATA_BYTES
                ),
            )
            .with_remedy("use fewer or shorter labels"),
        );
        return None;
    }
    Some(user_data)
}

///
pub(super) fn no_image() -> Refusal {
    Refusal::new(
        "R-6",
        "machine_image.id",
        "there is no image: neither machine_image.id nor a Kubernetes version is set",
    )
    .with_remedy("set machine_image.id, or spec.template.spec.version of the MachinePool")
}
