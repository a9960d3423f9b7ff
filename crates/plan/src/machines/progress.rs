//! How far a drain is: what came of the evictions, in words that stay the same while nothing
//! changes.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{drain::DrainPlan, pod::PodName, view::named};

/// Different causes a message tells.
const CAUSES: usize = 5;

/// What came of one eviction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Eviction {
    /// The Pod is being ended.
    Accepted,
    /// It is gone already.
    Gone,
    /// A disruption budget does not allow it now: in the server's words.
    Blocked(String),
    /// It failed, or there was no time for it in this pass.
    Failed(String),
}

/// How far a drain is after one pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// Nothing is left to wait for.
    pub done: bool,
    /// For people; empty when it is done.
    pub message: String,
    /// Evictions that failed for another reason than a budget, as (Pod, why).
    pub failed: Vec<(PodName, String)>,
    /// No eviction was refused: what is waited for goes by itself.
    pub goes_by_itself: bool,
}

/// Folds what came of the evictions of `plan`.
pub fn progress(plan: &DrainPlan, evictions: &[(PodName, Eviction)], since: Timestamp) -> Progress {
    let mut ending = plan.terminating.clone();
    let mut refused: BTreeMap<&str, Vec<&PodName>> = BTreeMap::new();
    let mut failed = Vec::new();
    for (pod, eviction) in evictions {
        match eviction {
            Eviction::Accepted => ending.push(pod.clone()),
            Eviction::Gone => {}
            Eviction::Blocked(why) => refused.entry(why).or_default().push(pod),
            Eviction::Failed(why) => {
                refused.entry(why).or_default().push(pod);
                failed.push((pod.clone(), why.clone()));
            }
        }
    }
    let done =
        ending.is_empty() && refused.is_empty() && plan.awaited.is_empty() && plan.later.is_empty();
    if done {
        return Progress::default().finished();
    }
    let mut parts = vec![format!("Draining since {}", seconds(since))];
    parts.extend(part("terminating", &ending));
    let more = refused.len().saturating_sub(CAUSES);
    for (why, pods) in refused.iter().take(CAUSES) {
        let pods: Vec<PodName> = pods.iter().map(|pod| (*pod).clone()).collect();
        parts.extend(part("not evicted", &pods).map(|part| format!("{part}: {why}")));
    }
    if more > 0 {
        parts.push(format!("{more} more causes keep Pods from being evicted"));
    }
    parts.extend(part("waited for until they complete", &plan.awaited));
    parts.extend(part("to be evicted later", &plan.later));
    Progress {
        done: false,
        message: parts.join("\n* "),
        failed,
        goes_by_itself: refused.is_empty(),
    }
}

impl Progress {
    fn finished(self) -> Self {
        Self { done: true, ..self }
    }
}

/// A time in whole seconds, as Kubernetes writes it.
pub(super) fn seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

fn part(what: &str, pods: &[PodName]) -> Option<String> {
    if pods.is_empty() {
        return None;
    }
    let names: Vec<String> = pods.iter().map(PodName::to_string).collect();
    let names = named(names.iter().map(String::as_str));
    let noun = if pods.len() == 1 { "Pod" } else { "Pods" };
    Some(format!("{} {noun} {what}: {names}", pods.len()))
}
