//! User variables of the Azure pool as data (Azure document 2.1): one entry a variable.
//!
//! To add one: an entry here, a field in `desired.rs`, a line in the backend's wire.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use regex::Regex;
use serde_json::{Map, Value};

use super::{exports, image, limits, tags};
use crate::{
    error::Refusal,
    pool::{
        action::Effect,
        declared::{self, Check, Kind, declare_variables, one_of, text, whole},
        inputs::UserVariables,
        instance_template::InstanceTemplate,
    },
};

/// The scaler outside, as the variable `autoscaler` names it.
pub(super) const EXTERNAL: &str = "external";

const PERCENT: std::ops::RangeInclusive<i64> = 1..=100;
const DISK_GIB: std::ops::RangeInclusive<i64> = 30..=4095;

declare_variables! {
    /// The user variables, converted, checked and with defaults filled in.
    pub struct Vars;

    /// Accelerated networking of the NICs; switch it off for sizes that lack it.
    accelerated_networking: bool {
        kind: Kind::Flag,
        default: "true",
        nullable: false,
        effect: Effect::NewMachinesOnly,
        checks: [],
    }

    /// Tags on the scale set and on its autoscale setting; at most 44. The contract's tags win over
    /// them.
    additional_tags: BTreeMap<String, String> {
        kind: Kind::TextMap,
        default: "{}",
        nullable: false,
        effect: Effect::None,
        checks: [
            Check {
                code: "E-TAGS-COUNT",
                rule: "may hold at most 44 tags",
                holds: |v| v.as_object().is_some_and(|tags| tags.len() <= limits::ADDITIONAL_TAGS),
            },
            Check {
                code: "E-TAGS-CHARS",
                rule: "a tag name must have 1 to 512 characters without `< > % & \\ ? /`, a value at most 256",
                holds: |v| each_tag(v, |key, value| {
                    is_reserved(key)
                        || (1..=limits::TAG_KEY_CHARS).contains(&key.chars().count())
                        && !key.contains(tags::FORBIDDEN)
                        && value.chars().count() <= limits::TAG_VALUE_CHARS
                }),
            },
            Check {
                code: "E-TAGS-CHARS",
                rule: "two tag names must differ in more than upper and lower case, which Azure ignores",
                holds: |v| v.as_object().is_some_and(|tags| {
                    let names: BTreeSet<String> = tags.keys().map(|key| key.to_lowercase()).collect();
                    names.len() == tags.len()
                }),
            },
            Check {
                code: "E-TAGS-RESERVED",
                rule: "a tag name must not start with `captf.io_` or `captf.io/`",
                holds: |v| each_tag(v, |key, _| !is_reserved(key)),
            },
        ],
    }

    /// Who scales an autoscaled pool: `native` is Azure Autoscale, `external` a scaler outside,
    /// such as the Cluster Autoscaler with its azure provider.
    autoscaler: String {
        kind: Kind::Text,
        default: "\"native\"",
        nullable: false,
        effect: Effect::None,
        checks: [Check {
            code: "E-AUTOSCALER",
            rule: "must be `native` or `external`",
            holds: |v| one_of(v, &["native", EXTERNAL]),
        }],
    }

    /// Average CPU in percent below which an instance is removed; below the scale-out threshold.
    autoscaling_scale_in_cpu_percent: i64 {
        kind: Kind::Number,
        default: "25",
        nullable: false,
        effect: Effect::None,
        checks: [Check {
            code: "E-CPU-RANGE",
            rule: "must be a whole number from 1 to 100",
            holds: |v| whole(v, PERCENT),
        }],
    }

    /// Average CPU in percent above which an instance is added.
    autoscaling_scale_out_cpu_percent: i64 {
        kind: Kind::Number,
        default: "75",
        nullable: false,
        effect: Effect::None,
        checks: [Check {
            code: "E-CPU-RANGE",
            rule: "must be a whole number from 1 to 100",
            holds: |v| whole(v, PERCENT),
        }],
    }

    /// Serial log and screenshot in storage that Azure manages. The log may show the join command.
    boot_diagnostics: bool {
        kind: Kind::Flag,
        default: "true",
        nullable: false,
        effect: Effect::NewMachinesOnly,
        checks: [],
    }

    /// Encryption of temporary disks and caches; needs the feature EncryptionAtHost registered on
    /// the subscription.
    encryption_at_host: bool {
        kind: Kind::Flag,
        default: "false",
        nullable: false,
        effect: Effect::NewMachinesOnly,
        checks: [],
    }

    /// Exports of a cluster that Remuda does not provision; ignored for any other.
    external_cluster_exports: Option<Value> {
        kind: Kind::Any,
        default: "null",
        nullable: true,
        effect: Effect::Replaces,
        checks: [Check {
            code: "E-EXTERNAL-EXPORTS",
            rule: "must be null or an object with `schema` = `captf.io/azure-cluster/v1`",
            holds: exports::has_schema,
        }],
    }

    /// The image; required. `{semver}` is `1.34.1`, `{version}` is `v1.34.1`. Acts on instances
    /// made afterwards; without pool Machines only another Kubernetes version rolls.
    image_id: Option<String> {
        kind: Kind::Text,
        default: "null",
        nullable: true,
        effect: Effect::NewMachinesOnly,
        checks: [Check {
            code: "E-IMAGE",
            rule: image::FORMS,
            holds: |v| text(v, image::is_accepted),
        }],
    }

    /// Lets the instances send packets that are not their own.
    ip_forwarding: bool {
        kind: Kind::Flag,
        default: "false",
        nullable: false,
        effect: Effect::NewMachinesOnly,
        checks: [],
    }

    /// Size of the OS disk.
    os_disk_size_gib: i64 {
        kind: Kind::Number,
        default: "128",
        nullable: false,
        effect: Effect::NewMachinesOnly,
        checks: [Check {
            code: "E-DISK-SIZE",
            rule: "must be a whole number from 30 to 4095",
            holds: |v| whole(v, DISK_GIB),
        }],
    }

    /// Type of the OS disk. A change makes a new scale set.
    os_disk_storage_account_type: String {
        kind: Kind::Text,
        default: "\"Premium_LRS\"",
        nullable: false,
        effect: Effect::Rolls,
        checks: [Check {
            code: "E-DISK-TYPE",
            rule: "must be `Standard_LRS`, `StandardSSD_LRS`, `StandardSSD_ZRS`, `Premium_LRS` or `Premium_ZRS`",
            holds: |v| one_of(v, &[
                "Standard_LRS", "StandardSSD_LRS", "StandardSSD_ZRS", "Premium_LRS", "Premium_ZRS",
            ]),
        }],
    }

    /// Spot instances, deleted when evicted. A change makes a new scale set.
    spot: bool {
        kind: Kind::Flag,
        default: "false",
        nullable: false,
        effect: Effect::Rolls,
        checks: [],
    }

    /// Secure boot and vTPM; the CAPZ reference images lack support. A change makes a new scale
    /// set.
    trusted_launch: bool {
        kind: Kind::Flag,
        default: "false",
        nullable: false,
        effect: Effect::Rolls,
        checks: [],
    }

    /// Virtual machine size.
    vm_size: String {
        kind: Kind::Text,
        default: "\"Standard_D4s_v5\"",
        nullable: false,
        effect: Effect::NewMachinesOnly,
        checks: [Check {
            code: "E-VM-SIZE",
            rule: "must start with `Standard_` or `Basic_`, followed by letters, digits, `_` and `-`",
            holds: |v| text(v, |t| VM_SIZE.is_match(t)),
        }],
    }
}

static VM_SIZE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\A(?:Standard|Basic)_[A-Za-z0-9_-]+\z").expect("a constant pattern")
});

/// Reserved names have a refusal of their own; one mistake is told once.
fn is_reserved(key: &str) -> bool {
    let key = key.to_lowercase();
    tags::RESERVED.iter().any(|prefix| key.starts_with(prefix))
}

fn each_tag(value: &Value, rule: impl Fn(&str, &str) -> bool) -> bool {
    value.as_object().is_some_and(|tags| {
        tags.iter()
            .all(|(key, value)| text(value, |value| rule(key, value)))
    })
}

/// Converts and checks the user variables; all problems at once.
///
/// # Errors
/// `V-0`, and the codes of the Azure document 10.1 that concern one variable; sorted.
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
