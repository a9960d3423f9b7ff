//! Images, and the driver they name.

use remuda_plan::{
    driver::Driver,
    pool::image::parse,
    status::condition::{ConditionStatus, ConditionType, Reason},
};

use super::{
    lab::Lab,
    world::{Edit as _, message, world},
};

#[test]
fn the_last_path_segment_names_the_driver() {
    let digest = format!("sha256:{}", "a".repeat(64));
    for image in [
        "aws-machinepool",
        "aws-machinepool:v1",
        "captf-io/aws-machinepool",
        "ghcr.io/captf-io/module-images/aws-machinepool:v0.3.0",
        "localhost:5000/aws-machinepool:v1",
        "mirror.example.org:8443/a/b/c/aws-machinepool",
        &format!("ghcr.io/captf-io/aws-machinepool@{digest}"),
        &format!("ghcr.io/captf-io/aws-machinepool:v1@{digest}"),
    ] {
        assert_eq!(Driver::from_image(image), Ok(Driver::Aws), "{image}");
    }
    let azure = "ghcr.io/captf-io/azure-machinepool:v0.1.0-opentofu";
    assert_eq!(Driver::from_image(azure), Ok(Driver::Azure));
}

#[test]
fn a_pool_does_not_move_to_another_cloud() {
    let mut lab = Lab::ready();
    let before = lab.cloud.calls.len();
    lab.edit(|world| {
        world.pool(|pool| {
            pool.spec.source.image = "ghcr.io/captf-io/azure-machinepool:v0.1.0".to_owned();
        })
    });
    lab.run_for(600);
    assert_eq!(
        lab.condition(ConditionType::ApplyJobSucceeded),
        Some((ConditionStatus::False, Reason::ImageInvalid))
    );
    let text = message(&lab.world, ConditionType::ApplyJobSucceeded);
    assert!(text.contains("runs on aws"), "{text}");
    assert_eq!(lab.cloud.calls.len(), before);
    assert!(lab.cloud.group.is_some());
}

/// Proves: CAPTF-79.
#[test]
fn another_image_runs_nothing() {
    for image in [
        "ghcr.io/captf-io/gcp-machinepool:v0.3.0",
        "ghcr.io/captf-io/noop-machinepool",
        "ghcr.io/aws-machinepool/something-else",
        "ghcr.io/captf-io/oci-machinepool:aws-machinepool",
    ] {
        let world = world().pool(|pool| pool.spec.source.image = image.to_owned());
        let mut lab = Lab::new(world);
        lab.run_for(60);
        assert_eq!(
            lab.condition(ConditionType::ApplyJobSucceeded),
            Some((ConditionStatus::False, Reason::ImageInvalid))
        );
        assert!(message(&lab.world, ConditionType::ApplyJobSucceeded).contains("aws-machinepool"));
        assert!(lab.started.is_empty() && lab.cloud.calls.is_empty());
    }
}

#[test]
fn what_is_no_reference_is_refused() {
    for image in [
        "",
        "ghcr.io/",
        "ghcr.io//aws-machinepool",
        "ghcr.io/Captf/aws-machinepool",
        "aws-machinepool:",
        "aws-machinepool:-v1",
        "aws-machinepool@sha256:12",
        "aws machinepool",
        &"a".repeat(513),
    ] {
        assert!(parse(image).is_err(), "{image:?}");
    }
}
