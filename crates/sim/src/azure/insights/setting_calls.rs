//! The calls on autoscale settings. All of them are synchronous.

use serde_json::Value;

use super::{Setting, setting::Plan};
use crate::azure::{
    compute::check_tags,
    protocol::{
        Answer, ArmError,
        id::{self, key},
        merge::merge,
    },
    service::ArmRequest,
    state::{Name, Site, View, events::Event, region::region_key},
};

/// `PUT` of a setting.
pub(crate) fn put_setting(site: &mut Site<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let mut document = request.object()?.clone();
    let known = find(site.subscription.group(request.group())?, request.name()).is_some();
    let location = document["location"].as_str().unwrap_or_default();
    if !site.fabric.regions.contains_key(&*region_key(location)) {
        let message = "The location property is required for this definition.";
        return Err(ArmError::new(400, "LocationRequired", message));
    }
    strip(&mut document);
    store(site, request, document)?;
    let status = if known { 200 } else { 201 };
    shown(site, request, status)
}

/// `PATCH` of a setting.
pub(crate) fn patch_setting(site: &mut Site<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let group = site.subscription.group(request.group())?;
    let known = find(group, request.name()).ok_or_else(|| missing(request))?;
    let mut document = known.document.clone();
    let mut patch = request.object()?.clone();
    strip(&mut patch);
    if let Some(tags) = patch.as_object_mut().and_then(|patch| patch.remove("tags")) {
        document["tags"] = tags;
    }
    merge(&mut document, &patch);
    store(site, request, document)?;
    shown(site, request, 200)
}

/// `GET` of a setting.
pub(crate) fn get_setting(view: View<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let group = view.subscription.group(request.group())?;
    let setting = find(group, request.name()).ok_or_else(|| missing(request))?;
    Ok(Answer::ok(setting.render(&view.subscription.id)))
}

/// `DELETE` of a setting.
pub(crate) fn delete_setting(
    site: &mut Site<'_>,
    request: &ArmRequest,
) -> Result<Answer, ArmError> {
    let group = site.subscription.group_mut(request.group())?;
    let removed = group.settings.remove(&*key(request.name()));
    Ok(Answer::status(if removed.is_some() { 200 } else { 204 }))
}

/// `GET` of the settings of a group.
pub(crate) fn list_settings_of_group(
    view: View<'_>,
    request: &ArmRequest,
) -> Result<Answer, ArmError> {
    let group = view.subscription.group(request.group())?;
    let settings: Vec<&Setting> = group.settings.values().collect();
    Ok(Answer::ok(page_of(view, request, settings)))
}

/// `GET` of the settings of a subscription.
#[allow(clippy::unnecessary_wraps, reason = "all handlers have one shape")]
pub(crate) fn list_settings(view: View<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let groups = view.subscription.groups.values();
    let settings: Vec<&Setting> = groups.flat_map(|group| group.settings.values()).collect();
    Ok(Answer::ok(page_of(view, request, settings)))
}

fn page_of(view: View<'_>, request: &ArmRequest, settings: Vec<&Setting>) -> Value {
    let page = request.page(view);
    page.of(settings, |setting| setting.render(&view.subscription.id))
}

fn find<'a>(group: &'a crate::azure::state::Group, name: &str) -> Option<&'a Setting> {
    group.settings.get(&*key(name))
}

fn missing(request: &ArmRequest) -> ArmError {
    ArmError::not_found(id::SETTINGS, request.name(), request.group())
}

fn strip(document: &mut Value) {
    if let Some(top) = document.as_object_mut() {
        for own in ["id", "name", "type", "systemData"] {
            top.remove(own);
        }
    }
}

/// Puts a setting in its place, if it is a sound one.
fn store(site: &mut Site<'_>, request: &ArmRequest, document: Value) -> Result<(), ArmError> {
    check_tags(&document["tags"])?;
    let plan = Plan::of(&document)?;
    let setting_key = key(request.name());
    let group = site.subscription.group(request.group())?;
    let (group_key, group_name): (Name, Name) = (key(request.group()).into(), group.name.clone());
    let taken = site.subscription.groups.iter().any(|(in_group, group)| {
        group.settings.iter().any(|(other, setting)| {
            let another = *in_group != group_key || **other != *setting_key;
            another && setting.plan.target.eq_ignore_ascii_case(&plan.target)
        })
    });
    if taken {
        let message = format!(
            "The resource '{}' already has an autoscale setting. A resource has one at most.",
            plan.target
        );
        return Err(ArmError::new(409, "Conflict", message));
    }
    let serial = site.fabric.new_serial();
    let group = site.subscription.group_mut(request.group())?;
    let known = group.settings.get(&*setting_key);
    let setting = Setting {
        name: known.map_or_else(|| request.name().into(), |known| known.name.clone()),
        group: group_name,
        serial,
        document,
        plan,
        acted: known.and_then(|known| known.acted),
        activities: known.map_or_else(Vec::new, |known| known.activities.clone()),
    };
    group.settings.insert(setting_key.as_str().into(), setting);
    let look = Event::Autoscale {
        place: site.subscription.place,
        group: group_key,
        setting: setting_key.into(),
        serial,
    };
    let pause = site.fabric.timing.autoscale;
    site.fabric.after(pause, look);
    Ok(())
}

fn shown(site: &Site<'_>, request: &ArmRequest, status: u16) -> Result<Answer, ArmError> {
    let group = site.subscription.group(request.group())?;
    let setting = find(group, request.name()).ok_or_else(|| missing(request))?;
    let body = setting.render(&site.subscription.id);
    Ok(Answer::with(status, Some(body)))
}
