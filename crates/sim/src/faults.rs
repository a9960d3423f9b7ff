//! Scripted failures.
//!
//! In: fault scripts, each a match (service, action, resource, caller) with a schedule (skip,
//! every nth, at most n times) and an effect. Out: the verdict on one call. Scripts are tried in
//! the order they were added; effects of different kinds add up, the first refusal wins. Nothing
//! here is random: the same calls meet the same faults.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

/// What a fault does to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The service's own throttling answer; nothing is carried out.
    Throttle,
    /// The service's own "not authorized" answer; nothing is carried out.
    Denied,
    /// HTTP 500; nothing is carried out.
    InternalError,
    /// HTTP 503 that is no throttling; nothing is carried out.
    Unavailable,
    /// The session token counts as expired; nothing is carried out.
    ExpiredToken,
    /// The signature counts as wrong; nothing is carried out.
    BadSignature,
    /// Any other refusal; nothing is carried out. On the action `ec2:RunInstances`, which the
    /// groups use inside, it becomes a failed scaling activity; on `compute:Allocate`, which scale
    /// sets use inside, a failed operation.
    Refuse {
        /// Error code of the cloud.
        code: String,
        /// Message.
        message: String,
        /// HTTP status.
        status: u16,
    },
    /// An answer of one's own making, headers and all; nothing is carried out.
    Answer {
        /// HTTP status.
        status: u16,
        /// Headers.
        headers: Vec<(String, String)>,
        /// Body.
        body: String,
    },
    /// The call is carried out, then the connection breaks before the answer.
    LostAnswer,
    /// The connection breaks before anything is carried out.
    Disconnect,
    /// The answer takes that much longer, in simulated time.
    Latency(Duration),
    /// A read shows the world as it was that long ago (EC2, Auto Scaling and ARM are eventually
    /// consistent; S3 and writes are not affected).
    StaleRead(Duration),
}

/// One fault script.
#[derive(Debug, Clone)]
pub struct Fault {
    effect: Effect,
    service: Option<String>,
    action: Option<String>,
    resource: Option<String>,
    caller: Option<String>,
    from_instances: bool,
    skip: u32,
    every: u32,
    remaining: Option<u32>,
    matched: u32,
}

impl Fault {
    /// A fault that meets every call until narrowed down.
    pub fn new(effect: Effect) -> Self {
        Self {
            effect,
            service: None,
            action: None,
            resource: None,
            caller: None,
            from_instances: false,
            skip: 0,
            every: 1,
            remaining: None,
            matched: 0,
        }
    }

    /// A refusal with a code of one's own choice.
    pub fn refuse(code: &str, message: &str, status: u16) -> Self {
        Self::new(Effect::Refuse {
            code: code.into(),
            message: message.into(),
            status,
        })
    }

    /// An allocation of a scale set's instance that fails with `code`, as its operation shows it.
    pub fn allocation(code: &str, message: &str) -> Self {
        Self::refuse(code, message, 409).on("compute", "Allocate")
    }

    /// A launch that fails with `code`, as a scaling activity shows it.
    pub fn launch(code: &str, message: &str) -> Self {
        Self::refuse(code, message, 400).on("ec2", "RunInstances")
    }

    /// Only this service and action.
    #[must_use]
    pub fn on(mut self, service: &str, action: &str) -> Self {
        self.service = Some(service.into());
        self.action = Some(action.into());
        self
    }

    /// Only this service.
    #[must_use]
    pub fn service(mut self, service: &str) -> Self {
        self.service = Some(service.into());
        self
    }

    /// Only calls with a key parameter that contains this text (a group's or template's name, a
    /// bucket, an object key; for launches also the zone and the instance type).
    #[must_use]
    pub fn resource(mut self, part: &str) -> Self {
        self.resource = Some(part.into());
        self
    }

    /// Only calls signed with this access key, or of this client id at Azure.
    #[must_use]
    pub fn caller(mut self, id: &str) -> Self {
        self.caller = Some(id.into());
        self
    }

    /// Only calls of simulated instances (a node that fetches its bootstrap data). Without this a
    /// fault leaves instances alone, so that they do not use up its strikes.
    #[must_use]
    pub fn from_instances(mut self) -> Self {
        self.from_instances = true;
        self
    }

    /// Lets the first `calls` matching calls pass.
    #[must_use]
    pub fn skip(mut self, calls: u32) -> Self {
        self.skip = calls;
        self
    }

    /// Meets every nth matching call only: 2 lets one pass and meets the next.
    #[must_use]
    pub fn every(mut self, nth: u32) -> Self {
        self.every = nth.max(1);
        self
    }

    /// Ends after it has struck `count` times.
    #[must_use]
    pub fn times(mut self, count: u32) -> Self {
        self.remaining = Some(count);
        self
    }

    /// Ends after it has struck once.
    #[must_use]
    pub fn once(self) -> Self {
        self.times(1)
    }

    fn matches(&self, call: &CallFacts<'_>) -> bool {
        let same = |want: &Option<String>, have: &str| want.as_deref().is_none_or(|w| w == have);
        self.from_instances == call.from_instance
            && same(&self.service, call.service)
            && same(&self.action, call.action)
            && same(&self.caller, call.caller)
            && self
                .resource
                .as_deref()
                .is_none_or(|part| call.resources.iter().any(|value| value.contains(part)))
    }

    /// Counts a matching call and says whether this one is struck.
    fn strikes(&mut self) -> bool {
        if self.remaining == Some(0) {
            return false;
        }
        self.matched += 1;
        let due = self.matched > self.skip && (self.matched - self.skip).is_multiple_of(self.every);
        if due && let Some(remaining) = &mut self.remaining {
            *remaining -= 1;
        }
        due
    }
}

/// What a fault may match on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallFacts<'a> {
    pub(crate) service: &'a str,
    pub(crate) action: &'a str,
    pub(crate) caller: &'a str,
    pub(crate) from_instance: bool,
    pub(crate) resources: &'a [Cow<'a, str>],
}

/// What becomes of one call.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) refusal: Option<Effect>,
    pub(crate) latency: Duration,
    pub(crate) stale: Option<Duration>,
    pub(crate) lost: bool,
}

/// The fault scripts of one world. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    scripts: Arc<Mutex<Vec<Fault>>>,
}

impl Faults {
    /// Adds a script.
    pub fn script(&self, fault: Fault) {
        self.lock().push(fault);
    }

    /// Removes all scripts.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Whether some script still has strikes left.
    pub fn pending(&self) -> bool {
        self.lock()
            .iter()
            .any(|fault| fault.remaining.is_some_and(|left| left > 0))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    pub(crate) fn judge(&self, call: &CallFacts<'_>) -> Verdict {
        let mut verdict = Verdict::default();
        for fault in self.lock().iter_mut() {
            if !fault.matches(call) || !fault.strikes() {
                continue;
            }
            match &fault.effect {
                Effect::Latency(span) => verdict.latency += *span,
                Effect::StaleRead(age) => verdict.stale = Some(*age),
                Effect::LostAnswer => verdict.lost = true,
                refusal if verdict.refusal.is_none() => verdict.refusal = Some(refusal.clone()),
                _ => {}
            }
        }
        verdict
    }

    /// The longest age a scripted stale read can ask for.
    pub(crate) fn longest_stale_read(&self) -> Duration {
        let age = |fault: &Fault| match fault.effect {
            Effect::StaleRead(age) if fault.remaining != Some(0) => Some(age),
            _ => None,
        };
        self.lock().iter().filter_map(age).max().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Fault>> {
        self.scripts
            .lock()
            .expect("no holder of the fault scripts panics")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strikes(fault: Fault, calls: usize) -> Vec<bool> {
        let faults = Faults::default();
        faults.script(fault);
        let resources = [Cow::Borrowed("captf-team-a-demo-pool-0-43c6d828")];
        let call = CallFacts {
            service: "ec2",
            action: "DescribeInstances",
            caller: "AKIA",
            from_instance: false,
            resources: &resources,
        };
        (0..calls)
            .map(|_| faults.judge(&call).refusal.is_some())
            .collect()
    }

    #[test]
    fn schedules_skip_repeat_and_end() {
        let throttle = || Fault::new(Effect::Throttle);
        assert_eq!(strikes(throttle().every(2), 4), [false, true, false, true]);
        assert_eq!(
            strikes(throttle().skip(1).times(2), 4),
            [false, true, true, false]
        );
        assert_eq!(strikes(throttle().on("ec2", "DescribeImages"), 1), [false]);
        assert_eq!(
            strikes(throttle().resource("demo-pool-0").once(), 2),
            [true, false]
        );
        assert_eq!(strikes(throttle().resource("other"), 1), [false]);
    }
}
