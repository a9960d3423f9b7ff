//! Names and their lengths.

use remuda_plan::{aws::names, pool::record::RollKey};

use super::demo::{GROUP, demo};

fn key(version: Option<&str>, image: Option<&str>) -> RollKey {
    RollKey {
        template: None,
        kubernetes_version: version.map(str::to_owned),
        image_id: image.map(str::to_owned),
    }
}

/// Proves: AWS-17.
#[test]
fn the_group_of_demo_has_its_name_before_anything_exists() {
    assert_eq!(names::group("team-a", "demo-pool-0"), GROUP);
    assert_eq!(demo().good().group.name, GROUP);
}

/// Proves: AWS-18.
#[test]
fn group_names_are_cut_cleaned_and_hashed_as_the_module_does() {
    let x40 = "x".repeat(40);
    let x39 = "x".repeat(39);
    let rows = [
        (
            "team-a",
            "demo-pool-0".to_owned(),
            "captf-team-a-demo-pool-0-43c6d828".to_owned(),
            33,
        ),
        (
            "team-a",
            "pool.v1".to_owned(),
            "captf-team-a-pool-v1-ed06931b".to_owned(),
            29,
        ),
        (
            "team-a",
            "Pool_A".to_owned(),
            "captf-team-a-pool-a-318ea01a".to_owned(),
            28,
        ),
        (
            "platform-production-eu",
            "workers-general-purpose-m6i-2xlarge-blue".to_owned(),
            "captf-platform-production-eu-workers-general-purpose-m-3b53edbf".to_owned(),
            63,
        ),
        (
            "team-a",
            format!("{x40}--y"),
            format!("captf-team-a-{x40}-06f5edb1"),
            62,
        ),
        (
            "team-a",
            format!("{x39}..yy"),
            format!("captf-team-a-{x39}--9f6c51f4"),
            62,
        ),
    ];
    for (namespace, pool, expected, length) in rows {
        let name = names::group(namespace, &pool);
        assert_eq!(name, expected, "{namespace}/{pool}");
        assert_eq!(name.len(), length, "{namespace}/{pool}");
    }
}

#[test]
fn a_template_name_tells_time_and_roll_key_and_fits_aws() {
    let version = key(Some("v1.34.1"), None);
    let name = names::template(GROUP, 1_790_000_000, &version);
    let suffix = name.strip_prefix("captf-team-a-demo-pool-0-43c6d828-");
    assert_eq!(suffix.map(str::len), Some(26), "{name}");
    assert!(
        suffix.is_some_and(|s| s.starts_with("20260921141320r")),
        "{name}"
    );
    assert!(names::is_template_for(&name, GROUP, &version));
    assert!(!names::is_template_for(
        &name,
        GROUP,
        &key(Some("v1.34.2"), None)
    ));
    assert!(!names::is_template_for(
        &name,
        GROUP,
        &key(Some("v1.34.1"), Some("ami-0a"))
    ));
    let longest = names::group(&"n".repeat(60), &"p".repeat(60));
    assert!(names::template(&longest, 0, &version).len() <= 90);
}

#[test]
fn a_modules_template_name_is_never_taken_for_one_of_ours() {
    // The module's suffix is a decimal time and a hex counter, without the letter.
    let module = format!("{GROUP}-20251009120000000000000001");
    for key in [key(None, None), key(Some("v1.34.1"), None)] {
        assert!(!names::is_template_for(&module, GROUP, &key));
    }
}

#[test]
fn absent_and_empty_version_roll_alike_but_version_and_image_never_mix() {
    assert_ne!(
        names::roll_digest(&key(Some("ami-0a"), None)),
        names::roll_digest(&key(None, Some("ami-0a"))),
    );
}

#[test]
fn a_description_is_cut_to_what_aws_takes() {
    let description = names::template_description("team-a", &"p".repeat(300));
    assert_eq!(description.chars().count(), 255);
    assert!(description.starts_with("CAPTF machine pool team-a/ppp"));
}
