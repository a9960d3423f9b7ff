//! Calls that change launch templates.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Answer,
    template::{LaunchTemplate, TemplateVersion},
    template_data::{LaunchData, tags_for},
    template_reads::{template_xml, version_xml},
};
use crate::aws::{
    protocol::{AwsError, Packed, Params, Xml},
    state::{Name, Site},
};

/// EC2's limit of versions a template.
const MOST_VERSIONS: usize = 10_000;
/// EC2's limit of versions one delete call takes.
const MOST_DELETED: usize = 200;

pub(super) fn create(site: &mut Site<'_>, params: &Params) -> Answer {
    let name = params.required("LaunchTemplateName")?;
    check_name(name)?;
    let description = description(params)?;
    let digest = params_digest(params);
    if let Some((id, _)) = remembered(site, params, &digest)? {
        let template = site
            .estate
            .compute
            .template(&id)
            .ok_or_else(super::template::no_name)?;
        return Ok(created_answer(template));
    }
    if site.estate.compute.template_ids.contains_key(name) {
        return Err(AwsError::new(
            "InvalidLaunchTemplateName.AlreadyExistsException",
            "Launch template name already in use.",
        ));
    }
    let nothing = Params::default();
    let data = params.at("LaunchTemplateData").unwrap_or(&nothing);
    let launch = LaunchData::read(data)?;
    let tags = tags_for(params, "launch-template")?;
    let id = site.fabric.new_id("lt");
    let now = site.fabric.now;
    let created_by = format!("arn:aws:iam::{}:root", site.estate.compute.account);
    let version = Arc::new(TemplateVersion {
        number: 1,
        description,
        created: now,
        created_by: created_by.clone(),
        data: Packed::of(data),
        launch,
    });
    let template = LaunchTemplate {
        id: id.clone(),
        name: name.into(),
        created: now,
        created_by,
        default_version: 1,
        latest_version: 1,
        versions: BTreeMap::from([(1, version)]),
        tags,
    };
    let answer = created_answer(&template);
    let compute = &mut site.estate.compute;
    compute
        .template_ids
        .insert(template.name.clone(), id.clone());
    compute.templates.insert(id.clone(), template);
    remember(site, params, digest, id, 1);
    Ok(answer)
}

pub(super) fn create_version(site: &mut Site<'_>, params: &Params) -> Answer {
    let id = site.estate.compute.named_template(params)?;
    let description = description(params)?;
    let digest = params_digest(params);
    if let Some((id, number)) = remembered(site, params, &digest)?
        && let Some(template) = site.estate.compute.template(&id)
        && let Some(version) = template.versions.get(&number)
    {
        return Ok(created_version_answer(template, version));
    }
    let data = params.at("LaunchTemplateData").cloned().unwrap_or_default();
    let now = site.fabric.now;
    let created_by = format!("arn:aws:iam::{}:root", site.estate.compute.account);
    let template = site
        .estate
        .compute
        .templates
        .get_mut(&id)
        .expect("it was found by name");
    if template.versions.len() >= MOST_VERSIONS {
        return Err(AwsError::new(
            "VersionLimitExceeded",
            format!("You have reached the maximum number of versions ({MOST_VERSIONS})"),
        ));
    }
    let data = match params.text("SourceVersion") {
        None | Some("") => data,
        Some(source) => {
            let source = template.version(source).ok_or_else(|| no_version(source))?;
            inherit(&source.data, data)
        }
    };
    let launch = LaunchData::read(&data)?;
    let number = template.latest_version + 1;
    let version = Arc::new(TemplateVersion {
        number,
        description,
        created: now,
        created_by,
        data: Packed::of(&data),
        launch,
    });
    template.versions.insert(number, version.clone());
    template.latest_version = number;
    let answer = created_version_answer(template, &version);
    remember(site, params, digest, id, number);
    Ok(answer)
}

pub(super) fn modify(site: &mut Site<'_>, params: &Params) -> Answer {
    let id = site.estate.compute.named_template(params)?;
    let template = site
        .estate
        .compute
        .templates
        .get_mut(&id)
        .expect("it was found by name");
    if let Some(wanted) = params.text("SetDefaultVersion") {
        template.default_version = template
            .version(wanted)
            .ok_or_else(|| no_version(wanted))?
            .number;
    }
    let mut xml = Xml::new();
    xml.within("launchTemplate", |xml| template_xml(template, xml));
    Ok(xml)
}

pub(super) fn delete(site: &mut Site<'_>, params: &Params) -> Answer {
    let compute = &mut site.estate.compute;
    let id = compute.named_template(params)?;
    let template = compute.templates.remove(&id).expect("it was found by name");
    compute.template_ids.remove(&template.name);
    compute.client_tokens.retain(|_, (_, made, _)| *made != id);
    let mut xml = Xml::new();
    xml.within("launchTemplate", |xml| template_xml(&template, xml));
    Ok(xml)
}

pub(super) fn delete_versions(site: &mut Site<'_>, params: &Params) -> Answer {
    let wanted = params.texts("LaunchTemplateVersion");
    if wanted.is_empty() {
        return Err(AwsError::missing("LaunchTemplateVersion"));
    }
    if wanted.len() > MOST_DELETED {
        return Err(AwsError::invalid_value(format!(
            "You can delete at most {MOST_DELETED} launch template versions in one call"
        )));
    }
    let id = site.estate.compute.named_template(params)?;
    let template = site
        .estate
        .compute
        .templates
        .get_mut(&id)
        .expect("it was found by name");
    let mut deleted = Vec::new();
    let mut kept = Vec::new();
    for version in wanted {
        match version.parse::<u64>() {
            Ok(number) if number == template.default_version => kept.push((
                number,
                "launchTemplateVersionCannotBeDeleted",
                "The default version cannot be deleted",
            )),
            Ok(number) if template.versions.remove(&number).is_some() => deleted.push(number),
            other => kept.push((
                other.unwrap_or_default(),
                "launchTemplateVersionDoesNotExist",
                "The version does not exist",
            )),
        }
    }
    template.latest_version = template
        .versions
        .keys()
        .next_back()
        .copied()
        .unwrap_or(template.default_version);
    let mut xml = Xml::new();
    xml.list(
        "successfullyDeletedLaunchTemplateVersionSet",
        "item",
        deleted,
        |xml, number| {
            xml.text("launchTemplateId", &template.id);
            xml.text("launchTemplateName", &template.name);
            xml.plain("versionNumber", number);
        },
    );
    xml.list(
        "unsuccessfullyDeletedLaunchTemplateVersionSet",
        "item",
        kept,
        |xml, entry| {
            let (number, code, message) = entry;
            xml.text("launchTemplateId", &template.id);
            xml.text("launchTemplateName", &template.name);
            xml.plain("versionNumber", number);
            xml.within("responseError", |xml| {
                xml.text("code", code);
                xml.text("message", message);
            });
        },
    );
    Ok(xml)
}

fn check_name(name: &str) -> Result<(), AwsError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "().-/_".contains(c);
    if (3..=128).contains(&name.len()) && name.chars().all(allowed) {
        return Ok(());
    }
    Err(AwsError::new(
        "InvalidLaunchTemplateName.MalformedException",
        "A launch template name must be between 3 and 128 characters, and may contain letters, \
         numbers, and the following characters: - ( ) . / _",
    ))
}

fn description(params: &Params) -> Result<Option<String>, AwsError> {
    match params.text("VersionDescription") {
        Some(text) if text.chars().count() > 255 => Err(AwsError::invalid_value(
            "VersionDescription must not be longer than 255 characters",
        )),
        other => Ok(other.map(str::to_owned)),
    }
}

fn no_version(version: &str) -> AwsError {
    AwsError::new(
        "InvalidLaunchTemplateId.VersionNotFound",
        format!("Could not find the specified version {version} of the launch template."),
    )
}

/// The new data, and fields of the source version that it does not set.
fn inherit(source: &Packed, mut data: Params) -> Params {
    let set: Vec<String> = data.children().map(|(name, _)| name.to_owned()).collect();
    for (name, value) in source.leaves() {
        let top = name.split('.').next().unwrap_or(name);
        if !set.iter().any(|own| own == top) {
            data.put(name, value.to_owned());
        }
    }
    data
}

/// What a repeat of a client token must repeat too.
fn params_digest(params: &Params) -> String {
    let leaves: Vec<String> = params
        .leaves()
        .into_iter()
        .filter(|(name, _)| name != "ClientToken")
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    crate::aws::protocol::sigv4::hex_digest(leaves.join("&").as_bytes())
}

/// What an earlier call with the same client token made.
fn remembered(
    site: &Site<'_>,
    params: &Params,
    digest: &str,
) -> Result<Option<(Name, u64)>, AwsError> {
    let Some(token) = params.text("ClientToken") else {
        return Ok(None);
    };
    match site.estate.compute.client_tokens.get(token) {
        None => Ok(None),
        Some((known, id, number)) if known == digest => Ok(Some((id.clone(), *number))),
        Some(_) => Err(AwsError::new(
            "IdempotentParameterMismatch",
            format!(
                "Arguments on this idempotent request are inconsistent with arguments used in \
                 previous request(s) with the client token {token}."
            ),
        )),
    }
}

fn remember(site: &mut Site<'_>, params: &Params, digest: String, id: Name, number: u64) {
    if let Some(token) = params.text("ClientToken") {
        site.estate
            .compute
            .client_tokens
            .insert(token.to_owned(), (digest, id, number));
    }
}

fn created_answer(template: &LaunchTemplate) -> Xml {
    let mut xml = Xml::new();
    xml.within("launchTemplate", |xml| template_xml(template, xml));
    xml
}

fn created_version_answer(template: &LaunchTemplate, version: &TemplateVersion) -> Xml {
    let mut xml = Xml::new();
    xml.within("launchTemplateVersion", |xml| {
        version_xml(template, version, xml);
    });
    xml
}
