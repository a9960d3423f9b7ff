//! Calls that read launch templates.

use super::{
    Answer,
    filter::{Filter, matches},
    max_results,
    tags::tag_set,
    template::{LaunchTemplate, TemplateVersion, no_id, no_name},
    template_data,
};
use crate::{
    aws::{
        protocol::{AwsError, Params, Xml, page},
        state::View,
    },
    clock::iso,
};

/// Templates and versions on a page when the caller does not say.
const PAGE: usize = 200;

pub(super) fn describe(view: View<'_>, params: &Params) -> Answer {
    let compute = &view.estate.compute;
    let filters = Filter::all(params, &["launch-template-name", "create-time", "tag-key"])?;
    let ids = params.texts("LaunchTemplateId");
    let names = params.texts("LaunchTemplateName");
    if let Some(missing) = ids.iter().find(|id| compute.template(id).is_none()) {
        return Err(no_id(missing));
    }
    if names
        .iter()
        .any(|name| !compute.template_ids.contains_key(*name))
    {
        return Err(no_name());
    }
    let size = max_results(params, 1, 200)?.unwrap_or(PAGE);
    let wanted = compute
        .template_ids
        .values()
        .filter_map(|id| compute.template(id))
        .filter(|template| {
            (ids.is_empty() || ids.contains(&&*template.id))
                && (names.is_empty() || names.contains(&&*template.name))
                && filters.iter().all(|filter| passes(filter, template))
        });
    let (page, next) = page::cut(wanted, |t| &t.name, params.text("NextToken"), size)?;
    let mut xml = Xml::new();
    xml.list("launchTemplates", "item", page, |xml, template| {
        template_xml(template, xml);
    });
    xml.optional("nextToken", next.as_deref());
    Ok(xml)
}

pub(super) fn describe_versions(view: View<'_>, params: &Params) -> Answer {
    let compute = &view.estate.compute;
    let wanted = params.texts("LaunchTemplateVersion");
    let named = params
        .text("LaunchTemplateId")
        .or(params.text("LaunchTemplateName"));
    let size = max_results(params, 1, 200)?.unwrap_or(PAGE);
    if named.is_none() {
        return all_templates_versions(view, params, &wanted, size);
    }
    let id = compute.named_template(params)?;
    let template = compute.template(&id).expect("it was found by name");
    let least = params.int("MinVersion")?.unwrap_or(0);
    let most = params.int("MaxVersion")?.unwrap_or(i64::MAX);
    let mut versions: Vec<(&LaunchTemplate, &TemplateVersion, String)> = Vec::new();
    if wanted.is_empty() {
        let within = |number: u64| (least..=most).contains(&i64::try_from(number).unwrap_or(0));
        versions.extend(
            template
                .versions
                .values()
                .rev()
                .filter(|version| within(version.number))
                .map(|version| (template, &**version, page_key(version))),
        );
    } else {
        for name in wanted {
            let version = template.version(name).ok_or_else(|| {
                AwsError::new(
                    "InvalidLaunchTemplateId.VersionNotFound",
                    format!("Could not find launch template version {name}"),
                )
            })?;
            if !versions
                .iter()
                .any(|(_, known, _)| known.number == version.number)
            {
                versions.push((template, version, page_key(version)));
            }
        }
        versions.sort_by(|a, b| a.2.cmp(&b.2));
    }
    versions_answer(&versions, params, size)
}

/// Newest first: AWS's order.
fn page_key(version: &TemplateVersion) -> String {
    format!("{:020}", u64::MAX - version.number)
}

/// Without a template, only `$Latest` and `$Default` of all templates can be asked for.
fn all_templates_versions(view: View<'_>, params: &Params, wanted: &[&str], size: usize) -> Answer {
    if wanted.is_empty() || wanted.iter().any(|w| !["$Latest", "$Default"].contains(w)) {
        return Err(AwsError::new(
            "MissingParameter",
            "Either a launch template ID or a launch template name must be specified in the \
             request.",
        ));
    }
    let compute = &view.estate.compute;
    let mut versions: Vec<(&LaunchTemplate, &TemplateVersion, String)> = Vec::new();
    for template in compute
        .template_ids
        .values()
        .filter_map(|id| compute.template(id))
    {
        let mut numbers: Vec<u64> = wanted
            .iter()
            .filter_map(|w| template.version(w))
            .map(|v| v.number)
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        for number in numbers {
            let version = &*template.versions[&number];
            versions.push((template, version, format!("{}/{number:020}", template.name)));
        }
    }
    versions_answer(&versions, params, size)
}

fn versions_answer(
    versions: &[(&LaunchTemplate, &TemplateVersion, String)],
    params: &Params,
    size: usize,
) -> Answer {
    let (page, next) = page::cut(versions, |(_, _, key)| key, params.text("NextToken"), size)?;
    let mut xml = Xml::new();
    xml.list(
        "launchTemplateVersionSet",
        "item",
        page,
        |xml, (template, version, _)| {
            version_xml(template, version, xml);
        },
    );
    xml.optional("nextToken", next.as_deref());
    Ok(xml)
}

fn passes(filter: &Filter<'_>, template: &LaunchTemplate) -> bool {
    match filter.name {
        "launch-template-name" => filter.accepts(&template.name),
        "create-time" => filter.accepts(&iso(template.created)),
        "tag-key" => template.tags.keys().any(|key| filter.accepts(key)),
        _ => filter.tag_key().is_some_and(|key| {
            template
                .tags
                .iter()
                .any(|(have, value)| matches(key, have) && filter.accepts(value))
        }),
    }
}

pub(super) fn template_xml(template: &LaunchTemplate, xml: &mut Xml) {
    xml.text("launchTemplateId", &template.id);
    xml.text("launchTemplateName", &template.name);
    xml.text("createTime", &iso(template.created));
    xml.text("createdBy", &template.created_by);
    xml.plain("defaultVersionNumber", template.default_version);
    xml.plain("latestVersionNumber", template.latest_version);
    if !template.tags.is_empty() {
        tag_set(&template.tags, xml);
    }
}

pub(super) fn version_xml(template: &LaunchTemplate, version: &TemplateVersion, xml: &mut Xml) {
    xml.text("launchTemplateId", &template.id);
    xml.text("launchTemplateName", &template.name);
    xml.plain("versionNumber", version.number);
    xml.optional("versionDescription", version.description.as_deref());
    xml.text("createTime", &iso(version.created));
    xml.text("createdBy", &version.created_by);
    xml.plain("defaultVersion", version.number == template.default_version);
    xml.within("launchTemplateData", |xml| {
        template_data::render(&version.data.params(), xml);
    });
}
