//! Failures that AWS reports beside its answers (AWS document 10.3, A-13, and 4.7): launches that
//! fail, and the newest instance refresh when it failed.

use super::observed::{Observed, Refresh};
use crate::pool::notice::{Notice, NoticeKind};

/// What should be told, in order; nothing where the reads were not made.
pub fn notices(observed: &Observed) -> Vec<Notice> {
    let mut notices: Vec<Notice> = launches(observed).chain(newest_roll(observed)).collect();
    notices.sort();
    notices.dedup();
    notices
}

/// One notice a text: every try of a launch that cannot succeed is an activity of its own.
fn launches(observed: &Observed) -> impl Iterator<Item = Notice> {
    let activities = observed.failed_activities.known().into_iter().flatten();
    activities
        .filter(|_| is_short(observed))
        .map(|activity| Notice {
            kind: NoticeKind::LaunchFailed,
            id: activity.status_message.clone(),
            message: format!("instances fail to launch: {}", activity.status_message),
        })
}

fn is_short(observed: &Observed) -> bool {
    let desired = observed.group.known().and_then(Option::as_ref);
    let members = observed.members().ok();
    desired.zip(members).is_some_and(|(group, members)| {
        i64::try_from(members.len()).is_ok_and(|members| members < group.desired_capacity)
    })
}

fn newest_roll(observed: &Observed) -> Option<Notice> {
    let newest: &Refresh = observed.refreshes.known()?.first()?;
    matches!(newest.status.as_str(), "Failed" | "RollbackFailed").then(|| {
        let why = newest.status_reason.as_deref();
        Notice {
            kind: NoticeKind::RollFailed,
            id: newest.id.clone(),
            message: format!(
                "instance refresh {} ended as {}: {}",
                newest.id,
                newest.status,
                why.unwrap_or("AWS gives no reason"),
            ),
        }
    })
}
