//! User variables of the AWS pool as data (AWS document 2.4): one entry a variable.
//!
//! To add one: an entry here, a field in `desired.rs`, a line in the backend's wire.

use std::{collections::BTreeMap, sync::LazyLock};

use regex::Regex;
use serde_json::{Map, Value};

use super::{exports, limits};
use crate::{
    error::Refusal,
    pool::{
        action::Effect,
        declared::{self, Check, Declared, Kind, declare_variables, one_of, text, whole},
        inputs::UserVariables,
        instance_template::InstanceTemplate,
    },
};

const VOLUME_GIB: std::ops::RangeInclusive<i64> = 8..=16_384;
const HEARTBEAT_SECONDS: std::ops::RangeInclusive<i64> = 30..=7_200;
const DRAIN_SECONDS: std::ops::RangeInclusive<i64> = 30..=172_800;
const AWS_INTEGER: std::ops::RangeInclusive<i64> = 0..=2_147_483_647;

declare_variables! {
    /// The user variables, converted, checked and with defaults filled in.
    pub struct Vars;

    /// Security groups of the instances besides the cluster's worker groups. Acts on instances
    /// launched afterwards.
    additional_security_group_ids: Vec<String> {
        kind: Kind::Texts,
        default: "[]",
        nullable: false,
        effect: Effect::NewMachinesOnly,
        checks: [Check {
            code: "V-10",
            rule: "every security group id must start with `sg-`",
            holds: |v| v.as_array().is_some_and(|ids| ids.iter().all(|id| text(id, |t| t.starts_with("sg-")))),
        }],
    }

    /// Tags on the group, the launch template, instances, volumes and network interfaces; at most
    /// 40. The contract's tags and the cluster's ownership tag win over them.
    additional_tags: BTreeMap<String, String> {
        kind: Kind::TextMap,
        default: "{}",
        nullable: false,
        effect: Effect::NewMachinesOnly,
        checks: [
            Check {
                code: "V-11a",
                rule: "may hold at most 40 tags",
                holds: |v| v.as_object().is_some_and(|tags| tags.len() <= limits::ADDITIONAL_TAGS),
            },
            Check {
                code: "V-11b",
                rule: "a tag key must have 1 to 128 characters, a value at most 256",
                holds: |v| each_tag(v, |key, value| {
                    (1..=limits::TAG_KEY_CHARS).contains(&key.chars().count())
                        && value.chars().count() <= limits::TAG_VALUE_CHARS
                }),
            },
            Check {
                code: "V-11c",
                rule: "tag keys and values may hold letters, numbers, spaces and `_ . : / = + - @` only",
                holds: |v| each_tag(v, |key, value| TAG_TEXT.is_match(key) && TAG_TEXT.is_match(value)),
            },
            Check {
                code: "V-11d",
                rule: "a tag key must not start with `aws:`, `captf.io/` or `kubernetes.io/cluster/`",
                holds: |v| each_tag(v, |key, _| {
                    !key.to_lowercase().starts_with("aws:")
                        && !key.starts_with("captf.io/")
                        && !key.starts_with("kubernetes.io/cluster/")
                }),
            },
        ],
    }

    /// Who scales an autoscaled pool: `native` is Auto Scaling's CPU policy, `external` a scaler
    /// outside, such as the Cluster Autoscaler with its aws provider.
    autoscaler: String {
        kind: Kind::Text,
        default: "\"native\"",
        nullable: false,
        effect: Effect::None,
        checks: [Check {
            code: "V-21",
            rule: "must be `native` or `external`",
            holds: |v| one_of(v, &["native", "external"]),
        }],
    }

    /// Average CPU in percent that the policy aims at. CPU is a stand-in for demand: pods that
    /// wait for capacity do not raise it.
    autoscaling_target_cpu_percent: f64 {
        kind: Kind::Number,
        default: "60",
        nullable: false,
        effect: Effect::None,
        checks: [Check {
            code: "V-12",
            rule: "must be a number above 0 and at most 100",
            holds: |v| v.as_f64().is_some_and(|percent| percent > 0.0 && percent <= 100.0),
        }],
    }

    /// With pool Machines: how long the group waits for a sign of life while an instance that it
    /// ends is drained. Remuda sends one after a third of it; when Remuda is away for longer, the
    /// instance goes.
    drain_heartbeat_seconds: i64 {
        kind: Kind::Number,
        default: "300",
        nullable: false,
        effect: Effect::None,
        checks: [Check {
            code: "V-22",
            rule: "must be a whole number from 30 to 7200",
            holds: |v| whole(v, HEARTBEAT_SECONDS),
        }],
    }

    /// With pool Machines: how long an instance that the group ends (scale-in, Spot, a failed
    /// health check) is held for its drain at most. AWS allows 100 heartbeats and 48 hours.
    drain_limit_seconds: i64 {
        kind: Kind::Number,
        default: "3600",
        nullable: false,
        effect: Effect::None,
        checks: [Check {
            code: "V-23",
            rule: "must be a whole number from 30 to 172800",
            holds: |v| whole(v, DRAIN_SECONDS),
        }],
    }

    /// Exports of a cluster that Remuda does not provision; ignored for any other.
    external_cluster_exports: Option<Value> {
        kind: Kind::Any,
        default: "null",
        nullable: true,
        effect: Effect::Replaces,
        checks: [Check {
            code: "V-13",
            rule: "must be null or an object with `schema` = `captf.io/aws-cluster/v1`",
            holds: exports::has_schema,
        }],
    }

    /// Hops an answer of the metadata service may take; 2 lets pods without host networking reach
    /// it.
    instance_metadata_hop_limit: i64 {
        kind: Kind::Number,
        default: "1",
        nullable: false,
        effect: Effect::NewMachinesOnly,
        checks: [Check {
            code: "V-14",
            rule: "must be a whole number from 1 to 64",
            holds: |v| whole(v, 1..=64),
        }],
    }

    /// EC2 instance type.
    instance_type: String {
        kind: Kind::Text,
        default: "\"m6i.large\"",
        nullable: false,
        effect: Effect::NewMachinesOnly,
        checks: [Check {
            code: "V-15",
            rule: "must be `<family>.<size>`, each of lower-case letters, digits and `-`",
            holds: |v| text(v, is_instance_type),
        }],
    }

    /// The image; without pool Machines only an explicit `machine_image.id` rolls running machines.
    machine_image: MachineImage {
        kind: Kind::Object(MachineImage::TABLE),
        default: "{}",
        nullable: false,
        effect: Effect::Rolls,
        checks: [],
    }

    /// Public IP addresses for the instances, whatever the subnet's default.
    public_ip: bool {
        kind: Kind::Flag,
        default: "false",
        nullable: false,
        effect: Effect::NewMachinesOnly,
        checks: [],
    }

    /// Wait after each new instance of a roll has come into service. Used by the next roll.
    rollout_instance_warmup_seconds: i64 {
        kind: Kind::Number,
        default: "300",
        nullable: false,
        effect: Effect::None,
        checks: [Check {
            code: "V-17",
            rule: "must be a whole number of at least 0 (and below 2^31, which is AWS's own bound)",
            holds: |v| whole(v, AWS_INTEGER),
        }],
    }

    /// KMS key of the root volume; null is the account's default key. A customer managed key must
    /// grant its use to the role AWSServiceRoleForAutoScaling, or every launch fails.
    root_volume_kms_key_id: Option<String> {
        kind: Kind::Text,
        default: "null",
        nullable: true,
        effect: Effect::NewMachinesOnly,
        checks: [Check {
            code: "V-18",
            rule: "must be null or the ARN of a KMS key, `arn:<partition>:kms:<region>:<account>:key/…`; an alias is none",
            holds: |v| text(v, |t| KMS_KEY_ARN.is_match(t)),
        }],
    }

    /// Size of the root volume.
    root_volume_size_gib: i64 {
        kind: Kind::Number,
        default: "40",
        nullable: false,
        effect: Effect::NewMachinesOnly,
        checks: [Check {
            code: "V-19",
            rule: "must be a whole number from 8 to 16384",
            holds: |v| whole(v, VOLUME_GIB),
        }],
    }

    /// Type of the root volume.
    root_volume_type: String {
        kind: Kind::Text,
        default: "\"gp3\"",
        nullable: false,
        effect: Effect::NewMachinesOnly,
        checks: [Check {
            code: "V-20",
            rule: "must be `gp3` or `gp2`",
            holds: |v| one_of(v, &["gp3", "gp2"]),
        }],
    }

    /// Spot instances, with capacity rebalancing.
    spot: bool {
        kind: Kind::Flag,
        default: "false",
        nullable: false,
        effect: Effect::NewMachinesOnly,
        checks: [],
    }

    /// EC2 key pair to install; null or empty is none. Who reaches SSH is decided by the cluster's
    /// `ssh_allowed_cidrs`.
    ssh_key_name: Option<String> {
        kind: Kind::Text,
        default: "null",
        nullable: true,
        effect: Effect::NewMachinesOnly,
        checks: [],
    }
}

declare_variables! {
    /// `machine_image`: which image instances boot from.
    pub struct MachineImage;

    /// `x86_64` or `arm64`; part of the lookup.
    architecture: String {
        kind: Kind::Text,
        default: "\"x86_64\"",
        nullable: false,
        effect: Effect::NewMachinesOnly,
        checks: [Check {
            code: "V-16c",
            rule: "must be `x86_64` or `arm64`",
            holds: |v| one_of(v, &["x86_64", "arm64"]),
        }],
    }

    /// An explicit image; null looks one up. Setting, changing or removing it rolls.
    id: Option<String> {
        kind: Kind::Text,
        default: "null",
        nullable: true,
        effect: Effect::Rolls,
        checks: [Check {
            code: "V-16a",
            rule: "must be null or `ami-` and lower-case hex digits",
            holds: |v| text(v, is_image_id),
        }],
    }

    /// Name filter of the lookup: `{semver}` is `1.34.1`, `{version}` is `v1.34.1`, `*` and `?`
    /// are EC2's wildcards.
    name_format: String {
        kind: Kind::Text,
        default: "\"capa-ami-ubuntu-24.04-?{semver}-*\"",
        nullable: false,
        effect: Effect::NewMachinesOnly,
        checks: [Check {
            code: "V-16b",
            rule: "must hold `{semver}` or `{version}`",
            holds: |v| text(v, |t| t.contains("{semver}") || t.contains("{version}")),
        }],
    }

    /// Account that owns the image; part of the lookup.
    owner: String {
        kind: Kind::Text,
        default: "\"819546954734\"",
        nullable: false,
        effect: Effect::NewMachinesOnly,
        checks: [Check {
            code: "V-16d",
            rule: "must be 12 digits, `self`, `amazon` or `aws-marketplace`",
            holds: |v| one_of(v, &["self", "amazon", "aws-marketplace"]) || text(v, is_account),
        }],
    }

    /// The image's own root device: `/dev/sda1` on Ubuntu, `/dev/xvda` on Amazon Linux and
    /// Flatcar. Another name leaves the root volume as the image has it and adds a second one.
    root_device_name: String {
        kind: Kind::Text,
        default: "\"/dev/sda1\"",
        nullable: false,
        effect: Effect::NewMachinesOnly,
        checks: [Check {
            code: "V-16e",
            rule: "must be `/dev/` and lower-case letters or digits",
            holds: |v| text(v, is_device),
        }],
    }
}

static TAG_TEXT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\A[\p{L}\p{N}\p{Z}_.:/=+\-@]*\z").expect("a constant pattern"));

static KMS_KEY_ARN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\Aarn:[a-z0-9-]+:kms:[a-z0-9-]+:[0-9]{12}:key/.").expect("a constant pattern")
});

fn each_tag(value: &Value, rule: impl Fn(&str, &str) -> bool) -> bool {
    value.as_object().is_some_and(|tags| {
        tags.iter()
            .all(|(key, value)| text(value, |value| rule(key, value)))
    })
}

fn is_instance_type(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && part
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    name.split_once('.')
        .is_some_and(|(family, size)| is_part(family) && is_part(size))
}

fn is_image_id(id: &str) -> bool {
    id.strip_prefix("ami-").is_some_and(|hex| {
        !hex.is_empty() && hex.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))
    })
}

fn is_account(owner: &str) -> bool {
    owner.len() == 12 && owner.chars().all(|c| c.is_ascii_digit())
}

fn is_device(name: &str) -> bool {
    name.strip_prefix("/dev/").is_some_and(|device| {
        !device.is_empty()
            && device
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    })
}

/// Converts and checks the user variables; all problems at once.
///
/// # Errors
/// `V-0`, `V-10` to `V-23`, sorted.
pub fn resolve(variables: &UserVariables) -> Result<Vars, Vec<Refusal>> {
    declared::resolve(Vars::TABLE, variables).map(typed)
}

/// The same with what members are made from.
///
/// # Errors
/// As `resolve`.
pub fn resolve_with_template(
    variables: &UserVariables,
    bootstrap_secret: Option<&str>,
) -> Result<(Vars, InstanceTemplate), Vec<Refusal>> {
    let resolved = declared::resolve(Vars::TABLE, variables)?;
    let template = InstanceTemplate::of(Vars::TABLE, &resolved, bootstrap_secret);
    Ok((typed(resolved), template))
}

fn typed(resolved: Map<String, Value>) -> Vars {
    serde_json::from_value(Value::Object(resolved))
        .expect("converted and checked values have the types of the table")
}

/// Every variable, for documentation: name with its object's (`machine_image.id`) and its row.
pub fn listed() -> Vec<(String, &'static Declared)> {
    Vars::TABLE
        .iter()
        .flat_map(|row| match row.kind {
            Kind::Object(fields) => fields
                .iter()
                .map(|field| (format!("{}.{}", row.name, field.name), field))
                .collect(),
            Kind::Text | Kind::Number | Kind::Flag | Kind::Texts | Kind::TextMap | Kind::Any => {
                vec![(row.name.to_owned(), row)]
            }
        })
        .collect()
}
