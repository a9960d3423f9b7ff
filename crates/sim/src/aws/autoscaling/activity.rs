//! Scaling activities: what a group did or tried, failures included.

use std::collections::VecDeque;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Answer, group::Group, max_records};
use crate::{
    aws::{
        protocol::{Params, Xml, page},
        state::{Name, View},
    },
    clock::iso,
};

/// Activities kept a group. Ours: AWS keeps six weeks.
const KEPT: usize = 60;

/// How an activity stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ActivityStatus {
    InProgress,
    Successful,
    Failed,
}

impl ActivityStatus {
    fn name(self) -> &'static str {
        match self {
            Self::InProgress => "InProgress",
            Self::Successful => "Successful",
            Self::Failed => "Failed",
        }
    }
}

/// One activity.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Activity {
    pub(crate) number: u64,
    pub(crate) id: String,
    pub(crate) description: String,
    pub(crate) cause: String,
    pub(crate) started: Timestamp,
    pub(crate) ended: Option<Timestamp>,
    pub(crate) status: ActivityStatus,
    pub(crate) message: Option<String>,
}

/// The activities of a group, oldest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Activities {
    entries: VecDeque<Activity>,
    next: u64,
}

impl Activities {
    /// Records the start of an activity; its number.
    pub(crate) fn begin(
        &mut self,
        id: String,
        description: String,
        cause: String,
        now: Timestamp,
    ) -> u64 {
        let number = self.next;
        self.next += 1;
        if self.entries.len() == KEPT {
            self.entries.pop_front();
        }
        self.entries.push_back(Activity {
            number,
            id,
            description,
            cause,
            started: now,
            ended: None,
            status: ActivityStatus::InProgress,
            message: None,
        });
        number
    }

    /// Records the end of an activity; one that was dropped meanwhile is left out.
    pub(crate) fn end(
        &mut self,
        number: u64,
        status: ActivityStatus,
        message: Option<String>,
        now: Timestamp,
    ) {
        let entry = self
            .entries
            .iter_mut()
            .rev()
            .find(|activity| activity.number == number);
        if let Some(activity) = entry {
            activity.ended = Some(now);
            activity.status = status;
            activity.message = message;
        }
    }

    /// The activity of that number.
    pub(crate) fn get(&self, number: u64) -> Option<&Activity> {
        self.entries
            .iter()
            .rev()
            .find(|activity| activity.number == number)
    }

    /// Whether anything is under way.
    pub(crate) fn any_in_progress(&self) -> bool {
        self.entries
            .iter()
            .any(|activity| activity.status == ActivityStatus::InProgress)
    }

    fn newest_first(&self) -> impl Iterator<Item = &Activity> {
        self.entries.iter().rev()
    }
}

pub(super) fn describe(view: View<'_>, params: &Params) -> Answer {
    let ids = params.texts("ActivityIds");
    let size = max_records(params, 100, 100)?;
    let named = params.text("AutoScalingGroupName");
    let mut wanted: Vec<(String, &Group, &Activity)> = view
        .estate
        .groups
        .values()
        .filter(|group| named.is_none_or(|name| *name == *group.name))
        .flat_map(|group| {
            group
                .activities
                .newest_first()
                .map(move |activity| (group, activity))
        })
        .filter(|(_, activity)| ids.is_empty() || ids.contains(&&*activity.id))
        .map(|(group, activity)| (page_key(&group.name, activity), group, activity))
        .collect();
    wanted.sort_by(|a, b| a.0.cmp(&b.0));
    let (page, next) = page::cut(&wanted, |(key, _, _)| key, params.text("NextToken"), size)?;
    let mut xml = Xml::new();
    xml.list("Activities", "member", page, |xml, (_, group, activity)| {
        activity_xml(group, activity, xml);
    });
    xml.optional("NextToken", next.as_deref());
    Ok(xml)
}

/// Newest first, groups in their order where moments are equal.
fn page_key(group: &Name, activity: &Activity) -> String {
    let back = i64::MAX - activity.started.as_millisecond();
    format!("{back:020}/{group}/{:020}", u64::MAX - activity.number)
}

/// An activity as answers show it.
pub(super) fn activity_xml(group: &Group, activity: &Activity, xml: &mut Xml) {
    xml.text("ActivityId", &activity.id);
    xml.text("AutoScalingGroupName", &group.name);
    xml.text("Description", &activity.description);
    xml.text("Cause", &activity.cause);
    xml.text("StartTime", &iso(activity.started));
    xml.optional("EndTime", activity.ended.map(iso).as_deref());
    xml.text("StatusCode", activity.status.name());
    xml.optional("StatusMessage", activity.message.as_deref());
    let progress = if activity.ended.is_some() { 100 } else { 50 };
    xml.plain("Progress", progress);
    xml.text("Details", "{}");
    xml.text("AutoScalingGroupARN", &group.arn);
}
