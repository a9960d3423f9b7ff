//! Retries, holds and operations that take long.

use remuda_plan::{
    error::{CloudFailure, FailureClass},
    pool::{
        gate::{Hold, Next},
        keys,
        objects::{ClusterJob, JobPolicy},
        schedule::{failure_seconds, interval, retry_seconds},
    },
    status::{
        condition::{ConditionStatus, ConditionType, Reason},
        event::EventReason,
        pass::{Pass, PassEnd},
        wire::{Operation, RunErrorKind},
    },
};

use super::{
    lab::Lab,
    world::{Edit as _, message, world, writes_nothing},
};
use ConditionStatus::{False, True, Unknown};

/// A class without an interval of its own.
pub(crate) const PLAIN: FailureClass = FailureClass::Rejected;

pub(crate) fn failure(class: FailureClass) -> CloudFailure {
    CloudFailure {
        class,
        call: "autoscaling:UpdateAutoScalingGroup".to_owned(),
        code: "ValidationError".to_owned(),
        message: "the security group is gone".to_owned(),
        retry_after_seconds: None,
    }
}

/// Seconds between the starts of applies.
fn gaps(lab: &Lab) -> Vec<i64> {
    let times: Vec<i64> = lab
        .started
        .iter()
        .filter(|(operation, _)| *operation == Operation::Apply)
        .map(|(_, at)| at.as_second())
        .collect();
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn failures(lab: &Lab) -> u32 {
    lab.world
        .record
        .found()
        .expect("a record")
        .history
        .apply
        .failed
}

/// Proves: CAPTF-80.
#[test]
fn failed_applies_wait_one_two_and_ten_minutes() {
    let mut lab = Lab::ready();
    lab.writes_fail = Some(failure(PLAIN));
    lab.edit(|world| world.bootstrap(b"#cloud-config\n# rotated"));
    lab.run_for(800);
    assert_eq!(gaps(&lab), [60, 120, 600]);
    assert_eq!(failures(&lab), 4);
    // What only waits for others is not counted: here the cluster's own apply.
    lab.writes_fail = None;
    lab.edit(|world| {
        world.infra(|cluster| {
            cluster.status.active_job = Some(ClusterJob {
                operation: "apply".to_owned(),
            });
        })
    });
    lab.run_for(1300);
    assert_eq!(gaps(&lab).len(), 3);
    assert_eq!(failures(&lab), 4);
    lab.edit(|world| world.infra(|cluster| cluster.status.active_job = None));
    lab.settle();
    assert_eq!(failures(&lab), 0);
}

/// Proves: CAPTF-82.
#[test]
fn an_error_class_with_its_own_interval_uses_it_and_counts() {
    for (class, expected) in [
        (FailureClass::Denied, [300, 300]),
        (FailureClass::Quota, [300, 300]),
    ] {
        let mut lab = Lab::ready();
        lab.writes_fail = Some(failure(class));
        lab.edit(|world| world.bootstrap(b"#cloud-config\n# rotated"));
        lab.run_for(700);
        assert_eq!(gaps(&lab), expected);
        assert_eq!(failures(&lab), 3);
    }
    let contended = failure(FailureClass::Contended);
    for failed in 1..30 {
        let seconds = failure_seconds(&contended, failed, 3, "uid");
        assert!((5..=15).contains(&seconds), "{seconds}");
    }
}

/// Azure document 10.3.
#[test]
fn a_full_zone_is_asked_ever_more_seldom_and_a_lock_every_ten_minutes() {
    let waits = |class| -> Vec<u32> {
        (1..6)
            .map(|failed| failure_seconds(&failure(class), failed, 3, "uid"))
            .collect()
    };
    assert_eq!(waits(FailureClass::Capacity), [300, 600, 1200, 1800, 1800]);
    assert_eq!(waits(FailureClass::Constraint), [1800; 5]);
    assert_eq!(waits(FailureClass::Locked), [600; 5]);
}

#[test]
fn general_retries_double_up_to_ten_minutes() {
    let waits: Vec<u32> = (1..8).map(|n| retry_seconds(n, 100)).collect();
    assert_eq!(waits, [60, 120, 240, 480, 600, 600, 600]);
    assert_eq!(retry_seconds(u32::MAX, u32::MAX), 600);
}

#[test]
fn throttling_is_nobodys_failure_for_five_minutes() {
    let mut lab = Lab::ready();
    lab.writes_fail = Some(failure(FailureClass::Throttled));
    lab.edit(|world| world.bootstrap(b"#cloud-config\n# rotated"));
    lab.run_for(290);
    assert!(gaps(&lab).len() > 6, "{:?}", gaps(&lab));
    assert_eq!(failures(&lab), 0);
    assert_eq!(
        lab.condition(ConditionType::ApplyJobSucceeded),
        Some((True, Reason::ApplySucceeded)),
        "the last outcome stays"
    );
    lab.run_for(100);
    assert!(failures(&lab) > 0);
    assert_eq!(
        lab.condition(ConditionType::ApplyJobSucceeded),
        Some((False, Reason::ApplyFailed))
    );
}

#[test]
fn a_failed_apply_stays_due_although_its_hash_is_applied() {
    let mut lab = Lab::ready();
    lab.writes_fail = Some(failure(PLAIN));
    lab.edit(|world| world.bootstrap(b"#cloud-config\n# rotated"));
    lab.settle();
    // The change is taken back: the hash is the applied one again.
    lab.edit(|world| world.bootstrap(super::demo::DOCUMENT));
    lab.writes_fail = None;
    lab.run_for(61);
    assert_eq!(lab.operations(Operation::Apply), 2);
    assert_eq!(failures(&lab), 0);
}

#[test]
fn jitter_is_at_most_a_tenth_and_always_the_same() {
    for uid in ["a", "b", "c", "d", "e"] {
        let seconds = interval(1000, uid).as_secs_f64();
        assert!((1000.0..=1100.0).contains(&seconds), "{seconds}");
        assert_eq!(interval(1000, uid), interval(1000, uid));
    }
    assert_ne!(interval(1000, "a"), interval(1000, "b"));
}

#[test]
fn the_clusters_own_operation_is_waited_for() {
    let mut lab = Lab::new(world().infra(|cluster| {
        cluster.status.active_job = Some(ClusterJob {
            operation: "apply".to_owned(),
        });
    }));
    lab.settle();
    assert_eq!(
        lab.condition(ConditionType::ApplyJobSucceeded),
        Some((Unknown, Reason::WaitingForClusterOperation))
    );
    lab.run_for(1300);
    let waits = |event: &&EventReason| **event == EventReason::WaitingForClusterOperation;
    assert_eq!(lab.events.iter().filter(waits).count(), 1, "once a wait");
    assert!(lab.started.is_empty());
    // A drift check of the cluster is no reason to wait.
    lab.edit(|world| {
        world.infra(|cluster| {
            cluster.status.active_job = Some(ClusterJob {
                operation: "drift".to_owned(),
            });
        })
    });
    lab.settle();
    assert_eq!(lab.operations(Operation::Apply), 1);
}

/// Proves: CAPTF-74.
#[test]
fn an_operation_starts_only_once_the_move_is_blocked() {
    let blocked = |lab: &Lab| {
        let annotations = &lab.world.pool.metadata.annotations;
        annotations.contains_key(keys::BLOCK_MOVE)
    };
    let mut lab = Lab::new(world());
    for _ in 0..5 {
        lab.pass();
        // The annotation cannot be stored.
        lab.world.pool.metadata.annotations.clear();
        lab.wait(10);
    }
    assert!(lab.started.is_empty() && lab.cloud.calls.is_empty());
    assert_eq!(lab.gate().next, Next::Prepare(Operation::Apply));
    lab.pass();
    assert!(
        blocked(&lab) && lab.cloud.calls.is_empty(),
        "stored before the first call"
    );
    let active = lab.world.pool.status.active_job.clone().expect("announced");
    assert_eq!(active.name, "captf-mp-demo-pool-0-apply-a1");
    lab.settle();
    assert_eq!(lab.operations(Operation::Apply), 1);
    assert!(!blocked(&lab), "absent when idle");
    assert_eq!(lab.world.pool.status.active_job, None);
    lab.cloud.tick();
    lab.run_for(200);
    assert!(!blocked(&lab), "reads block no move");
    lab.delete();
    assert_eq!(lab.gate().next, Next::Prepare(Operation::Destroy));
}

#[test]
fn a_contradictory_job_policy_runs_nothing() {
    let world = world()
        .pool(|pool| {
            pool.spec.jobs = Some(JobPolicy {
                active_deadline_seconds: Some(400),
                ..JobPolicy::default()
            });
        })
        .infra(|cluster| {
            cluster.spec.defaults.jobs = Some(JobPolicy {
                lock_timeout_seconds: Some(400),
                ..JobPolicy::default()
            });
        });
    let mut lab = Lab::new(world);
    lab.settle();
    assert!(lab.started.is_empty());
    assert_eq!(
        lab.condition(ConditionType::ApplyJobSucceeded),
        Some((False, Reason::JobPolicyInvalid))
    );
}

/// A pass of the due apply that ended like this.
fn apply_ended(lab: &mut Lab, end: PassEnd) {
    lab.pass();
    let gate = lab.gate();
    assert!(matches!(&gate.next, Next::Go(goal) if goal.operation == Operation::Apply));
    let mut pass = Pass::at_gate(gate, lab.now);
    pass.end = end;
    lab.judge(pass);
}

#[test]
fn an_interrupted_apply_is_repeated_at_once_and_not_counted() {
    let mut lab = Lab::ready();
    lab.edit(|world| world.bootstrap(b"#cloud-config\n# rotated"));
    apply_ended(&mut lab, PassEnd::Interrupted);
    let run = lab.world.pool.status.last_run.clone().expect("a run");
    assert_eq!(
        run.error.map(|error| error.kind),
        Some(RunErrorKind::Interrupted)
    );
    assert!(lab.events.contains(&EventReason::JobInterrupted));
    assert_eq!(failures(&lab), 0);
    lab.settle();
    assert_eq!(lab.operations(Operation::Apply), 1);
}

#[test]
fn an_operation_past_its_deadline_fails() {
    let mut lab = Lab::ready();
    lab.edit(|world| world.bootstrap(b"#cloud-config\n# rotated"));
    lab.pass();
    // The manager died right after the announcement and came back two hours later.
    lab.world.memory = None;
    lab.wait(7200);
    assert!(matches!(
        lab.gate().findings.hold,
        Some(Hold::DeadlineExceeded(Operation::Apply))
    ));
    lab.pass();
    assert_eq!(
        lab.condition(ConditionType::ApplyJobSucceeded),
        Some((False, Reason::JobDeadlineExceeded))
    );
    assert_eq!(failures(&lab), 1);
    lab.run_for(61);
    assert_eq!(failures(&lab), 0, "and is tried again");
}

#[test]
fn a_record_that_cannot_be_stored_fails_nothing() {
    let mut lab = Lab::ready();
    lab.edit(|world| world.bootstrap(b"#cloud-config\n# rotated"));
    apply_ended(&mut lab, PassEnd::RecordUnwritable("conflict".to_owned()));
    assert_eq!(failures(&lab), 0);
    assert!(lab.world.pool.status.active_job.is_some(), "it goes on");
    lab.run_for(20);
    assert_eq!(lab.operations(Operation::Apply), 1);
}

/// Proves: CAPTF-91.
#[test]
fn unusable_credentials_fail_the_apply_and_name_the_keys() {
    let mut lab = Lab::new(world().identity(|identity| identity.spec.required_keys.clear()));
    if let remuda_plan::pool::world::Lookup::Found(secret) = &mut lab.world.identity.secret {
        secret.keys = ["AWS_REGION".to_owned()].into();
    }
    lab.settle();
    let text = message(&lab.world, ConditionType::ApplyJobSucceeded);
    assert_eq!(
        lab.condition(ConditionType::ApplyJobSucceeded),
        Some((False, Reason::ApplyFailed))
    );
    assert!(
        text.contains("AWS_ACCESS_KEY_ID") && text.contains("AWS_SECRET_ACCESS_KEY"),
        "{text}"
    );
    assert!(
        lab.started.is_empty() && lab.cloud.calls.is_empty(),
        "nothing is asked"
    );
    lab.wait(60);
    assert!(writes_nothing(&lab.pass()));
}

#[test]
fn nodes_that_come_or_go_bring_one_refresh_forward() {
    let mut lab = Lab::ready();
    let refreshes = |lab: &Lab| {
        lab.started
            .iter()
            .filter(|(operation, _)| *operation == Operation::Refresh)
            .count()
    };
    lab.run_for(5);
    let before = refreshes(&lab);
    lab.world
        .memory
        .as_mut()
        .expect("a settled pool has a memory")
        .nodes_changed = true;
    lab.run_for(1);
    assert_eq!(refreshes(&lab), before + 1);
    lab.run_for(20);
    assert_eq!(
        refreshes(&lab),
        before + 1,
        "the next one is the ordinary one, a minute later"
    );
}
