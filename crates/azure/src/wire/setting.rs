//! Autoscale settings (Azure document 4.4, 4.5).

use std::collections::BTreeMap;

use remuda_plan::azure::{
    desired::{CpuRules, Profile, SettingSpec},
    names,
    observed::Setting,
    place::Place,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::address;

const PROFILE: &str = "default";
const METRIC: &str = "Percentage CPU";
const METRIC_NAMESPACE: &str = "microsoft.compute/virtualmachinescalesets";

/// The two rules: in first, as the module's map orders them.
const SCALE_IN: Rule = Rule {
    operator: "LessThan",
    direction: "Decrease",
    cooldown: "PT10M",
};
const SCALE_OUT: Rule = Rule {
    operator: "GreaterThan",
    direction: "Increase",
    cooldown: "PT5M",
};

#[derive(Clone, Copy)]
struct Rule {
    operator: &'static str,
    direction: &'static str,
    cooldown: &'static str,
}

impl Rule {
    fn body(self, set_id: &str, threshold: i64) -> Value {
        json!({
            "metricTrigger": {
                "metricName": METRIC,
                "metricNamespace": METRIC_NAMESPACE,
                "metricResourceUri": set_id,
                "timeGrain": "PT1M",
                "statistic": "Average",
                "timeWindow": "PT10M",
                "timeAggregation": "Average",
                "operator": self.operator,
                "threshold": threshold,
                "dividePerInstance": false,
                "dimensions": [],
            },
            "scaleAction": {
                "direction": self.direction,
                "type": "ChangeCount",
                "value": "1",
                "cooldown": self.cooldown,
            },
        })
    }

    /// The threshold of a rule that is this one but for its threshold. What ARM leaves out of a
    /// rule counts as its default.
    fn threshold(self, rule: &Value, target: &str) -> Option<i64> {
        let threshold = whole(rule.pointer("/metricTrigger/threshold")?)?;
        let mut wanted = self.body(target, threshold);
        let mut found = rule.clone();
        for side in [&mut wanted, &mut found] {
            let trigger = side.pointer_mut("/metricTrigger")?.as_object_mut()?;
            trigger.remove("threshold");
            for key in ["metricNamespace", "metricResourceUri"] {
                if let Some(Value::String(text)) = trigger.get_mut(key) {
                    *text = text.to_lowercase();
                }
            }
            trigger.retain(|_, value| !is_default(value));
            trigger.remove("metricResourceLocation");
        }
        (wanted == found).then_some(threshold)
    }
}

/// Absent, `null`, `false`, empty: the same to ARM.
fn is_default(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// A whole number, however it is written: `75`, `75.0`, `"75"`.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(number) => number.as_i64().or_else(|| {
            let text = number.to_string();
            text.strip_suffix(".0")?.parse().ok()
        }),
        _ => None,
    }
}

/// The body of a setting's `PUT`.
pub(crate) fn put(spec: &SettingSpec, place: &Place) -> Value {
    let set_id = names::set_id(place, &spec.set_name);
    let rules = spec.profile.cpu.map_or_else(Vec::new, |cpu| {
        vec![
            SCALE_IN.body(&set_id, cpu.scale_in_percent),
            SCALE_OUT.body(&set_id, cpu.scale_out_percent),
        ]
    });
    json!({
        "location": place.region,
        "tags": spec.tags,
        "properties": {
            "enabled": true,
            "targetResourceUri": set_id,
            "notifications": [],
            "profiles": [{
                "name": PROFILE,
                "capacity": {
                    "minimum": spec.profile.minimum.to_string(),
                    "maximum": spec.profile.maximum.to_string(),
                    "default": spec.profile.default.to_string(),
                },
                "rules": rules,
            }],
        },
    })
}

/// A setting of a list.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RawSetting {
    #[serde(default)]
    id: String,
    name: Option<String>,
    #[serde(default)]
    location: String,
    tags: Option<BTreeMap<String, String>>,
    #[serde(default)]
    properties: Value,
}

/// The setting in the plan's shape.
pub(crate) fn read(raw: RawSetting) -> Setting {
    let name = raw
        .name
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| address::name_of(&raw.id).to_owned());
    let properties = &raw.properties;
    let target = properties
        .pointer("/targetResourceUri")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let mut foreign_fields = Vec::new();
    if properties.pointer("/enabled").and_then(Value::as_bool) != Some(true) {
        foreign_fields.push("enabled".to_owned());
    }
    if !is_default(properties.pointer("/notifications").unwrap_or(&Value::Null)) {
        foreign_fields.push("notifications".to_owned());
    }
    let predicts = properties
        .pointer("/predictiveAutoscalePolicy/scaleMode")
        .and_then(Value::as_str)
        .is_some_and(|mode| mode != "Disabled");
    if predicts {
        foreign_fields.push("predictiveAutoscalePolicy".to_owned());
    }
    Setting {
        profile: profile(properties, &target),
        location: raw.location,
        tags: raw.tags.unwrap_or_default(),
        name,
        target,
        foreign_fields,
    }
}

fn profile(properties: &Value, target: &str) -> Option<Profile> {
    let [profile] = properties.pointer("/profiles")?.as_array()?.as_slice() else {
        return None;
    };
    let is_always = is_default(profile.pointer("/fixedDate").unwrap_or(&Value::Null))
        && is_default(profile.pointer("/recurrence").unwrap_or(&Value::Null));
    if profile.pointer("/name")?.as_str()? != PROFILE || !is_always {
        return None;
    }
    let bound = |name: &str| whole(profile.pointer(&format!("/capacity/{name}"))?);
    let Rules::Cpu(cpu) = rules(profile.pointer("/rules"), target) else {
        return None;
    };
    Some(Profile {
        minimum: bound("minimum")?,
        maximum: bound("maximum")?,
        default: bound("default")?,
        cpu,
    })
}

/// What the rules of a profile are.
enum Rules {
    Cpu(Option<CpuRules>),
    NotOurs,
}

/// No rules, or the two in any order.
fn rules(rules: Option<&Value>, target: &str) -> Rules {
    let rules = match rules {
        None | Some(Value::Null) => &[],
        Some(Value::Array(rules)) => rules.as_slice(),
        Some(_) => return Rules::NotOurs,
    };
    let both = |scale_in: &Value, scale_out: &Value| {
        Some(CpuRules {
            scale_in_percent: SCALE_IN.threshold(scale_in, target)?,
            scale_out_percent: SCALE_OUT.threshold(scale_out, target)?,
        })
    };
    match rules {
        [] => Rules::Cpu(None),
        [one, other] => match both(one, other).or_else(|| both(other, one)) {
            Some(found) => Rules::Cpu(Some(found)),
            None => Rules::NotOurs,
        },
        _ => Rules::NotOurs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place {
            subscription_id: "6f1c1e1a-3b7e-4a3c-9a39-5d2f1c0b8e11".to_owned(),
            resource_group_name: "captf-team-a-demo-2a8d5f7c".to_owned(),
            region: "westeurope".to_owned(),
        }
    }

    fn spec(cpu: Option<CpuRules>) -> SettingSpec {
        SettingSpec {
            name: "workers-7d91b187-autoscale".to_owned(),
            set_name: "workers-7d91b187".to_owned(),
            profile: Profile {
                minimum: 2,
                maximum: 6,
                default: 2,
                cpu,
            },
            tags: BTreeMap::from([("captf.io_cluster".to_owned(), "demo".to_owned())]),
        }
    }

    fn read_back(body: &Value) -> Setting {
        let mut body = body.clone();
        body["name"] = json!("workers-7d91b187-autoscale");
        read(serde_json::from_value(body).expect("a setting"))
    }

    const RULES: CpuRules = CpuRules {
        scale_out_percent: 60,
        scale_in_percent: 20,
    };

    #[test]
    fn what_is_put_reads_back_in_any_order_and_case() {
        for cpu in [None, Some(RULES)] {
            let spec = spec(cpu);
            let mut body = put(&spec, &place());
            let setting = read_back(&body);
            assert_eq!(setting.profile.as_ref(), Some(&spec.profile));
            assert!(setting.foreign_fields.is_empty());
            if let Some(rules) = body.pointer_mut("/properties/profiles/0/rules") {
                let rules = rules.as_array_mut().expect("rules");
                rules.reverse();
                for rule in rules {
                    let trigger = rule["metricTrigger"].as_object_mut().expect("a trigger");
                    trigger.remove("dimensions");
                    let uri = trigger["metricResourceUri"].as_str().expect("a URI");
                    let uri = uri.to_uppercase();
                    trigger.insert("metricResourceUri".to_owned(), json!(uri));
                    let threshold = format!("{}.0", trigger["threshold"]);
                    let threshold = serde_json::from_str(&threshold).expect("a number");
                    trigger.insert("threshold".to_owned(), threshold);
                }
            }
            assert_eq!(read_back(&body).profile, Some(spec.profile));
        }
    }

    #[test]
    fn another_profile_is_not_ours() {
        let body = put(&spec(Some(RULES)), &place());
        let changed = |pointer: &str, value: Value| {
            let mut body = body.clone();
            *body.pointer_mut(pointer).expect("there") = value;
            read_back(&body)
        };
        let rule = "/properties/profiles/0/rules/0";
        assert_eq!(
            changed("/properties/profiles/0/name", json!("x")).profile,
            None
        );
        assert_eq!(
            changed(&format!("{rule}/scaleAction/cooldown"), json!("PT1M")).profile,
            None
        );
        assert_eq!(
            changed(&format!("{rule}/metricTrigger/metricName"), json!("Disk")).profile,
            None
        );
        assert_eq!(
            changed("/properties/enabled", json!(false)).foreign_fields,
            ["enabled"]
        );
        let notified = json!([{ "operation": "Scale" }]);
        assert_eq!(
            changed("/properties/notifications", notified).foreign_fields,
            ["notifications"]
        );
    }
}
