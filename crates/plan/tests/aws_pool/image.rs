//! Image filter and choice.

use remuda_plan::{
    aws::{
        desired::{ImageChoice, ImageQuery},
        image::{Candidate, name_filter, newest},
    },
    pool::action::PlanStop,
};
use serde_json::json;

use super::{
    cloud::{Cloud, applied},
    demo::{IMAGE, demo},
};

fn candidate(image_id: &str, creation_date: &str) -> Candidate {
    Candidate {
        image_id: image_id.to_owned(),
        creation_date: creation_date.to_owned(),
    }
}

/// Proves: AWS-74.
#[test]
fn both_placeholders_stand_for_the_stripped_version() {
    assert_eq!(
        name_filter("img-{version}-{semver}", "v1.35.0+rke2r2"),
        "img-v1.35.0-1.35.0"
    );
    assert_eq!(
        name_filter("img-{version}-{semver}", "1.35.0"),
        "img-v1.35.0-1.35.0"
    );
}

#[test]
fn demos_filter_is_capas_with_a_wildcard_for_the_v() {
    assert_eq!(
        demo().good().image,
        ImageChoice::Lookup(ImageQuery {
            owner: "819546954734".to_owned(),
            name: "capa-ami-ubuntu-24.04-?1.34.1-*".to_owned(),
            architecture: "x86_64".to_owned(),
        })
    );
}

/// Proves: AWS-70.
#[test]
fn without_version_and_id_there_is_no_image() {
    let demo = demo().with(|inputs| inputs.kubernetes_version = None);
    assert_eq!(demo.refused(), [("R-6", "machine_image.id".to_owned())]);
    let pinned = demo.var("machine_image", json!({ "id": IMAGE }));
    assert_eq!(pinned.good().image, ImageChoice::Pinned(IMAGE.to_owned()));
}

/// Proves: AWS-69.
#[test]
fn a_lookup_without_a_match_names_the_filter_and_writes_nothing() {
    let mut cloud = Cloud::new();
    cloud.image = None;
    let Err(PlanStop::Refused(refusals)) = cloud.plan(&demo()) else {
        panic!("R-7 is refused");
    };
    assert_eq!(refusals.len(), 1);
    assert_eq!(refusals[0].code, "R-7");
    let text = refusals[0].to_string();
    for part in [
        "capa-ami-ubuntu-24.04-?1.34.1-*",
        "x86_64",
        "819546954734",
        "machine_image.id",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

/// Proves: AWS-43.
#[test]
fn a_newer_image_is_a_version_and_no_roll() {
    let (mut cloud, mut demo) = applied(demo());
    let before = cloud.outputs(&demo).extra["launch_template_id"].clone();
    cloud.image = Some("ami-0bbbbbbbbbbbbbbbb".to_owned());
    assert_eq!(
        cloud.settle(&mut demo),
        ["CreateLaunchTemplateVersion", "ModifyLaunchTemplate"]
    );
    assert_eq!(
        cloud.template().1.latest().image_id,
        "ami-0bbbbbbbbbbbbbbbb"
    );
    assert_eq!(cloud.outputs(&demo).extra["launch_template_id"], before);
}

#[test]
fn the_newest_image_wins_and_a_tie_goes_to_the_highest_id() {
    let older = candidate("ami-0f", "2025-06-15T00:00:00.000Z");
    let newer = candidate("ami-01", "2025-10-09T00:00:00.000Z");
    let twin = candidate("ami-02", "2025-10-09T00:00:00Z");
    let undated = candidate("ami-0e", "");
    assert_eq!(newest(&[newer.clone(), older.clone()]), Some(&newer));
    assert_eq!(newest(&[twin.clone(), newer.clone()]), Some(&twin));
    assert_eq!(newest(&[newer, twin.clone()]), Some(&twin));
    assert_eq!(newest(&[undated, older.clone()]), Some(&older));
    assert_eq!(newest(&[]), None);
}

#[test]
fn a_pinned_image_needs_no_lookup() {
    let mut cloud = Cloud::new();
    cloud.image = None;
    let mut demo = demo().var("machine_image", json!({ "id": "ami-0aaaaaaaaaaaaaaaa" }));
    cloud.settle(&mut demo);
    assert_eq!(
        cloud.template().1.latest().image_id,
        "ami-0aaaaaaaaaaaaaaaa"
    );
}
