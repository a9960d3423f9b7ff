//! What should exist on AWS (AWS document 4), except the image, which a read resolves.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::pool::{record::RollKey, secret::Secret};

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
