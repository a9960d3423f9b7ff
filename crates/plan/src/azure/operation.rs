//! The one long-running operation of a pool (Azure document 4.6).
//!
//! It is written down before its call, and again with its address once Azure accepted it. A pass
//! that finds one asks how it stands and sends nothing else to the sets meanwhile. A crash between
//! call and address leaves an operation without address: then the set itself tells.

use super::{
    limits,
    observed::{OperationState, Presence, ProvisioningState},
};
use crate::{
    error::{CloudFailure, FailureClass},
    pool::{
        read::Read,
        record::{Operation, OperationKind},
    },
};

/// How the recorded operation stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Standing {
    /// It runs.
    Running {
        /// When to ask again.
        after_seconds: u32,
    },
    /// It did what it should.
    Done,
    /// It came to a bad end.
    Failed(CloudFailure),
    /// Nobody knows whether it ever began; the set shows what is.
    Unknown,
}

/// How an operation stands.
///
/// # Errors
/// It could not be asked.
pub(super) fn standing(
    operation: &Operation,
    set: &Presence,
    state: &Read<OperationState>,
    now: i64,
) -> Result<Standing, CloudFailure> {
    let age = now.saturating_sub(operation.started_at);
    let told = match (operation.address.as_ref(), state) {
        (None, _) if operation.accepted => by_set(operation, set),
        (None, _) => Standing::Unknown,
        (
            Some(_),
            Read::Known(OperationState::Running {
                retry_after_seconds,
            }),
        ) => Standing::Running {
            after_seconds: retry_after_seconds.unwrap_or(limits::LOOK_AGAIN_SECONDS),
        },
        (Some(_), Read::Known(OperationState::Succeeded)) => Standing::Done,
        (Some(_), Read::Known(OperationState::Failed(failure))) => {
            Standing::Failed(failure.clone())
        }
        (Some(_), Read::Known(OperationState::Lost)) if age < limits::LOST_OPERATION_SECONDS => {
            wait()
        }
        (Some(_), Read::Known(OperationState::Lost)) => by_set(operation, set),
        (Some(_), Read::Unknown(_)) if age >= limits::OPERATION_SECONDS => by_set(operation, set),
        (Some(_), Read::Unknown(failure)) => return Err(failure.clone()),
        (Some(_), Read::NotAsked) => {
            state.needed("operation")?;
            Standing::Unknown
        }
    };
    Ok(match told {
        Standing::Running { .. } if age >= limits::OPERATION_SECONDS => {
            Standing::Failed(overdue(operation))
        }
        // Deleted is what a GET does not find any more.
        Standing::Done if operation.kind == OperationKind::Delete && set.set().is_some() => wait(),
        // The set is busy with what may be this operation.
        Standing::Unknown if is_busy(set) => wait(),
        told => told,
    })
}

fn wait() -> Standing {
    Standing::Running {
        after_seconds: limits::LOOK_AGAIN_SECONDS,
    }
}

/// Whether Azure works on a set.
pub(super) fn is_busy(set: &Presence) -> bool {
    set.set().is_some_and(|set| {
        matches!(
            set.state,
            ProvisioningState::Running | ProvisioningState::Deleting
        )
    })
}

/// What the set tells of an operation that Azure accepted and forgot.
fn by_set(operation: &Operation, set: &Presence) -> Standing {
    let Some(set) = set.set() else {
        return match operation.kind {
            OperationKind::Delete | OperationKind::Empty => Standing::Done,
            OperationKind::Create | OperationKind::Update => Standing::Unknown,
        };
    };
    match set.state {
        ProvisioningState::Running | ProvisioningState::Deleting => wait(),
        ProvisioningState::Succeeded if operation.kind == OperationKind::Delete => {
            Standing::Unknown
        }
        ProvisioningState::Succeeded => Standing::Done,
        ProvisioningState::Failed | ProvisioningState::Canceled => Standing::Failed(failure(
            operation,
            "Failed",
            "the set ended in a failed state",
        )),
    }
}

fn overdue(operation: &Operation) -> CloudFailure {
    failure(
        operation,
        "OperationTimedOut",
        "the operation ran for more than 60 minutes",
    )
}

fn failure(operation: &Operation, code: &str, message: &str) -> CloudFailure {
    CloudFailure {
        class: FailureClass::Transient,
        call: format!("{} {}", verb(operation.kind), operation.set_name),
        code: code.to_owned(),
        message: message.to_owned(),
        retry_after_seconds: None,
    }
}

fn verb(kind: OperationKind) -> &'static str {
    match kind {
        OperationKind::Create => "create scale set",
        OperationKind::Update => "update scale set",
        OperationKind::Empty => "empty scale set",
        OperationKind::Delete => "delete scale set",
    }
}

/// What is awaited, for people.
pub(super) fn awaited(operation: &Operation) -> String {
    let what = match operation.kind {
        OperationKind::Create => "to be made",
        OperationKind::Update => "to be updated",
        OperationKind::Empty => "to lose its instances",
        OperationKind::Delete => "to be deleted",
    };
    format!("scale set {} {what}", operation.set_name)
}

/// Why the record is written before the call.
pub(super) fn announced(operation: &Operation) -> String {
    let what = match operation.kind {
        OperationKind::Create => "is about to be made",
        OperationKind::Update => "is about to be updated",
        OperationKind::Empty => "is about to lose its instances",
        OperationKind::Delete => "is about to be deleted",
    };
    format!("scale set {} {what}", operation.set_name)
}
