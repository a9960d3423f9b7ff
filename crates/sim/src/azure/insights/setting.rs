//! An autoscale setting: what it may say, and what it means.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::azure::{
    protocol::{ArmError, duration, id},
    state::Name,
};

const MOST_PROFILES: usize = 20;
const MOST_RULES: usize = 10;

/// An autoscale setting.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Setting {
    pub(crate) name: Name,
    pub(crate) group: Name,
    pub(crate) serial: u64,
    /// The resource as people wrote it.
    pub(crate) document: Value,
    pub(crate) plan: Plan,
    /// When it last changed the capacity.
    pub(crate) acted: Option<Timestamp>,
    /// What it did and could not do, oldest first.
    pub(crate) activities: Vec<Activity>,
}

/// An entry of the activity log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// When.
    pub at: Timestamp,
    /// Capacity before.
    pub from: u32,
    /// Capacity that was wanted.
    pub to: u32,
    /// Why it could not be had.
    pub failure: Option<String>,
}

/// What a setting means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) enabled: bool,
    /// Id of the set.
    pub(crate) target: String,
    pub(crate) minimum: u32,
    pub(crate) maximum: u32,
    pub(crate) default: u32,
    pub(crate) rules: Vec<Rule>,
}

/// A rule on CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rule {
    pub(crate) window: Duration,
    pub(crate) above: bool,
    /// The threshold itself counts too.
    pub(crate) inclusive: bool,
    pub(crate) threshold: f64,
    pub(crate) increases: bool,
    pub(crate) action: Action,
    pub(crate) cooldown: Duration,
}

/// How far a rule scales.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Action {
    /// By so many instances.
    Change(u32),
    /// By so many percent.
    Percent(u32),
    /// To so many instances.
    Exact(u32),
}

impl Rule {
    /// Whether the average CPU is where the rule acts.
    pub(crate) fn is_true(&self, cpu: f64) -> bool {
        let apart = (cpu - self.threshold).abs() < f64::EPSILON;
        match (apart, self.above) {
            (true, _) => self.inclusive,
            (false, true) => cpu > self.threshold,
            (false, false) => cpu < self.threshold,
        }
    }

    /// The capacity it would make of `now`.
    pub(crate) fn goal(&self, now: u32) -> u32 {
        let by = match self.action {
            Action::Exact(count) => return count,
            Action::Change(count) => count,
            Action::Percent(percent) => (now * percent).div_ceil(100).max(1),
        };
        if self.increases {
            now.saturating_add(by)
        } else {
            now.saturating_sub(by)
        }
    }
}

impl Setting {
    /// The resource as ARM shows it.
    pub(crate) fn render(&self, subscription: &str) -> Value {
        let mut shown = self.document.clone();
        shown["id"] = id::resource(subscription, &self.group, id::SETTINGS, &self.name).into();
        shown["name"] = (*self.name).into();
        shown["type"] = "Microsoft.Insights/autoscaleSettings".into();
        shown["properties"]["name"] = (*self.name).into();
        if shown["properties"]["notifications"].is_null() {
            shown["properties"]["notifications"] = json!([]);
        }
        shown
    }
}

impl Plan {
    /// Reads a resource, or says what is wrong with it.
    pub(crate) fn of(document: &Value) -> Result<Self, ArmError> {
        let properties = &document["properties"];
        let profiles = properties["profiles"].as_array();
        let profiles = profiles
            .filter(|profiles| (1..=MOST_PROFILES).contains(&profiles.len()))
            .ok_or_else(|| bad("profiles", "There must be 1 to 20 profiles."))?;
        // Profiles with a date or a recurrence are checked and never apply here.
        for profile in profiles {
            Self::of_profile(properties, profile)?;
        }
        let always = profiles
            .iter()
            .find(|profile| profile["fixedDate"].is_null() && profile["recurrence"].is_null());
        Self::of_profile(properties, always.unwrap_or(&profiles[0]))
    }

    fn of_profile(properties: &Value, profile: &Value) -> Result<Self, ArmError> {
        if profile["name"].as_str().is_none_or(str::is_empty) {
            return Err(bad("profiles.name", "A profile has a name."));
        }
        let count = |which: &str| {
            let value = &profile["capacity"][which];
            let number = value.as_str().and_then(|text| text.parse::<u32>().ok());
            number.ok_or_else(|| {
                let why = format!("'{value}' is no text with a whole number.");
                bad(&format!("profiles.capacity.{which}"), &why)
            })
        };
        let (minimum, maximum) = (count("minimum")?, count("maximum")?);
        let default = count("default")?;
        if minimum > maximum || maximum > 1000 {
            let why = format!("The bounds {minimum} to {maximum} are none within 0 to 1000.");
            return Err(bad("profiles.capacity", &why));
        }
        if !(minimum..=maximum).contains(&default) {
            let why = format!("The default {default} is not within {minimum} to {maximum}.");
            return Err(bad("profiles.capacity.default", &why));
        }
        let rules = profile["rules"]
            .as_array()
            .filter(|rules| rules.len() <= MOST_RULES)
            .ok_or_else(|| {
                bad(
                    "profiles.rules",
                    "There must be a list of at most 10 rules.",
                )
            })?;
        Ok(Self {
            enabled: properties["enabled"].as_bool().unwrap_or(true),
            target: properties["targetResourceUri"]
                .as_str()
                .ok_or_else(|| bad("targetResourceUri", "It names the scale set."))?
                .to_owned(),
            minimum,
            maximum,
            default,
            rules: rules.iter().map(rule).collect::<Result<_, _>>()?,
        })
    }
}

fn rule(rule: &Value) -> Result<Rule, ArmError> {
    let (trigger, action) = (&rule["metricTrigger"], &rule["scaleAction"]);
    let text = |of: &Value, name: &str| {
        of[name]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| bad(&format!("rules.{name}"), "It is a text."))
    };
    let span = |of: &Value, name: &str| {
        let given = text(of, name)?;
        duration::read(&given).ok_or_else(|| {
            let why = format!("'{given}' is no duration like PT5M.");
            bad(&format!("rules.{name}"), &why)
        })
    };
    for name in [
        "metricName",
        "metricResourceUri",
        "statistic",
        "timeAggregation",
    ] {
        text(trigger, name)?;
    }
    span(trigger, "timeGrain")?;
    let (above, inclusive) = match text(trigger, "operator")?.as_str() {
        "GreaterThan" => (true, false),
        "GreaterThanOrEqual" => (true, true),
        "LessThan" => (false, false),
        "LessThanOrEqual" => (false, true),
        other => {
            let why = format!("'{other}' is no operator simulated here.");
            return Err(bad("rules.operator", &why));
        }
    };
    let increases = match text(action, "direction")?.as_str() {
        "Increase" => true,
        "Decrease" => false,
        other => {
            return Err(bad(
                "rules.direction",
                &format!("'{other}' is no direction."),
            ));
        }
    };
    let value = text(action, "value")?;
    let value: u32 = value
        .parse()
        .map_err(|_| bad("rules.value", "It is a text with a whole number."))?;
    let action_kind = match text(action, "type")?.as_str() {
        "ChangeCount" => Action::Change(value),
        "PercentChangeCount" => Action::Percent(value),
        "ExactCount" => Action::Exact(value),
        other => return Err(bad("rules.type", &format!("'{other}' is no type."))),
    };
    Ok(Rule {
        window: span(trigger, "timeWindow")?,
        above,
        inclusive,
        threshold: trigger["threshold"]
            .as_f64()
            .ok_or_else(|| bad("rules.threshold", "It is a number."))?,
        increases,
        action: action_kind,
        cooldown: span(action, "cooldown")?,
    })
}

fn bad(property: &str, why: &str) -> ArmError {
    let message = format!("The autoscale setting is invalid at '{property}': {why}");
    ArmError::new(400, "InvalidRequestContent", message).at(property)
}
