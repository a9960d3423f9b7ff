//! A group whose pool has Machines: what they see of it, and what is done when they ask.

use std::collections::BTreeSet;

use jiff::Timestamp;
use remuda_plan::{
    aws::{action::Action, observed::Departure, outputs::provider_id},
    machines::group::{GroupWish, Leaving},
    pool::{
        action::{Outlook, Plan},
        drift,
        members::MemberState,
    },
};

use super::{
    cloud::{Cloud, End, HELD, applied, is_terminating, member},
    demo::{Demo, demo},
};

/// A pool with Machines that ask for its replicas.
pub(crate) fn pool(demo: Demo) -> Demo {
    let replicas = demo.inputs.replicas;
    Demo {
        wish: Some(wish(replicas)),
        ..demo
    }
}

fn wish(replicas: i64) -> GroupWish {
    GroupWish {
        capacity: replicas,
        bounds: Some((replicas, replicas)),
        ..GroupWish::default()
    }
}

pub(crate) fn ask(demo: &mut Demo) -> &mut GroupWish {
    demo.wish.as_mut().expect("the pool has Machines")
}

/// The wish of another count, as the MachinePool's replicas change.
fn resize(demo: &mut Demo, replicas: i64) {
    demo.inputs.replicas = replicas;
    let wish = ask(demo);
    wish.capacity = replicas;
    wish.bounds = Some((replicas, replicas));
}

pub(crate) fn id_at(cloud: &Cloud, at: usize) -> String {
    cloud.group().instances[at].instance_id.clone()
}

pub(crate) fn provider(id: &str) -> String {
    provider_id("us-east-1a", id)
}

fn active(cloud: &Cloud) -> Vec<String> {
    let staying = cloud
        .group()
        .instances
        .iter()
        .filter(|i| !is_terminating(i));
    staying.map(|i| i.instance_id.clone()).collect()
}

pub(crate) fn hold(cloud: &mut Cloud, id: &str) {
    let instances = &mut cloud.group_mut().instances;
    let found = instances.iter_mut().find(|i| i.instance_id == id);
    HELD.clone_into(&mut found.expect("a member").lifecycle_state);
}

/// Passes that only look, until nothing is left to do; asserts at every call that the group is
/// never asked for fewer than `floor`.
pub(crate) fn tended(cloud: &mut Cloud, demo: &mut Demo, floor: i64) {
    for _ in 0..20 {
        demo.now += 5;
        let plan = cloud.tend(demo);
        if plan.steps.is_empty() && plan.outlook == Outlook::Settled {
            return;
        }
        for at in 0..plan.steps.len() {
            cloud.run(demo, &one(&plan, at), usize::MAX);
            assert!(cloud.group().desired_capacity >= floor, "{plan:?}");
        }
        cloud.tick();
    }
    panic!("does not settle: {:?}", cloud.calls);
}

fn one(plan: &Plan, at: usize) -> Plan {
    Plan {
        steps: vec![plan.steps[at].clone()],
        outlook: plan.outlook.clone(),
    }
}

#[test]
fn members_tell_model_way_out_and_place() {
    let (mut cloud, mut demo) = applied(pool(demo()));
    let current = cloud.template().0.to_owned();
    let ids: Vec<String> = (0..3).map(|at| id_at(&cloud, at)).collect();
    cloud.group_mut().instances[0].template_name = Some("older".to_owned());
    hold(&mut cloud, &ids[1]);
    cloud.departures.insert(
        ids[1].clone(),
        Departure {
            since: Timestamp::from_second(demo.now - 100).ok(),
            cause: "At 2026-11-30T10:00:00Z an instance was taken out of service in response to a \
                    difference between desired and actual capacity, shrinking the capacity from 4 \
                    to 3."
                .to_owned(),
        },
    );
    cloud.zones.insert(ids[2].clone(), "us-east-1d".to_owned());
    let mut shutting = member("i-0fff", "us-east-1b", "shutting-down");
    shutting.state = MemberState::Terminated;
    cloud.extra_members.push(shutting);

    let seen = cloud.group_members(&demo);
    let by_id = |id: &str| {
        let found = seen.iter().find(|seen| seen.member.instance_id == id);
        found.expect("a member").clone()
    };
    let first = by_id(&ids[0]);
    assert_eq!(first.revision.as_deref(), Some("older"));
    assert!(first.outdated && first.leaving.is_none());
    let second = by_id(&ids[1]);
    assert_eq!(second.revision.as_deref(), Some(current.as_str()));
    assert!(!second.outdated);
    let until = Timestamp::from_second(demo.now - 100 + 3600).ok();
    assert_eq!(
        second.leaving,
        Some(Leaving::Held {
            because: "scale-in".to_owned(),
            until
        })
    );
    assert!(by_id(&ids[2]).outdated, "its zone is none of the group's");
    assert_eq!(by_id("i-0fff").leaving, Some(Leaving::Ending));

    // The end of the wait does not move with the clock once it is recorded.
    let plan = cloud.tend(&demo);
    cloud.run(&mut demo, &plan, usize::MAX);
    cloud.departures.clear();
    demo.now += 50;
    let again = cloud.group_members(&demo);
    let held = again.iter().find(|seen| seen.member.instance_id == ids[1]);
    assert_eq!(held.expect("a member").leaving, second.leaving);

    // What is published does not know of the one that shuts down.
    assert_eq!(cloud.outputs(&demo).instances.len(), 3);
}

#[test]
fn a_template_that_somebody_else_put_there_makes_nobody_outdated() {
    let (mut cloud, demo) = applied(pool(demo()));
    cloud.group_mut().template_name = Some("somebodys".to_owned());
    assert!(cloud.group_members(&demo).iter().all(|seen| !seen.outdated));
}

/// Proves ours: AWS-116.
/// Proves: CAPI-98.
#[test]
fn ending_one_of_three_names_it_and_never_asks_for_fewer() {
    let (mut cloud, mut demo) = applied(pool(demo()));
    let id = id_at(&cloud, 1);
    ask(&mut demo).ends.insert(provider(&id));
    tended(&mut cloud, &mut demo, 3);
    assert_eq!(cloud.ended, [id.as_str()]);
    assert_eq!(
        cloud.journal.iter().find_map(|call| match call {
            Action::EndInstance {
                instance_id,
                decrement,
                ..
            } => Some((instance_id, *decrement)),
            _ => None,
        }),
        Some((&id, false))
    );
    assert_eq!(active(&cloud).len(), 3);
    assert!(!active(&cloud).contains(&id));
    assert_eq!(cloud.count("CompleteLifecycleAction"), 1);
}

/// Proves ours: AWS-115.
/// Proves: CAPI-100.
#[test]
fn lowered_replicas_take_exactly_the_instance_whose_machine_goes_whatever_comes_first() {
    for lowered_first in [true, false] {
        let (mut cloud, mut demo) = applied(pool(demo()));
        let id = id_at(&cloud, 0);
        if lowered_first {
            resize(&mut demo, 2);
            cloud.settle(&mut demo);
            assert_eq!(cloud.group().desired_capacity, 3, "nobody is drained yet");
        }
        // The Machine is drained; the other order: the count is lowered while it was.
        resize(&mut demo, 2);
        ask(&mut demo).ends.insert(provider(&id));
        tended(&mut cloud, &mut demo, 2);
        cloud.settle(&mut demo);
        assert_eq!(cloud.ended, [id]);
        assert_eq!(cloud.launched, 3, "no replacement was ever made");
        let group = cloud.group();
        let sizes = (group.min_size, group.max_size, group.desired_capacity);
        assert_eq!((sizes, active(&cloud).len()), ((2, 2, 2), 2));
    }
}

#[test]
fn a_lower_count_alone_ends_nobody_and_is_no_drift() {
    let (mut cloud, mut demo) = applied(pool(demo()));
    resize(&mut demo, 1);
    cloud.settle(&mut demo);
    let group = cloud.group();
    assert_eq!(
        (group.min_size, group.max_size, group.desired_capacity),
        (1, 3, 3)
    );
    assert_eq!(active(&cloud).len(), 3);
    // One after the other, the count falls with each.
    for left in [2, 1] {
        let id = active(&cloud)[0].clone();
        ask(&mut demo).ends = BTreeSet::from([provider(&id)]);
        tended(&mut cloud, &mut demo, left);
        assert_eq!(cloud.group().desired_capacity, left);
    }
    assert_eq!(cloud.ended.len(), 2);
}

#[test]
fn several_ends_decrement_only_as_far_as_the_capacity() {
    let (mut cloud, mut demo) = applied(pool(demo()));
    resize(&mut demo, 2);
    let gone: Vec<String> = (0..2).map(|at| id_at(&cloud, at)).collect();
    ask(&mut demo).ends = gone.iter().map(|id| provider(id)).collect();
    tended(&mut cloud, &mut demo, 2);
    let decrements = cloud.journal.iter().filter(|call| {
        matches!(
            call,
            Action::EndInstance {
                decrement: true,
                ..
            }
        )
    });
    assert_eq!(decrements.count(), 1);
    assert_eq!(active(&cloud).len(), 2);
    assert!(active(&cloud).iter().all(|id| !gone.contains(id)));
}

#[test]
fn a_surge_raises_the_count_and_goes_with_the_member_it_replaced() {
    let (mut cloud, mut demo) = applied(pool(demo()));
    ask(&mut demo).capacity = 4;
    tended(&mut cloud, &mut demo, 3);
    assert_eq!(
        (cloud.group().desired_capacity, active(&cloud).len()),
        (4, 4)
    );
    let old = id_at(&cloud, 0);
    ask(&mut demo).capacity = 3;
    ask(&mut demo).ends.insert(provider(&old));
    tended(&mut cloud, &mut demo, 3);
    let group = cloud.group();
    assert_eq!(
        (group.min_size, group.max_size, group.desired_capacity),
        (3, 3, 3)
    );
    assert_eq!((cloud.ended.clone(), cloud.launched), (vec![old], 4));
}

#[test]
fn a_count_that_no_member_fills_follows_the_members_down() {
    let (mut cloud, mut demo) = applied(pool(demo()));
    resize(&mut demo, 2);
    // A launch never came about: the group asks for what it has not.
    cloud.group_mut().instances.pop();
    let plan = cloud.tend(&demo);
    cloud.run(&mut demo, &plan, usize::MAX);
    assert_eq!(cloud.group().desired_capacity, 2);
    assert!(cloud.ended.is_empty());
}

#[test]
fn a_foreign_group_is_never_tended() {
    let (mut cloud, mut demo) = applied(pool(demo()));
    let tag = remuda_plan::aws::tags::INSTALLATION.to_owned();
    let foreign = ("another".to_owned(), false);
    cloud.group_mut().tags.insert(tag, foreign);
    let id = id_at(&cloud, 0);
    ask(&mut demo).ends.insert(provider(&id));
    assert!(cloud.tend(&demo).steps.is_empty());
}

/// Proves ours: AWS-119.
#[test]
fn a_roll_changes_the_model_and_leaves_the_members_to_their_machines() {
    let (mut cloud, demo) = applied(pool(demo()));
    let old = cloud.template().0.to_owned();
    let mut demo = demo.version("v1.35.0");
    cloud.settle(&mut demo);
    assert_eq!(cloud.count("StartInstanceRefresh"), 0);
    let new = cloud.template().0.to_owned();
    assert_ne!(old, new);
    assert!(cloud.templates.contains_key(&old), "its members still run");
    assert!(demo.remembered().pending_roll.is_none());
    assert!(cloud.group_members(&demo).iter().all(|seen| seen.outdated));

    let mut left = 3;
    while let Some(victim) = outdated(&cloud, &demo) {
        ask(&mut demo).ends = BTreeSet::from([provider(&victim)]);
        tended(&mut cloud, &mut demo, 3);
        left -= 1;
        assert!(cloud.templates.contains_key(&old));
    }
    assert_eq!(left, 0);
    let plan = cloud.plan(&demo).expect("a plan can be made");
    assert_eq!(drift::summary(&plan), None, "tidying up is no drift");
    assert_eq!(cloud.settle(&mut demo), ["DeleteLaunchTemplate"]);
    assert_eq!(cloud.templates.keys().collect::<Vec<_>>(), [&new]);
}

fn outdated(cloud: &Cloud, demo: &Demo) -> Option<String> {
    let seen = cloud.group_members(demo);
    let old = seen
        .iter()
        .find(|seen| seen.outdated && seen.leaving.is_none());
    old.map(|seen| seen.member.instance_id.clone())
}

#[test]
fn a_second_change_while_rolling_goes_on_to_the_newest_and_back_again_rolls_nothing() {
    let (mut cloud, demo) = applied(pool(demo()));
    let first = id_at(&cloud, 0);
    let mut demo = demo.version("v1.35.0");
    cloud.settle(&mut demo);
    ask(&mut demo).ends = BTreeSet::from([provider(&first)]);
    tended(&mut cloud, &mut demo, 3);
    ask(&mut demo).ends.clear();
    let mut demo = demo.version("v1.35.1");
    cloud.settle(&mut demo);
    let seen = cloud.group_members(&demo);
    assert!(
        seen.iter().all(|seen| seen.outdated),
        "the one just made is old, too"
    );
    assert_eq!(cloud.count("StartInstanceRefresh"), 0);
    assert_eq!(cloud.templates.len(), 3, "each has members");
}

/// Proves ours: AWS-121.
#[test]
fn a_zone_that_leaves_makes_its_members_outdated_behind_the_hook() {
    let (mut cloud, demo) = applied(demo().zones(["us-east-1a", "us-east-1b"]));
    let mut demo = pool(demo);
    let id = id_at(&cloud, 2);
    cloud.zones.insert(id.clone(), "us-east-1b".to_owned());
    demo = demo.zones(["us-east-1a"]);
    let calls = cloud.settle(&mut demo);
    assert_eq!(
        calls,
        ["PutLifecycleHook", "UpdateAutoScalingGroup"],
        "the hook comes first"
    );
    let old: Vec<String> = cloud
        .group_members(&demo)
        .into_iter()
        .filter(|seen| seen.outdated)
        .map(|seen| seen.member.instance_id)
        .collect();
    assert_eq!(old, [id]);
}

#[test]
fn bounds_follow_the_annotations_and_the_count_goes_where_machines_ask() {
    let (mut cloud, demo) = applied(pool(demo().autoscaled(1, 5)));
    let mut demo = demo;
    ask(&mut demo).bounds = Some((1, 5));
    cloud.settle(&mut demo);
    cloud.group_mut().desired_capacity = 5; // the policy scaled out
    cloud.tick();
    let mut demo = demo.autoscaled(1, 4);
    *ask(&mut demo) = GroupWish {
        capacity: 4,
        bounds: Some((1, 4)),
        ..GroupWish::default()
    };
    cloud.settle(&mut demo);
    let group = cloud.group();
    let sizes = (group.min_size, group.max_size, group.desired_capacity);
    assert_eq!(
        sizes,
        (1, 5, 5),
        "the bound would make AWS choose: it waits for the drain"
    );
    let id = id_at(&cloud, 4);
    ask(&mut demo).ends.insert(provider(&id));
    tended(&mut cloud, &mut demo, 4);
    let group = cloud.group();
    assert_eq!(
        (group.min_size, group.max_size, group.desired_capacity),
        (1, 4, 4)
    );
    // A raised minimum lifts the count.
    let mut demo = demo.autoscaled(6, 8);
    *ask(&mut demo) = GroupWish {
        capacity: 6,
        bounds: Some((6, 8)),
        ..GroupWish::default()
    };
    cloud.settle(&mut demo);
    let group = cloud.group();
    assert_eq!(
        (group.min_size, group.max_size, group.desired_capacity),
        (6, 8, 6)
    );
}

/// Proves ours: AWS-120.
#[test]
fn a_process_that_dies_after_any_call_ends_nobody_twice() {
    for kind in ["replace", "shrink", "roll"] {
        let whole = scenario(kind, usize::MAX);
        for crash_after in 0..12 {
            assert_eq!(
                scenario(kind, crash_after),
                whole,
                "{kind} after {crash_after}"
            );
        }
    }
}

/// Replaces, shrinks or rolls with one crash: sizes, launches, ends, templates, what is recorded.
fn scenario(kind: &str, crash_after: usize) -> impl PartialEq + std::fmt::Debug {
    let (mut cloud, mut demo) = applied(pool(demo()));
    let ids: Vec<String> = (0..3).map(|at| id_at(&cloud, at)).collect();
    let mut victims = ids.clone();
    match kind {
        "roll" => demo = demo.version("v1.35.0"),
        "shrink" => {
            resize(&mut demo, 1);
            victims.truncate(2);
        }
        _ => victims.truncate(1),
    }
    let mut steps_left = Some(crash_after);
    for victim in victims {
        ask(&mut demo).ends = BTreeSet::from([provider(&victim)]);
        for _ in 0..30 {
            demo.now += 5;
            let plan = cloud.plan(&demo).expect("a plan can be made");
            let is_settled = plan.steps.is_empty() && plan.outlook == Outlook::Settled;
            let most = steps_left.unwrap_or(usize::MAX);
            let end = cloud.run(&mut demo, &plan, most);
            steps_left = match (steps_left, end) {
                (Some(_), End::Crashed) | (None, _) => None,
                (Some(left), _) => Some(left - plan.steps.len()),
            };
            cloud.tick();
            if is_settled {
                break;
            }
        }
    }
    ask(&mut demo).ends.clear();
    cloud.settle(&mut demo);
    let group = cloud.group();
    let sizes = (group.min_size, group.max_size, group.desired_capacity);
    let record = demo.remembered();
    (
        sizes,
        cloud.launched,
        cloud.ended.clone(),
        cloud.templates.len(),
        record.pending_roll,
        record.held,
    )
}

/// A pool that is deleted is emptied by name, and nobody replaces anyone.
#[test]
fn a_pool_that_wants_nobody_is_emptied_one_by_one() {
    let (mut cloud, mut demo) = applied(pool(demo()));
    resize(&mut demo, 0);
    for left in [2, 1, 0] {
        let id = active(&cloud)[0].clone();
        ask(&mut demo).ends = BTreeSet::from([provider(&id)]);
        tended(&mut cloud, &mut demo, left);
    }
    assert_eq!((cloud.ended.len(), cloud.launched), (3, 3));
    assert!(cloud.group().instances.is_empty());
    let group = cloud.group();
    let sizes = (group.min_size, group.max_size, group.desired_capacity);
    assert_eq!(sizes, (0, 0, 0));
}

/// Before Machines decided anything the inputs' count is theirs, and still nobody is chosen.
#[test]
fn machines_that_have_not_decided_yet_raise_the_count_and_never_lower_it() {
    let (mut cloud, mut demo) = applied(pool(demo()));
    demo.wish = None;
    demo.undecided = true;
    demo.inputs.replicas = 5;
    cloud.settle(&mut demo);
    assert_eq!(cloud.group().desired_capacity, 5);
    demo.inputs.replicas = 2;
    cloud.settle(&mut demo);
    let group = cloud.group();
    let sizes = (group.min_size, group.max_size, group.desired_capacity);
    assert_eq!(sizes, (2, 5, 5));
    assert!(cloud.hook.is_some() && cloud.ended.is_empty());
}
