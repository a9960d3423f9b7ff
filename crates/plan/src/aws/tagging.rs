//! Bringing the tags of an existing group and template to the desired sets (AWS document 3.2, 5.1).
//!
//! Tags that others put are left alone. Which stale tags are ours is told by the launch template of
//! the last apply, where nobody else writes: so tags are changed before the template is.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    action::Action,
    desired::GroupSpec,
    group,
    observed::{Group, Template},
    steps::Steps,
    tags, template,
};
use crate::pool::{
    action::{ChangeKind, FieldChange},
    steps::{Call, field},
};

/// Tag keys that an earlier apply set, as its launch template tells.
pub fn formerly_set(template: Option<&Template>) -> BTreeSet<String> {
    template
        .and_then(|template| template.data.as_ref())
        .map(|data| data.network_interface_tags.keys().cloned().collect())
        .unwrap_or_default()
}

/// What is to be done about the tags of one resource.
struct Difference {
    missing: BTreeMap<String, String>,
    stale: BTreeSet<String>,
}

impl Difference {
    /// `is_right` says whether a wanted tag is there as it should be.
    fn new<'a>(
        found: impl Iterator<Item = &'a String>,
        wanted: &BTreeMap<String, String>,
        former: &BTreeSet<String>,
        is_right: impl Fn(&str, &str) -> bool,
    ) -> Self {
        let is_ours = |key: &str| {
            former.contains(key)
                || key.starts_with(tags::CAPTF_PREFIX)
                || key.starts_with(tags::CLUSTER_PREFIX)
        };
        Self {
            missing: wanted
                .iter()
                .filter(|(key, value)| !is_right(key, value))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
            stale: found
                .filter(|key| !wanted.contains_key(*key) && is_ours(key))
                .cloned()
                .collect(),
        }
    }

    /// The calls that set and remove, each only where there is something to do.
    fn calls(
        &self,
        steps: &mut Steps<'_>,
        object: &str,
        old: impl Fn(&str) -> Option<String>,
        set: Action,
        remove: Action,
    ) {
        let change = |key: &String, new: Value| -> FieldChange {
            field(&format!("tags[{key}]"), old(key), new)
        };
        let joined = |keys: Vec<&String>| {
            let keys: Vec<&str> = keys.into_iter().map(String::as_str).collect();
            keys.join(", ")
        };
        if !self.missing.is_empty() {
            let because = format!("tags {}", joined(self.missing.keys().collect()));
            let changes = self
                .missing
                .iter()
                .map(|(key, value)| change(key, Value::from(value.clone())))
                .collect();
            steps.call(Call::new(set, ChangeKind::Update, object, because).changes(changes));
        }
        if !self.stale.is_empty() {
            let because = format!(
                "tags no longer wanted: {}",
                joined(self.stale.iter().collect())
            );
            let changes = self
                .stale
                .iter()
                .map(|key| change(key, Value::Null))
                .collect();
            steps.call(Call::new(remove, ChangeKind::Update, object, because).changes(changes));
        }
    }
}

/// Tags of the group; one that propagates to instances is put right too.
pub fn tag_group(
    steps: &mut Steps<'_>,
    spec: &GroupSpec,
    found: &Group,
    former: &BTreeSet<String>,
) {
    let difference = Difference::new(found.tags.keys(), &spec.tags, former, |key, value| {
        let tag = found.tags.get(key);
        tag.is_some_and(|(found, propagates)| found == value && !propagates)
    });
    difference.calls(
        steps,
        &group::object(&spec.name),
        |key| found.tags.get(key).map(|(value, _)| value.clone()),
        Action::TagGroup {
            group: spec.name.clone(),
            tags: difference.missing.clone(),
        },
        Action::UntagGroup {
            group: spec.name.clone(),
            keys: difference.stale.clone(),
        },
    );
}

/// Tags of the template object.
pub fn tag_template(
    steps: &mut Steps<'_>,
    wanted: &BTreeMap<String, String>,
    found: &Template,
    former: &BTreeSet<String>,
) {
    let difference = Difference::new(found.tags.keys(), wanted, former, |key, value| {
        found.tags.get(key).is_some_and(|found| found == value)
    });
    difference.calls(
        steps,
        &template::object(&found.name),
        |key| found.tags.get(key).cloned(),
        Action::TagTemplate {
            id: found.id.clone(),
            tags: difference.missing.clone(),
        },
        Action::UntagTemplate {
            id: found.id.clone(),
            keys: difference.stale.clone(),
        },
    );
}
