//! Long-running operations: followed by their address, or by the set itself.

use remuda_plan::{
    azure::observed::{OperationState, ProvisioningState},
    error::FailureClass,
    pool::{
        action::{Outlook, Plan, PlanStop},
        read::Read,
    },
};

use super::{
    cloud::{Cloud, applied, failure},
    demo::{Demo, ROTATED, SET, demo},
};

/// A settled pool whose PATCH was accepted and runs.
fn patching() -> (Cloud, Demo) {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.bootstrap(ROTATED);
    cloud.pass(&mut demo);
    assert!(demo.remembered().operation.is_some());
    (cloud, demo)
}

fn seeing(cloud: &Cloud, demo: &Demo, state: OperationState) -> Plan {
    let plan = cloud.plan_seeing(demo, |observed| observed.operation = Read::Known(state));
    plan.expect("a plan can be made")
}

fn awaits(plan: &Plan) -> Option<u32> {
    match &plan.outlook {
        Outlook::LookAgain { after_seconds, .. } => Some(*after_seconds),
        Outlook::Settled | Outlook::Failed(_) => None,
    }
}

#[test]
fn what_runs_is_awaited_as_long_as_azure_says() {
    let (cloud, demo) = patching();
    let running = |retry_after_seconds| OperationState::Running {
        retry_after_seconds,
    };
    let plan = seeing(&cloud, &demo, running(Some(37)));
    assert!(plan.steps.is_empty());
    assert_eq!(awaits(&plan), Some(37));
    assert_eq!(awaits(&seeing(&cloud, &demo, running(None))), Some(10));
}

#[test]
fn an_operation_that_runs_for_an_hour_has_failed() {
    let (cloud, mut demo) = patching();
    demo.now += 3600;
    let plan = seeing(
        &cloud,
        &demo,
        OperationState::Running {
            retry_after_seconds: None,
        },
    );
    let Outlook::Failed(cause) = plan.outlook else {
        panic!("it has failed");
    };
    assert_eq!(cause.code, "OperationTimedOut");
}

#[test]
fn a_lost_operation_counts_as_running_for_a_while_then_the_set_decides() {
    let (mut cloud, mut demo) = patching();
    cloud.tick();
    assert_eq!(
        awaits(&seeing(&cloud, &demo, OperationState::Lost)),
        Some(10)
    );
    demo.now += 120;
    let done = seeing(&cloud, &demo, OperationState::Lost);
    assert_eq!(done.outlook, Outlook::Settled);
    assert_eq!(done.steps.len(), 1, "the record alone: {done:?}");
    cloud.sets.get_mut(SET).expect("the set").set.state = ProvisioningState::Failed;
    let failed = seeing(&cloud, &demo, OperationState::Lost);
    assert!(matches!(failed.outlook, Outlook::Failed(_)));
    cloud.sets.get_mut(SET).expect("the set").set.state = ProvisioningState::Running;
    let running = seeing(&cloud, &demo, OperationState::Lost);
    assert_eq!(awaits(&running), Some(10));
}

#[test]
fn a_failed_update_is_told_once_and_tried_again() {
    let (mut cloud, mut demo) = patching();
    let cause = failure(FailureClass::Rejected, "InvalidParameter");
    cloud.next_failure = Some(cause.clone());
    cloud.tick();
    let plan = cloud.plan(&demo).expect("a plan can be made");
    assert_eq!(plan.outlook, Outlook::Failed(cause));
    cloud.run(&mut demo, &plan, usize::MAX);
    let sent = demo.remembered().current.expect("one serves").sent;
    let wanted = demo.good().set.custom_data.sha256;
    assert_ne!(sent.expect("the first apply's").custom_data_sha256, wanted);
    assert_eq!(cloud.settle(&mut demo), [format!("PATCH {SET}")]);
}

#[test]
fn an_operation_that_cannot_be_asked_is_no_answer() {
    let (cloud, demo) = patching();
    let cause = failure(FailureClass::Transient, "ServiceUnavailable");
    let plan = cloud.plan_seeing(&demo, |observed| {
        observed.operation = Read::Unknown(cause.clone());
    });
    assert_eq!(plan, Err(PlanStop::Unreadable(cause)));
}

#[test]
fn without_an_address_the_set_itself_is_asked() {
    let (mut cloud, demo) = applied(demo());
    cloud.hides_addresses = true;
    let mut demo = demo.bootstrap(ROTATED);
    cloud.pass(&mut demo);
    assert_eq!(Cloud::handle(&demo).operation, None);
    let plan = cloud.plan(&demo).expect("a plan can be made");
    assert_eq!(awaits(&plan), Some(10));
    cloud.tick();
    assert!(cloud.settle(&mut demo).is_empty(), "sent once");
    assert_eq!(cloud.patches().len(), 1);
}

/// Proves: AZURE-91.
#[test]
fn a_set_that_azure_is_busy_with_is_awaited_before_anything_is_sent() {
    let (mut cloud, demo) = applied(demo());
    cloud.sets.get_mut(SET).expect("the set").set.state = ProvisioningState::Running;
    let mut demo = demo.bootstrap(ROTATED);
    let plan = cloud.plan(&demo).expect("a plan can be made");
    assert_eq!(awaits(&plan), Some(10));
    assert!(cloud.pass(&mut demo).is_empty());
    cloud.sets.get_mut(SET).expect("the set").set.state = ProvisioningState::Succeeded;
    assert_eq!(cloud.settle(&mut demo), [format!("PATCH {SET}")]);
}

#[test]
fn a_crash_between_call_and_record_sends_the_data_again_and_nothing_else() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.bootstrap(ROTATED);
    let plan = cloud.plan(&demo).expect("a plan can be made");
    cloud.run(&mut demo, &plan, 2);
    let operation = demo.remembered().operation.expect("written before");
    assert!(!operation.accepted);
    let plan = cloud.plan(&demo).expect("a plan can be made");
    assert_eq!(awaits(&plan), Some(10), "the set is busy");
    cloud.tick();
    let calls = cloud.settle(&mut demo);
    assert_eq!(calls, [format!("PATCH {SET}")]);
    assert!(cloud.patches().iter().all(|patch| patch.sku.is_none()));
}

#[test]
fn a_name_that_is_taken_at_the_last_moment_is_looked_at_again() {
    let mut cloud = Cloud::new();
    let mut demo = demo();
    cloud.refusing = Some("PreconditionFailed");
    cloud.pass(&mut demo);
    assert!(cloud.sets.is_empty());
    cloud.settle(&mut demo);
    assert_eq!(cloud.set(SET).instances.len(), 3);
}
