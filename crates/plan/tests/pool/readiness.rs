//! Provisioning, health and the summary.

use remuda_plan::{
    pool::{gate::Next, members::MemberState, outputs::Outputs, world::RecordRead},
    status::{
        condition::{ConditionStatus, ConditionType, Reason},
        event::EventReason,
        publication::Requeue,
        wire::{Operation, PoolStatus},
    },
};

use super::{
    lab::Lab,
    outputs::{due, health, running},
    schedule::{PLAIN, failure},
    world::{Edit as _, message, world},
};
use ConditionStatus::{False, True, Unknown};

/// Proves: CAPTF-22.
#[test]
fn a_pending_first_apply_does_not_provision() {
    let mut lab = Lab::new(world());
    lab.pass();
    lab.pass();
    // The group is there and no instance is.
    lab.cloud.group.as_mut().expect("a group").instances.clear();
    let Requeue::After(wait) = lab.settle() else {
        panic!("a refresh follows")
    };
    assert_eq!(lab.operations(Operation::Apply), 1);
    assert_eq!(lab.operations(Operation::Refresh), 1);
    assert_eq!(
        lab.condition(ConditionType::ApplyJobSucceeded),
        Some((True, Reason::ApplySucceeded))
    );
    let status = &lab.world.pool.status;
    assert!(!status.provisioned() && status.ready != Some(true));
    let healthy = lab.condition(ConditionType::InfrastructureHealthy);
    assert_eq!(healthy, Some((False, Reason::InstancePending)));
    assert!((30.0..=33.0).contains(&wait.as_secs_f64()), "{wait:?}");
    assert_eq!(status.pending_refreshes, Some(1));
    lab.cloud.tick();
    lab.run_for(33);
    assert!(lab.world.pool.status.provisioned());
    assert_eq!(lab.world.pool.status.pending_refreshes, None);
    assert!(lab.events.contains(&EventReason::Provisioned));
}

/// Proves: CAPTF-23.
#[test]
fn a_provisioned_pool_stays_provisioned() {
    let mut lab = due();
    let gone = Outputs {
        health: health(MemberState::Terminated, false),
        ..running(3)
    };
    lab.refresh_showing(gone);
    let status = &lab.world.pool.status;
    assert!(status.provisioned());
    assert_eq!(status.ready, Some(true));
    assert_eq!(
        lab.condition(ConditionType::Ready),
        Some((False, Reason::NotReady))
    );
    assert_eq!(
        lab.condition(ConditionType::InfrastructureHealthy),
        Some((False, Reason::InstanceTerminated))
    );
}

/// Proves: CAPTF-24.
#[test]
fn a_failed_apply_is_named_in_ready() {
    let mut lab = Lab::ready();
    lab.writes_fail = Some(failure(PLAIN));
    lab.edit(|world| world.bootstrap(b"#cloud-config\n# rotated"));
    lab.settle();
    assert_eq!(
        lab.condition(ConditionType::Ready),
        Some((False, Reason::NotReady))
    );
    assert!(message(&lab.world, ConditionType::Ready).contains("ApplyJobSucceeded: ApplyFailed"));
}

/// Proves: CAPTF-25.
#[test]
fn one_unknown_input_makes_ready_unknown() {
    // Everything but the mirror is True; the identity is not checked in a paused pass.
    let mut lab = Lab::ready();
    lab.world.pool.status.initialization = None;
    lab.world.pool.status.ready = None;
    if let RecordRead::Found { record, .. } = &mut lab.world.record {
        record.history.provisioned = false;
    }
    for condition in &mut lab.world.pool.status.conditions {
        if condition.kind == ConditionType::CredentialsMirrored {
            condition.status = Unknown;
            condition.reason = Reason::MirrorPending;
        }
    }
    lab.edit(|world| world.cluster(|cluster| cluster.spec.paused = true));
    lab.pass();
    assert_eq!(
        lab.condition(ConditionType::Ready),
        Some((Unknown, Reason::ReadyUnknown))
    );
    assert_eq!(
        message(&lab.world, ConditionType::Ready),
        "CredentialsMirrored: MirrorPending"
    );
}

/// Proves: CAPTF-27.
#[test]
fn a_moved_pool_is_provisioned_from_its_record() {
    let mut lab = Lab::ready();
    // What `clusterctl move` leaves behind: no status, another UID, no memory.
    lab.edit(|world| {
        world
            .pool(|pool| {
                pool.status = PoolStatus::default();
                pool.metadata.uid = "another-uid".to_owned();
                pool.metadata.owner_references[0].uid = "another-owner-uid".to_owned();
            })
            .owner(|owner| owner.metadata.uid = "another-owner-uid".to_owned())
    });
    lab.world.memory = None;
    let calls = lab.cloud.calls.len();
    lab.pass();
    let status = &lab.world.pool.status;
    assert!(
        status.provisioned() && status.ready == Some(true),
        "at once"
    );
    lab.run_for(300);
    assert_eq!(lab.cloud.calls.len(), calls, "no cloud write");
    assert_eq!(lab.operations(Operation::Apply), 0);
    assert_eq!(
        lab.condition(ConditionType::Ready),
        Some((True, Reason::Ready))
    );
}

/// Proves: CAPI-13.
#[test]
fn ready_and_provisioned_become_true_in_one_write() {
    let mut lab = Lab::new(world());
    let mut written = 0;
    for _ in 0..40 {
        let publication = lab.pass();
        lab.cloud.tick();
        lab.now += jiff::SignedDuration::from_secs(30);
        let Some(status) = publication.status else {
            continue;
        };
        let provisioned = status.initialization.map(|it| it.provisioned);
        assert_eq!(status.ready, provisioned, "{status:#?}");
        written += usize::from(provisioned == Some(true));
    }
    assert!(written > 0, "the pool was provisioned");
}

/// Proves: CAPTF-28.
#[test]
fn no_machine_kind_is_published_while_there_are_no_pool_machines() {
    let mut lab = Lab::new(world().annotate_owner(&[("remuda.dev/machines", "false")]));
    for _ in 0..40 {
        lab.pass();
        lab.cloud.tick();
        lab.wait(20);
        let json = serde_json::to_string(&lab.world.pool.status).expect("JSON");
        assert!(!json.contains("infrastructureMachineKind"), "{json}");
    }
    assert!(lab.world.pool.status.provisioned());
    lab.delete();
    lab.settle();
    let json = serde_json::to_string(&lab.world.pool.status).expect("JSON");
    assert!(!json.contains("infrastructureMachineKind"));
}

#[test]
fn a_quiet_pool_writes_nothing_for_an_hour() {
    let mut lab = Lab::ready();
    // The first drift check sets its conditions; from then on nothing moves.
    lab.run_for(2400);
    lab.writes = 0;
    lab.started.clear();
    let calls = lab.cloud.calls.len();
    lab.run_for(3600);
    assert_eq!(lab.writes, 0);
    assert_eq!(lab.cloud.calls.len(), calls);
    let refreshes = lab.operations(Operation::Refresh);
    assert!((50..=62).contains(&refreshes), "{refreshes}");
    assert!((1..=2).contains(&lab.operations(Operation::Drift)));
}

#[test]
fn transition_times_move_only_with_the_status() {
    let mut lab = due();
    let at = |lab: &Lab| {
        let condition = lab
            .world
            .pool
            .status
            .condition(ConditionType::InfrastructureHealthy);
        condition.map(|it| it.last_transition_time)
    };
    let before = at(&lab);
    let degraded = |state| Outputs {
        health: health(state, false),
        ..running(3)
    };
    lab.refresh_showing(degraded(MemberState::Stopped));
    let stopped = at(&lab);
    assert_ne!(before, stopped);
    lab.wait(70);
    lab.refresh_showing(degraded(MemberState::Degraded));
    assert_eq!(at(&lab), stopped, "the reason changed, the status did not");
}

#[test]
fn a_lost_record_is_rebuilt_from_the_group_or_held() {
    let mut lab = Lab::ready();
    lab.world.record = RecordRead::Missing;
    let found = lab.cloud.group.clone();
    lab.pass();
    assert_eq!(
        lab.condition(ConditionType::StateReadable),
        Some((Unknown, Reason::StateNotFound)),
        "nothing is lost before it was looked for"
    );
    lab.settle();
    assert!(lab.events.contains(&EventReason::StateAdopted));
    assert!(!lab.events.contains(&EventReason::StateLost));
    assert!(
        lab.world
            .record
            .found()
            .is_some_and(|record| record.applied)
    );
    assert_eq!(lab.cloud.group, found, "nothing of the group changed");

    lab.world.record = RecordRead::Missing;
    lab.cloud.group = None;
    let calls = lab.cloud.calls.len();
    lab.run_for(30);
    assert_eq!(
        lab.condition(ConditionType::StateReadable),
        Some((False, Reason::StateLost))
    );
    assert_eq!(lab.cloud.calls.len(), calls, "nothing is made anew");
    assert_eq!(lab.world.record, RecordRead::Missing);

    let mut foreign = found.expect("a group");
    foreign
        .tags
        .insert("captf.io/name".to_owned(), ("another".to_owned(), false));
    lab.cloud.group = Some(foreign);
    lab.run_for(700);
    assert_eq!(
        lab.condition(ConditionType::StateReadable),
        Some((False, Reason::StateInconsistent))
    );
    assert_eq!(lab.cloud.calls.len(), calls);
}

#[test]
fn an_unreadable_record_stops_everything() {
    let mut lab = Lab::ready();
    lab.world.record = RecordRead::Corrupt("expected value at line 1".to_owned());
    lab.run_for(300);
    assert!(lab.started.is_empty());
    assert_eq!(
        lab.condition(ConditionType::StateReadable),
        Some((False, Reason::StateCorrupt))
    );
    lab.world.record = RecordRead::Failed("timeout".to_owned());
    assert_eq!(lab.gate().next, Next::Rest);
}

#[test]
fn a_new_pool_on_its_way_to_ready_warns_of_nothing() {
    let mut lab = Lab::new(world());
    lab.settle();
    lab.cloud.tick();
    lab.run_for(120);
    assert_eq!(
        lab.condition(ConditionType::Ready),
        Some((True, Reason::Ready))
    );
    assert!(
        !lab.events.contains(&EventReason::ConditionChanged),
        "{:?}",
        lab.events
    );
}
