//! The set of conditions while a pass is judged: transition times, and what changed since before.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::condition::{Condition, ConditionStatus, ConditionType, Reason};

/// Conditions as they will be written.
#[derive(Debug, Clone)]
pub(super) struct Conditions {
    before: BTreeMap<ConditionType, Condition>,
    now: Timestamp,
    current: BTreeMap<ConditionType, Condition>,
    touched: BTreeSet<ConditionType>,
}

impl Conditions {
    /// Starts from what was written before.
    pub(super) fn new(before: &[Condition], now: Timestamp) -> Self {
        let before: BTreeMap<ConditionType, Condition> = before
            .iter()
            // A reason that means nothing here would be written back under another name.
            .filter(|condition| condition.reason != Reason::Foreign)
            .map(|condition| (condition.kind, condition.clone()))
            .collect();
        Self {
            current: before.clone(),
            before,
            now,
            touched: BTreeSet::new(),
        }
    }

    /// Sets a condition; the transition time moves only when the status does.
    pub(super) fn set(
        &mut self,
        kind: ConditionType,
        status: ConditionStatus,
        reason: Reason,
        message: impl Into<String>,
    ) {
        let since = self
            .before
            .get(&kind)
            .filter(|before| before.status == status)
            .map_or(self.now, |before| before.last_transition_time);
        self.touched.insert(kind);
        self.current.insert(
            kind,
            Condition {
                kind,
                status,
                reason,
                message: message.into(),
                observed_generation: None,
                last_transition_time: since,
            },
        );
    }

    /// Sets a condition that was never set before.
    pub(super) fn set_first(
        &mut self,
        kind: ConditionType,
        status: ConditionStatus,
        reason: Reason,
        message: impl Into<String>,
    ) {
        if !self.current.contains_key(&kind) {
            self.set(kind, status, reason, message);
        }
    }

    /// Drops a condition that has no meaning any more.
    pub(super) fn forget(&mut self, kind: ConditionType) {
        self.current.remove(&kind);
        self.touched.remove(&kind);
    }

    /// As it will be written.
    pub(super) fn get(&self, kind: ConditionType) -> Option<&Condition> {
        self.current.get(&kind)
    }

    /// As it was written before.
    pub(super) fn before(&self, kind: ConditionType) -> Option<&Condition> {
        self.before.get(&kind)
    }

    /// Status, if set.
    pub(super) fn status(&self, kind: ConditionType) -> Option<ConditionStatus> {
        self.get(kind).map(|condition| condition.status)
    }

    /// Conditions that differ in status or reason from before, with what they were.
    pub(super) fn transitions(&self) -> Vec<(Option<&Condition>, &Condition)> {
        self.current
            .values()
            .filter_map(|after| {
                let before = self.before.get(&after.kind);
                let same = before.is_some_and(|before| {
                    before.status == after.status && before.reason == after.reason
                });
                (!same).then_some((before, after))
            })
            .collect()
    }

    /// The list, sorted by type; what this pass decided carries its generation.
    pub(super) fn finish(mut self, generation: Option<i64>) -> Vec<Condition> {
        for kind in &self.touched {
            if let Some(condition) = self.current.get_mut(kind) {
                condition.observed_generation = generation;
            }
        }
        self.current.into_values().collect()
    }
}
