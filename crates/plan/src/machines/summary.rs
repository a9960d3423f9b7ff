//! The condition `Ready` of a Machine: everything that counts, in one.

use jiff::{SignedDuration, Timestamp};

use super::{
    condition::{Finding, MachineCondition as C, MachineReason as R, Status},
    conditions::{ConditionFacts, ReadinessGate},
    view::{ConditionView, HEALTH_CHECK_SUCCEEDED, condition},
};

/// A deletion that lasts longer is worth a word (Cluster API document, 5.6).
const LONG_DELETION: SignedDuration = SignedDuration::from_mins(15);
/// A drain that lasts longer is worth a word (same place).
const LONG_DRAIN: SignedDuration = SignedDuration::from_mins(5);

/// What a condition means for readiness.
enum Part {
    Good,
    Bad(String),
    Unknown(String),
}

/// Sums up.
pub(super) fn ready(facts: &ConditionFacts<'_>, findings: &[Finding]) -> Finding {
    let mut parts: Vec<Part> = [
        C::Deleting,
        C::Updating,
        C::BootstrapConfigReady,
        C::InfrastructureReady,
        C::NodeHealthy,
    ]
    .into_iter()
    .filter_map(|kind| findings.iter().find(|finding| finding.kind == kind))
    .map(|finding| own(facts, finding))
    .collect();
    if let Some(health) = condition(facts.live, HEALTH_CHECK_SUCCEEDED) {
        parts.push(theirs(health, Status::True));
    }
    parts.extend(facts.gates.iter().map(|gate| gated(facts, gate)));
    let (mut bad, mut unknown) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Part::Good => {}
            Part::Bad(message) => bad.push(message),
            Part::Unknown(message) => unknown.push(message),
        }
    }
    if !bad.is_empty() {
        bad.extend(unknown);
        return Finding::no(C::Ready, R::NotReady, bad.join("\n"));
    }
    if !unknown.is_empty() {
        return Finding::unknown(C::Ready, R::ReadyUnknown, unknown.join("\n"));
    }
    Finding::yes(C::Ready, R::Ready, "")
}

fn own(facts: &ConditionFacts<'_>, finding: &Finding) -> Part {
    let negative = matches!(finding.kind, C::Deleting | C::Updating);
    let good = if negative {
        Status::False
    } else {
        Status::True
    };
    let kind = finding.kind.as_str();
    let message = if finding.kind == C::Deleting && finding.status == Status::True {
        format!("* Deleting: {}", stage(facts, &finding.reason))
    } else if finding.message.starts_with("* ") {
        let indented = finding.message.replace('\n', "\n  ");
        format!("* {kind}:\n  {indented}")
    } else if finding.message.is_empty() {
        format!("* {kind}: {}", finding.reason)
    } else {
        format!("* {kind}: {}", finding.message)
    };
    part(finding.status, good, message)
}

/// The stage of a deletion: its progress has a condition of its own, so that this one stays put.
fn stage(facts: &ConditionFacts<'_>, reason: &str) -> String {
    let mut text = format!("Machine deletion in progress, stage: {reason}");
    let lasts = |since: Option<Timestamp>, limit: SignedDuration| {
        since.is_some_and(|since| facts.now.duration_since(since) > limit)
    };
    if lasts(facts.deleted_at, LONG_DELETION) {
        text.push_str(" (deletion takes more than 15 minutes)");
    }
    if reason == format!("{:?}", R::DrainingNode) && lasts(facts.drain_since, LONG_DRAIN) {
        text.push_str(" (the drain takes more than 5 minutes: see the condition Deleting)");
    }
    text
}

fn gated(facts: &ConditionFacts<'_>, gate: &ReadinessGate) -> Part {
    let negative = gate.polarity.as_deref() == Some("Negative");
    let good = if negative {
        Status::False
    } else {
        Status::True
    };
    match condition(facts.live, &gate.condition_type) {
        Some(seen) => theirs(seen, good),
        None => Part::Unknown(format!(
            "* {}: Condition not yet reported",
            gate.condition_type
        )),
    }
}

fn theirs(seen: &ConditionView, good: Status) -> Part {
    let said = if seen.message.is_empty() {
        &seen.reason
    } else {
        &seen.message
    };
    part(
        Status::read(&seen.status),
        good,
        format!("* {}: {said}", seen.kind),
    )
}

fn part(status: Status, good: Status, message: String) -> Part {
    match status {
        status if status == good => Part::Good,
        Status::Unknown => Part::Unknown(message),
        _ => Part::Bad(message),
    }
}
