//! Image references.

use remuda_plan::{azure::image::ImageReference, pool::action::PlanStop};
use serde_json::json;

use super::{
    cloud::{Cloud, applied},
    demo::{Demo, SET, demo},
};

const GALLERY: &str =
    "/communityGalleries/ClusterAPI-f72ceb4f-5159-4c26-a0fe-2ea738f0d019/images/capi-ubun2-2404";

fn image(demo: &Demo) -> ImageReference {
    demo.good().set.model.image
}

fn with(image_id: &str) -> Demo {
    demo().var("image_id", json!(image_id))
}

/// Proves: AZURE-7.
#[test]
fn the_version_is_filled_in_without_its_v() {
    let expected = format!("{GALLERY}/versions/1.34.1");
    assert_eq!(image(&demo()), ImageReference::Community(expected));
}

/// Proves: AZURE-14.
#[test]
fn each_form_has_its_property() {
    let arm = "/subscriptions/S/resourceGroups/g/providers/Microsoft.Compute/galleries/x/images/y/versions/1.0.0";
    let managed = "/SUBSCRIPTIONS/S/resourcegroups/g/providers/microsoft.compute/images/y";
    let shared = "/sharedGalleries/x/images/y";
    assert_eq!(image(&with(arm)), ImageReference::Id(arm.to_owned()));
    assert_eq!(
        image(&with(managed)),
        ImageReference::Id(managed.to_owned())
    );
    assert_eq!(
        image(&with(shared)),
        ImageReference::Shared(shared.to_owned())
    );
}

/// Proves: AZURE-15.
#[test]
fn a_version_given_without_v_still_yields_one() {
    let demo = with("/sharedGalleries/x/images/y/versions/{version}").version("1.34.1");
    let expected = "/sharedGalleries/x/images/y/versions/v1.34.1".to_owned();
    assert_eq!(image(&demo), ImageReference::Shared(expected));
}

/// Proves: AZURE-66.
#[test]
fn a_placeholder_needs_a_version() {
    let demo = demo().with(|inputs| inputs.kubernetes_version = None);
    assert_eq!(demo.refused(), ["E-IMAGE-VERSION"]);
    let remedy = demo.refusals()[0].remedy.clone().expect("a remedy");
    assert!(
        remedy.contains("spec.template.spec.version") && remedy.contains("image_id without"),
        "{remedy}"
    );
}

#[test]
fn other_texts_are_no_images() {
    for text in [
        "",
        "ubuntu",
        "/CommunityGalleries/x/images/y",
        "/communityGalleries/x/images",
        "/communityGalleries/x/images/y/versions/",
        "/communityGalleries/x/images/y/versions/1/2",
        "/subscriptions/S/resourceGroups/g/providers/Microsoft.Network/images/y",
        "/subscriptions/S/resourceGroups/g/providers/Microsoft.Compute/galleries/x",
    ] {
        assert_eq!(with(text).refused(), ["E-IMAGE"], "{text}");
    }
}

#[test]
fn a_version_that_the_gallery_lacks_is_refused_before_anything_is_written() {
    let mut cloud = Cloud::new();
    cloud.has_image = false;
    let Err(PlanStop::Refused(refusals)) = cloud.plan(&demo()) else {
        panic!("it is refused");
    };
    assert_eq!(refusals[0].code, "E-IMAGE-NOT-FOUND");
    assert!(refusals[0].message.contains("/versions/1.34.1"));
}

#[test]
fn a_roll_to_a_missing_image_leaves_the_old_set_untouched() {
    let (mut cloud, demo) = applied(demo());
    cloud.has_image = false;
    let plan = cloud.plan(&demo.clone().version("v1.99.0"));
    assert!(matches!(plan, Err(PlanStop::Refused(_))));
    // An image in use is not looked up: its instances run.
    let plan = cloud.plan(&demo).expect("a plan can be made");
    assert!(plan.steps.is_empty());
}

#[test]
fn a_lookup_that_fails_does_not_stop_a_plan() {
    let plan = Cloud::new().plan_seeing(&demo(), |observed| {
        observed.image = remuda_plan::pool::read::Read::Unknown(super::cloud::failure(
            remuda_plan::error::FailureClass::Denied,
            "AuthorizationFailed",
        ));
    });
    assert!(plan.is_ok());
}

#[test]
fn another_fixed_image_is_one_patch_with_the_whole_disk() {
    let (mut cloud, demo) = applied(with("/sharedGalleries/x/images/y/versions/1"));
    let other = json!("/sharedGalleries/x/images/y/versions/2");
    let mut demo = demo.var("image_id", other);
    assert_eq!(cloud.settle(&mut demo), [format!("PATCH {SET}")]);
    let patch = cloud.patches().pop().expect("a patch");
    assert_eq!(patch.os_disk, Some(demo.good().set.model.os_disk));
    assert!(patch.custom_data.is_none() && patch.sku.is_none());
}
