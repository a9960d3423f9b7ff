//! The published ARM examples (2024-11-01 for Compute, 2022-10-01 for Insights) against what is
//! read and sent here. They lie beside the repository; where they are absent the tests say so.

use std::{collections::BTreeSet, path::PathBuf};

use remuda_plan::{
    azure::{
        action::{SetPatch, Sku, Ssh},
        desired::{CpuRules, CustomData, Model, Network, OsDisk, Profile, SetSpec, SettingSpec},
        image::ImageReference,
        observed::{ProvisioningState, ScaleSet},
        place::Place,
    },
    pool::{members::MemberState, secret::Secret},
};
use serde_json::Value;

use super::{
    instance::Instance,
    scale_set::{self, RawSet},
    setting::{self, RawSetting},
};

/// All examples by file name; `None` where they are absent.
fn examples() -> Option<Vec<(String, Value)>> {
    let folder =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/azure/examples");
    let Ok(files) = std::fs::read_dir(&folder) else {
        eprintln!(
            "skipped: the published examples are not at {}",
            folder.display()
        );
        return None;
    };
    let read = files.map(|file| {
        let path = file.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("readable");
        let name = path.file_name().expect("a name").to_string_lossy();
        (
            name.into_owned(),
            serde_json::from_str(&text).expect("JSON"),
        )
    });
    Some(read.collect())
}

fn example(name: &str) -> Option<Value> {
    let all = examples()?;
    let found = all.into_iter().find(|(file, _)| file == name);
    Some(found.expect("an example of that name").1)
}

fn answered_set(name: &str) -> Option<ScaleSet> {
    let body = example(name)?.pointer("/responses/200/body").cloned();
    let raw: RawSet = serde_json::from_value(body.expect("a body")).expect("a set");
    Some(scale_set::read(raw))
}

#[test]
fn sets_of_the_examples_are_read() {
    let Some(zonal) = answered_set("VirtualMachineScaleSet_Create_WithVMsInDifferentZones.json")
    else {
        return;
    };
    assert_eq!(zonal.capacity, 2);
    assert_eq!(zonal.location, "centralus");
    assert_eq!(zonal.state, ProvisioningState::Succeeded);
    assert_eq!(
        zonal.zones,
        BTreeSet::from(["1".to_owned(), "3".to_owned()])
    );
    assert_eq!(zonal.model.os_disk.size_gib, 512);
    assert_eq!(
        zonal.foreign_fields,
        [
            "upgradePolicy.mode",
            "overprovision",
            "scheduledEventsProfile",
            "storageProfile.dataDisks"
        ]
    );
    let spot = answered_set("VirtualMachineScaleSet_Create_WithSpotRestorePolicy.json");
    let spot = spot.expect("there, as the other was");
    assert!(spot.model.spot && !spot.model.trusted_launch);
    assert_eq!(spot.state, ProvisioningState::Running);
    let trusted = answered_set("VirtualMachineScaleSet_Create_WithUefiSettings.json");
    assert!(trusted.expect("there").model.trusted_launch);
    let encrypted = answered_set("VirtualMachineScaleSet_Create_WithEncryptionAtHost.json");
    assert!(encrypted.expect("there").model.encryption_at_host);
    let shared = answered_set("VirtualMachineScaleSet_Create_FromAGeneralizedSharedImage.json");
    assert!(matches!(
        shared.expect("there").model.image,
        ImageReference::Id(id) if id.ends_with("/galleries/mySharedGallery/images/mySharedImage")
    ));
    let noticed = "VirtualMachineScaleSet_Create_WithTerminateScheduledEventEnabled.json";
    let noticed = answered_set(noticed).expect("there");
    assert!(
        !noticed
            .foreign_fields
            .contains(&"scheduledEventsProfile".to_owned())
    );
}

#[test]
fn instances_of_the_examples_are_read() {
    for (file, set) in [
        ("VirtualMachineScaleSetVM_List_MaximumSet_Gen.json", "full"),
        ("VirtualMachineScaleSetVM_List_MinimumSet_Gen.json", "bare"),
    ] {
        let Some(example) = example(file) else { return };
        let items = example.pointer("/responses/200/body/value").cloned();
        let instances: Vec<Instance> =
            serde_json::from_value(items.expect("a list")).expect("instances");
        let member = instances[0].seen(&place(), set, None).member;
        // Neither example tells a power state.
        assert_eq!(member.state, MemberState::Pending);
        assert_eq!(member.reason.as_deref(), Some("PowerState/unknown"));
        let (id, hostname) = match set {
            "full" => ("aaaaaaaaaaaa", Some("test000000")),
            _ => ("0", None),
        };
        assert_eq!(member.instance_id, id);
        assert!(
            member
                .provider_id
                .ends_with(&format!("/{set}/virtualMachines/{id}"))
        );
        assert_eq!(
            member
                .addresses
                .first()
                .map(|address| address.address.as_str()),
            hostname
        );
    }
}

#[test]
fn settings_of_the_examples_are_read_and_are_not_ours() {
    let Some(example) = example("listAutoscaleSetting.json") else {
        return;
    };
    let items = example.pointer("/responses/200/body/value").cloned();
    let settings: Vec<RawSetting> =
        serde_json::from_value(items.expect("a list")).expect("settings");
    let setting = setting::read(settings.into_iter().next().expect("one"));
    assert_eq!(setting.name, "MySetting");
    assert!(
        setting
            .target
            .ends_with("/virtualMachineScaleSets/testingsc")
    );
    assert_eq!(setting.profile, None);
    assert!(setting.foreign_fields.contains(&"notifications".to_owned()));
}

/// Names that are sent and occur in no published example at hand: properties of the reference
/// pages of `VirtualMachineScaleSet` (Compute 2024-11-01) and `AutoscaleSetting` (Insights
/// 2022-10-01).
const NOT_IN_EXAMPLES: [&str; 7] = [
    "dimensions",
    "extensionProfile",
    "extensionsTimeBudget",
    "identity",
    "metricNamespace",
    "orchestrationMode",
    "userAssignedIdentities",
];

/// A slip of the pen in a property name is silently ignored by ARM, so names are compared with
/// those that Azure's own examples use.
#[test]
fn every_name_that_is_sent_occurs_in_an_example() {
    let Some(examples) = examples() else { return };
    let mut known = BTreeSet::new();
    for (_, example) in &examples {
        names(example, &mut known);
    }
    let mut sent = BTreeSet::new();
    for body in [
        scale_set::create(&spec(), 3, "westeurope"),
        scale_set::patch(&everything()),
        scale_set::empty("Standard_D4s_v5"),
        setting::put(&autoscale(), &place()),
    ] {
        names(&body, &mut sent);
    }
    for value in ["a tag", "an identity", "/an/identity"] {
        sent.remove(value);
    }
    let unknown: Vec<&String> = sent
        .iter()
        .filter(|name| !known.contains(*name))
        .filter(|name| !NOT_IN_EXAMPLES.contains(&name.as_str()))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

fn names(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                into.insert(name.clone());
                names(value, into);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| names(item, into)),
        _ => {}
    }
}

fn place() -> Place {
    Place {
        subscription_id: "s".to_owned(),
        resource_group_name: "g".to_owned(),
        region: "westeurope".to_owned(),
    }
}

fn spec() -> SetSpec {
    SetSpec {
        name: "workers-7d91b187".to_owned(),
        zones: BTreeSet::from(["1".to_owned()]),
        model: Model {
            vm_size: "Standard_D4s_v5".to_owned(),
            identity_ids: BTreeSet::from(["an identity".to_owned()]),
            admin_username: "captf".to_owned(),
            ssh_public_keys: BTreeSet::from(["ssh-ed25519 AAAA".to_owned()]),
            boot_diagnostics: true,
            network: network(),
            image: ImageReference::Id("/an/image".to_owned()),
            os_disk: os_disk(),
            encryption_at_host: true,
            trusted_launch: true,
            spot: true,
        },
        custom_data: custom_data(),
        tags: [("a tag".to_owned(), "x".to_owned())].into(),
    }
}

fn network() -> Network {
    Network {
        subnet_id: "/a/subnet".to_owned(),
        network_security_group_id: Some("/a/group".to_owned()),
        application_security_group_ids: BTreeSet::from(["/another/group".to_owned()]),
        accelerated_networking: true,
        ip_forwarding: true,
    }
}

fn os_disk() -> OsDisk {
    OsDisk {
        size_gib: 128,
        storage_account_type: "Premium_LRS".to_owned(),
    }
}

fn custom_data() -> CustomData {
    CustomData {
        base64: Secret::new("QUJD".to_owned()),
        sha256: String::new(),
    }
}

fn everything() -> SetPatch {
    SetPatch {
        custom_data: Some(custom_data()),
        os_disk: Some(os_disk()),
        network: Some(network()),
        sku: Some(Sku {
            only_from: None,
            vm_size: "Standard_D4s_v5".to_owned(),
            capacity: 3,
        }),
        ssh: Some(Ssh {
            admin_username: "captf".to_owned(),
            public_key: "ssh-ed25519 AAAA".to_owned(),
        }),
        boot_diagnostics: Some(true),
        encryption_at_host: Some(true),
        tags: Some([("a tag".to_owned(), "x".to_owned())].into()),
        identity_id: Some("/an/identity".to_owned()),
        removed_identity_ids: vec!["an identity".to_owned()],
        constants: true,
        ..SetPatch::new(
            "workers-7d91b187",
            ImageReference::Id("/an/image".to_owned()),
        )
    }
}

fn autoscale() -> SettingSpec {
    SettingSpec {
        name: "workers-7d91b187-autoscale".to_owned(),
        set_name: "workers-7d91b187".to_owned(),
        profile: Profile {
            minimum: 2,
            maximum: 6,
            default: 2,
            cpu: Some(CpuRules {
                scale_out_percent: 75,
                scale_in_percent: 25,
            }),
        },
        tags: [("a tag".to_owned(), "x".to_owned())].into(),
    }
}

/// The body of 4.3, first row.
#[test]
fn a_rotation_sends_custom_data_and_what_azurerm_always_sends_and_nothing_else() {
    let patch = SetPatch {
        custom_data: Some(custom_data()),
        ..SetPatch::new(
            "workers-7d91b187",
            ImageReference::Community("/communityGalleries/g/images/i/versions/1.34.1".to_owned()),
        )
    };
    let body = scale_set::patch(&patch);
    let expected = serde_json::json!({ "properties": {
        "upgradePolicy": { "mode": "Manual" },
        "virtualMachineProfile": {
            "osProfile": { "customData": "QUJD" },
            "storageProfile": { "imageReference": {
                "communityGalleryImageId": "/communityGalleries/g/images/i/versions/1.34.1",
            }},
        },
    }});
    assert_eq!(body, expected);
}

/// What is sent reads back as what was wished for, so that a settled pool stays settled.
#[test]
fn what_is_created_reads_back_without_a_difference() {
    let spec = spec();
    let mut body = scale_set::create(&spec, 3, "westeurope");
    body["name"] = spec.name.clone().into();
    body["properties"]["provisioningState"] = "succeeded".into();
    let raw: RawSet = serde_json::from_value(body).expect("a set");
    let set = scale_set::read(raw);
    assert_eq!(set.model, spec.model);
    assert_eq!(
        (set.capacity, set.zones, set.tags),
        (3, spec.zones, spec.tags)
    );
    assert!(set.foreign_fields.is_empty(), "{:?}", set.foreign_fields);
    assert_eq!(set.state, ProvisioningState::Succeeded);
}
