//! First apply, second pass, what a crash leaves, and what is put back.

use remuda_plan::{
    azure::{
        action::Action as Call,
        desired::SetSpec,
        observed::{Observed, ProvisioningState},
    },
    error::{CloudFailure, FailureClass},
    pool::{
        action::{Action, ChangeKind, Outlook, Plan, PlanStop},
        read::Read,
    },
};
use serde_json::json;

use super::{
    cloud::{Cloud, End, applied, failure},
    demo::{SET, SETTING, application_group_id, demo, identity_id, security_group_id, subnet_id},
};

fn created(cloud: &Cloud) -> (&SetSpec, i64) {
    let call = cloud.journal.iter().find_map(|call| match call {
        Call::CreateSet { set, capacity } => Some((&**set, *capacity)),
        _ => None,
    });
    call.expect("a set was created")
}

fn fresh() -> Cloud {
    let mut cloud = Cloud::new();
    cloud.settle(&mut demo());
    cloud
}

#[test]
fn a_first_apply_makes_the_set_waits_and_makes_its_setting() {
    let mut cloud = Cloud::new();
    let mut demo = demo();
    assert_eq!(cloud.pass(&mut demo), [format!("PUT {SET}")]);
    assert!(cloud.pass(&mut demo).is_empty(), "it waits");
    let plan = cloud.plan(&demo).expect("a plan can be made");
    assert_eq!(
        plan.outlook,
        Outlook::LookAgain {
            what: format!("scale set {SET} to be made"),
            after_seconds: 10,
        }
    );
    cloud.tick();
    assert_eq!(cloud.pass(&mut demo), [format!("PUT {SETTING}")]);
}

/// Proves: AZURE-11.
#[test]
fn a_settled_pool_writes_nothing() {
    let (mut cloud, mut demo) = applied(demo());
    let before = cloud.outputs(&demo);
    let revision = demo.record.as_ref().expect("a record").revision;
    assert!(cloud.settle(&mut demo).is_empty());
    assert_eq!(demo.record.as_ref().expect("a record").revision, revision);
    assert_eq!(cloud.outputs(&demo), before);
}

#[test]
fn what_a_set_is_made_of() {
    let cloud = fresh();
    let (spec, capacity) = created(&cloud);
    assert_eq!(capacity, 3);
    assert_eq!(spec.name, SET);
    assert_eq!(spec.zones.iter().collect::<Vec<_>>(), ["1", "2", "3"]);
    let model = &spec.model;
    assert_eq!(model.vm_size, "Standard_D4s_v5");
    assert_eq!(model.identity_ids, [identity_id()].into());
    assert_eq!(model.network.subnet_id, subnet_id());
    assert_eq!(
        model.network.network_security_group_id,
        Some(security_group_id())
    );
    assert_eq!(
        model.network.application_security_group_ids,
        [application_group_id()].into()
    );
    assert_eq!(model.admin_username, "captf");
    assert!(!model.spot && !model.trusted_launch && !model.encryption_at_host);
    let sent = serde_json::to_string(spec).expect("a spec serializes");
    assert!(
        !sent.contains("control/plane"),
        "nothing of the control plane"
    );
}

#[test]
fn the_record_is_written_before_each_call_to_a_set() {
    let cloud = Cloud::new();
    let plan = cloud.plan(&demo()).expect("a plan can be made");
    assert!(matches!(plan.steps[0].action, Action::Remember(_)));
    let revisions: Vec<i64> = plan
        .steps
        .iter()
        .filter_map(|step| match &step.action {
            Action::Remember(record) => Some(record.revision),
            Action::Aws(_) | Action::Azure(_) => None,
        })
        .collect();
    let counted: Vec<i64> = (1..=3).take(revisions.len()).collect();
    assert_eq!(revisions, counted);
}

/// Proves: AZURE-76.
#[test]
fn a_set_deleted_by_hand_is_made_again_with_the_desired_count() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.replicas(4);
    cloud.settle(&mut demo);
    cloud.sets.clear();
    cloud.calls.clear();
    cloud.journal.clear();
    let outputs = cloud.outputs(&demo);
    assert_eq!(outputs.health.reasons, ["ScaleSetNotFound"]);
    assert_eq!(outputs.replicas, None);
    assert!(outputs.provider_id_list.is_empty());
    assert_eq!(cloud.settle(&mut demo), [format!("PUT {SET}")]);
    assert_eq!(created(&cloud).1, 4);
}

#[test]
fn a_set_deleted_by_hand_while_scaling_is_made_again_with_the_new_count() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.replicas(6);
    cloud.pass(&mut demo);
    cloud.sets.clear();
    cloud.settings.clear();
    cloud.calls.clear();
    cloud.journal.clear();
    assert_eq!(
        cloud.settle(&mut demo),
        [format!("PUT {SET}"), format!("PUT {SETTING}")]
    );
    assert_eq!(created(&cloud).1, 6);
    assert_eq!(cloud.outputs(&demo).replicas, Some(6));
}

#[test]
fn a_set_that_somebody_deletes_right_now_is_waited_for() {
    let (mut cloud, mut demo) = applied(demo());
    cloud.sets.get_mut(SET).expect("the set").set.state = ProvisioningState::Deleting;
    let mut demo2 = demo.clone().bootstrap(super::demo::ROTATED);
    assert!(cloud.pass(&mut demo2).is_empty());
    cloud.sets.clear();
    assert_eq!(cloud.settle(&mut demo), [format!("PUT {SET}")]);
}

#[test]
fn a_crash_right_after_the_create_makes_no_second_set() {
    let mut cloud = Cloud::new();
    let mut demo = demo();
    let plan = cloud.plan(&demo).expect("a plan can be made");
    assert_eq!(cloud.run(&mut demo, &plan, 2), End::Crashed);
    assert_eq!(cloud.calls, [format!("PUT {SET}")]);
    cloud.settle(&mut demo);
    let creates = cloud
        .calls
        .iter()
        .filter(|call| **call == format!("PUT {SET}"));
    assert_eq!(creates.count(), 1);
    assert_eq!(cloud.set(SET).instances.len(), 3);
}

#[test]
fn a_set_that_was_not_made_completely_is_completed() {
    let mut cloud = Cloud::new();
    let mut demo = demo();
    cloud.next_failure = Some(failure(FailureClass::Transient, "InternalServerError"));
    cloud.pass(&mut demo);
    cloud.tick();
    demo.now += 10;
    let plan = cloud.plan(&demo).expect("a plan can be made");
    assert!(matches!(plan.outlook, Outlook::Failed(_)), "{plan:?}");
    cloud.run(&mut demo, &plan, usize::MAX);
    assert_eq!(
        cloud.settle(&mut demo),
        [format!("PATCH {SET}"), format!("PUT {SETTING}")]
    );
    let sku = cloud.patches()[0].sku.clone().expect("a size");
    assert_eq!(sku.capacity, 3);
    assert_eq!(cloud.set(SET).instances.len(), 3);
}

/// Proves: AZURE-57.
#[test]
fn a_restart_resumes_the_stored_operation() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.version("v1.34.2");
    cloud.pass(&mut demo);
    let address = cloud.running.as_ref().expect("it runs").address.clone();
    let stored = serde_json::to_string(&demo.record).expect("a record serializes");
    demo.record = serde_json::from_str(&stored).expect("a record is read back");
    assert_eq!(Cloud::handle(&demo).operation, Some(address));
    assert!(cloud.pass(&mut demo).is_empty(), "no second PUT");
    cloud.settle(&mut demo);
    let puts = cloud
        .calls
        .iter()
        .filter(|call| *call == "PUT workers-64df8f7b");
    assert_eq!(puts.count(), 1);
}

#[test]
fn a_model_changed_by_hand_is_drift_and_is_put_back() {
    let (mut cloud, mut demo) = applied(demo());
    let set = &mut cloud.sets.get_mut(SET).expect("the set").set;
    set.model.vm_size = "Standard_D2s_v5".to_owned();
    set.foreign_fields = vec!["upgradePolicy.mode".to_owned()];
    let plan = cloud.plan(&demo).expect("a plan can be made");
    let step = plan
        .steps
        .iter()
        .find(|step| step.kind == ChangeKind::Update);
    let fields: Vec<&str> = step
        .expect("an update")
        .changes
        .iter()
        .map(|change| change.field.as_str())
        .collect();
    assert_eq!(fields, ["vm_size", "upgradePolicy.mode"]);
    cloud.settle(&mut demo);
    assert_eq!(cloud.set(SET).set.model, demo.good().set.model);
    assert!(cloud.patches()[0].constants);
}

#[test]
fn reads_that_a_plan_needs_and_that_failed_stop_it() {
    let (cloud, demo) = applied(demo());
    let cause = failure(FailureClass::Throttled, "TooManyRequests");
    let rows: [fn(&mut Observed, CloudFailure); 2] = [
        |observed, cause| observed.sets = Read::Unknown(cause),
        |observed, cause| observed.settings = Read::Unknown(cause),
    ];
    for spoil in rows {
        let plan = cloud.plan_seeing(&demo, |observed| spoil(observed, cause.clone()));
        assert_eq!(plan, Err(PlanStop::Unreadable(cause.clone())));
    }
}

#[test]
fn without_operations_the_whole_plan_runs_in_one_pass() {
    let mut cloud = Cloud::new();
    cloud.is_instant = true;
    let mut demo = demo();
    assert_eq!(
        cloud.pass(&mut demo),
        [format!("PUT {SET}"), format!("PUT {SETTING}")]
    );
    let mut demo = demo.version("v1.34.2");
    assert_eq!(cloud.pass(&mut demo).len(), 5);
    assert!(cloud.settle(&mut demo).is_empty());
}

#[test]
fn effects_and_kinds_of_a_first_apply() {
    let plan: Plan = Cloud::new().plan(&demo()).expect("a plan can be made");
    let calls: Vec<(String, ChangeKind)> = plan
        .steps
        .iter()
        .filter(|step| step.kind != ChangeKind::Bookkeeping)
        .map(|step| (step.object.clone(), step.kind))
        .collect();
    assert_eq!(
        calls,
        [
            (format!("scale_set/{SET}"), ChangeKind::Create),
            (format!("autoscale_setting/{SETTING}"), ChangeKind::Create),
        ]
    );
    let capacity = plan.steps[1]
        .changes
        .iter()
        .find(|change| change.field == "capacity");
    assert_eq!(capacity.expect("a capacity").new, Some(json!(3)));
}
