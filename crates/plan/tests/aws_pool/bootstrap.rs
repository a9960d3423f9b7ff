//! User data of both formats.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use remuda_plan::aws::{bootstrap::boothook, limits};
use serde_json::{Value, json};

use super::{
    cloud::applied,
    demo::{BUCKET, Demo, KEY, demo},
};

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("writing to memory");
    encoder.finish().expect("writing to memory")
}

fn ignition() -> Demo {
    demo().with(|inputs| inputs.bootstrap_format = "ignition".to_owned())
}

/// Proves: AWS-51.
#[test]
fn the_stub_is_a_boothook_that_names_what_it_fetches() {
    let user_data = demo().good().template.user_data;
    let mut lines = user_data.lines();
    assert_eq!(lines.next(), Some("#cloud-boothook"));
    assert_eq!(lines.next(), Some("#!/bin/sh"));
    for line in [
        "region='us-east-1'".to_owned(),
        format!("object='s3://{BUCKET}/{KEY}'"),
        "node_labels=''".to_owned(),
    ] {
        assert_eq!(
            user_data.lines().filter(|l| *l == line).count(),
            1,
            "{line}"
        );
    }
    assert!(user_data.contains("/etc/cloud/cloud.cfg.d/99-captf-bootstrap.cfg"));
    assert!(!user_data.contains('@'), "everything is filled in");
}

#[test]
fn the_stub_leaves_room_for_every_label_set_the_module_takes() {
    let size = boothook("us-east-1", BUCKET, KEY, "").len();
    assert!((1_906..=limits::STUB_BYTES).contains(&size), "{size} bytes");
}

#[test]
fn the_stubs_figures_are_those_of_the_limits() {
    let stub = boothook("us-east-1", BUCKET, KEY, "");
    assert!(stub.contains(&format!("-lt {} ]", limits::FETCH_ATTEMPTS)));
    assert!(stub.contains(&format!("sleep {}\n", limits::FETCH_PAUSE_SECONDS)));
}

#[test]
fn stub_of_demo() {
    insta::assert_snapshot!(
        demo()
            .labels([("team", "platform")])
            .good()
            .template
            .user_data
    );
}

/// Proves: AWS-32.
#[test]
fn user_data_holds_nothing_of_the_payload() {
    let (_, demo) = applied(demo());
    let demo = demo.document(b"#cloud-config\nruncmd: [echo rotated]\n");
    let user_data = demo.good().template.user_data;
    assert!(!user_data.contains("rotated"));
    assert!(!user_data.contains(demo.inputs.bootstrap_data.reveal().as_str()));
}

/// Proves: AWS-54.
#[test]
fn ignition_is_replaced_by_the_object_and_says_nothing_else() {
    let user_data: Value =
        serde_json::from_str(&ignition().good().template.user_data).expect("JSON");
    assert_eq!(
        user_data,
        json!({ "ignition": {
            "version": "3.0.0",
            "config": { "replace": {
                "source": "s3://captf-bootstrap-20261001000000000000000001/pool/demo-pool-0",
            } },
        } })
    );
}

/// Proves: AWS-55.
#[test]
fn ignition_cannot_carry_labels() {
    let demo = ignition().labels([("team", "platform")]);
    assert_eq!(demo.refused(), [("R-4", "node_labels".to_owned())]);
    let text = demo.refusals()[0].to_string();
    assert!(
        text.contains("cloud-config") && text.contains("team"),
        "{text}"
    );
}

/// Proves: AWS-56.
#[test]
fn a_label_that_is_dropped_anyway_does_not_disturb_ignition() {
    let desired = ignition()
        .labels([("node-role.kubernetes.io/worker", "")])
        .good();
    assert_eq!(
        desired.dropped_node_labels,
        ["node-role.kubernetes.io/worker"]
    );
}

/// Proves: AWS-57.
#[test]
fn gzip_is_for_cloud_config_only() {
    let body = gzip(b"#cloud-config\n");
    let with = demo().document(&body);
    assert!(with.inputs.bootstrap_data.reveal().starts_with("H4sI"));
    assert_eq!(with.good().payload.body.reveal(), &body);
    let refused = ignition().document(&body);
    assert_eq!(refused.refused(), [("R-5", "bootstrap_data".to_owned())]);
    assert!(refused.refusals()[0].to_string().contains("turn off gzip"));
}

/// Proves: CAPTF-89.
#[test]
fn gzipped_cloud_config_carries_labels_beside_it_and_ignition_names_the_remedy() {
    let desired = demo()
        .document(&gzip(b"#cloud-config\n"))
        .labels([("team", "a")])
        .good();
    assert!(desired.template.user_data.contains("node_labels='team=a'"));
    let refusals = ignition().labels([("team", "a")]).refusals();
    assert!(
        refusals[0]
            .remedy
            .as_deref()
            .is_some_and(|remedy| remedy.contains("cloud-config"))
    );
}

fn with_labels(labels: impl IntoIterator<Item = (String, String)>) -> Demo {
    demo().with(|inputs| inputs.node_labels = labels.into_iter().collect())
}

/// Proves: AWS-58.
#[test]
fn too_many_labels_are_refused_with_size_and_limit() {
    let labels: Vec<(String, String)> = (0..300)
        .map(|i| {
            (
                format!("example.com/label-{i}"),
                format!("value-with-some-length-{i}"),
            )
        })
        .collect();
    let string: Vec<String> = labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
    assert_eq!(string.join(",").len(), 14_479);
    let demo = with_labels(labels);
    assert_eq!(demo.refused(), [("R-10", "node_labels".to_owned())]);
    let size = boothook("us-east-1", BUCKET, KEY, "").len() + 14_479;
    let text = demo.refusals()[0].to_string();
    for part in [size.to_string(), "16384".to_owned(), "labels".to_owned()] {
        assert!(text.contains(&part), "{text}");
    }
}

/// Labels whose stub has exactly `size` bytes.
fn stub_of(size: usize) -> Demo {
    let empty = boothook("us-east-1", BUCKET, KEY, "").len();
    let mut left = size - empty;
    let mut labels = Vec::new();
    // `lNNN=` and 63 characters and the comma that joins it to the next.
    for i in 0.. {
        let key = format!("l{i:03}");
        if left <= key.len() + 1 + 63 {
            labels.push((key.clone(), "v".repeat(left - key.len() - 1)));
            break;
        }
        // Leaves at least six bytes for the last one.
        let take = (left - key.len() - 2 - 6).min(63);
        labels.push((key.clone(), "v".repeat(take)));
        left -= key.len() + 2 + take;
    }
    with_labels(labels)
}

/// Proves: AWS-59.
#[test]
fn the_limit_itself_is_allowed() {
    let fits = stub_of(16_384).good().template.user_data;
    assert_eq!(fits.len(), 16_384);
    let over = stub_of(16_385);
    assert_eq!(over.refused(), [("R-10", "node_labels".to_owned())]);
    assert!(over.refusals()[0].message.contains("16385"));
}

#[test]
fn a_quote_in_a_name_stays_text() {
    let stub = boothook("us'; reboot; '", "b", "k", "");
    assert!(stub.contains(r"region='us'\''; reboot; '\'''"), "{stub}");
}

#[test]
fn a_payload_that_no_machine_would_take_is_refused_before_anything_is_written() {
    let jinja = b"## template: jinja\r\n#cloud-config\n".as_slice();
    for good in [b"#cloud-config\r\nruncmd: []\n".as_slice(), jinja] {
        demo().document(good).good();
        demo().document(&gzip(good)).good();
    }
    for bad in [
        b"#!/bin/sh\necho hunter2\n".as_slice(),
        b"",
        b"\n#cloud-config\n",
        b"{}",
    ] {
        for document in [bad.to_vec(), gzip(bad)] {
            let refused = demo().document(&document);
            assert_eq!(refused.refused(), [("R-12", "bootstrap_data".to_owned())]);
            assert!(!refused.refusals()[0].to_string().contains("hunter2"));
        }
    }
}

#[test]
fn gzip_that_cannot_be_read_is_left_to_the_machine() {
    demo().document(&[0x1f, 0x8b, 0x08, 0xff]).good();
}
