//! Bounds, claim and write-back.

use remuda_plan::{
    pool::{autoscaling::bounds, keys, objects::MachinePoolObject, outputs::Outputs, world::World},
    status::{
        condition::{ConditionStatus, ConditionType, Reason},
        event::EventReason,
        wire::Operation,
    },
};
use serde_json::json;

use super::{
    lab::{Lab, apply_goal},
    outputs::running,
    world::{Edit as _, message, world},
};
use ConditionStatus::{False, True};

fn owner(lab: &Lab) -> &MachinePoolObject {
    lab.world.owner.found().expect("an owner")
}

fn claim(lab: &Lab) -> Option<&str> {
    let annotations = &owner(lab).metadata.annotations;
    annotations
        .get(keys::REPLICAS_MANAGED_BY)
        .map(String::as_str)
}

fn size(lab: &Lab) -> (i64, i64, i64) {
    let group = lab.cloud.group.as_ref().expect("a group");
    (group.min_size, group.desired_capacity, group.max_size)
}

/// An autoscaled pool with three members, claimed.
fn autoscaled() -> Lab {
    let lab = Lab::ready_with(world().bounds("2", "10"));
    assert_eq!(claim(&lab), Some("captf"));
    lab
}

/// The cloud scales by itself.
fn scale(lab: &mut Lab, count: i64) {
    lab.cloud.group.as_mut().expect("a group").desired_capacity = count;
    lab.cloud.tick();
}

/// Proves: CAPTF-29.
#[test]
fn a_fixed_pool_follows_the_wish() {
    let mut lab = Lab::ready();
    lab.edit(|world| world.owner(|owner| owner.spec.replicas = Some(5)));
    lab.settle();
    assert_eq!(lab.operations(Operation::Apply), 1);
    assert_eq!(size(&lab), (5, 5, 5));
    assert_eq!(
        lab.condition(ConditionType::AutoscalingActive),
        Some((False, Reason::AutoscalingDisabled))
    );
}

fn applies_as_fixed(world: World) {
    let mut lab = Lab::new(world);
    lab.settle();
    assert_eq!(size(&lab), (3, 3, 3));
    assert_eq!(
        lab.condition(ConditionType::AutoscalingActive),
        Some((False, Reason::AutoscalingAnnotationsInvalid))
    );
    assert_eq!(
        lab.condition(ConditionType::ApplyJobSucceeded),
        Some((True, Reason::ApplySucceeded))
    );
    assert_eq!(claim(&lab), None);
}

/// Proves: CAPTF-30.
#[test]
fn one_annotation_alone_is_invalid() {
    applies_as_fixed(world().annotate_owner(&[(keys::AUTOSCALER_MIN, "2")]));
    applies_as_fixed(world().annotate_owner(&[(keys::AUTOSCALER_MAX, "2")]));
}

/// Proves: CAPTF-31.
#[test]
fn bad_bounds_are_invalid() {
    let bad = [
        ("5", "3"),
        ("two", "3"),
        ("-1", "3"),
        ("1", "-3"),
        ("", "3"),
        ("1 ", "3"),
        ("1", "3x"),
        ("1.0", "3"),
        ("+1", "3"),
        ("1", "99999999999"),
    ];
    for (min, max) in bad {
        applies_as_fixed(world().bounds(min, max));
    }
    for (min, max) in [("0", "0"), ("0", "7"), ("7", "7")] {
        let world = world().bounds(min, max);
        let annotations = &world.owner.found().expect("an owner").metadata.annotations;
        let (bounds, problem) = bounds(annotations);
        assert!(bounds.enabled && problem.is_none());
    }
}

/// Proves: CAPTF-32.
#[test]
fn claim_and_observed_count_go_in_one_patch() {
    let mut lab = Lab::ready();
    lab.edit(|world| {
        world
            .bounds("2", "10")
            .pool(|pool| pool.status.replicas = Some(4))
    });
    let publication = lab.pass();
    let patch = publication.owner.expect("a patch of the MachinePool").body;
    assert_eq!(
        patch,
        json!({
            "metadata": {
                "resourceVersion": "20",
                "annotations": { keys::REPLICAS_MANAGED_BY: "captf" },
            },
            "spec": { "replicas": 4 },
        })
    );
    let count = |lab: &Lab| {
        let written = |event: &&EventReason| **event == EventReason::ReplicasWrittenBack;
        lab.events.iter().filter(written).count()
    };
    assert_eq!(count(&lab), 1);
    let note = publication
        .events
        .iter()
        .find(|event| event.reason == EventReason::ReplicasWrittenBack);
    assert_eq!(note.map(|event| event.note.as_str()), Some("3 -> 4"));
    assert_eq!(lab.pass().owner, None, "written once");
    assert_eq!(count(&lab), 1);
}

/// Proves: CAPTF-33.
#[test]
fn the_written_count_is_raw_and_the_rendered_one_within_bounds() {
    let mut lab = autoscaled();
    lab.wait(70);
    lab.refresh_showing(running(12));
    assert_eq!(owner(&lab).spec.replicas, Some(12));
    lab.edit(|world| world.bootstrap(b"#cloud-config\n# rotated"));
    assert_eq!(apply_goal(lab.world).inputs.expect("inputs").replicas, 10);
}

/// Proves: CAPTF-34.
#[test]
fn a_foreign_claim_is_respected() {
    let world = world()
        .bounds("2", "10")
        .annotate_owner(&[(keys::REPLICAS_MANAGED_BY, "other-controller")])
        .pool(|pool| pool.status.replicas = Some(4));
    let before = world.owner.clone();
    let mut lab = Lab::new(world);
    for _ in 0..10 {
        assert_eq!(lab.pass().owner, None);
        lab.wait(30);
    }
    assert_eq!(lab.world.owner, before);
    assert_eq!(
        lab.condition(ConditionType::AutoscalingActive),
        Some((False, Reason::ReplicasManagedExternally))
    );
    assert!(message(&lab.world, ConditionType::AutoscalingActive).contains("other-controller"));
    let warned = |event: &&EventReason| **event == EventReason::ReplicasManagedExternally;
    assert_eq!(lab.events.iter().filter(warned).count(), 1);
}

/// Proves: CAPTF-35.
#[test]
fn without_bounds_the_wish_counts_again_and_only_our_claim_goes() {
    let mut lab = autoscaled();
    let unbound = |world: World| {
        world.owner(|owner| {
            let annotations = &mut owner.metadata.annotations;
            annotations.retain(|key, _| key == keys::REPLICAS_MANAGED_BY);
            owner.spec.replicas = Some(5);
        })
    };
    lab.edit(unbound);
    lab.settle();
    assert_eq!(claim(&lab), None);
    assert_eq!(
        owner(&lab).spec.replicas,
        Some(5),
        "never written while off"
    );
    assert_eq!(size(&lab), (5, 5, 5));

    let mut lab = autoscaled();
    lab.edit(|world| unbound(world).annotate_owner(&[(keys::REPLICAS_MANAGED_BY, "other")]));
    lab.settle();
    assert_eq!(claim(&lab), Some("other"));
}

/// Proves: CAPTF-36.
#[test]
fn an_observed_change_starts_no_apply() {
    let mut lab = autoscaled();
    scale(&mut lab, 6);
    let calls = lab.cloud.calls.len();
    lab.run_for(150);
    assert_eq!(lab.world.pool.status.replicas, Some(6));
    assert_eq!(owner(&lab).spec.replicas, Some(6), "it is written back");
    assert_eq!(lab.operations(Operation::Apply), 0);
    assert_eq!(lab.cloud.calls.len(), calls, "nothing is sent to the cloud");
}

/// Proves: CAPTF-37.
#[test]
fn a_rotation_leaves_the_count_of_an_autoscaled_pool_alone() {
    let mut lab = autoscaled();
    scale(&mut lab, 6);
    lab.edit(|world| world.bootstrap(b"#cloud-config\n# rotated"));
    let calls = lab.cloud.calls.len();
    lab.settle();
    assert_eq!(lab.operations(Operation::Apply), 1);
    assert_eq!(lab.cloud.calls[calls..], ["PutObject"]);
    assert_eq!(size(&lab), (2, 6, 10));
}

/// Proves: CAPTF-38.
#[test]
fn nothing_is_written_back_while_paused_or_deleting() {
    let unequal = |world: World| world.pool(|pool| pool.status.replicas = Some(7));
    let mut paused = autoscaled();
    paused.edit(|world| unequal(world).cluster(|cluster| cluster.spec.paused = true));
    let mut deleting = autoscaled();
    deleting.edit(unequal);
    deleting.delete();
    let mut external = autoscaled();
    external.edit(|world| {
        unequal(world).pool(|pool| {
            let annotations = &mut pool.metadata.annotations;
            annotations.insert(keys::MANAGED_BY.to_owned(), "someone".to_owned());
        })
    });
    for lab in [&mut paused, &mut deleting, &mut external] {
        for _ in 0..5 {
            assert_eq!(lab.pass().owner, None);
        }
        assert_eq!(owner(lab).spec.replicas, Some(3));
    }
    // The same pool does write back otherwise.
    let mut lab = autoscaled();
    lab.wait(70);
    lab.settle();
    lab.edit(unequal);
    assert!(lab.pass().owner.is_some());
}

#[test]
fn an_unknown_capacity_is_not_zero() {
    let mut lab = autoscaled();
    lab.wait(70);
    let gone = Outputs {
        provider_id: None,
        replicas: Some(0),
        ..running(0)
    };
    lab.refresh_showing(gone);
    assert_eq!(lab.world.pool.status.replicas, Some(3));
    assert_eq!(owner(&lab).spec.replicas, Some(3));
}
