//! Custom data.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use remuda_plan::{azure::limits, pool::hash::hex};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    cloud::applied,
    demo::{BOOTSTRAP, CLIENT_ID, Demo, ROTATED, SET, demo},
};

const IGNITION: &str = "eyJpZ25pdGlvbiI6eyJ2ZXJzaW9uIjoiMy40LjAifX0=";

/// The headers and the content of a part of the message.
fn part(message: &str, index: usize) -> (String, String) {
    let part = message
        .split("--==CAPTF-BOUNDARY==\n")
        .nth(index)
        .expect("the part exists");
    let part = part.trim_end_matches("--==CAPTF-BOUNDARY==--\n");
    let (headers, content) = part.split_once("\n\n").expect("a blank line");
    (headers.to_owned(), content.to_owned())
}

/// The value of a plain assignment of the boot hook.
pub(crate) fn assigned(demo: &Demo, name: &str) -> String {
    let (_, hook) = part(&demo.message(), 1);
    let line = hook
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{name}=")))
        .expect("an assignment");
    line.trim_matches('\'').to_owned()
}

/// Proves: AZURE-38.
#[test]
fn the_message_begins_with_its_type() {
    let message = demo().message();
    assert!(message.starts_with(
        "Content-Type: multipart/mixed; boundary=\"==CAPTF-BOUNDARY==\"\nMIME-Version: 1.0\n\n--==CAPTF-BOUNDARY==\n"
    ));
    assert!(message.ends_with("\n--==CAPTF-BOUNDARY==--\n"));
    assert!(!message.contains('\r'));
}

/// Proves: AZURE-39.
#[test]
fn the_payload_is_the_second_part_unchanged() {
    let (headers, content) = part(&demo().message(), 2);
    assert_eq!(
        headers.lines().collect::<Vec<_>>(),
        [
            "Content-Type: text/plain; charset=\"utf-8\"",
            "MIME-Version: 1.0",
            "Content-Transfer-Encoding: base64",
            "Content-Disposition: attachment; filename=\"bootstrap\"",
        ]
    );
    assert_eq!(content, format!("{BOOTSTRAP}\n"));
}

#[test]
fn the_boot_hook_is_the_first_part_in_ascii() {
    let demo = demo().exports(|e| e["cloud_provider_config"]["subnetName"] = json!("wörker 😀"));
    let (headers, hook) = part(&demo.message(), 1);
    assert_eq!(
        headers.lines().collect::<Vec<_>>(),
        [
            "Content-Type: text/cloud-boothook; charset=\"us-ascii\"",
            "MIME-Version: 1.0",
            "Content-Transfer-Encoding: 7bit",
            "Content-Disposition: attachment; filename=\"captf-boothook.sh\"",
        ]
    );
    assert!(hook.starts_with("#!/bin/sh\n") && hook.is_ascii());
    assert!(!hook.contains('@'), "everything is filled in");
    let written: Value =
        serde_json::from_str(&assigned(&demo, "cloud_provider_config")).expect("JSON");
    assert_eq!(written["subnetName"], json!("wörker 😀"));
}

/// Proves: AZURE-40.
#[test]
fn the_boot_hook_holds_the_workers_identity_and_no_labels() {
    let message = demo().message();
    assert!(message.contains(&format!("\"userAssignedIdentityID\":\"{CLIENT_ID}\"")));
    assert_eq!(assigned(&demo(), "captf_node_labels"), "");
}

#[test]
fn unknown_keys_of_the_cloud_provider_are_kept_in_byte_order() {
    let demo = demo().exports(|e| e["cloud_provider_config"]["Zeta"] = json!({ "b": 1, "a": 2 }));
    let text = assigned(&demo, "cloud_provider_config");
    assert!(
        text.starts_with("{\"Zeta\":{\"a\":2,\"b\":1},\"cloud\":"),
        "{text}"
    );
    let keys: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(keys.as_object().expect("an object").len(), 17);
}

/// Proves: AZURE-47.
#[test]
fn payload_lines_have_76_characters() {
    let (_, content) = part(&demo().bootstrap(&"QUJD".repeat(25)).message(), 2);
    let lengths: Vec<usize> = content.lines().map(str::len).collect();
    assert_eq!(lengths, [76, 24]);
    let (_, content) = part(&demo().bootstrap(&"QUJD".repeat(19)).message(), 2);
    assert_eq!(content.lines().map(str::len).collect::<Vec<_>>(), [76]);
}

/// Proves: AZURE-44.
#[test]
fn ignition_is_passed_on_unchanged() {
    let demo = demo()
        .ignition(IGNITION)
        .labels([("node-role.kubernetes.io/worker", "")]);
    assert_eq!(demo.good().set.custom_data.base64.reveal(), IGNITION);
}

/// Proves: AZURE-43.
#[test]
fn ignition_cannot_carry_labels() {
    let demo = demo().ignition(IGNITION).labels([("team", "payments")]);
    assert_eq!(demo.refused(), ["E-LABELS-IGNITION"]);
    assert!(demo.refusals()[0].remedy.is_some());
}

/// Proves: AZURE-45.
#[test]
fn gzip_is_refused_for_ignition_and_named_for_cloud_config() {
    let gzip = "H4sIAAAAAAAA/w==";
    let refused = demo().ignition(gzip);
    assert_eq!(refused.refused(), ["E-GZIP-IGNITION"]);
    assert!(refused.refusals()[0].to_string().contains("gzip"));
    let (headers, _) = part(&demo().bootstrap(gzip).message(), 2);
    assert!(headers.starts_with("Content-Type: application/x-gzip\n"));
}

/// Proves: AZURE-46.
#[test]
fn custom_data_has_a_limit() {
    let demo = demo().bootstrap(&STANDARD.encode("0".repeat(70_000)));
    assert_eq!(demo.refused(), ["E-CUSTOM-DATA"]);
    let text = demo.refusals()[0].to_string();
    assert!(
        text.contains("87380") && text.contains("64 KiB") && text.contains("compress"),
        "{text}"
    );
    let ignition = |characters: usize| super::demo::demo().ignition(&"A".repeat(characters));
    assert!(ignition(87_380).desired().is_ok());
    assert_eq!(ignition(87_384).refused(), ["E-CUSTOM-DATA"]);
    let actual = ignition(87_384).refusals()[0].message.clone();
    assert!(actual.contains("87384"), "{actual}");
    assert_eq!(limits::CUSTOM_DATA_CHARS, 65_535_usize.div_ceil(3) * 4);
}

/// Proves: AZURE-36.
#[test]
fn rotated_bootstrap_data_is_one_patch_that_reaches_new_instances_only() {
    let (mut cloud, demo) = applied(demo());
    let before = cloud.set(SET).instances.clone();
    let mut demo = demo.bootstrap(ROTATED);
    assert_eq!(cloud.settle(&mut demo), [format!("PATCH {SET}")]);
    let held = cloud.set(SET);
    assert_eq!(held.instances, before, "no instance is touched");
    let sent = STANDARD.decode(&held.custom_data).expect("base64");
    assert!(String::from_utf8(sent).expect("text").contains(ROTATED));
    let patch = cloud.patches().pop().expect("a patch");
    assert!(patch.sku.is_none() && patch.tags.is_none() && patch.os_disk.is_none());
    assert!(patch.network.is_none() && patch.ssh.is_none() && !patch.constants);
}

/// Proves: AZURE-37.
#[test]
fn a_hundred_rotations_are_a_hundred_patches() {
    let (mut cloud, mut demo) = applied(demo());
    for n in 0..100 {
        demo = demo.bootstrap(&STANDARD.encode(format!("#cloud-config\n# {n}\n")));
        cloud.settle(&mut demo);
    }
    assert_eq!(cloud.calls.len(), 100);
    assert!(
        cloud
            .calls
            .iter()
            .all(|call| *call == format!("PATCH {SET}"))
    );
    assert!(cloud.patches().iter().all(|patch| patch.sku.is_none()));
}

/// Proves: AZURE-51, AZURE-108.
#[test]
fn neither_bootstrap_data_nor_custom_data_is_ever_shown_or_stored() {
    let (cloud, demo) = applied(demo());
    let demo = demo.bootstrap(ROTATED);
    let plan = cloud.plan(&demo).expect("a plan can be made");
    let data = demo.good().set.custom_data;
    let secrets = [
        ROTATED.to_owned(),
        data.base64.reveal().clone(),
        BOOTSTRAP.to_owned(),
    ];
    let shown = [
        format!("{plan:?}"),
        serde_json::to_string(&plan).expect("a plan serializes"),
        format!("{:?}", demo.good()),
        serde_json::to_string(&demo.record).expect("a record serializes"),
        format!("{:?}", demo.record),
        demo.clone().ignition(&"A".repeat(90_000)).refusals()[0].to_string(),
    ];
    for text in &shown {
        for secret in &secrets {
            assert!(!text.contains(secret.as_str()), "{text}");
        }
        assert!(!text.contains("userData"));
    }
    let digest = hex(&Sha256::digest(data.base64.reveal().as_bytes()));
    assert_eq!(data.sha256, digest);
}
