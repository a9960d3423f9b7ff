//! What should exist on AWS (AWS document 4), except the image, which a read resolves.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{
    checks::{
        CODES, check_cloud_config, check_region, choose_zones, decoded_payload, no_image, rendered,
    },
    exports::{self, Exports},
    image, limits, names, tags,
    vars::{self, Vars},
};
use crate::{
    driver::PoolContext,
    error::Refusal,
    pool::{
        capacity,
        checks::{contract_inputs, ignition, kept},
        inputs::{Inputs, UserVariables},
        instance_template::InstanceTemplate,
        labels,
        payload::{Format, Payload},
        record::{DrainHook, RollKey},
        secret::Secret,
    },
};

/// Everything that should exist for one pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Desired {
    /// Region of every client.
    pub region: String,
    /// The Auto Scaling group.
    pub group: GroupSpec,
    /// The launch template's data but for the image.
    pub template: TemplateData,
    /// Tags of the launch template object itself.
    pub template_tags: BTreeMap<String, String>,
    /// `CAPTF machine pool <namespace>/<name>`, at most 255 characters.
    pub template_description: String,
    /// Where the image id comes from.
    pub image: ImageChoice,
    /// The staged bootstrap payload.
    pub payload: PayloadSpec,
    /// What decides rolls.
    pub roll_key: RollKey,
    /// `InstanceWarmup` of a refresh.
    pub refresh_warmup_seconds: u32,
    /// Zones and subnets recorded at the first apply (to be written when the record has none).
    pub inherited_zones: BTreeMap<String, String>,
    /// Zones that `failure_domains` asks for; empty when the pool inherits.
    pub requested_zones: BTreeSet<String>,
    /// Zone to subnet as the exports have them now: maps a group's subnets back to zones when the
    /// record is lost.
    pub zone_subnets: BTreeMap<String, String>,
    /// Labels left out of the kubelet's registration, sorted.
    pub dropped_node_labels: Vec<String>,
}

/// The Auto Scaling group (AWS document 4.4 to 4.6).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupSpec {
    /// `captf-team-a-demo-pool-0-43c6d828`.
    pub name: String,
    /// Lower bound.
    pub min_size: i64,
    /// Upper bound.
    pub max_size: i64,
    /// Desired capacity sent at creation.
    pub desired_capacity: i64,
    /// Bounds pin the size (autoscaling off): desired follows `min_size = max_size`.
    pub fixed: bool,
    /// Subnets, sorted, no duplicates; joined with commas as `VPCZoneIdentifier`.
    pub subnets: BTreeSet<String>,
    /// `CapacityRebalance`.
    pub capacity_rebalance: bool,
    /// Tags, the installation tag included; none propagates.
    pub tags: BTreeMap<String, String>,
    /// Target of the CPU policy; `None`: no policy of ours.
    pub cpu_target_percent: Option<f64>,
    /// The terminating lifecycle hook; `None`: no hook of ours.
    pub hook: Option<DrainHook>,
}

/// The complete data of a launch template version (AWS document 4.3).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TemplateData {
    /// Empty in `Desired` until `diff` resolves it.
    pub image_id: String,
    /// `m6i.large`.
    pub instance_type: String,
    /// EC2 key pair.
    pub key_name: Option<String>,
    /// The stub, not yet base64; at most 16,384 bytes. Holds no secret.
    pub user_data: String,
    /// Instance profile name.
    pub instance_profile: String,
    /// `/dev/sda1`.
    pub root_device_name: String,
    /// GiB.
    pub root_volume_size_gib: i64,
    /// `gp3` or `gp2`.
    pub root_volume_type: String,
    /// KMS key ARN.
    pub root_volume_kms_key_id: Option<String>,
    /// IMDSv2 hop limit.
    pub metadata_hop_limit: i64,
    /// Sent explicitly, true or false.
    pub associate_public_ip: bool,
    /// Worker groups of the exports, then additional ones.
    pub security_groups: BTreeSet<String>,
    /// Spot market.
    pub spot: bool,
    /// Tags of instances and of volumes (they are equal).
    pub instance_tags: BTreeMap<String, String>,
    /// Tags of network interfaces.
    pub network_interface_tags: BTreeMap<String, String>,
}

/// Where the image id comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum ImageChoice {
    /// `machine_image.id`.
    Pinned(String),
    /// Newest match of a lookup.
    Lookup(ImageQuery),
}

/// One image lookup; results are cached by this key within an account and region.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct ImageQuery {
    /// 12 digits, `self`, `amazon` or `aws-marketplace`.
    pub owner: String,
    /// EC2 name filter with wildcards: `capa-ami-ubuntu-24.04-?1.34.1-*`.
    pub name: String,
    /// `x86_64` or `arm64`.
    pub architecture: String,
}

/// The staged payload (AWS document 4.2).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PayloadSpec {
    /// Bucket of the exports.
    pub bucket: String,
    /// `pool/<machinepool_name>`.
    pub key: String,
    /// Decoded bytes, unchanged.
    pub body: Secret<Vec<u8>>,
    /// Lower-case hex SHA-256 of `body`.
    pub sha256: String,
    /// The six captf tags.
    pub tags: BTreeMap<String, String>,
}

/// What should exist. Every refusal that needs no read is reported, each only where the inputs it
/// looks at are good themselves.
///
/// # Errors
/// All `V` and `R` refusals but, sorted by code and subject.
pub fn desired(
    inputs: &Inputs,
    variables: &UserVariables,
    context: &PoolContext<'_>,
) -> Result<Desired, Vec<Refusal>> {
    let mut refusals = contract_inputs(inputs, &CODES);
    let resolved = vars::resolve_with_template(variables, context.bootstrap_secret);
    let (vars, instance) = kept(resolved, &mut refusals).unzip();
    let payload = decoded_payload(inputs, &mut refusals);
    let format = Format::parse(&inputs.bootstrap_format);
    let labels = labels::filter(&inputs.node_labels);
    check_cloud_config(format, payload.as_ref(), &mut refusals);
    if format == Some(Format::Ignition) {
        let is_gzip = payload.as_ref().is_some_and(|payload| payload.gzip);
        refusals.extend(ignition(&labels, is_gzip, &CODES));
    }

    let exports = exports::SCHEMA.gather(
        &inputs.captf_cluster_outputs,
        vars.as_ref().map(|v| v.external_cluster_exports.as_ref()),
        exports::complete,
        &mut refusals,
    );
    let zones = exports
        .as_ref()
        .and_then(|exports| choose_zones(inputs, exports, context, &mut refusals));
    if let Some(exports) = &exports {
        check_region(exports, context, &mut refusals);
    }
    let user_data = exports
        .as_ref()
        .zip(format)
        .and_then(|(exports, format)| rendered(inputs, exports, format, &labels, &mut refusals));
    let image = vars.as_ref().and_then(|vars| {
        let wanted = image::wanted(&vars.machine_image, inputs.kubernetes_version.as_deref());
        if wanted.is_none() {
            refusals.push(no_image());
        }
        wanted
    });

    refusals.sort();
    let instance = instance.filter(|_| !context.machines.off());
    match (vars, payload, exports, zones, user_data, image) {
        (Some(vars), Some(payload), Some(exports), Some(zones), Some(user_data), Some(image))
            if refusals.is_empty() =>
        {
            let parts = Parts {
                vars,
                instance,
                payload,
                exports,
                zones,
                user_data,
                image,
                dropped: labels.dropped,
            };
            Ok(assembled(inputs, parts, context))
        }
        _ => Err(refusals),
    }
}

/// Everything good that a desired state is made of.
struct Parts {
    vars: Vars,
    /// What members are made from, where another one rolls.
    instance: Option<InstanceTemplate>,
    payload: Payload,
    exports: Exports,
    zones: ChosenZones,
    user_data: String,
    image: ImageChoice,
    dropped: Vec<String>,
}

/// Zones of a pool, and what to record of them.
pub(super) struct ChosenZones {
    pub(super) requested: BTreeSet<String>,
    pub(super) inherited: BTreeMap<String, String>,
    pub(super) subnets: BTreeSet<String>,
}

fn assembled(inputs: &Inputs, parts: Parts, context: &PoolContext<'_>) -> Desired {
    let Parts {
        vars,
        instance,
        payload,
        exports,
        zones,
        user_data,
        image,
        dropped,
    } = parts;
    let tags = tags::sets(
        &vars.additional_tags,
        &exports.kubernetes_cluster_id,
        &inputs.captf_tags,
        &inputs.machinepool_name,
        context.installation,
    );
    let namespace = &inputs.captf_object.namespace;
    Desired {
        region: exports.region.clone(),
        group: group_spec(inputs, &vars, zones.subnets, tags.group, context),
        template_tags: tags.base.clone(),
        template_description: names::template_description(namespace, &inputs.machinepool_name),
        image,
        payload: PayloadSpec {
            bucket: exports.bootstrap_bucket.clone(),
            key: names::payload_key(&inputs.machinepool_name),
            body: payload.body,
            sha256: payload.sha256,
            tags: inputs.captf_tags.clone(),
        },
        roll_key: RollKey {
            kubernetes_version: inputs.kubernetes_version.clone(),
            image_id: vars.machine_image.id.clone(),
            template: instance,
        },
        refresh_warmup_seconds: u32::try_from(vars.rollout_instance_warmup_seconds)
            .unwrap_or(u32::MAX),
        inherited_zones: zones.inherited,
        requested_zones: zones.requested,
        zone_subnets: exports.zone_subnets.clone(),
        template: template_data(vars, exports, user_data, tags.instance, tags.base),
        dropped_node_labels: dropped,
    }
}

fn group_spec(
    inputs: &Inputs,
    vars: &Vars,
    subnets: BTreeSet<String>,
    tags: BTreeMap<String, String>,
    context: &PoolContext<'_>,
) -> GroupSpec {
    let capacity = capacity::capacity(inputs.replicas, inputs.autoscaling);
    let has_policy = inputs.autoscaling.enabled && vars.autoscaler == "native";
    GroupSpec {
        name: names::group(&inputs.captf_object.namespace, &inputs.machinepool_name),
        min_size: capacity.min,
        max_size: capacity.max,
        desired_capacity: capacity.initial,
        fixed: capacity.fixed,
        subnets,
        capacity_rebalance: vars.spot,
        tags,
        cpu_target_percent: has_policy.then_some(vars.autoscaling_target_cpu_percent),
        hook: (!context.machines.off()).then(|| drain_hook(vars)),
    }
}

/// AWS bounds the wait by a number of heartbeats, whatever the limit.
fn drain_hook(vars: &Vars) -> DrainHook {
    let heartbeat_seconds = vars.drain_heartbeat_seconds;
    DrainHook {
        heartbeat_seconds,
        limit_seconds: vars
            .drain_limit_seconds
            .min(heartbeat_seconds * limits::HEARTBEATS),
    }
}

fn template_data(
    vars: Vars,
    exports: Exports,
    user_data: String,
    instance_tags: BTreeMap<String, String>,
    network_interface_tags: BTreeMap<String, String>,
) -> TemplateData {
    TemplateData {
        image_id: String::new(),
        instance_type: vars.instance_type,
        key_name: vars.ssh_key_name.filter(|name| !name.is_empty()),
        user_data,
        instance_profile: exports.worker_instance_profile,
        root_device_name: vars.machine_image.root_device_name,
        root_volume_size_gib: vars.root_volume_size_gib,
        root_volume_type: vars.root_volume_type,
        root_volume_kms_key_id: vars.root_volume_kms_key_id,
        metadata_hop_limit: vars.instance_metadata_hop_limit,
        associate_public_ip: vars.public_ip,
        security_groups: exports
            .worker_security_groups
            .into_iter()
            .chain(vars.additional_security_group_ids)
            .collect(),
        spot: vars.spot,
        instance_tags,
        network_interface_tags,
    }
}

/// The subnet of each zone: the exports' one, else the recorded one (a zone the cluster dropped
/// keeps its members). Zones without either have none.
pub fn subnets_of(
    zones: &BTreeSet<String>,
    exported: &BTreeMap<String, String>,
    recorded: &BTreeMap<String, String>,
) -> BTreeSet<String> {
    zones
        .iter()
        .filter_map(|zone| exported.get(zone).or_else(|| recorded.get(zone)))
        .filter(|subnet| !subnet.is_empty())
        .cloned()
        .collect()
}
