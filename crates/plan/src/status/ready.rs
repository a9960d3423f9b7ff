//! The latch `provisioned`, the condition `InputsApplied`, and the summary `Ready`
//! (captf document 2.3, 3.2).

use super::{
    condition::{ConditionStatus, ConditionType, Reason},
    draft::Draft,
    event::EventReason,
    pass::PassEnd,
    wire::Operation,
};
use crate::pool::{
    findings::Hold, keys, machines, members::MemberState, objects::Initialization, record::History,
    world::World,
};
use ConditionStatus::{False, True, Unknown};

/// Latches `provisioned` and says what is known of health before that.
pub(super) fn provisioning(draft: &mut Draft<'_>) {
    let remembered = draft
        .record
        .as_ref()
        .is_some_and(|record| record.history.provisioned);
    let applied = draft.record.as_ref().is_some_and(|record| record.applied);
    let healthy_enough = draft.pass.end == PassEnd::Done
        && draft.pass.outputs.as_ref().is_some_and(|outputs| {
            outputs.health.state != MemberState::Pending
                && draft.conditions.status(ConditionType::OutputsValid) == Some(True)
        });
    let earned = applied && healthy_enough;
    if (earned || remembered) && !draft.status.provisioned() {
        draft.status.initialization = Some(Initialization { provisioned: true });
        draft.tell(
            EventReason::Provisioned,
            "the pool has been applied and reports its members",
        );
    }
    if draft.status.provisioned() {
        draft.status.ready = Some(true);
        if let Some(record) = draft.record.as_mut() {
            record.history.provisioned = true;
        }
    }
    health_standing(draft);
}

fn health_standing(draft: &mut Draft<'_>) {
    let kind = ConditionType::InfrastructureHealthy;
    let reason = draft.conditions.get(kind).map(|condition| condition.reason);
    let unread = matches!(
        reason,
        None | Some(Reason::WaitingForProvisioning | Reason::Provisioning)
    );
    if !unread {
        return;
    }
    if draft.status.provisioned() {
        draft.conditions.set(
            kind,
            Unknown,
            Reason::HealthUnknown,
            "the members were not read yet",
        );
    } else if draft.record.is_some() || draft.status.active_job.is_some() {
        draft.conditions.set(
            kind,
            False,
            Reason::Provisioning,
            "the first apply has started",
        );
    } else {
        draft.conditions.set(
            kind,
            Unknown,
            Reason::WaitingForProvisioning,
            "nothing was applied yet",
        );
    }
}

/// Whether what is applied equals the current inputs.
pub(super) fn inputs_applied(draft: &mut Draft<'_>) {
    let findings = &draft.pass.gate.findings;
    let kind = ConditionType::InputsApplied;
    let Some(hash) = &findings.inputs_hash else {
        if matches!(findings.dependencies, Some(Err(_))) {
            draft.conditions.set(
                kind,
                Unknown,
                Reason::InputsUnavailable,
                "the inputs cannot be rendered",
            );
        }
        return;
    };
    let history = draft.record.as_ref().map(|record| &record.history);
    let failed = history.is_some_and(|history| history.apply_failed);
    let owed = history.is_some_and(History::apply_is_owed);
    let applied = draft
        .record
        .as_ref()
        .is_some_and(|record| record.inputs_hash.as_ref() == Some(hash));
    let running = draft
        .status
        .active_job
        .as_ref()
        .is_some_and(|job| job.operation == Operation::Apply);
    let refused = matches!(
        findings.hold,
        Some(
            Hold::Image(_)
                | Hold::JobPolicy(_)
                | Hold::InputsTooLarge { .. }
                | Hold::Refused(_)
                | Hold::Credentials(_)
        )
    );
    let (status, reason, message) = if applied && !owed {
        (
            True,
            Reason::InputsApplied,
            "the current inputs are applied",
        )
    } else if running {
        (
            False,
            Reason::ApplyRunning,
            "an apply of the current inputs runs",
        )
    } else if failed || refused {
        (
            False,
            Reason::InputsApplyFailed,
            "the current inputs could not be applied: see ApplyJobSucceeded",
        )
    } else {
        (
            False,
            Reason::ApplyPending,
            "the current inputs wait to be applied",
        )
    };
    draft.conditions.set(kind, status, reason, message);
}

const BEFORE_PROVISIONING: [ConditionType; 9] = [
    ConditionType::DependenciesReady,
    ConditionType::IdentityAllowed,
    ConditionType::CredentialsMirrored,
    ConditionType::RunnerRBACReady,
    ConditionType::ApplyJobSucceeded,
    ConditionType::StateReadable,
    ConditionType::OutputsValid,
    ConditionType::InfrastructureHealthy,
    ConditionType::Deleting,
];

const PROVISIONED: [ConditionType; 3] = [
    ConditionType::InfrastructureHealthy,
    ConditionType::ApplyJobSucceeded,
    ConditionType::Deleting,
];

/// The summary (captf document, CON-1, CON-2).
pub(super) fn summary(draft: &mut Draft<'_>) {
    let inputs: &[ConditionType] = if draft.status.provisioned() {
        &PROVISIONED
    } else {
        &BEFORE_PROVISIONING
    };
    let mut bad = Vec::new();
    let mut unknown = Vec::new();
    for kind in inputs {
        let negative = *kind == ConditionType::Deleting;
        match draft.conditions.get(*kind) {
            None if negative => {}
            None => unknown.push(format!("{kind} is not set yet")),
            Some(condition) => match (condition.status, negative) {
                (True, false) | (False, true) => {}
                (False, false) | (True, true) => {
                    bad.push(format!("{kind}: {}", condition.reason));
                }
                (Unknown, _) => unknown.push(format!("{kind}: {}", condition.reason)),
            },
        }
    }
    let (status, reason, message) = if !bad.is_empty() {
        (False, Reason::NotReady, bad.join("; "))
    } else if !unknown.is_empty() {
        (Unknown, Reason::ReadyUnknown, unknown.join("; "))
    } else {
        (True, Reason::Ready, String::new())
    };
    draft
        .conditions
        .set(ConditionType::Ready, status, reason, message);
}

/// `status.infrastructureMachineKind`: set while the pool has Machines.
pub(super) fn infrastructure_machine_kind(world: &World) -> Option<String> {
    machines::are_on(world).then(|| keys::MEMBER_KIND.to_owned())
}
