//! What members are made from, as far as people declare it: with pool Machines on, another one
//! makes the members of the one before outdated (Cluster API document 4.10).
//!
//! In it is every variable whose change reaches new machines only, and the name of the bootstrap
//! data Secret: its content changes without meaning. What the cluster exports and what an image
//! lookup finds is not in it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    action::{Effect, FieldChange},
    declared::{Declared, Kind},
    steps::field,
};

/// How a Secret's name is told.
const BOOTSTRAP: &str = "bootstrap.dataSecretName";

/// An instance template, by name of the variable.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InstanceTemplate(BTreeMap<String, Value>);

impl InstanceTemplate {
    /// The template of resolved variables.
    pub fn of(
        table: &'static [Declared],
        resolved: &Map<String, Value>,
        bootstrap_secret: Option<&str>,
    ) -> Self {
        let mut template = BTreeMap::new();
        gather(table, resolved, "", &mut template);
        if let Some(name) = bootstrap_secret {
            template.insert(BOOTSTRAP.to_owned(), Value::from(name));
        }
        Self(template)
    }

    /// What differs between two templates, told of the values that both of them know: one that an
    /// older version wrote lacks variables that came later, and that is no change.
    pub fn changes(old: Option<&Self>, new: Option<&Self>) -> Vec<FieldChange> {
        let (Some(Self(old)), Some(Self(new))) = (old, new) else {
            return Vec::new();
        };
        let both = old
            .iter()
            .filter_map(|(name, old)| Some((name, old, new.get(name)?)));
        both.filter(|(_, old, new)| old != new)
            .map(|(name, old, new)| field(name, old.clone(), new.clone()))
            .collect()
    }
}

fn gather(
    table: &'static [Declared],
    resolved: &Map<String, Value>,
    prefix: &str,
    template: &mut BTreeMap<String, Value>,
) {
    for declared in table {
        let name = format!("{prefix}{}", declared.name);
        match (declared.kind, resolved.get(declared.name)) {
            (Kind::Object(fields), Some(Value::Object(values))) => {
                gather(fields, values, &format!("{name}."), template);
            }
            (_, Some(value)) if declared.effect == Effect::NewMachinesOnly => {
                template.insert(name, value.clone());
            }
            _ => {}
        }
    }
}
