//! Collecting the steps of an AWS pool.

use std::collections::BTreeSet;

use crate::{
    driver::PoolContext,
    pool::{record::AwsRecord, steps},
};

/// Steps of one plan, and the AWS record as it will be after them.
pub type Steps<'a> = steps::Steps<'a, AwsRecord>;

/// No steps yet. `templates` are the names that a read showed: superseded ones that are gone are
/// forgotten, which is no reason to write.
pub fn begin<'a>(
    context: &'a PoolContext<'a>,
    stored: Option<&AwsRecord>,
    record: AwsRecord,
    templates: &BTreeSet<&str>,
) -> Steps<'a> {
    let pruned = |mut record: AwsRecord| {
        record
            .superseded_templates
            .retain(|name| templates.contains(name.as_str()));
        record
    };
    Steps::new(context, stored.cloned().map(pruned), pruned(record))
}
