//! What the gate found, as conditions. One function a condition, one arm a reason.

use super::{
    condition::{ConditionStatus, ConditionType, Reason},
    draft::Draft,
};
use crate::{
    limits,
    pool::{
        findings::{AutoscalingFinding, Findings, Hold, IdentityFinding, StateFinding, Wait},
        gate::refusals_text,
        keys,
    },
};
use ConditionStatus::{False, True, Unknown};

/// Sets every condition that follows from the gate alone.
pub(super) fn conditions(draft: &mut Draft<'_>) {
    let findings = &draft.pass.gate.findings;
    paused(draft, findings);
    deleting(draft, findings);
    dependencies(draft, findings);
    identity(draft, findings);
    state(draft, findings);
    autoscaling(draft, findings);
    hold(draft, findings);
    restore(draft);
    draft.conditions.set(
        ConditionType::RunnerRBACReady,
        True,
        Reason::RBACReady,
        "no runner is needed",
    );
    for kind in [
        ConditionType::DriftDetected,
        ConditionType::DriftJobSucceeded,
    ] {
        draft.conditions.set_first(
            kind,
            Unknown,
            Reason::DriftNotChecked,
            "drift was not checked yet",
        );
    }
    if findings.drift_waits {
        draft.conditions.set(
            ConditionType::DriftJobSucceeded,
            Unknown,
            Reason::DurableInputsMissing,
            "a drift check waits for inputs to compare with",
        );
    }
}

fn paused(draft: &mut Draft<'_>, findings: &Findings) {
    let (status, reason, message) = if findings.paused {
        let by_pool = draft
            .world
            .pool
            .metadata
            .annotations
            .contains_key(keys::PAUSED);
        let message = if by_pool {
            "the pool's annotation cluster.x-k8s.io/paused is set"
        } else {
            "the Cluster's spec.paused is set"
        };
        (True, Reason::Paused, message)
    } else {
        (False, Reason::NotPaused, "")
    };
    draft
        .conditions
        .set(ConditionType::Paused, status, reason, message);
}

fn deleting(draft: &mut Draft<'_>, findings: &Findings) {
    let (status, reason, message) = match (findings.deleting, findings.policy_unresolved) {
        (false, _) => (False, Reason::NotDeleting, ""),
        (true, false) => (True, Reason::Deleting, "the pool is being deleted"),
        (true, true) => (
            True,
            Reason::DeletionPolicyUnresolved,
            "the pool sets no spec.deletionPolicy and the TerraformCluster to inherit it from is \
             gone; set Destroy or Retain on the pool",
        ),
    };
    draft
        .conditions
        .set(ConditionType::Deleting, status, reason, message);
}

fn dependencies(draft: &mut Draft<'_>, findings: &Findings) {
    let kind = ConditionType::DependenciesReady;
    let wait = match &findings.dependencies {
        None => return,
        Some(Ok(())) => {
            draft.conditions.set(
                kind,
                True,
                Reason::DependenciesReady,
                "everything to render from is there",
            );
            return;
        }
        Some(Err(wait)) => wait,
    };
    let (status, reason, message) = match wait {
        Wait::Owner(message) => (Unknown, Reason::WaitingForOwner, message),
        Wait::OwnerMachinePool(message) => (False, Reason::WaitingForOwnerMachinePool, message),
        Wait::OwnerNotFound(message) => (False, Reason::OwnerNotFound, message),
        Wait::OwnerMismatch(message) => (False, Reason::OwnerMismatch, message),
        Wait::ClusterNotTerraform(message) => (False, Reason::ClusterNotTerraform, message),
        Wait::ClusterInfrastructure(message) => {
            (Unknown, Reason::WaitingForClusterInfrastructure, message)
        }
        Wait::ClusterExports(message) => (Unknown, Reason::WaitingForClusterExports, message),
        Wait::BootstrapData(message) => (Unknown, Reason::WaitingForBootstrapData, message),
        Wait::VariablesSource(message) => (False, Reason::VariablesSourceNotFound, message),
        Wait::Variables(message) => (False, Reason::VariablesInvalid, message),
        Wait::Unreadable(message) => {
            // A failed read opens and closes nothing.
            draft
                .conditions
                .set_first(kind, Unknown, Reason::WaitingForOwner, message);
            return;
        }
    };
    draft.conditions.set(kind, status, reason, message);
}

fn identity(draft: &mut Draft<'_>, findings: &Findings) {
    let mirrored = ConditionType::CredentialsMirrored;
    let Some(finding) = &findings.identity else {
        draft.conditions.set_first(
            mirrored,
            Unknown,
            Reason::MirrorPending,
            "the identity was not checked yet",
        );
        return;
    };
    let (status, reason, message) = match finding {
        IdentityFinding::Allowed => (
            True,
            Reason::IdentityAllowed,
            "the identity may be used from this namespace",
        ),
        IdentityFinding::LocalSecret => (
            True,
            Reason::LocalSecret,
            "a Secret of the pool's own namespace",
        ),
        IdentityFinding::NotFound(message) => (False, Reason::IdentityNotFound, message.as_str()),
        IdentityFinding::NamespaceNotAllowed(message) => {
            (False, Reason::NamespaceNotAllowed, message.as_str())
        }
        IdentityFinding::SecretNotFound(message) => {
            (False, Reason::SecretNotFound, message.as_str())
        }
        IdentityFinding::CredentialsIncomplete(message) => {
            (False, Reason::CredentialsIncomplete, message.as_str())
        }
        IdentityFinding::CheckFailed(message) => {
            (Unknown, Reason::IdentityCheckFailed, message.as_str())
        }
    };
    draft
        .conditions
        .set(ConditionType::IdentityAllowed, status, reason, message);
    if finding.usable() {
        draft.conditions.set(
            mirrored,
            True,
            Reason::Mirrored,
            "credentials are read in place",
        );
    } else {
        draft.conditions.set(
            mirrored,
            Unknown,
            Reason::MirrorPending,
            "the identity cannot be used",
        );
    }
}

fn state(draft: &mut Draft<'_>, findings: &Findings) {
    let kind = ConditionType::StateReadable;
    let (status, reason, message) = match &findings.state {
        None => {
            draft
                .conditions
                .set_first(kind, Unknown, Reason::StateNotFound, NO_RECORD);
            return;
        }
        Some(StateFinding::Unreadable(why)) => {
            draft
                .conditions
                .set_first(kind, Unknown, Reason::StateNotFound, why.as_str());
            return;
        }
        Some(StateFinding::NotFound) => (Unknown, Reason::StateNotFound, NO_RECORD.to_owned()),
        Some(StateFinding::Read(_) | StateFinding::Adopting(_)) => {
            (True, Reason::StateRead, RECORD_READ.to_owned())
        }
        Some(StateFinding::Corrupt(why)) => (
            False,
            Reason::StateCorrupt,
            format!("the record cannot be read: {why}"),
        ),
        Some(StateFinding::Lost) if draft.state_was_lost() => return,
        Some(StateFinding::Lost) => (
            Unknown,
            Reason::StateNotFound,
            "there is no record although the pool was applied; it is rebuilt when the group is \
             found by its tags"
                .to_owned(),
        ),
        Some(StateFinding::LostForGood) => (
            False,
            Reason::StateLost,
            "the record is gone, and without the pool's owner and inputs nothing says where its \
             group is; restore the record Secret, or give the infrastructure up with the \
             annotation captf.io/abandon-infrastructure"
                .to_owned(),
        ),
        Some(StateFinding::Retained(what)) => (
            False,
            Reason::RetainedStateFound,
            format!("{what}; set spec.adoptRetainedState or delete them"),
        ),
    };
    draft.conditions.set(kind, status, reason, message);
}

/// Message of a readable record. Without its revision, which would make each write another.
pub(super) const RECORD_READ: &str = "the record is readable";
const NO_RECORD: &str = "nothing was applied yet";

fn autoscaling(draft: &mut Draft<'_>, findings: &Findings) {
    let (status, reason, message) = match &findings.autoscaling {
        None => return,
        Some(AutoscalingFinding::Disabled) => (
            False,
            Reason::AutoscalingDisabled,
            "the MachinePool sets no autoscaler bounds".to_owned(),
        ),
        Some(AutoscalingFinding::AnnotationsInvalid(why)) => (
            False,
            Reason::AutoscalingAnnotationsInvalid,
            format!("{why}; the pool has a fixed size"),
        ),
        Some(AutoscalingFinding::Managed) => (
            True,
            Reason::ReplicasManagedByModule,
            "the observed count is written back to the MachinePool".to_owned(),
        ),
        Some(AutoscalingFinding::ManagedExternally(holder)) => (
            False,
            Reason::ReplicasManagedExternally,
            format!("{} is {holder:?}", keys::REPLICAS_MANAGED_BY),
        ),
    };
    draft
        .conditions
        .set(ConditionType::AutoscalingActive, status, reason, message);
}

fn hold(draft: &mut Draft<'_>, findings: &Findings) {
    let (status, reason, message) = match &findings.hold {
        None
        | Some(
            Hold::Backoff { .. }
            | Hold::LookAgain { .. }
            | Hold::DeadlineExceeded(_)
            | Hold::Unreadable(_),
        ) => return,
        Some(Hold::Image(refusal)) => (False, Reason::ImageInvalid, refusal.to_string()),
        Some(Hold::JobPolicy(why)) => (False, Reason::JobPolicyInvalid, why.clone()),
        Some(Hold::InputsTooLarge { bytes }) => (
            False,
            Reason::InputsTooLarge,
            format!(
                "inputs and variables have {bytes} bytes, at most {} are allowed",
                limits::INPUTS_BYTES
            ),
        ),
        Some(Hold::Refused(refusals)) => (False, Reason::ApplyFailed, refusals_text(refusals)),
        Some(Hold::Credentials(problem)) => {
            let reason = if findings.deleting {
                Reason::DestroyFailed
            } else {
                Reason::ApplyFailed
            };
            (False, reason, problem.clone())
        }
        Some(Hold::ClusterOperation(operation)) => (
            Unknown,
            Reason::WaitingForClusterOperation,
            format!("the TerraformCluster runs {operation}"),
        ),
        Some(Hold::Identity(finding)) => {
            (False, Reason::IdentityNotAllowed, identity_text(finding))
        }
    };
    draft
        .conditions
        .set(ConditionType::ApplyJobSucceeded, status, reason, message);
}

fn identity_text(finding: &IdentityFinding) -> String {
    match finding {
        IdentityFinding::Allowed | IdentityFinding::LocalSecret => String::new(),
        IdentityFinding::NotFound(message)
        | IdentityFinding::NamespaceNotAllowed(message)
        | IdentityFinding::SecretNotFound(message)
        | IdentityFinding::CredentialsIncomplete(message)
        | IdentityFinding::CheckFailed(message) => message.clone(),
    }
}

/// There are no backups, so a request is answered once and starts nothing.
fn restore(draft: &mut Draft<'_>) {
    let annotations = &draft.world.pool.metadata.annotations;
    if annotations.contains_key(keys::RESTORE_STATE) {
        draft.conditions.set(
            ConditionType::RestoreJobSucceeded,
            False,
            Reason::RestoreBackupNotFound,
            "state backups are not kept",
        );
    }
}
