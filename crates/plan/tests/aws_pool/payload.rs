//! The staged payload.

use remuda_plan::{aws::action::Action, pool::secret::Secret};
use serde_json::json;

use super::{
    bootstrap::gzip,
    cloud::{Cloud, applied},
    demo::{BUCKET, DOCUMENT, KEY, demo},
};

const ROTATED: &[u8] = b"#cloud-config\nruncmd: [echo rotated]\n";

fn object<'a>(cloud: &'a Cloud, bucket: &str) -> Option<&'a Vec<u8>> {
    let place = (bucket.to_owned(), KEY.to_owned());
    cloud.objects.get(&place).map(|(body, _)| body)
}

#[test]
fn the_object_is_the_decoded_payload_byte_for_byte() {
    let binary = b"#cloud-config\n\x00\x9f\x92\x96".to_vec();
    for body in [DOCUMENT.to_vec(), gzip(DOCUMENT), binary] {
        let (cloud, _) = applied(demo().document(&body));
        assert_eq!(object(&cloud, BUCKET), Some(&body));
    }
}

/// Proves: AWS-31.
#[test]
fn a_rotation_is_one_put_of_the_same_key() {
    let (mut cloud, demo) = applied(demo());
    let (id, versions) = (
        cloud.template().1.id.clone(),
        cloud.template().1.versions.len(),
    );
    let mut demo = demo.document(ROTATED);
    assert_eq!(cloud.settle(&mut demo), ["PutObject"]);
    assert_eq!(object(&cloud, BUCKET).map(Vec::as_slice), Some(ROTATED));
    assert_eq!(cloud.template().1.id, id);
    assert_eq!(cloud.template().1.versions.len(), versions);
}

#[test]
fn the_same_bytes_rendered_again_are_no_write() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.document(DOCUMENT);
    assert!(cloud.settle(&mut demo).is_empty());
}

/// Proves: AWS-48.
#[test]
fn an_object_deleted_or_replaced_by_hand_is_put_back() {
    let (mut cloud, mut demo) = applied(demo());
    cloud.objects.clear();
    assert_eq!(cloud.settle(&mut demo), ["PutObject"]);
    assert_eq!(object(&cloud, BUCKET).map(Vec::as_slice), Some(DOCUMENT));
    for (body, _) in cloud.objects.values_mut() {
        body.push(b'x');
    }
    assert_eq!(cloud.settle(&mut demo), ["PutObject"]);
    assert_eq!(object(&cloud, BUCKET).map(Vec::as_slice), Some(DOCUMENT));
}

/// Proves: AWS-107.
#[test]
fn record_and_plan_hold_a_digest_and_never_the_payload() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.document(ROTATED);
    let plan = cloud.plan(&demo).expect("a plan can be made");
    let printed = format!(
        "{plan:?}{}",
        serde_json::to_string(&plan).expect("plans serialize")
    );
    cloud.settle(&mut demo);
    let record = serde_json::to_string(&demo.record).expect("records serialize");
    let base64 = demo.inputs.bootstrap_data.reveal();
    for text in [&printed, &record] {
        assert!(!text.contains("rotated"), "{text}");
        assert!(!text.contains(base64.as_str()), "{text}");
    }
    let hash = demo.remembered().payload_hash.expect("a digest");
    assert_eq!(hash.len(), 64);
    assert!(record.contains(&hash));
}

#[test]
fn bootstrap_data_that_is_not_base64_is_refused_without_an_echo() {
    let demo = demo().with(|inputs| inputs.bootstrap_data = Secret::new("hunter2!".to_owned()));
    assert_eq!(demo.refused(), [("V-6", "bootstrap_data".to_owned())]);
    assert!(!format!("{:?}", demo.refusals()).contains("hunter2"));
}

#[test]
fn another_bucket_gets_the_object_first_and_loses_the_old_one_last() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.exports(|e| e["bootstrap_bucket"] = json!("captf-bootstrap-2"));
    let calls = cloud.settle(&mut demo);
    assert_eq!(
        calls,
        [
            "PutObject",
            "CreateLaunchTemplateVersion",
            "ModifyLaunchTemplate",
            "DeleteObject"
        ]
    );
    assert_eq!(object(&cloud, BUCKET), None);
    assert!(object(&cloud, "captf-bootstrap-2").is_some());
    let stub = &cloud.template().1.latest().user_data;
    assert!(stub.contains("object='s3://captf-bootstrap-2/pool/demo-pool-0'"));
    assert!(cloud.refreshes.is_empty());
}

#[test]
fn another_format_is_a_version_and_puts_the_object_only_if_it_differs() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.with(|inputs| inputs.bootstrap_format = "ignition".to_owned());
    assert_eq!(
        cloud.settle(&mut demo),
        ["CreateLaunchTemplateVersion", "ModifyLaunchTemplate"]
    );
}

#[test]
fn the_payload_is_there_before_anything_can_boot() {
    let mut cloud = Cloud::new();
    let mut demo = demo();
    cloud.settle(&mut demo);
    assert!(matches!(cloud.journal.first(), Some(Action::PutPayload(_))));
}

#[test]
fn an_object_that_lies_in_the_new_bucket_already_is_not_trusted() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.exports(|e| e["bootstrap_bucket"] = json!("second"));
    let mut stale = DOCUMENT.to_vec();
    stale.reverse(); // as long as the payload, and not the payload
    let tags = demo.inputs.captf_tags.clone();
    cloud
        .objects
        .insert(("second".to_owned(), KEY.to_owned()), (stale, tags));
    cloud.settle(&mut demo);
    assert_eq!(object(&cloud, "second").map(Vec::as_slice), Some(DOCUMENT));
}
