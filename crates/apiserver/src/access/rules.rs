//! Rules of roles: what one allows, and whether some cover others.

use std::fmt;

use serde_json::{Map, Value, json};

use super::attributes::{Asked, Attributes, Resource};

const ALL: &str = "*";

/// One rule of a Role or ClusterRole. Rules only allow; nothing forbids.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rule {
    pub(crate) verbs: Vec<String>,
    pub(crate) groups: Vec<String>,
    pub(crate) resources: Vec<String>,
    /// Empty: all names.
    pub(crate) names: Vec<String>,
    pub(crate) paths: Vec<String>,
}

impl Rule {
    /// Reads the rules of a role; what is malformed allows nothing.
    pub(crate) fn of_role(role: &Value) -> Vec<Self> {
        let rules = role.get("rules").and_then(Value::as_array);
        rules.into_iter().flatten().map(Self::read).collect()
    }

    pub(crate) fn read(value: &Value) -> Self {
        let texts = |field: &str| {
            let list = value.get(field).and_then(Value::as_array);
            let texts = list.into_iter().flatten().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        };
        Self {
            verbs: texts("verbs"),
            groups: texts("apiGroups"),
            resources: texts("resources"),
            names: texts("resourceNames"),
            paths: texts("nonResourceURLs"),
        }
    }

    /// Every verb on every object.
    pub(crate) fn everything_on_resources() -> Self {
        let all = || vec![ALL.to_owned()];
        Self {
            verbs: all(),
            groups: all(),
            resources: all(),
            ..Self::default()
        }
    }

    /// Every verb on every path.
    pub(crate) fn everything_on_paths() -> Self {
        let all = || vec![ALL.to_owned()];
        Self {
            verbs: all(),
            paths: all(),
            ..Self::default()
        }
    }

    /// The rule as an API object's part.
    pub(crate) fn value(&self) -> Value {
        let mut value = Map::new();
        value.insert("verbs".into(), json!(self.verbs));
        for (field, texts) in [
            ("apiGroups", &self.groups),
            ("resources", &self.resources),
            ("resourceNames", &self.names),
            ("nonResourceURLs", &self.paths),
        ] {
            if !texts.is_empty() {
                value.insert(field.into(), json!(texts));
            }
        }
        Value::Object(value)
    }

    /// Whether the rule allows what is asked.
    pub(crate) fn allows(&self, asked: &Attributes) -> bool {
        has(&self.verbs, &asked.verb)
            && match &asked.object {
                Asked::Path(path) => self.paths.iter().any(|own| path_matches(own, path)),
                Asked::Resource(resource) => {
                    has(&self.groups, &resource.group)
                        && self.resources.iter().any(|own| matches(own, resource))
                        && (self.names.is_empty() || self.names.contains(&resource.name))
                }
            }
    }

    /// The rule as rules of one verb, one resource of one group, and one name (or path) each.
    fn simple(&self) -> Vec<Self> {
        let one = |text: &String| vec![text.clone()];
        let mut simple = Vec::new();
        for group in &self.groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    let rule = Self {
                        verbs: one(verb),
                        groups: one(group),
                        resources: one(resource),
                        ..Self::default()
                    };
                    if self.names.is_empty() {
                        simple.push(rule);
                    } else {
                        simple.extend(self.names.iter().map(|name| Self {
                            names: one(name),
                            ..rule.clone()
                        }));
                    }
                }
            }
        }
        for path in &self.paths {
            simple.extend(self.verbs.iter().map(|verb| Self {
                verbs: one(verb),
                paths: one(path),
                ..Self::default()
            }));
        }
        simple
    }

    /// Whether everything that a simple rule allows is allowed by this rule.
    fn covers(&self, simple: &Self) -> bool {
        let all = |own: &[String], asked: &[String]| asked.iter().all(|text| has(own, text));
        all(&self.verbs, &simple.verbs)
            && all(&self.groups, &simple.groups)
            && simple
                .resources
                .iter()
                .all(|asked| self.resources.iter().any(|own| resource_covers(own, asked)))
            && (self.names.is_empty()
                || (!simple.names.is_empty()
                    && simple.names.iter().all(|name| self.names.contains(name))))
            && simple
                .paths
                .iter()
                .all(|asked| self.paths.iter().any(|own| path_matches(own, asked)))
    }
}

/// The way Kubernetes writes a rule in a refusal.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("APIGroups", &self.groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.paths),
            ("ResourceNames", &self.names),
            ("Verbs", &self.verbs),
        ];
        f.write_str("{")?;
        let mut separator = "";
        for (field, texts) in parts {
            if !texts.is_empty() {
                let quoted: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
                write!(f, "{separator}{field}:[{}]", quoted.join(" "))?;
                separator = ", ";
            }
        }
        f.write_str("}")
    }
}

fn has(own: &[String], asked: &str) -> bool {
    own.iter().any(|text| text == ALL || text == asked)
}

fn matches(own: &str, asked: &Resource) -> bool {
    if own == ALL {
        return true;
    }
    match own.split_once('/') {
        None => asked.subresource.is_empty() && own == asked.plural,
        Some((plural, part)) => {
            !asked.subresource.is_empty()
                && part == asked.subresource
                && (plural == ALL || plural == asked.plural)
        }
    }
}

fn resource_covers(own: &str, asked: &str) -> bool {
    if own == ALL || own == asked {
        return true;
    }
    match (own.strip_prefix("*/"), asked.split_once('/')) {
        (Some(own), Some((_, asked))) => own == asked,
        _ => false,
    }
}

fn path_matches(own: &str, asked: &str) -> bool {
    own == ALL
        || own == asked
        || own
            .strip_suffix('*')
            .is_some_and(|start| asked.starts_with(start))
}

/// What of `wanted` the rules in `held` do not cover, in as few rules as can be.
pub(crate) fn uncovered(held: &[Rule], wanted: &[Rule]) -> Vec<Rule> {
    let simple = wanted.iter().flat_map(Rule::simple);
    let missing = simple.filter(|asked| !held.iter().any(|own| own.covers(asked)));
    compact(missing)
}

/// Rules about the same thing become one with all their verbs.
fn compact(rules: impl Iterator<Item = Rule>) -> Vec<Rule> {
    let mut compact: Vec<Rule> = Vec::new();
    for rule in rules {
        let same = compact.iter_mut().find(|known| {
            known.paths.is_empty()
                && rule.paths.is_empty()
                && known.groups == rule.groups
                && known.resources == rule.resources
                && known.names == rule.names
        });
        match same {
            Some(known) => known.verbs.extend(rule.verbs),
            None => compact.push(rule),
        }
    }
    compact
}
