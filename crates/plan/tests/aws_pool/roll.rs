//! Rolls: new template, refresh, old template gone; cancelled, resumed, never doubled.

use remuda_plan::{
    aws::{action::Action, desired::ImageChoice, observed::Refresh},
    pool::action::{Effect, Outlook},
};
use serde_json::json;

use super::{
    cloud::{Cloud, End, applied, name_of},
    demo::{Demo, demo},
};

const ROLL: [&str; 4] = [
    "CreateLaunchTemplate",
    "UpdateAutoScalingGroup",
    "StartInstanceRefresh",
    "DeleteLaunchTemplate",
];

fn own_templates(cloud: &Cloud) -> usize {
    cloud.templates.len()
}

fn position(cloud: &Cloud, demo: &Demo, call: &str) -> usize {
    let plan = cloud.plan(demo).expect("a plan can be made");
    plan.steps
        .iter()
        .position(|step| name_of(&step.action) == call)
        .expect("the plan holds the call")
}

/// Runs a pass that dies right after a call.
fn dies_after(cloud: &mut Cloud, demo: &mut Demo, call: &str) {
    let at = position(cloud, demo, call);
    let plan = cloud.plan(demo).expect("a plan can be made");
    assert_eq!(cloud.run(demo, &plan, at + 1), End::Crashed);
}

fn refreshing(cloud: &mut Cloud) {
    let id = format!("refresh-{}", cloud.refreshes.len() + 1);
    cloud.refreshes.insert(
        0,
        Refresh {
            id,
            status: "InProgress".to_owned(),
            status_reason: None,
            percentage_complete: Some(10),
        },
    );
}

fn finish(cloud: &mut Cloud) {
    if let Some(refresh) = cloud.running_refresh() {
        refresh.status = "Successful".to_owned();
    }
}

/// Proves: AWS-35.
#[test]
fn a_new_version_replaces_the_template_and_starts_one_refresh() {
    let (mut cloud, demo) = applied(demo());
    let before = (cloud.template().0.to_owned(), cloud.template().1.id.clone());
    let mut demo = demo.version("v1.35.0");
    assert_eq!(cloud.settle(&mut demo), ROLL);
    let after = (cloud.template().0.to_owned(), cloud.template().1.id.clone());
    assert_ne!(after.0, before.0);
    assert_ne!(after.1, before.1);
    assert!(!cloud.templates.contains_key(&before.0));
    let started = cloud.journal.iter().find_map(|call| match call {
        Action::StartRefresh { warmup_seconds, .. } => Some(*warmup_seconds),
        _ => None,
    });
    assert_eq!(started, Some(300));
    assert_eq!(own_templates(&cloud), 1);
    assert!(
        cloud.settle(&mut demo).is_empty(),
        "no second refresh for the same change"
    );
}

/// Proves: AWS-36.
#[test]
fn a_suffix_alone_rolls_and_keeps_the_filter() {
    let (mut cloud, demo) = applied(demo().version("v1.35.0"));
    let filter = demo.good().image;
    let mut demo = demo.version("v1.35.0+rke2r2");
    assert_eq!(demo.good().image, filter);
    assert!(matches!(&filter, ImageChoice::Lookup(query) if query.name.contains("?1.35.0-")));
    assert_eq!(cloud.settle(&mut demo), ROLL);
}

/// Proves: AWS-37, AWS-38.
#[test]
fn setting_and_removing_an_explicit_image_rolls_each_time() {
    let (mut cloud, demo) = applied(demo());
    let mut pinned = demo.var("machine_image", json!({ "id": "ami-0aaaaaaaaaaaaaaaa" }));
    assert_eq!(cloud.settle(&mut pinned), ROLL);
    assert_eq!(
        cloud.template().1.latest().image_id,
        "ami-0aaaaaaaaaaaaaaaa"
    );
    finish(&mut cloud);
    let mut removed = pinned.var("machine_image", json!({}));
    assert_eq!(cloud.settle(&mut removed), ROLL);
    assert_eq!(cloud.count("StartInstanceRefresh"), 2);
}

#[test]
fn pinning_the_image_that_was_looked_up_rolls_all_the_same() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.var("machine_image", json!({ "id": super::demo::IMAGE }));
    assert_eq!(cloud.settle(&mut demo), ROLL);
}

#[test]
fn a_version_that_appears_or_goes_rolls() {
    let pinned = demo().var("machine_image", json!({ "id": super::demo::IMAGE }));
    let (mut cloud, demo) = applied(pinned);
    let mut demo = demo.with(|inputs| inputs.kubernetes_version = None);
    assert_eq!(cloud.settle(&mut demo), ROLL);
    finish(&mut cloud);
    let mut demo = demo.version("v1.34.1");
    assert_eq!(cloud.settle(&mut demo), ROLL);
}

/// Proves: AWS-42.
#[test]
fn version_and_image_in_one_render_are_one_roll() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo
        .version("v1.35.0")
        .var("machine_image", json!({ "id": "ami-0aaaaaaaaaaaaaaaa" }));
    assert_eq!(cloud.settle(&mut demo), ROLL);
}

#[test]
fn a_roll_carries_every_other_template_change_and_makes_no_extra_version() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo
        .version("v1.35.0")
        .var("instance_type", json!("m6i.xlarge"))
        .labels([("team", "data")]);
    assert_eq!(cloud.settle(&mut demo), ROLL);
    let data = cloud.template().1.latest();
    assert_eq!(data.instance_type, "m6i.xlarge");
    assert!(data.user_data.contains("team=data"));
}

/// Proves: AWS-104.
#[test]
fn the_warmup_of_the_next_roll_is_the_newest_one() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.var("rollout_instance_warmup_seconds", json!(600));
    assert!(cloud.settle(&mut demo).is_empty());
    let mut demo = demo.version("v1.35.0");
    cloud.settle(&mut demo);
    let warmups: Vec<u32> = cloud
        .journal
        .iter()
        .filter_map(|call| match call {
            Action::StartRefresh { warmup_seconds, .. } => Some(*warmup_seconds),
            _ => None,
        })
        .collect();
    assert_eq!(warmups, [600]);
}

/// Proves: AWS-39.
#[test]
fn a_refresh_in_the_way_is_cancelled_and_waited_for_across_passes() {
    let (mut cloud, demo) = applied(demo());
    refreshing(&mut cloud);
    let mut demo = demo.version("v1.35.0");

    // Refused: the pass stops, the roll stays owed.
    let plan = cloud.plan(&demo).expect("a plan can be made");
    assert_eq!(
        cloud.run(&mut demo, &plan, usize::MAX),
        End::Refused("InstanceRefreshInProgress".to_owned())
    );
    assert!(demo.remembered().pending_roll.is_some());
    // Cancelled: it takes time, the pass stops.
    let plan = cloud.plan(&demo).expect("a plan can be made");
    assert_eq!(cloud.run(&mut demo, &plan, usize::MAX), End::Pending);
    // Looked at again, as often as it takes.
    for _poll in 0..3 {
        let plan = cloud.plan(&demo).expect("a plan can be made");
        assert!(plan.steps.is_empty(), "{plan:?}");
        assert_eq!(
            plan.outlook,
            Outlook::LookAgain {
                what: "instance refresh refresh-1 to be cancelled".to_owned(),
                after_seconds: 5,
            }
        );
    }
    cloud.tick();
    cloud.settle(&mut demo);
    assert_eq!(
        cloud.calls,
        [
            "CreateLaunchTemplate",
            "UpdateAutoScalingGroup",
            "StartInstanceRefresh",
            "CancelInstanceRefresh",
            "StartInstanceRefresh",
            "DeleteLaunchTemplate",
        ]
    );
    assert_eq!(cloud.refreshes[0].id, "refresh-2");
    assert_eq!(own_templates(&cloud), 1);
}

/// Proves: AWS-40.
#[test]
fn a_refresh_that_ended_meanwhile_lets_the_start_follow_at_once() {
    let (mut cloud, demo) = applied(demo());
    refreshing(&mut cloud);
    let mut demo = demo.version("v1.35.0");
    cloud.pass(&mut demo);
    let plan = cloud.plan(&demo).expect("a plan can be made");
    // It ends between the read and the cancel: the answer is ActiveInstanceRefreshNotFound.
    finish(&mut cloud);
    let before = cloud.calls.len();
    assert_eq!(
        cloud.run(&mut demo, &plan, usize::MAX),
        End::Done(Outlook::Settled)
    );
    assert_eq!(
        cloud.calls[before..],
        [
            "CancelInstanceRefresh",
            "StartInstanceRefresh",
            "DeleteLaunchTemplate"
        ]
    );
}

#[test]
fn baking_and_rolling_back_are_not_the_end_of_a_refresh() {
    for status in ["Pending", "Baking", "RollbackInProgress", "Cancelling"] {
        let (mut cloud, demo) = applied(demo());
        refreshing(&mut cloud);
        let mut demo = demo.version("v1.35.0");
        cloud.pass(&mut demo);
        status.clone_into(&mut cloud.refreshes[0].status);
        let plan = cloud.plan(&demo).expect("a plan can be made");
        let starts_first = plan.steps.first().map(|step| name_of(&step.action));
        assert_ne!(starts_first, Some("StartInstanceRefresh"), "{status}");
    }
}

/// Proves: AWS-41.
#[test]
fn a_crash_between_update_and_start_starts_exactly_one_refresh() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.version("v1.35.0");
    dies_after(&mut cloud, &mut demo, "UpdateAutoScalingGroup");
    assert_eq!(cloud.count("StartInstanceRefresh"), 0);
    assert_eq!(
        cloud.settle(&mut demo),
        ["StartInstanceRefresh", "DeleteLaunchTemplate"]
    );
    assert_eq!(own_templates(&cloud), 1);
    assert_eq!(cloud.count("CreateLaunchTemplate"), 1);
}

#[test]
fn a_crash_right_after_the_start_does_not_start_again() {
    for is_over in [false, true] {
        let (mut cloud, demo) = applied(demo());
        let mut demo = demo.version("v1.35.0");
        dies_after(&mut cloud, &mut demo, "StartInstanceRefresh");
        if is_over {
            finish(&mut cloud);
        }
        assert_eq!(cloud.settle(&mut demo), ["DeleteLaunchTemplate"]);
        assert_eq!(cloud.count("StartInstanceRefresh"), 1);
        assert_eq!(cloud.count("CancelInstanceRefresh"), 0);
    }
}

#[test]
fn a_template_made_before_a_crash_is_used_and_not_made_again() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.version("v1.35.0");
    dies_after(&mut cloud, &mut demo, "CreateLaunchTemplate");
    assert_eq!(cloud.settle(&mut demo), ROLL[1..]);
    assert_eq!(own_templates(&cloud), 1);
}

#[test]
fn two_renders_are_two_rolls_and_the_second_cancels_the_first() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.version("v1.35.0");
    cloud.settle(&mut demo);
    let mut demo = demo.var("machine_image", json!({ "id": "ami-0aaaaaaaaaaaaaaaa" }));
    cloud.settle(&mut demo);
    let statuses: Vec<&str> = cloud.refreshes.iter().map(|r| r.status.as_str()).collect();
    assert_eq!(statuses, ["InProgress", "Cancelled"]);
    assert_eq!(own_templates(&cloud), 1);
}

#[test]
fn a_newer_change_is_not_lost_while_an_older_roll_is_still_owed() {
    let (mut cloud, demo) = applied(demo());
    refreshing(&mut cloud);
    let mut demo = demo.version("v1.35.0");
    cloud.pass(&mut demo); // refused: owed, and the group already uses the template of 1.35.0
    let mut demo = demo.version("v1.36.0");
    cloud.settle(&mut demo);
    assert_eq!(own_templates(&cloud), 1);
    assert_eq!(cloud.refreshes.len(), 2);
    assert_eq!(demo.remembered().roll_key, Some(demo.good().roll_key));
    assert_eq!(demo.remembered().pending_roll, None);
}

#[test]
fn a_change_taken_back_before_the_group_knew_it_rolls_nothing() {
    let (mut cloud, demo) = applied(demo());
    let original = demo.clone();
    let mut demo = demo.version("v1.35.0");
    let at = position(&cloud, &demo, "UpdateAutoScalingGroup");
    let plan = cloud.plan(&demo).expect("a plan can be made");
    cloud.run(&mut demo, &plan, at); // the roll is recorded, the group not yet updated
    assert!(demo.remembered().pending_roll.is_some());
    let mut back = Demo {
        inputs: original.inputs.clone(),
        ..demo
    };
    assert_eq!(cloud.settle(&mut back), ["DeleteLaunchTemplate"]);
    assert!(cloud.refreshes.is_empty());
    assert_eq!(own_templates(&cloud), 1);
    assert_eq!(back.remembered().pending_roll, None);
}

#[test]
fn a_change_taken_back_after_the_group_knew_it_rolls_back() {
    let (mut cloud, demo) = applied(demo());
    let (first, _) = cloud.template();
    let first = first.to_owned();
    refreshing(&mut cloud);
    let mut demo = demo.version("v1.35.0");
    cloud.pass(&mut demo); // some members may already come from the new template
    let mut demo = demo.version("v1.34.1");
    cloud.settle(&mut demo);
    assert_eq!(
        cloud.template().0,
        first,
        "the unused old template is used again"
    );
    assert_eq!(cloud.refreshes.len(), 2);
    assert_eq!(own_templates(&cloud), 1);
}

#[test]
fn a_new_version_of_a_group_that_is_gone_makes_the_group_without_a_refresh() {
    let (mut cloud, demo) = applied(demo());
    cloud.group = None;
    let mut demo = demo.version("v1.35.0");
    assert_eq!(
        cloud.settle(&mut demo),
        [
            "CreateLaunchTemplate",
            "CreateAutoScalingGroup",
            "SuspendProcesses",
            "DeleteLaunchTemplate",
        ]
    );
    assert!(cloud.refreshes.is_empty());
}

#[test]
fn only_the_refresh_rolls() {
    let (cloud, demo) = applied(demo());
    let plan = cloud
        .plan(&demo.version("v1.35.0"))
        .expect("a plan can be made");
    let rolling: Vec<&str> = plan
        .steps
        .iter()
        .filter(|step| step.effect == Effect::Rolls)
        .map(|step| name_of(&step.action))
        .collect();
    assert_eq!(rolling, ["StartInstanceRefresh"]);
    let because = plan
        .steps
        .iter()
        .find(|s| s.effect == Effect::Rolls)
        .map(|s| s.because.as_str());
    assert_eq!(because, Some("kubernetes_version v1.34.1 -> v1.35.0"));
}

#[test]
fn somebody_elses_refresh_is_never_taken_for_the_rolls_own() {
    let (mut cloud, demo) = applied(demo());
    let mut demo = demo.version("v1.35.0");
    let at = position(&cloud, &demo, "CreateLaunchTemplate");
    let plan = cloud.plan(&demo).expect("a plan can be made");
    cloud.run(&mut demo, &plan, at); // the roll is recorded, nothing else is done
    refreshing(&mut cloud); // by hand, with the old template
    cloud.settle(&mut demo);
    let statuses: Vec<&str> = cloud.refreshes.iter().map(|r| r.status.as_str()).collect();
    assert_eq!(statuses, ["InProgress", "Cancelled"]);
    assert_eq!(cloud.rolled_to.as_deref(), Some(cloud.template().0));
}

#[test]
fn a_template_that_is_not_ours_is_not_deleted_by_a_roll() {
    let (mut cloud, demo) = applied(demo());
    let ours = cloud.template().0.to_owned();
    let mut other = cloud.templates[&ours].clone();
    other.tags.clear();
    let by_hand = format!("{}-by-hand", super::demo::GROUP);
    cloud.templates.insert(by_hand.clone(), other);
    cloud.group_mut().template_name = Some(by_hand.clone());
    let mut demo = demo.version("v1.35.0");
    cloud.settle(&mut demo);
    let (used, _) = cloud.template();
    assert_ne!(used, by_hand);
    assert!(cloud.templates.contains_key(&by_hand));
    assert_eq!(own_templates(&cloud), 2);
}
