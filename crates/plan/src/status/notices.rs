//! What people should be told beside conditions (AWS document 10.3, A-13; Azure document 5.3): each
//! finding is a Warning event, once. They change neither conditions nor outputs.

use jiff::SignedDuration;

use super::{draft::Draft, event::EventReason};
use crate::{limits, pool::notice::NoticeKind};

/// Adds the events of findings that were not told before.
///
/// What was told is kept in memory: after a restart a finding that lasts is told once more.
pub(super) fn tell(draft: &mut Draft<'_>) {
    if let Some(outputs) = &draft.pass.outputs {
        let members = i64::try_from(outputs.provider_id_list.len()).unwrap_or(i64::MAX);
        let short = outputs.replicas.is_some_and(|replicas| members < replicas);
        let since = draft.memory.short_since.unwrap_or(draft.now);
        draft.memory.short_since = short.then_some(since);
    }
    let grace = SignedDuration::from_secs(i64::from(limits::LAUNCH_FAILURE_GRACE_SECONDS));
    let short_for_long = draft
        .memory
        .short_since
        .is_some_and(|since| since + grace <= draft.now);
    for notice in &draft.pass.notices {
        let reason = match notice.kind {
            NoticeKind::LaunchFailed if short_for_long => EventReason::InstanceLaunchFailed,
            NoticeKind::LaunchFailed => continue,
            NoticeKind::RollFailed => EventReason::RollFailed,
            NoticeKind::ZoneNotExported => EventReason::ZoneNotExported,
        };
        if draft.memory.told.insert(notice.id.clone()) {
            draft.tell(reason, notice.message.as_str());
        }
    }
}
