//! Deletion, pass by pass.

use remuda_plan::{
    aws::observed::Refresh,
    driver::{self, Driver},
    pool::action::{Effect, Outlook},
    pool::read::Read,
};

use super::{
    cloud::{Cloud, applied},
    demo::{Demo, GROUP, demo},
};

/// Passes and time until nothing is left; the calls they made.
fn destroy(cloud: &mut Cloud, demo: &mut Demo) -> Vec<String> {
    let before = cloud.calls.len();
    for _ in 0..10 {
        let plan = cloud.teardown(demo);
        let is_settled = plan.outlook == Outlook::Settled;
        cloud.run(demo, &plan, usize::MAX);
        if is_settled {
            return cloud.calls[before..].to_vec();
        }
        cloud.tick();
    }
    panic!("does not end: {:?}", &cloud.calls[before..]);
}

fn is_empty(cloud: &Cloud) -> bool {
    cloud.group.is_none()
        && cloud.policy.is_none()
        && cloud.templates.is_empty()
        && cloud.objects.is_empty()
}

/// Proves: AWS-88.
#[test]
fn a_pool_is_taken_down_in_order_and_leaves_nothing() {
    let (mut cloud, mut autoscaled) = applied(demo().autoscaled(1, 5));
    let mut calls = destroy(&mut cloud, &mut autoscaled);
    assert_eq!(
        calls,
        [
            "DeletePolicy",
            "UpdateAutoScalingGroup",
            "DeleteAutoScalingGroup",
            "DeleteLaunchTemplate",
            "DeleteObject",
        ]
    );
    assert!(is_empty(&cloud));

    let (mut cloud, mut fixed) = applied(demo());
    let with_policy = calls.split_off(1);
    assert_eq!(destroy(&mut cloud, &mut fixed), with_policy);
    assert!(is_empty(&cloud));
}

/// Proves: AWS-89.
#[test]
fn what_is_gone_already_is_no_obstacle() {
    let spoilers: [fn(&mut Cloud); 4] = [
        |cloud| {
            cloud.group = None;
            cloud.policy = None;
        },
        |cloud| cloud.templates.clear(),
        |cloud| cloud.objects.clear(),
        |cloud| *cloud = Cloud::new(),
    ];
    for spoil in spoilers {
        let (mut cloud, mut demo) = applied(demo());
        spoil(&mut cloud);
        destroy(&mut cloud, &mut demo);
        assert!(is_empty(&cloud));
    }
    let (_, mut demo) = applied(demo());
    let mut cloud = Cloud::new();
    assert!(destroy(&mut cloud, &mut demo).is_empty());
}

#[test]
fn deletion_needs_no_valid_inputs() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo
        .with(|inputs| inputs.replicas = -1)
        .exports(|exports| *exports = serde_json::json!("nonsense"));
    assert!(demo.desired().is_err());
    destroy(&mut cloud, &mut demo);
    assert!(is_empty(&cloud));
}

#[test]
fn deletion_survives_a_crash_after_any_step() {
    for crash_after in 1..12 {
        let (mut cloud, mut demo) = applied(demo().autoscaled(1, 5));
        let mut left = crash_after;
        loop {
            let plan = cloud.teardown(&demo);
            cloud.run(&mut demo, &plan, left);
            if left <= plan.steps.len() {
                break;
            }
            left -= plan.steps.len();
            if plan.outlook == Outlook::Settled {
                break;
            }
            cloud.tick();
        }
        destroy(&mut cloud, &mut demo);
        assert!(is_empty(&cloud), "crash after {crash_after}");
    }
}

#[test]
fn the_group_waits_for_its_instances_and_protection_is_lifted_in_fifties() {
    let (mut cloud, mut demo) = applied(demo().with(|inputs| inputs.replicas = 120));
    for instance in &mut cloud.group_mut().instances {
        instance.protected = true;
    }
    let plan = cloud.teardown(&demo);
    assert_eq!(
        plan.outlook,
        Outlook::LookAgain {
            what: format!("120 instances of group {GROUP} to terminate"),
            after_seconds: 10,
        }
    );
    assert!(plan.steps.iter().any(|step| step.effect == Effect::Removes));
    cloud.run(&mut demo, &plan, usize::MAX);
    assert_eq!(
        cloud.calls,
        [
            "UpdateAutoScalingGroup",
            "SetInstanceProtection",
            "SetInstanceProtection",
            "SetInstanceProtection",
        ]
    );
    // Instances are still there: nothing is sent again.
    let again = cloud.teardown(&demo);
    assert!(again.steps.is_empty(), "{again:?}");
    cloud.tick();
    destroy(&mut cloud, &mut demo);
    assert!(is_empty(&cloud));
}

#[test]
fn a_running_refresh_is_cancelled_first() {
    let (mut cloud, mut demo) = applied(demo());
    cloud.refreshes.push(Refresh {
        id: "refresh-1".to_owned(),
        status: "InProgress".to_owned(),
        status_reason: None,
        percentage_complete: None,
    });
    destroy(&mut cloud, &mut demo);
    assert_eq!(
        cloud.calls.first().map(String::as_str),
        Some("CancelInstanceRefresh")
    );
    assert_eq!(cloud.count("CancelInstanceRefresh"), 1);
    assert!(is_empty(&cloud));
}

/// Proves: AWS-111.
#[test]
fn an_unused_template_of_the_prefix_goes_only_if_its_tags_are_ours() {
    let (mut cloud, mut demo) = applied(demo());
    let ours = cloud.template().1.clone();
    let mut theirs = ours.clone();
    theirs
        .tags
        .insert("captf.io/cluster".to_owned(), "other".to_owned());
    let mut untagged = ours.clone();
    untagged.tags.clear();
    cloud
        .templates
        .insert(format!("{GROUP}-20250101000000r00000000000"), ours.clone());
    cloud.templates.insert(format!("{GROUP}-theirs"), theirs);
    cloud
        .templates
        .insert(format!("{GROUP}-untagged"), untagged);
    cloud.templates.insert("another-group-1".to_owned(), ours);
    destroy(&mut cloud, &mut demo);
    let left: Vec<&str> = cloud.templates.keys().map(String::as_str).collect();
    let theirs = format!("{GROUP}-theirs");
    let untagged = format!("{GROUP}-untagged");
    assert_eq!(left, ["another-group-1", &theirs, &untagged]);
}

#[test]
fn both_templates_of_a_roll_under_way_go() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.version("v1.35.0");
    let plan = cloud.plan(&demo).expect("a plan can be made");
    let refresh = plan
        .steps
        .iter()
        .position(|step| super::cloud::name_of(&step.action) == "StartInstanceRefresh")
        .expect("the plan rolls");
    cloud.run(&mut demo, &plan, refresh);
    assert_eq!(cloud.templates.len(), 2);
    destroy(&mut cloud, &mut demo);
    assert!(is_empty(&cloud));
}

#[test]
fn both_objects_of_a_bucket_change_under_way_go() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.exports(|e| e["bootstrap_bucket"] = serde_json::json!("second"));
    let plan = cloud.plan(&demo).expect("a plan can be made");
    let delete = plan
        .steps
        .iter()
        .position(|step| super::cloud::name_of(&step.action) == "DeleteObject")
        .expect("the old object goes");
    cloud.run(&mut demo, &plan, delete);
    assert_eq!(cloud.objects.len(), 2);
    destroy(&mut cloud, &mut demo);
    assert!(is_empty(&cloud));
}

#[test]
fn nothing_applied_leaves_nothing_to_look_at() {
    assert_eq!(Driver::Aws.handle_from_record(&demo().context()), None);
}

#[test]
fn an_object_that_could_not_be_looked_at_is_deleted_all_the_same() {
    let (mut cloud, demo) = applied(demo());
    cloud.group = None;
    cloud.templates.clear();
    let handle = Driver::Aws
        .handle_from_record(&demo.context())
        .expect("applied");
    let driver::Handle::Aws(inner) = &handle else {
        panic!("an AWS pool");
    };
    let mut observed = cloud.observe(inner);
    observed.payload = Read::NotAsked;
    let plan = Driver::Aws
        .teardown(
            &handle,
            &driver::Observed::Aws(Box::new(observed)),
            &demo.context(),
        )
        .expect("the group is known to be gone");
    assert_eq!(plan.steps.len(), 1);
    assert_eq!(plan.steps[0].object, "s3_object/pool/demo-pool-0");
}

#[test]
fn where_the_name_is_another_installations_only_what_the_record_names_goes() {
    let (mut cloud, mut demo) = applied(demo());
    let ours = cloud.template().0.to_owned();
    // The group was deleted by hand, and another installation made it again with equal tags.
    let mut template = cloud.template().1.clone();
    template.id = "lt-theirs".to_owned();
    for name in ["used", "unused"] {
        cloud
            .templates
            .insert(format!("{GROUP}-{name}"), template.clone());
    }
    let group = cloud.group_mut();
    group.template_name = Some(format!("{GROUP}-used"));
    group.tags.insert(
        "remuda.dev/installation".to_owned(),
        ("inst-other".to_owned(), false),
    );
    let before = group.clone();
    assert_eq!(
        destroy(&mut cloud, &mut demo),
        ["DeleteLaunchTemplate", "DeleteObject"]
    );
    assert_eq!(*cloud.group(), before);
    assert!(!cloud.templates.contains_key(&ours));
    assert_eq!(cloud.templates.len(), 2);
}
