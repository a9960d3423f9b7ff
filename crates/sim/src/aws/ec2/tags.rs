//! Tags of EC2 resources.

use std::{collections::BTreeMap, sync::Arc};

use super::Answer;
use crate::aws::{
    protocol::{AwsError, Params, Xml},
    state::Site,
};

/// AWS's limits of tags a resource, without those AWS sets itself.
const MOST_TAGS: usize = 50;

pub(super) fn create(site: &mut Site<'_>, params: &Params) -> Answer {
    let ids = params.texts("ResourceId");
    let mut tags = BTreeMap::new();
    for tag in params.list("Tag") {
        let key = tag.required("Key")?;
        check_key(key)?;
        tags.insert(
            key.to_owned(),
            tag.text("Value").unwrap_or_default().to_owned(),
        );
    }
    if ids.is_empty() || tags.is_empty() {
        return Err(AwsError::missing(if ids.is_empty() {
            "ResourceId"
        } else {
            "Tag"
        }));
    }
    change(site, &ids, |have| have.extend(tags.clone()))
}

pub(super) fn delete(site: &mut Site<'_>, params: &Params) -> Answer {
    let ids = params.texts("ResourceId");
    let gone: Vec<(&str, Option<&str>)> = params
        .list("Tag")
        .into_iter()
        .filter_map(|tag| Some((tag.text("Key")?, tag.text("Value"))))
        .collect();
    if ids.is_empty() {
        return Err(AwsError::missing("ResourceId"));
    }
    change(site, &ids, |have| {
        if gone.is_empty() {
            have.retain(|key, _| key.starts_with("aws:"));
        }
        for (key, value) in &gone {
            // With a value, only a tag that has it is deleted.
            if value.is_none_or(|value| have.get(*key).is_some_and(|now| now == value)) {
                have.remove(*key);
            }
        }
    })
}

/// Changes the tags of all resources, or of none when one is unknown or would have too many.
fn change(
    site: &mut Site<'_>,
    ids: &[&str],
    mut apply: impl FnMut(&mut BTreeMap<String, String>),
) -> Answer {
    let compute = &mut site.estate.compute;
    let mut changed = Vec::with_capacity(ids.len());
    for id in ids {
        let mut tags = if let Some(template) = compute.templates.get(*id) {
            template.tags.clone()
        } else if let Some(instance) = compute.instances.get(*id) {
            (*instance.tags).clone()
        } else {
            return Err(unknown_resource(id));
        };
        apply(&mut tags);
        check_count(&tags)?;
        changed.push((*id, tags));
    }
    for (id, tags) in changed {
        if let Some(template) = compute.templates.get_mut(id) {
            template.tags = tags;
        } else if let Some(instance) = compute.instances.get_mut(id) {
            instance.tags = Arc::new(tags);
        }
    }
    let mut xml = Xml::new();
    xml.plain("return", true);
    Ok(xml)
}

fn unknown_resource(id: &str) -> AwsError {
    match id.split_once('-').map(|(kind, _)| kind) {
        Some("lt") => super::template::no_id(id),
        Some("i") => AwsError::new(
            "InvalidInstanceID.NotFound",
            format!("The instance ID '{id}' does not exist"),
        ),
        _ => AwsError::new("InvalidID", format!("The ID '{id}' is not valid")),
    }
}

/// The rules for a key a caller may set.
pub(super) fn check_key(key: &str) -> Result<(), AwsError> {
    if key.to_ascii_lowercase().starts_with("aws:") {
        return Err(AwsError::invalid_value(
            "Tag keys starting with 'aws:' are reserved for internal use",
        ));
    }
    if key.chars().count() > 128 {
        return Err(AwsError::invalid_value(format!(
            "Tag key exceeds the maximum length of 128 characters: {key}"
        )));
    }
    Ok(())
}

/// The limit of tags a resource.
pub(super) fn check_count(tags: &BTreeMap<String, String>) -> Result<(), AwsError> {
    if tags.keys().filter(|key| !key.starts_with("aws:")).count() > MOST_TAGS {
        return Err(AwsError::new(
            "TagLimitExceeded",
            format!("The maximum number of Tags for a resource is {MOST_TAGS}"),
        ));
    }
    if let Some((key, _)) = tags.iter().find(|(_, value)| value.chars().count() > 256) {
        return Err(AwsError::invalid_value(format!(
            "Tag value exceeds the maximum length of 256 characters, key {key}"
        )));
    }
    Ok(())
}

/// `tagSet` of an answer.
pub(super) fn tag_set(tags: &BTreeMap<String, String>, xml: &mut Xml) {
    xml.list("tagSet", "item", tags, |xml, (key, value)| {
        xml.text("key", key);
        xml.text("value", value);
    });
}
