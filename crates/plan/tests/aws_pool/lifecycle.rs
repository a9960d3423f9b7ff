//! First apply, second pass, and what is put back.

use std::collections::BTreeSet;

use remuda_plan::{
    aws::action::Action,
    driver::{self, Driver},
    error::{CloudFailure, FailureClass},
    pool::{
        action::{Action as Any, ChangeKind, Outlook, PlanStop},
        read::Read,
    },
};
use serde_json::json;

use super::{
    cloud::{Cloud, applied, name_of},
    demo::{KEY, demo},
};

#[test]
fn a_first_apply_makes_payload_template_and_group_in_this_order() {
    let mut cloud = Cloud::new();
    let mut demo = demo().autoscaled(2, 5);
    let calls = cloud.settle(&mut demo);
    assert_eq!(
        calls,
        [
            "PutObject",
            "CreateLaunchTemplate",
            "CreateAutoScalingGroup",
            "SuspendProcesses",
            "PutScalingPolicy",
        ]
    );
}

/// Proves: AWS-28.
#[test]
fn a_new_group_rebalances_nothing_and_nobody_waits_for_instances() {
    let mut cloud = Cloud::new();
    let mut demo = demo();
    let plan = cloud.plan(&demo).expect("a plan can be made");
    assert_eq!(plan.outlook, Outlook::Settled);
    cloud.run(&mut demo, &plan, usize::MAX);
    assert_eq!(
        cloud.group().suspended,
        BTreeSet::from(["AZRebalance".to_owned()])
    );
    assert_eq!(cloud.group().health_check_type, "EC2");
    assert_eq!(cloud.group().health_check_grace_period_seconds, 300);
    let after = cloud.plan(&demo).expect("a plan can be made");
    assert_eq!((after.steps.len(), after.outlook), (0, Outlook::Settled));
}

/// Proves: AWS-30.
#[test]
fn a_second_pass_plans_nothing() {
    for demo in [
        demo(),
        demo().autoscaled(1, 5),
        demo().var("spot", json!(true)),
    ] {
        let (mut cloud, mut demo) = applied(demo);
        let before = cloud.outputs(&demo);
        let plan = cloud.plan(&demo).expect("a plan can be made");
        assert!(plan.steps.is_empty(), "{plan:?}");
        assert!(cloud.pass(&mut demo).is_empty());
        let after = cloud.outputs(&demo);
        assert_eq!(after.provider_id, before.provider_id);
        assert_eq!(
            after.extra["launch_template_id"],
            before.extra["launch_template_id"]
        );
    }
}

/// Proves: AWS-45.
#[test]
fn another_warmup_is_no_call() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.var("rollout_instance_warmup_seconds", json!(600));
    assert!(cloud.settle(&mut demo).is_empty());
}

/// Proves: AWS-47.
#[test]
fn processes_changed_by_hand_are_put_back() {
    let (mut cloud, mut demo) = applied(demo());
    cloud.group_mut().suspended.clear();
    assert_eq!(cloud.settle(&mut demo), ["SuspendProcesses"]);
    cloud.group_mut().suspended.insert("Launch".to_owned());
    assert_eq!(cloud.settle(&mut demo), ["ResumeProcesses"]);
    assert_eq!(
        cloud.group().suspended,
        BTreeSet::from(["AZRebalance".to_owned()])
    );
}

#[test]
fn settings_changed_by_hand_are_put_back_in_one_update() {
    let (mut cloud, mut demo) = applied(demo());
    let good = cloud.group().clone();
    let group = cloud.group_mut();
    group.health_check_type = "ELB".to_owned();
    group.health_check_grace_period_seconds = 0;
    group.new_instances_protected = true;
    group.capacity_rebalance = true;
    group.subnets.pop_last();
    assert_eq!(cloud.settle(&mut demo), ["UpdateAutoScalingGroup"]);
    assert_eq!(*cloud.group(), good);
}

#[test]
fn a_desired_count_moved_by_a_scaler_is_accepted() {
    let (mut cloud, mut demo) = applied(demo().autoscaled(1, 5));
    cloud.group_mut().desired_capacity = 5;
    assert!(cloud.settle(&mut demo).is_empty());
    assert_eq!(cloud.group().desired_capacity, 5);
    assert_eq!(cloud.outputs(&demo).replicas, Some(5));
}

#[test]
fn a_failed_later_step_is_retried_without_making_the_group_again() {
    let mut cloud = Cloud::new();
    let mut demo = demo().autoscaled(1, 5);
    let plan = cloud.plan(&demo).expect("a plan can be made");
    let suspend = plan
        .steps
        .iter()
        .position(|step| name_of(&step.action) == "SuspendProcesses")
        .expect("AZRebalance is suspended");
    cloud.run(&mut demo, &plan, suspend);
    cloud.calls.clear();
    assert_eq!(
        cloud.settle(&mut demo),
        ["SuspendProcesses", "PutScalingPolicy"]
    );
}

#[test]
fn a_group_that_is_being_deleted_is_left_until_it_is_gone() {
    let (mut cloud, mut demo) = applied(demo());
    cloud.group_mut().status = Some("Delete in progress".to_owned());
    let plan = cloud.plan(&demo).expect("a plan can be made");
    assert!(plan.steps.is_empty());
    assert!(matches!(plan.outlook, Outlook::LookAgain { .. }));
    cloud.tick();
    assert_eq!(
        cloud.settle(&mut demo),
        ["CreateAutoScalingGroup", "SuspendProcesses"]
    );
}

#[test]
fn a_failed_read_stops_the_plan_and_guesses_nothing() {
    let (cloud, demo) = applied(demo());
    let failure = CloudFailure {
        class: FailureClass::Throttled,
        call: "autoscaling:DescribeAutoScalingGroups".to_owned(),
        code: "Throttling".to_owned(),
        message: "Rate exceeded".to_owned(),
        retry_after_seconds: None,
    };
    let desired = driver::Desired::Aws(Box::new(demo.good()));
    let driver::Handle::Aws(handle) = Driver::handle(&desired, &demo.context()) else {
        panic!("an AWS pool");
    };
    let good = cloud.observe(&handle);
    let unreadable = |spoil: fn(&mut remuda_plan::aws::observed::Observed, CloudFailure)| {
        let mut observed = good.clone();
        spoil(&mut observed, failure.clone());
        let observed = driver::Observed::Aws(Box::new(observed));
        Driver::diff(&desired, &observed, &demo.context())
    };
    let rows: [fn(&mut remuda_plan::aws::observed::Observed, CloudFailure); 5] = [
        |o, f| o.group = Read::Unknown(f),
        |o, f| o.policy = Read::Unknown(f),
        |o, f| o.templates = Read::Unknown(f),
        |o, f| o.payload = Read::Unknown(f),
        |o, f| o.image = Read::Unknown(f),
    ];
    for spoil in rows {
        assert_eq!(
            unreadable(spoil),
            Err(PlanStop::Unreadable(failure.clone()))
        );
    }
    // Refreshes matter to a roll only.
    assert!(unreadable(|o, f| o.refreshes = Read::Unknown(f)).is_ok());
}

#[test]
fn every_step_tells_object_kind_and_reason() {
    let cloud = Cloud::new();
    let plan = cloud
        .plan(&demo().autoscaled(1, 5))
        .expect("a plan can be made");
    for step in &plan.steps {
        assert!(
            !step.because.is_empty() && step.object.contains('/'),
            "{step:?}"
        );
        let is_record = matches!(step.action, Any::Remember(_));
        assert_eq!(is_record, step.object == "record/demo-pool-0", "{step:?}");
        assert!(!is_record || step.kind == ChangeKind::Bookkeeping);
    }
    let put = plan.steps.iter().find_map(|step| match &step.action {
        Any::Aws(Action::PutPayload(payload)) => Some((&step.object, &payload.key)),
        _ => None,
    });
    assert_eq!(put, Some((&format!("s3_object/{KEY}"), &KEY.to_owned())));
}

#[test]
fn the_record_is_written_before_the_first_cloud_write_and_counts_up() {
    let cloud = Cloud::new();
    let plan = cloud.plan(&demo()).expect("a plan can be made");
    let revisions: Vec<i64> = plan
        .steps
        .iter()
        .filter_map(|step| match &step.action {
            Any::Remember(record) => Some(record.revision),
            Any::Aws(_) | Any::Azure(_) => None,
        })
        .collect();
    assert!(matches!(plan.steps[0].action, Any::Remember(_)));
    assert_eq!(
        revisions,
        (1..=i64::try_from(revisions.len()).unwrap_or(0)).collect::<Vec<_>>()
    );
}
