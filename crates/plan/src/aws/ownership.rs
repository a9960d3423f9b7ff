//! Whose a found group or launch template is (AWS document 3.1, captf document 6.4).
//!
//! Names alone prove nothing: two management clusters can hold equal names in one account. A group
//! is ours by its tags; one that carries another installation's id never is.

use std::collections::BTreeMap;

use super::{
    observed::{Group, Template},
    tags,
};
use crate::{driver::PoolContext, pool::record::AwsRecord};

/// Whose a group is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ownership {
    /// This pool's.
    Ours,
    /// Something else's; the tags that say so, `<absent>` where one is missing.
    Foreign(BTreeMap<String, String>),
}

const ABSENT: &str = "<absent>";

/// Whose a found group is. A group that the record knows may have lost tags by hand and stays ours
/// as long as one of them still says so; one the record does not know needs all of them.
pub fn of_group(group: &Group, record: Option<&AwsRecord>, context: &PoolContext<'_>) -> Ownership {
    let found = |key: &str| group.tags.get(key).map(|(value, _)| value.as_str());
    let installation = found(tags::INSTALLATION);
    if installation.is_some_and(|id| id != context.installation) {
        return Ownership::Foreign(spoken(found, context));
    }
    let recorded = record
        .and_then(|record| record.applied.as_ref())
        .is_some_and(|applied| applied.group_name == group.name);
    if recorded && installation.is_some() {
        return Ownership::Ours;
    }
    let verdict = if recorded {
        contradicts_nothing(found, context)
    } else {
        equals_all(found, context)
    };
    if verdict {
        Ownership::Ours
    } else {
        Ownership::Foreign(spoken(found, context))
    }
}

/// Whether a launch template is ours. One that the record names may have lost tags by hand.
pub fn is_our_template(template: &Template, is_recorded: bool, context: &PoolContext<'_>) -> bool {
    let found = |key: &str| template.tags.get(key).map(String::as_str);
    if is_recorded {
        context
            .ownership
            .iter()
            .all(|(key, value)| found(key).is_none_or(|found| found == value))
    } else {
        equals_all(found, context)
    }
}

fn equals_all<'a>(found: impl Fn(&str) -> Option<&'a str>, context: &PoolContext<'_>) -> bool {
    context
        .ownership
        .iter()
        .all(|(key, value)| found(key) == Some(value.as_str()))
}

fn contradicts_nothing<'a>(
    found: impl Fn(&str) -> Option<&'a str>,
    context: &PoolContext<'_>,
) -> bool {
    let mut ownership = context.ownership.iter();
    ownership.clone().any(|(key, _)| found(key).is_some())
        && ownership.all(|(key, value)| found(key).is_none_or(|found| found == value))
}

fn spoken<'a>(
    found: impl Fn(&str) -> Option<&'a str>,
    context: &PoolContext<'_>,
) -> BTreeMap<String, String> {
    context
        .ownership
        .keys()
        .map(String::as_str)
        .chain([tags::INSTALLATION])
        .map(|key| (key.to_owned(), found(key).unwrap_or(ABSENT).to_owned()))
        .collect()
}
