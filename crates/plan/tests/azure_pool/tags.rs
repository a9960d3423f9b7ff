//! Tags.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    cloud::applied,
    demo::{INSTALLATION, SET, SETTING, demo},
};

const INSTALLATION_TAG: &str = "remuda.dev_installation";

fn many(count: usize) -> Value {
    let tags: Map<String, Value> = (0..count)
        .map(|n| (format!("tag-{n}"), json!("x")))
        .collect();
    Value::Object(tags)
}

fn has(tags: &BTreeMap<String, String>, key: &str, value: &str) -> bool {
    tags.get(key).map(String::as_str) == Some(value)
}

/// Proves: AZURE-19.
#[test]
fn set_and_setting_carry_the_contracts_tags_and_the_users() {
    let (cloud, _) = applied(demo().var("additional_tags", json!({ "costCenter": "1234" })));
    for tags in [&cloud.set(SET).set.tags, &cloud.settings[SETTING].tags] {
        assert!(has(tags, "captf.io_cluster", "demo"), "{tags:?}");
        assert!(has(tags, "captf.io_kind", "TerraformMachinePool"));
        assert!(has(tags, "captf.io_name", "workers"));
        assert!(has(tags, "costCenter", "1234"));
    }
}

/// Proves: AZURE-20, AZURE-21.
#[test]
fn an_empty_value_is_sent_and_a_long_one_is_cut_to_its_digest() {
    let demo = demo().with(|inputs| {
        inputs
            .captf_tags
            .insert("captf.io/name".to_owned(), "x".repeat(300));
    });
    let tags = demo.good().set.tags;
    assert!(has(&tags, "captf.io_template", ""));
    let cut = format!("{}-0d4e2ca9", "x".repeat(247));
    assert_eq!(tags["captf.io_name"], cut);
    assert_eq!(cut.len(), 256);
}

#[test]
fn a_value_of_exactly_256_characters_stays_and_characters_are_counted_not_bytes() {
    let value = "ü".repeat(256);
    let expected = value.clone();
    let demo = demo().with(|inputs| {
        inputs.captf_tags.insert("captf.io/name".to_owned(), value);
    });
    assert_eq!(demo.good().set.tags["captf.io_name"], expected);
}

/// Proves: AZURE-22.
#[test]
fn bad_user_tags_are_refused() {
    let rows = [
        (json!({ "captf.io_name": "x" }), "E-TAGS-RESERVED"),
        (json!({ "CAPTF.IO/x": "x" }), "E-TAGS-RESERVED"),
        (json!({ "a%b": "x" }), "E-TAGS-CHARS"),
        (json!({ "": "x" }), "E-TAGS-CHARS"),
        (json!({ "a": "x".repeat(257) }), "E-TAGS-CHARS"),
        (json!({ "team": "x", "Team": "y" }), "E-TAGS-CHARS"),
        (many(45), "E-TAGS-COUNT"),
    ];
    for (tags, code) in rows {
        let demo = demo().var("additional_tags", tags);
        assert_eq!(demo.refused(), [code]);
        assert_eq!(demo.refusals()[0].subject, "additional_tags");
    }
    assert!(demo().var("additional_tags", many(44)).desired().is_ok());
}

#[test]
fn the_contracts_tags_win_over_a_users_installation_tag() {
    let demo = demo().var(
        "additional_tags",
        json!({ "Remuda.dev_Installation": "mine", "a": "b" }),
    );
    let tags = demo.good().set.tags;
    assert!(has(&tags, INSTALLATION_TAG, INSTALLATION));
    assert!(!tags.contains_key("Remuda.dev_Installation"));
}

/// Proves: AZURE-113.
#[test]
fn the_installation_tag_is_on_the_set_alone_and_gives_way_to_the_limit_of_50() {
    let (cloud, demo) = applied(demo());
    let record = demo.record.as_ref().expect("a record was written");
    assert!(has(
        &cloud.set(SET).set.tags,
        INSTALLATION_TAG,
        &record.installation
    ));
    assert!(!cloud.settings[SETTING].tags.contains_key(INSTALLATION_TAG));

    let full = super::demo::demo().var("additional_tags", many(44)).good();
    assert_eq!(full.set.tags.len(), 50);
    assert!(!full.set.tags.contains_key(INSTALLATION_TAG));

    let mut other = super::demo::demo();
    other.installation = "another".to_owned();
    let stop = cloud.plan(&other).expect_err("the name is taken");
    assert!(format!("{stop:?}").contains("E-NAME-TAKEN"), "{stop:?}");
}

/// Proves: AZURE-23.
#[test]
fn changed_tags_are_one_patch_and_one_put_with_the_full_map() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.var("additional_tags", json!({ "costCenter": "1234" }));
    assert_eq!(
        cloud.settle(&mut demo),
        [format!("PATCH {SET}"), format!("PUT {SETTING}")]
    );
    let desired = demo.good();
    assert_eq!(cloud.set(SET).set.tags, desired.set.tags);
    assert_eq!(
        cloud.settings[SETTING].tags,
        desired.setting.expect("a setting").tags
    );
    let patch = cloud.patches().pop().expect("a patch");
    assert_eq!(patch.tags, Some(desired.set.tags));
    assert!(patch.custom_data.is_none() && patch.sku.is_none());
}

#[test]
fn tags_that_others_put_go_with_the_next_full_map() {
    let (mut cloud, mut demo) = applied(demo());
    let tags = &mut cloud.sets.get_mut(SET).expect("the set").set.tags;
    tags.insert("theirs".to_owned(), "x".to_owned());
    assert_eq!(cloud.settle(&mut demo), [format!("PATCH {SET}")]);
    assert!(!cloud.set(SET).set.tags.contains_key("theirs"));
}
