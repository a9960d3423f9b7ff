//! Whose a found set or setting is (Azure document 3.2, E-NAME-TAKEN).

use std::collections::BTreeMap;

use super::{
    names,
    observed::{Observed, Presence, ScaleSet, Setting},
    tags,
};
use crate::{
    driver::{PoolContext, Traces},
    pool::{
        ownership::{Marks, Ownership, contradicts_none, equals_all},
        record::AzureRecord,
    },
};

/// The pool's ownership tags as Azure takes them.
pub fn tags_of(context: &PoolContext<'_>) -> BTreeMap<String, String> {
    tags::mapped(context.ownership)
}

/// Whose a found set is.
pub fn of_set(
    set: &ScaleSet,
    record: Option<&AzureRecord>,
    context: &PoolContext<'_>,
) -> Ownership {
    let ownership = tags_of(context);
    let marks = Marks {
        ownership: &ownership,
        installation_key: tags::INSTALLATION,
        installation: context.installation,
    };
    let is_recorded = record.is_some_and(|record| names_it(record, &set.name));
    marks.judge(|key| tags::found(&set.tags, key), is_recorded)
}

/// Whether the record says that a set of this name was made. One that is only about to be made
/// may have been somebody else's before.
fn names_it(record: &AzureRecord, name: &str) -> bool {
    let generations = [&record.current, &record.next].into_iter().flatten();
    record.retiring.contains(name)
        || generations
            .filter(|generation| generation.created)
            .any(|generation| generation.set_name == name)
}

/// Whether a setting of our name is ours: it targets our set, or carries the pool's tags.
pub fn is_our_setting(setting: &Setting, set_id: &str, context: &PoolContext<'_>) -> bool {
    let ownership = tags_of(context);
    let found = |key: &str| tags::found(&setting.tags, key);
    equals_all(&ownership, found)
        || names::same_id(&setting.target, set_id) && contradicts_none(&ownership, found)
}

/// Whose sets stand where the pool's would. `None`: the read failed.
pub fn traces(observed: &Observed, context: &PoolContext<'_>) -> Option<Traces> {
    let mut traces = Traces::None;
    for set in observed.sets.known()?.values().filter_map(Presence::set) {
        match of_set(set, None, context) {
            Ownership::Ours => return Some(Traces::Ours),
            Ownership::Foreign(_) => traces = Traces::Foreign,
        }
    }
    Some(traces)
}
