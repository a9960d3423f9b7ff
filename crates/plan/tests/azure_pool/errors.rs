//! How refusals read: code, subject, what is wrong, what to do.

use serde_json::json;

use super::demo::{Demo, demo};

#[test]
fn messages_of_every_refusal() {
    let rows = vec![
        demo().with(|i| i.captf_contract = "v1alpha2".to_owned()),
        demo().exports(|e| *e = json!({})),
        demo().exports(|e| *e = json!({ "schema": "captf.io/azure-cluster/v1" })),
        demo().exports(|e| *e = json!({ "schema": "captf.io/aws-cluster/v1" })),
        demo().var("external_cluster_exports", json!({})),
        demo().zones(["4"]),
        demo().ignition("AAAA").labels([("a", "b")]),
        demo().ignition("H4sIAAAA"),
        demo().ignition(&"A".repeat(87_384)),
        demo().with(|i| i.kubernetes_version = None),
        demo().var("image_id", json!("ubuntu")),
        demo().replicas(1001),
        demo().with(|i| i.bootstrap_format = "shell".to_owned()),
        demo().labels([("team", "platform'; reboot; '")]),
        demo().autoscaled(5, 2),
        demo().var("autoscaling_scale_in_cpu_percent", json!(80)),
        demo().var("autoscaling_scale_out_cpu_percent", json!(101)),
        demo().var("additional_tags", json!({ "captf.io_name": "x" })),
        demo().var("additional_tags", json!({ "a%b": "x" })),
        demo().var("os_disk_size_gib", json!(4096)),
        demo().var("os_disk_storage_account_type", json!("UltraSSD_LRS")),
        demo().var("vm_size", json!("D4s_v5")),
        demo().var("autoscaler", json!("karpenter")),
        demo().var("vmsize", json!("Standard_D4s_v5")),
        moved(),
    ];
    let texts: Vec<String> = rows
        .iter()
        .flat_map(Demo::refusals)
        .map(|refusal| refusal.to_string())
        .collect();
    insta::assert_snapshot!(texts.join("\n"));
}

/// A settled pool whose exports name another place.
fn moved() -> Demo {
    let (_, settled) = super::cloud::applied(demo());
    settled.exports(|e| {
        e["region"] = json!("northeurope");
        e["subscription_id"] = json!("00000000-0000-0000-0000-000000000000");
    })
}
