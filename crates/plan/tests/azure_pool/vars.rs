//! User variables.

use remuda_plan::azure::vars::Vars;
use serde_json::{Value, json};

use super::demo::{Demo, demo};

/// Proves: AZURE-86.
#[test]
fn bad_values_are_refused_with_their_codes() {
    let rows: [(&str, Value, &str); 10] = [
        (
            "image_id",
            json!("/CommunityGalleries/x/Images/y"),
            "E-IMAGE",
        ),
        ("os_disk_size_gib", json!(4096), "E-DISK-SIZE"),
        ("os_disk_size_gib", json!(29), "E-DISK-SIZE"),
        ("os_disk_size_gib", json!(30.5), "E-DISK-SIZE"),
        (
            "os_disk_storage_account_type",
            json!("Premium_v2_LRS"),
            "E-DISK-TYPE",
        ),
        ("vm_size", json!("Standard D4s v5"), "E-VM-SIZE"),
        ("vm_size", json!("standard_D4s_v5"), "E-VM-SIZE"),
        ("autoscaler", json!("karpenter"), "E-AUTOSCALER"),
        ("autoscaling_scale_in_cpu_percent", json!(0), "E-CPU-RANGE"),
        (
            "autoscaling_scale_out_cpu_percent",
            json!(101),
            "E-CPU-RANGE",
        ),
    ];
    for (name, value, code) in rows {
        let demo = demo().var(name, value);
        assert_eq!(demo.refused(), [code], "{name}");
        assert_eq!(demo.refusals()[0].subject, name);
    }
    let contract = demo().with(|inputs| inputs.captf_contract = "v1alpha2".to_owned());
    assert_eq!(contract.refused(), ["E-CONTRACT"]);
    assert!(contract.refusals()[0].message.contains("v1alpha1"));
}

/// Proves: AZURE-30.
#[test]
fn a_threshold_out_of_range_is_refused() {
    for (name, value) in [
        ("autoscaling_scale_in_cpu_percent", 0),
        ("autoscaling_scale_out_cpu_percent", 101),
    ] {
        let demo = demo().var(name, json!(value));
        assert_eq!(demo.refused(), ["E-CPU-RANGE"]);
        assert_eq!(demo.refusals()[0].subject, name);
    }
}

/// Proves: AZURE-29.
#[test]
fn the_scale_in_threshold_is_below_the_scale_out_one_in_both_modes() {
    let thresholds = |demo: Demo| {
        demo.var("autoscaling_scale_out_cpu_percent", json!(30))
            .var("autoscaling_scale_in_cpu_percent", json!(40))
    };
    for demo in [thresholds(demo()), thresholds(demo().autoscaled(1, 3))] {
        assert_eq!(demo.refused(), ["E-CPU-ORDER"]);
        let text = demo.refusals()[0].to_string();
        assert!(
            text.contains("autoscaling_scale_in_cpu_percent")
                && text.contains("autoscaling_scale_out_cpu_percent"),
            "{text}"
        );
    }
    let equal = demo()
        .var("autoscaling_scale_out_cpu_percent", json!(30))
        .var("autoscaling_scale_in_cpu_percent", json!(30));
    assert_eq!(equal.refused(), ["E-CPU-ORDER"]);
}

/// Proves: AZURE-31.
#[test]
fn bounds_and_counts_out_of_range_are_refused() {
    assert_eq!(demo().autoscaled(5, 2).refused(), ["E-AUTOSCALING"]);
    assert_eq!(demo().autoscaled(0, 1001).refused(), ["E-AUTOSCALING"]);
    for replicas in [-1, 1001] {
        let demo = demo().replicas(replicas);
        assert_eq!(demo.refused(), ["E-REPLICAS"]);
        let text = demo.refusals()[0].to_string();
        assert!(
            text.contains("0 to 1000") && text.contains("scale set"),
            "{text}"
        );
    }
    assert!(demo().replicas(1000).desired().is_ok());
    assert!(demo().autoscaled(0, 1000).desired().is_ok());
}

/// Proves: AZURE-115.
#[test]
fn null_is_the_default_and_an_image_is_needed() {
    let demo = demo().var("os_disk_size_gib", Value::Null);
    assert_eq!(demo.good().set.model.os_disk.size_gib, 128);
    let without = super::demo::demo().var("image_id", Value::Null);
    assert_eq!(without.refused(), ["E-IMAGE"]);
    assert!(
        without.refusals()[0]
            .message
            .contains("/communityGalleries/")
    );
}

/// Proves: AZURE-114.
#[test]
fn the_seeds_example() {
    let pool = demo()
        .with(|inputs| inputs.machinepool_name = "demo-pool-0".to_owned())
        .var("autoscaling_scale_out_cpu_percent", json!(70))
        .autoscaled(1, 4);
    let desired = pool.good();
    assert_eq!(desired.set.name, "demo-pool-0-c05b4d80");
    let cpu = desired.setting.expect("a setting").profile.cpu;
    let cpu = cpu.expect("CPU rules");
    assert_eq!((cpu.scale_out_percent, cpu.scale_in_percent), (70, 25));
    let model = desired.set.model;
    assert_eq!(model.vm_size, "Standard_D4s_v5");
    assert_eq!(model.os_disk.size_gib, 128);
    assert_eq!(model.os_disk.storage_account_type, "Premium_LRS");
    assert!(model.network.accelerated_networking && model.boot_diagnostics);
    assert!(!model.network.ip_forwarding && !model.encryption_at_host);
    assert!(!model.spot && !model.trusted_launch);
}

#[test]
fn every_problem_is_told_at_once_and_sorted() {
    let demo = demo()
        .with(|inputs| {
            inputs.captf_contract = "v1alpha2".to_owned();
            inputs.bootstrap_format = "shell".to_owned();
        })
        .var("vm_size", json!("nano"))
        .zones(["4"]);
    assert_eq!(
        demo.refused(),
        ["E-CONTRACT", "E-FORMAT", "E-VM-SIZE", "E-ZONES"]
    );
}

#[test]
fn an_unknown_variable_is_refused_with_the_nearest_name() {
    let demo = demo().var("vmsize", json!("Standard_D4s_v5"));
    assert_eq!(demo.refused(), ["V-0"]);
    assert!(demo.refusals()[0].to_string().contains("vm_size"));
}

#[test]
fn every_default_satisfies_its_own_checks() {
    for row in Vars::TABLE {
        let value = row.default_value();
        assert!(
            value.is_null() || row.checks.iter().all(|check| (check.holds)(&value)),
            "{}",
            row.name
        );
    }
}
