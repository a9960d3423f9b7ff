//! What should exist on Azure (Azure document 4), except what only a read tells.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{
    checks::{
        CODES, ChosenZones, check_image, check_immutable, check_thresholds, choose_zones,
        custom_data,
    },
    exports::{self, Exports},
    image::ImageReference,
    names,
    place::Place,
    remembered,
    tags::{self, TagSets},
    vars::{self, Vars},
};
use crate::{
    driver::PoolContext,
    error::Refusal,
    pool::{
        capacity,
        checks::{contract_inputs, kept},
        inputs::{Inputs, UserVariables},
        instance_template::InstanceTemplate,
        labels,
        payload::Format,
        record::GenerationKey,
        secret::Secret,
    },
};

/// Everything that should exist for one pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Desired {
    /// Where.
    pub place: Place,
    /// The scale set.
    pub set: SetSpec,
    /// Its autoscale setting; `None`: a scaler outside owns the capacity.
    pub setting: Option<SettingSpec>,
    /// What the set's name stands for.
    pub generation: GenerationKey,
    /// Capacity of a set that has no predecessor.
    pub first_capacity: i64,
    /// Zones recorded at the first apply (to be written when the record has none).
    pub pinned_zones: BTreeSet<String>,
    /// Pinned zones that the exports no longer hold; the pool goes on with them.
    pub missing_zones: BTreeSet<String>,
    /// Labels left out of the kubelet's registration, sorted.
    pub dropped_node_labels: Vec<String>,
}

/// The scale set but for its capacity (Azure document 4.2).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetSpec {
    /// `workers-7d91b187`; also `computerNamePrefix`.
    pub name: String,
    /// Zones; empty: the property is left out, and the set is regional. Sent at creation only.
    pub zones: BTreeSet<String>,
    /// What can be read back.
    pub model: Model,
    /// Custom data: write-only.
    pub custom_data: CustomData,
    /// Tags, the installation tag included where there is room.
    pub tags: BTreeMap<String, String>,
}

/// The readable model of a set. What the Azure document 4.2 fixes for every pool (upgrade policy
/// Manual, no overprovisioning, terminate notification, ...) is the backend's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Model {
    /// `sku.name`.
    pub vm_size: String,
    /// ARM IDs of the user-assigned identities: exactly the workers' one.
    pub identity_ids: BTreeSet<String>,
    /// `osProfile.adminUsername`; cannot change in place.
    pub admin_username: String,
    /// Keys of `linuxConfiguration.ssh`, all under `/home/<admin>/.ssh/authorized_keys`.
    pub ssh_public_keys: BTreeSet<String>,
    /// `bootDiagnostics.enabled`, in Azure-managed storage.
    pub boot_diagnostics: bool,
    /// The one NIC configuration, `primary`.
    pub network: Network,
    /// `storageProfile.imageReference`.
    pub image: ImageReference,
    /// `storageProfile.osDisk`.
    pub os_disk: OsDisk,
    /// `securityProfile.encryptionAtHost`; the block is left out when nothing in it is set.
    pub encryption_at_host: bool,
    /// Trusted launch with secure boot and vTPM; cannot change in place.
    pub trusted_launch: bool,
    /// Priority Spot, eviction policy Delete, max price -1; cannot change in place.
    pub spot: bool,
}

/// The NIC configuration and its one IP configuration, both named `primary`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Network {
    /// ARM ID.
    pub subnet_id: String,
    /// ARM ID, on the NIC configuration; `None` is only ever observed.
    pub network_security_group_id: Option<String>,
    /// ARM IDs, on the IP configuration: exactly the workers' one.
    pub application_security_group_ids: BTreeSet<String>,
    /// `enableAcceleratedNetworking`.
    pub accelerated_networking: bool,
    /// `enableIPForwarding`.
    pub ip_forwarding: bool,
}

/// The OS disk; `createOption` FromImage, caching ReadWrite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OsDisk {
    /// GiB.
    pub size_gib: i64,
    /// `Premium_LRS`; cannot change in place.
    pub storage_account_type: String,
}

/// Custom data as it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CustomData {
    /// The value of `osProfile.customData`: base64, at most 87,380 characters.
    pub base64: Secret<String>,
    /// Lower-case hex SHA-256 of it.
    pub sha256: String,
}

/// The autoscale setting (Azure document 4.4, 4.5).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SettingSpec {
    /// `workers-7d91b187-autoscale`.
    pub name: String,
    /// The set it targets, by name.
    pub set_name: String,
    /// Profile `default`.
    pub profile: Profile,
    /// The base tags.
    pub tags: BTreeMap<String, String>,
}

/// The one profile of a setting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Profile {
    /// Lower bound; a string in ARM, as the other two.
    pub minimum: i64,
    /// Upper bound.
    pub maximum: i64,
    /// Used while metrics cannot be read.
    pub default: i64,
    /// Two rules on `Percentage CPU`; `None`: `rules` is there and empty.
    pub cpu: Option<CpuRules>,
}

/// Thresholds of the two CPU rules.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CpuRules {
    /// Percent above which one instance is added, cooldown PT5M.
    pub scale_out_percent: i64,
    /// Percent below which one instance is removed, cooldown PT10M.
    pub scale_in_percent: i64,
}

/// What should exist. Every refusal that needs no read is reported, each only where the inputs it
/// looks at are good themselves.
///
/// # Errors
/// Every refusal of the Azure document 10.1 but E-NAME-TAKEN, sorted by code and subject.
pub fn desired(
    inputs: &Inputs,
    variables: &UserVariables,
    context: &PoolContext<'_>,
) -> Result<Desired, Vec<Refusal>> {
    let mut refusals = contract_inputs(inputs, &CODES);
    let resolved = vars::resolve_with_template(variables, context.bootstrap_secret);
    let (vars, instance) = kept(resolved, &mut refusals).unzip();
    let format = Format::parse(&inputs.bootstrap_format);
    let labels = labels::filter(&inputs.node_labels);
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
        check_immutable(exports, context, &mut refusals);
    }
    let custom_data = custom_data(inputs, exports.as_ref(), format, &labels, &mut refusals);
    let image = vars.as_ref().and_then(|vars| {
        check_thresholds(vars, inputs.autoscaling, &mut refusals);
        check_image(vars, inputs.kubernetes_version.as_deref(), &mut refusals)
    });

    refusals.sort();
    let instance = instance.filter(|_| !context.machines.off());
    match (vars, exports, zones, custom_data, image) {
        (Some(vars), Some(exports), Some(zones), Some(custom_data), Some(image))
            if refusals.is_empty() =>
        {
            let parts = Parts {
                vars,
                instance,
                exports,
                zones,
                custom_data,
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
    exports: Exports,
    zones: ChosenZones,
    custom_data: CustomData,
    image: ImageReference,
    dropped: Vec<String>,
}

fn assembled(inputs: &Inputs, parts: Parts, context: &PoolContext<'_>) -> Desired {
    let Parts {
        vars,
        instance,
        exports,
        zones,
        custom_data,
        image,
        dropped,
    } = parts;
    let tags = tags::sets(
        &vars.additional_tags,
        &inputs.captf_tags,
        context.installation,
    );
    let generation = GenerationKey {
        failure_domains: zones.requested,
        kubernetes_version: inputs.kubernetes_version.clone(),
        os_disk_storage_account_type: vars.os_disk_storage_account_type.clone(),
        spot: vars.spot,
        trusted_launch: vars.trusted_launch,
        template: instance,
    };
    let name = remembered::set_name(&inputs.machinepool_name, &generation, context);
    let TagSets { base, set } = tags;
    Desired {
        setting: setting_spec(inputs, &vars, &name, base),
        first_capacity: capacity::capacity(inputs.replicas, inputs.autoscaling).initial,
        pinned_zones: zones.pinned,
        missing_zones: zones.missing,
        dropped_node_labels: dropped,
        generation,
        place: exports.place.clone(),
        set: SetSpec {
            name,
            zones: zones.used,
            model: model(vars, exports, image),
            custom_data,
            tags: set,
        },
    }
}

fn setting_spec(
    inputs: &Inputs,
    vars: &Vars,
    set_name: &str,
    tags: BTreeMap<String, String>,
) -> Option<SettingSpec> {
    if inputs.autoscaling.enabled && vars.autoscaler == vars::EXTERNAL {
        return None;
    }
    let capacity = capacity::capacity(inputs.replicas, inputs.autoscaling);
    Some(SettingSpec {
        name: names::setting(set_name),
        set_name: set_name.to_owned(),
        profile: Profile {
            minimum: capacity.min,
            maximum: capacity.max,
            // Never the observed count, which would look like drift.
            default: capacity.min,
            cpu: inputs.autoscaling.enabled.then_some(CpuRules {
                scale_out_percent: vars.autoscaling_scale_out_cpu_percent,
                scale_in_percent: vars.autoscaling_scale_in_cpu_percent,
            }),
        },
        tags,
    })
}

fn model(vars: Vars, exports: Exports, image: ImageReference) -> Model {
    Model {
        vm_size: vars.vm_size,
        identity_ids: [exports.worker_identity_id].into(),
        admin_username: exports.admin_username,
        ssh_public_keys: [exports.admin_ssh_public_key].into(),
        boot_diagnostics: vars.boot_diagnostics,
        network: Network {
            subnet_id: exports.worker_subnet_id,
            network_security_group_id: Some(exports.worker_network_security_group_id),
            application_security_group_ids: [exports.worker_application_security_group_id].into(),
            accelerated_networking: vars.accelerated_networking,
            ip_forwarding: vars.ip_forwarding,
        },
        image,
        os_disk: OsDisk {
            size_gib: vars.os_disk_size_gib,
            storage_account_type: vars.os_disk_storage_account_type,
        },
        encryption_at_host: vars.encryption_at_host,
        trusted_launch: vars.trusted_launch,
        spot: vars.spot,
    }
}
