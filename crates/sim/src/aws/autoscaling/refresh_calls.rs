//! Calls on instance refreshes.

use super::{
    Answer, max_records, named, named_to_change,
    refresh::{Preferences, Protected, Refresh, RefreshStatus},
};
use crate::{
    aws::{
        protocol::{AwsError, Params, Xml, page},
        state::{Site, View},
    },
    clock::{iso, later},
};

/// Refreshes kept a group. Ours: AWS keeps six weeks.
const KEPT: usize = 100;

pub(super) fn start(site: &mut Site<'_>, params: &Params) -> Answer {
    let name = named_to_change(site, params)?;
    if let Some(strategy) = params
        .text("Strategy")
        .filter(|s| !s.is_empty() && *s != "Rolling")
    {
        return Err(AwsError::validation(format!(
            "{strategy} is not a strategy simulated here"
        )));
    }
    if params.at("DesiredConfiguration").is_some() {
        return Err(AwsError::validation(
            "A desired configuration is not simulated: update the group first",
        ));
    }
    let estate = site.estate.compute.id;
    let group = site
        .estate
        .groups
        .get_mut(&name)
        .expect("it was found by name");
    let preferences = preferences(params, group.default_warmup_seconds, group.grace_seconds)?;
    if group.active_refresh().is_some() {
        return Err(AwsError::new(
            "InstanceRefreshInProgress",
            "An Instance Refresh is already in progress and blocks the execution of this Instance \
             Refresh.",
        ));
    }
    let id = site.fabric.new_uuid();
    let pending = site.fabric.timing.refresh_pending;
    let now = site.fabric.now;
    if group.refreshes.len() == KEPT {
        group.refreshes.pop_front();
    }
    group.refreshes.push_back(Refresh::new(
        id.clone(),
        preferences,
        now,
        later(now, pending),
    ));
    group.poke(site.fabric, estate, pending);
    let mut xml = Xml::new();
    xml.text("InstanceRefreshId", &id);
    Ok(xml)
}

pub(super) fn cancel(site: &mut Site<'_>, params: &Params) -> Answer {
    let name = named_to_change(site, params)?;
    let estate = site.estate.compute.id;
    let (now, span) = (site.fabric.now, site.fabric.timing.refresh_cancelling);
    let group = site
        .estate
        .groups
        .get_mut(&name)
        .expect("it was found by name");
    let Some(refresh) = group.active_refresh_mut() else {
        return Err(AwsError::new(
            "ActiveInstanceRefreshNotFound",
            "No in progress or pending Instance Refresh found for the group.",
        ));
    };
    let id = refresh.id.clone();
    if refresh.status != RefreshStatus::Cancelling {
        refresh.status = RefreshStatus::Cancelling;
        refresh.turns_at = later(now, span);
    }
    group.poke(site.fabric, estate, span);
    let mut xml = Xml::new();
    xml.text("InstanceRefreshId", &id);
    Ok(xml)
}

pub(super) fn describe(view: View<'_>, params: &Params) -> Answer {
    let size = max_records(params, 50, 100)?;
    let group = named(view.estate, params)?;
    let ids = params.texts("InstanceRefreshIds");
    // Newest first; the position counted from the end keeps that order as a key.
    let refreshes: Vec<(String, &Refresh)> = group
        .refreshes
        .iter()
        .rev()
        .enumerate()
        .filter(|(_, refresh)| ids.is_empty() || ids.contains(&refresh.id.as_str()))
        .map(|(position, refresh)| (format!("{position:06}"), refresh))
        .collect();
    let (page, next) = page::cut(&refreshes, |entry| &entry.0, params.text("NextToken"), size)?;
    let mut xml = Xml::new();
    xml.list("InstanceRefreshes", "member", page, |xml, (_, refresh)| {
        refresh_xml(&group.name, refresh, xml);
    });
    xml.optional("NextToken", next.as_deref());
    Ok(xml)
}

fn preferences(
    params: &Params,
    default_warmup: Option<i64>,
    grace: i64,
) -> Result<Preferences, AwsError> {
    let percent = |name: &str, default: i64, least: i64, most: i64| {
        let value = params
            .int(&format!("Preferences.{name}"))?
            .unwrap_or(default);
        u32::try_from(value)
            .ok()
            .filter(|_| (least..=most).contains(&value))
            .ok_or_else(|| {
                AwsError::validation(format!("{name} must be between {least} and {most}"))
            })
    };
    let min_healthy_percent = percent("MinHealthyPercentage", 90, 0, 100)?;
    let max_healthy_percent = percent("MaxHealthyPercentage", 100, 100, 200)?;
    if max_healthy_percent - min_healthy_percent > 100 {
        return Err(AwsError::validation(
            "The difference between MaxHealthyPercentage and MinHealthyPercentage cannot be \
             greater than 100",
        ));
    }
    if params.flag("Preferences.AutoRollback")?.unwrap_or(false) {
        return Err(AwsError::validation(
            "AutoRollback needs a desired configuration with a launch template version other than \
             $Latest or $Default",
        ));
    }
    let protected = match params.text("Preferences.ScaleInProtectedInstances") {
        Some("Refresh") => Protected::Refresh,
        Some("Ignore") => Protected::Ignore,
        None | Some("" | "Wait") => Protected::Wait,
        Some(other) => {
            return Err(AwsError::validation(format!(
                "{other} is not valid for ScaleInProtectedInstances"
            )));
        }
    };
    let warmup = params
        .int("Preferences.InstanceWarmup")?
        .or(default_warmup)
        .unwrap_or(grace);
    if warmup < 0 {
        return Err(AwsError::validation("InstanceWarmup must not be negative"));
    }
    Ok(Preferences {
        min_healthy_percent,
        max_healthy_percent,
        warmup_seconds: warmup,
        protected,
        standby: params
            .text("Preferences.StandbyInstances")
            .unwrap_or("Wait")
            .to_owned(),
        skip_matching: params.flag("Preferences.SkipMatching")?.unwrap_or(false),
    })
}

fn refresh_xml(group: &str, refresh: &Refresh, xml: &mut Xml) {
    xml.text("InstanceRefreshId", &refresh.id);
    xml.text("AutoScalingGroupName", group);
    xml.text("Status", refresh.status.name());
    xml.optional("StatusReason", refresh.reason.as_deref());
    xml.text("StartTime", &iso(refresh.started));
    xml.optional("EndTime", refresh.ended.map(iso).as_deref());
    xml.plain("PercentageComplete", refresh.percent());
    xml.plain("InstancesToUpdate", refresh.remaining);
    xml.within("Preferences", |xml| {
        let preferences = &refresh.preferences;
        xml.plain("MinHealthyPercentage", preferences.min_healthy_percent);
        xml.plain("MaxHealthyPercentage", preferences.max_healthy_percent);
        xml.plain("InstanceWarmup", preferences.warmup_seconds);
        xml.plain("SkipMatching", preferences.skip_matching);
        xml.plain("AutoRollback", false);
        xml.text("ScaleInProtectedInstances", preferences.protected.name());
        xml.text("StandbyInstances", &preferences.standby);
    });
    xml.text("Strategy", "Rolling");
}
