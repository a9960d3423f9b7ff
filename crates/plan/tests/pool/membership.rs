//! The published list: what changes it, and what never does.

use remuda_plan::{
    error::FailureClass,
    pool::{
        health::Health,
        members::{Member, MemberState},
        outputs::Outputs,
    },
    status::{
        condition::{ConditionStatus, ConditionType, Reason},
        publication::Requeue,
        wire::Operation,
    },
};

use super::{
    lab::Lab,
    outputs::{due, member, running},
    schedule::{PLAIN, failure},
    world::{Edit as _, writes_nothing},
};
use ConditionStatus::False;

fn list(lab: &Lab) -> Vec<String> {
    lab.world.pool.spec.provider_id_list.clone()
}

/// A group that wishes for so many and shows none.
fn empty(replicas: i64) -> Outputs {
    Outputs {
        replicas: Some(replicas),
        health: Health {
            state: MemberState::Pending,
            healthy: false,
            message: None,
            reasons: vec!["NoMembers".to_owned()],
        },
        ..running(0)
    }
}

/// A pool that lists five members.
fn five() -> Lab {
    let mut lab = due();
    lab.refresh_showing(running(5));
    assert_eq!(list(&lab).len(), 5);
    lab.wait(70);
    lab
}

/// Proves: CAPTF-45.
#[test]
fn a_failed_read_changes_nothing_that_is_published() {
    for class in [PLAIN, FailureClass::Denied, FailureClass::Transient] {
        let mut lab = due();
        let before = lab.world.pool.clone();
        lab.reads_fail = Some(failure(class));
        let publication = lab.pass();
        let pool = &lab.world.pool;
        assert_eq!(publication.spec.merge_patch(), None);
        assert_eq!(pool.spec, before.spec);
        assert_eq!(pool.status.replicas, before.status.replicas);
        assert_eq!(pool.status.instances, before.status.instances);
        assert_eq!(
            lab.condition(ConditionType::DriftJobSucceeded),
            Some((False, Reason::DriftJobFailed))
        );
        lab.wait(600);
        assert!(writes_nothing(&lab.pass()), "failing again writes nothing");
        lab.reads_fail = None;
        lab.wait(600);
        lab.settle();
        assert_ne!(
            lab.condition(ConditionType::DriftJobSucceeded),
            Some((False, Reason::DriftJobFailed)),
            "a successful read clears it"
        );
    }
}

/// Proves: CAPTF-46.
#[test]
fn an_empty_list_needs_a_second_read_that_agrees() {
    let mut lab = five();
    let Requeue::After(wait) = lab.refresh_showing(empty(5)).requeue else {
        panic!("a second read follows")
    };
    assert_eq!(list(&lab).len(), 5, "one read changes nothing");
    assert_eq!(lab.world.pool.status.instances.len(), 5);
    assert_eq!(lab.world.pool.status.replicas, Some(5));
    assert_eq!(wait.as_secs(), 15);
    lab.wait(15);
    lab.refresh_showing(empty(5));
    assert_eq!(list(&lab), Vec::<String>::new());
    assert!(lab.world.pool.status.instances.is_empty());
    assert_eq!(lab.world.pool.status.replicas, Some(5));
}

#[test]
fn a_second_read_that_disagrees_keeps_the_list() {
    let mut lab = five();
    lab.refresh_showing(empty(5));
    lab.wait(15);
    lab.refresh_showing(running(5));
    assert_eq!(list(&lab).len(), 5);
    // The doubt is over: the next empty read is a first one again.
    lab.wait(70);
    lab.refresh_showing(empty(5));
    assert_eq!(list(&lab).len(), 5);
}

#[test]
fn a_failed_second_read_confirms_nothing() {
    let mut lab = five();
    lab.refresh_showing(empty(5));
    lab.wait(15);
    lab.reads_fail = Some(failure(PLAIN));
    lab.pass();
    lab.wait(600);
    lab.pass();
    assert_eq!(list(&lab).len(), 5);
}

/// Proves: CAPTF-47.
#[test]
fn a_group_that_is_gone_is_terminated_at_once_and_emptied_later() {
    let mut lab = due();
    lab.cloud.group = None;
    lab.pass();
    assert_eq!(
        lab.condition(ConditionType::InfrastructureHealthy),
        Some((False, Reason::InstanceTerminated)),
        "at once"
    );
    assert_eq!(list(&lab).len(), 3);
    assert_eq!(
        lab.condition(ConditionType::OutputsValid),
        Some((ConditionStatus::Unknown, Reason::OutputsPending))
    );
    let arn = lab.world.pool.spec.provider_id.clone();
    assert!(arn.is_some());
    lab.run_for(16);
    assert_eq!(
        list(&lab),
        Vec::<String>::new(),
        "after the confirming read"
    );
    assert_eq!(lab.world.pool.status.replicas, Some(3));
    assert_eq!(lab.world.pool.spec.provider_id, arn, "the id is kept");
}

/// Proves: CAPTF-48.
#[test]
fn stopped_members_stay_listed() {
    let mut lab = due();
    let members: Vec<Member> = (0..3)
        .map(|number| match number {
            1 => member(number, MemberState::Stopped),
            _ => member(number, MemberState::Running),
        })
        .collect();
    let outputs = Outputs {
        instances: members,
        health: Health {
            state: MemberState::Stopped,
            healthy: false,
            message: None,
            reasons: Vec::new(),
        },
        ..running(3)
    };
    lab.refresh_showing(outputs);
    assert_eq!(list(&lab), running(3).provider_id_list);
    let shown = &lab.world.pool.status.instances[1];
    assert_eq!(shown.state.as_deref(), Some("stopped"));
    assert_eq!(
        lab.condition(ConditionType::InfrastructureHealthy),
        Some((False, Reason::InstanceStopped))
    );
}

/// Proves: CAPTF-85.
#[test]
fn a_wished_zero_needs_no_long_wait() {
    let mut lab = five();
    let nothing = || Outputs {
        health: running(0).health,
        ..empty(0)
    };
    let Requeue::After(wait) = lab.refresh_showing(nothing()).requeue else {
        panic!("a second read follows")
    };
    assert_eq!(list(&lab).len(), 5, "one read is not enough");
    assert!(wait.as_secs() < 15, "{wait:?}");
    lab.wait(i64::try_from(wait.as_secs()).expect("short"));
    lab.refresh_showing(nothing());
    assert_eq!(list(&lab), Vec::<String>::new());
    assert_eq!(lab.world.pool.status.replicas, Some(0));
}

/// Proves: CAPTF-87.
#[test]
fn a_member_that_the_cloud_deleted_leaves_alone() {
    let mut lab = five();
    let mut outputs = running(5);
    let gone = outputs.provider_id_list.remove(2);
    outputs.instances.remove(2);
    lab.refresh_showing(outputs.clone());
    assert!(!list(&lab).contains(&gone));
    assert_eq!(list(&lab), outputs.provider_id_list);
}

#[test]
fn an_empty_pool_publishes_its_first_members_at_once() {
    let mut lab = due();
    lab.world.pool.spec.provider_id_list.clear();
    lab.refresh_showing(running(2));
    assert_eq!(list(&lab).len(), 2);
}

/// Proves: CAPTF-40.
#[test]
fn disagreement_brings_the_next_refresh_forward() {
    for (configured, from, to) in [(None, 30.0, 33.0), (Some(20), 20.0, 22.0)] {
        let mut lab = due();
        lab.edit(|world| {
            world.pool(|pool| pool.spec.membership_refresh_interval_seconds = configured)
        });
        let outputs = Outputs {
            replicas: Some(3),
            ..running(2)
        };
        let Requeue::After(wait) = lab.refresh_showing(outputs).requeue else {
            panic!("a refresh follows")
        };
        assert!((from..=to).contains(&wait.as_secs_f64()), "{wait:?}");
    }
}

/// Proves: CAPTF-39.
#[test]
fn refreshes_keep_their_interval_and_jitter() {
    for (configured, from, to) in [(None, 60.0, 66.0), (Some(15), 15.0, 16.5)] {
        let mut world = super::world::world();
        world.pool.spec.membership_refresh_interval_seconds = configured;
        let mut lab = Lab::ready_with(world);
        lab.run_for(600);
        let times: Vec<f64> = lab
            .started
            .iter()
            .filter(|(operation, _)| *operation == Operation::Refresh)
            .map(|(_, at)| at.duration_since(super::world::start()).as_secs_f64())
            .collect();
        assert!(times.len() > 5);
        for pair in times.windows(2) {
            let gap = pair[1] - pair[0];
            assert!((from..=to).contains(&gap), "{configured:?}: {gap}");
        }
    }
}
