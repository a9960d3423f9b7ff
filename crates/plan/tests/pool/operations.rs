//! Operations that an earlier pass started and that came to a bad end.

use jiff::SignedDuration;
use remuda_plan::{
    error::{CloudFailure, FailureClass},
    pool::{
        action::{Outlook, Plan},
        gate::Next,
    },
    status::{
        condition::{ConditionStatus, ConditionType, Reason},
        event::EventReason,
        pass::{Pass, PassEnd},
        wire::Operation,
    },
};

use super::{
    lab::Lab,
    world::{Edit as _, message},
};

/// A pass of an apply that found this outlook and did nothing else.
fn apply_ending_with(lab: &mut Lab, outlook: Outlook) {
    for _ in 0..5 {
        if let Next::Go(goal) = lab.gate().next
            && goal.operation == Operation::Apply
        {
            let mut pass = Pass::at_gate(lab.gate(), lab.now);
            pass.end = PassEnd::Done;
            pass.plan = Some(Plan {
                steps: Vec::new(),
                outlook,
            });
            lab.judge(pass);
            return;
        }
        lab.pass();
    }
    panic!("no apply starts: {:#?}", lab.gate().next);
}

fn failed(class: FailureClass, code: &str) -> Outlook {
    Outlook::Failed(CloudFailure {
        class,
        call: "PUT virtualMachineScaleSets".to_owned(),
        code: code.to_owned(),
        message: "Operation could not be completed".to_owned(),
        retry_after_seconds: None,
    })
}

fn rotated() -> Lab {
    let mut lab = Lab::ready();
    lab.edit(|world| world.bootstrap(b"#cloud-config\n# rotated\n"));
    lab
}

#[test]
fn a_failed_operation_fails_the_apply_with_its_code() {
    let mut lab = rotated();
    apply_ending_with(&mut lab, failed(FailureClass::Quota, "OperationNotAllowed"));
    assert_eq!(
        lab.condition(ConditionType::ApplyJobSucceeded),
        Some((ConditionStatus::False, Reason::ApplyFailed))
    );
    let text = message(&lab.world, ConditionType::ApplyJobSucceeded);
    assert!(text.contains("OperationNotAllowed"), "{text}");
    assert!(lab.events.contains(&EventReason::JobFailed));
}

#[test]
fn it_is_tried_again_after_the_interval_of_its_class() {
    let rows = [
        (FailureClass::Locked, 600),
        (FailureClass::Constraint, 1800),
        (FailureClass::Capacity, 300),
    ];
    for (class, seconds) in rows {
        let mut lab = rotated();
        let now = lab.now;
        apply_ending_with(&mut lab, failed(class, "Code"));
        let record = lab.world.record.found().expect("a record");
        let retry_at = record.history.apply.retry_at.expect("a next try");
        let wait = retry_at.duration_since(now);
        assert!(
            wait >= SignedDuration::from_secs(seconds),
            "{class:?}: {wait}"
        );
        assert!(
            wait <= SignedDuration::from_secs(seconds * 2),
            "{class:?}: {wait}"
        );
    }
}

/// A quota or a combination that cannot be had waits for a person, and not for the clock (Azure
/// document 10.3); what other inputs cannot help keeps its wait.
#[test]
fn other_inputs_are_tried_at_once_where_the_inputs_were_at_fault() {
    let rows = [
        (FailureClass::Quota, true),
        (FailureClass::Constraint, true),
        (FailureClass::Rejected, true),
        (FailureClass::Locked, false),
        (FailureClass::Capacity, false),
        (FailureClass::Contended, false),
    ];
    for (class, at_once) in rows {
        let mut lab = rotated();
        apply_ending_with(&mut lab, failed(class, "Code"));
        lab.wait(1);
        assert!(
            !matches!(lab.gate().next, Next::Go(goal) if goal.operation == Operation::Apply),
            "{class:?}: the same inputs wait"
        );
        lab.edit(|world| world.bootstrap(b"#cloud-config\n# rotated again\n"));
        let goes = match lab.gate().next {
            Next::Prepare(operation) => operation == Operation::Apply,
            Next::Go(goal) => goal.operation == Operation::Apply,
            _ => false,
        };
        assert_eq!(goes, at_once, "{class:?}");
    }
}

#[test]
fn what_still_runs_keeps_the_apply_going() {
    let mut lab = rotated();
    let outlook = Outlook::LookAgain {
        what: "scale set workers-7d91b187 to be updated".to_owned(),
        after_seconds: 17,
    };
    let now = lab.now;
    apply_ending_with(&mut lab, outlook);
    let job = lab.world.pool.status.active_job.as_ref();
    assert_eq!(job.map(|job| job.operation), Some(Operation::Apply));
    let memory = lab.world.memory.as_ref().expect("a memory");
    let again = memory.look_again_at.expect("another look");
    assert_eq!(again.duration_since(now), SignedDuration::from_secs(17));
}
