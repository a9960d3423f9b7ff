//! Tags of groups.

use std::collections::BTreeMap;

use super::{
    Answer,
    group::{Group, GroupTag},
    max_records, no_group, required,
};
use crate::aws::{
    protocol::{AwsError, Params, Xml, page},
    state::{Site, View},
};

/// AWS's limit of tags a group.
const MOST_TAGS: usize = 50;

pub(super) fn create_or_update(site: &mut Site<'_>, params: &Params) -> Answer {
    let by_group = by_group(params)?;
    for (name, tags) in &by_group {
        let group = site
            .estate
            .groups
            .get(*name)
            .ok_or_else(|| no_group(name))?;
        let mut all = group.tags.clone();
        all.extend(tags.clone());
        check_count(&all)?;
    }
    for (name, tags) in by_group {
        if let Some(group) = site.estate.groups.get_mut(name) {
            group.tags.extend(tags);
        }
    }
    Ok(Xml::new())
}

pub(super) fn delete(site: &mut Site<'_>, params: &Params) -> Answer {
    for node in params.list("Tags") {
        let name = required(node, "ResourceId")?;
        let key = required(node, "Key")?;
        let group = site
            .estate
            .groups
            .get_mut(name)
            .ok_or_else(|| no_group(name))?;
        // With a value, only a tag that has it is deleted.
        let same = node
            .text("Value")
            .is_none_or(|value| group.tags.get(key).is_some_and(|tag| tag.value == value));
        if same {
            group.tags.remove(key);
        }
    }
    Ok(Xml::new())
}

pub(super) fn describe(view: View<'_>, params: &Params) -> Answer {
    let size = max_records(params, 50, 100)?;
    let filters: Vec<(&str, Vec<&str>)> = params
        .list("Filters")
        .into_iter()
        .map(|node| Ok((required(node, "Name")?, node.texts("Values"))))
        .collect::<Result<_, AwsError>>()?;
    let passes = |group: &Group, key: &str, tag: &GroupTag| {
        filters.iter().all(|(name, values)| match *name {
            "auto-scaling-group" => values.contains(&&*group.name),
            "key" => values.contains(&key),
            "value" => values.contains(&tag.value.as_str()),
            "propagate-at-launch" => values.contains(&flag(tag.propagate)),
            _ => false,
        })
    };
    let tags: Vec<(String, &Group, &String, &GroupTag)> = view
        .estate
        .groups
        .values()
        .flat_map(|group| group.tags.iter().map(move |(key, tag)| (group, key, tag)))
        .filter(|(group, key, tag)| passes(group, key, tag))
        // A character no group name holds keeps the order of the pairs.
        .map(|(group, key, tag)| (format!("{}\0{key}", group.name), group, key, tag))
        .collect();
    let (page, next) = page::cut(&tags, |entry| &entry.0, params.text("NextToken"), size)?;
    let mut xml = Xml::new();
    xml.list("Tags", "member", page, |xml, (_, group, key, tag)| {
        tag_xml(&group.name, key, tag, xml);
    });
    xml.optional("NextToken", next.as_deref());
    Ok(xml)
}

/// The tags of a list of a request; each must belong to `owner` if one is given.
pub(super) fn tags(
    params: &Params,
    list: &str,
    owner: Option<&str>,
) -> Result<BTreeMap<String, GroupTag>, AwsError> {
    let mut tags = BTreeMap::new();
    for node in params.list(list) {
        let resource = node.text("ResourceId");
        if let (Some(owner), Some(resource)) = (owner, resource)
            && owner != resource
        {
            return Err(AwsError::validation(
                "The ResourceId of a tag must be the name of the group",
            ));
        }
        let (key, tag) = tag(node)?;
        tags.insert(key, tag);
    }
    check_count(&tags)?;
    Ok(tags)
}

fn by_group(params: &Params) -> Result<BTreeMap<&str, BTreeMap<String, GroupTag>>, AwsError> {
    let mut by_group: BTreeMap<&str, BTreeMap<String, GroupTag>> = BTreeMap::new();
    for node in params.list("Tags") {
        let (key, tag) = tag(node)?;
        by_group
            .entry(required(node, "ResourceId")?)
            .or_default()
            .insert(key, tag);
    }
    Ok(by_group)
}

fn tag(node: &Params) -> Result<(String, GroupTag), AwsError> {
    let key = required(node, "Key")?;
    let value = node.text("Value").unwrap_or_default();
    if key.to_ascii_lowercase().starts_with("aws:") {
        return Err(AwsError::validation(
            "Tag keys starting with 'aws:' are reserved",
        ));
    }
    if key.chars().count() > 128 || value.chars().count() > 256 {
        return Err(AwsError::validation(format!(
            "A tag key has at most 128 characters, a value at most 256: {key}"
        )));
    }
    let propagate = node.flag("PropagateAtLaunch")?.unwrap_or(false);
    Ok((
        key.to_owned(),
        GroupTag {
            value: value.to_owned(),
            propagate,
        },
    ))
}

fn check_count(tags: &BTreeMap<String, GroupTag>) -> Result<(), AwsError> {
    if tags.len() <= MOST_TAGS {
        return Ok(());
    }
    Err(AwsError::validation(format!(
        "The number of tags must not exceed {MOST_TAGS}"
    )))
}

fn flag(on: bool) -> &'static str {
    if on { "true" } else { "false" }
}

/// A tag as answers show it.
pub(super) fn tag_xml(group: &str, key: &str, tag: &GroupTag, xml: &mut Xml) {
    xml.text("ResourceId", group);
    xml.raw("<ResourceType>auto-scaling-group</ResourceType>");
    xml.text("Key", key);
    xml.text("Value", &tag.value);
    xml.plain("PropagateAtLaunch", tag.propagate);
}
