//! Whose a found group or launch template is (AWS document 3.1).

use super::{
    observed::{Group, Observed, Template},
    tags,
};
use crate::{
    driver::{PoolContext, Traces},
    pool::{
        ownership::{Marks, Ownership, contradicts_none, equals_all},
        record::AwsRecord,
    },
};

/// Whose a found group is.
pub fn of_group(group: &Group, record: Option<&AwsRecord>, context: &PoolContext<'_>) -> Ownership {
    let is_recorded = record
        .and_then(|record| record.applied.as_ref())
        .is_some_and(|applied| applied.group_name == group.name);
    let marks = Marks {
        ownership: context.ownership,
        installation_key: tags::INSTALLATION,
        installation: context.installation,
    };
    marks.judge(
        |key| group.tags.get(key).map(|(value, _)| value.as_str()),
        is_recorded,
    )
}

/// Whether a launch template is ours. One that the record names may have lost tags by hand.
pub fn is_our_template(template: &Template, is_recorded: bool, context: &PoolContext<'_>) -> bool {
    let found = |key: &str| template.tags.get(key).map(String::as_str);
    if is_recorded {
        contradicts_none(context.ownership, found)
    } else {
        equals_all(context.ownership, found)
    }
}

/// Whose group stands where the pool's would. `None`: the read failed.
pub fn traces(observed: &Observed, context: &PoolContext<'_>) -> Option<Traces> {
    let Some(group) = observed.group.known()? else {
        return Some(Traces::None);
    };
    Some(match of_group(group, None, context) {
        Ownership::Ours => Traces::Ours,
        Ownership::Foreign(_) => Traces::Foreign,
    })
}
