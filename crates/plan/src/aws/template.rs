//! Which launch template a pool uses, and how its data is compared (AWS document 4.3).

use serde_json::{Map, Value};

use super::{
    action::Action,
    desired::{Desired, TemplateData},
    names,
    observed::Template,
    steps::Steps,
};
use crate::pool::{
    action::{ChangeKind, Effect, FieldChange},
    payload::sha256_hex,
    record::RollKey,
    steps::{Call, field},
};

/// Digest of template data, for the record.
pub fn data_hash(data: &TemplateData) -> String {
    let json = serde_json::to_vec(data).expect("template data serializes");
    sha256_hex(&json)
}

/// Stable logical name of a template.
pub fn object(name: &str) -> String {
    format!("launch_template/{name}")
}

/// Fields in which two data differ; user data is told by its digest.
pub fn differences(old: Option<&TemplateData>, new: &TemplateData) -> Vec<FieldChange> {
    let old = old.map(shown).unwrap_or_default();
    shown(new)
        .into_iter()
        .filter_map(|(name, new)| {
            let old = old.get(&name).cloned().unwrap_or(Value::Null);
            (old != new).then(|| field(&name, old, new))
        })
        .collect()
}

fn shown(data: &TemplateData) -> Map<String, Value> {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(data) else {
        return Map::new();
    };
    let digest: String = sha256_hex(data.user_data.as_bytes())
        .chars()
        .take(12)
        .collect();
    fields.insert(
        "user_data".to_owned(),
        Value::String(format!("sha256:{digest} ({} bytes)", data.user_data.len())),
    );
    fields
}

/// Why a template gets a new version, in one line: the names of what differs.
fn reason(changes: &[FieldChange], foreign: &[String]) -> String {
    let mut names: Vec<&str> = changes.iter().map(|change| change.field.as_str()).collect();
    names.extend(foreign.iter().map(String::as_str));
    format!("launch template data differs: {}", names.join(", "))
}

/// Brings an existing template to the desired data: a complete new version where the latest
/// differs, and a default that is the latest. `known_hash` is the digest last applied to it, for a
/// template whose data was not read.
pub fn bring_up_to_date(
    steps: &mut Steps<'_>,
    desired: &Desired,
    data: &TemplateData,
    template: &Template,
    known_hash: Option<&str>,
) {
    let differs = match &template.data {
        Some(found) => found != data || !template.foreign_fields.is_empty(),
        None => known_hash != Some(data_hash(data).as_str()),
    };
    let set_default = |version| Action::SetDefaultVersion {
        name: template.name.clone(),
        version,
    };
    if differs {
        let mut changes = differences(template.data.as_ref(), data);
        if template.data.is_none() {
            changes.clear();
        }
        steps.call(
            Call::new(
                Action::CreateTemplateVersion {
                    name: template.name.clone(),
                    description: desired.template_description.clone(),
                    data: data.clone(),
                },
                ChangeKind::Update,
                object(&template.name),
                reason(&changes, &template.foreign_fields),
            )
            .effect(Effect::NewMachinesOnly)
            .changes(changes),
        );
        steps.call(Call::new(
            set_default(template.latest_version + 1),
            ChangeKind::Bookkeeping,
            object(&template.name),
            "the default version is always the latest",
        ));
    } else if template.default_version != template.latest_version {
        steps.call(
            Call::new(
                set_default(template.latest_version),
                ChangeKind::Update,
                object(&template.name),
                "the default version is always the latest",
            )
            .changes(vec![field(
                "default_version",
                template.default_version,
                template.latest_version,
            )]),
        );
    }
}

/// Makes a template; `replaced` is the one it takes over from.
pub fn create(
    steps: &mut Steps<'_>,
    desired: &Desired,
    data: &TemplateData,
    name: &str,
    replaced: Option<&Template>,
    because: &str,
) {
    steps.call(
        Call::new(
            Action::CreateTemplate {
                name: name.to_owned(),
                description: desired.template_description.clone(),
                data: data.clone(),
                tags: desired.template_tags.clone(),
            },
            replaced.map_or(ChangeKind::Create, |_| ChangeKind::Replace),
            object(name),
            because,
        )
        .effect(Effect::NewMachinesOnly)
        .changes(differences(
            replaced.and_then(|replaced| replaced.data.as_ref()),
            data,
        )),
    );
}

/// An unused template of ours for `key`: made before a crash, and used now instead of another.
pub fn unused<'a>(
    ours: &[&'a Template],
    group_name: &str,
    key: &RollKey,
    used: Option<&str>,
) -> Option<&'a Template> {
    ours.iter()
        .copied()
        .filter(|template| Some(template.name.as_str()) != used)
        .filter(|template| names::is_template_for(&template.name, group_name, key))
        .max_by(|a, b| a.name.cmp(&b.name))
}
