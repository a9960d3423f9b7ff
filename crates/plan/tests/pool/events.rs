//! Events: one a transition, in the order in which things happen.

use remuda_plan::{
    pool::world::{Lookup, World},
    status::event::{EventReason, Severity},
};

use super::{
    lab::Lab,
    schedule::{PLAIN, failure},
    world::{Edit as _, world},
};

/// The events of so many seconds.
fn told(lab: &mut Lab, seconds: i64) -> Vec<EventReason> {
    lab.events.clear();
    lab.run_for(seconds);
    std::mem::take(&mut lab.events)
}

#[test]
fn the_life_of_a_pool_in_events() {
    use EventReason::{
        DeletionStarted, Destroyed, FinalizerRemoved, InputsChanged, InstanceHealthy, JobCreated,
        JobFailed, JobSucceeded, Paused, ProviderIDSet, Provisioned, Resumed,
    };
    let mut lab = Lab::new(world().pool(|pool| pool.metadata.finalizers.clear()));
    assert_eq!(
        told(&mut lab, 0),
        [
            JobCreated,
            JobSucceeded,
            ProviderIDSet,
            Provisioned,
            InstanceHealthy
        ]
    );
    assert_eq!(told(&mut lab, 1700), [], "a quiet pool says nothing");
    lab.edit(|world| world.bootstrap(b"#cloud-config\n# rotated"));
    assert_eq!(
        told(&mut lab, 100),
        [InputsChanged, JobCreated, JobSucceeded]
    );
    lab.writes_fail = Some(failure(PLAIN));
    lab.edit(|world| world.bootstrap(b"#cloud-config\n# rotated again"));
    assert_eq!(told(&mut lab, 30), [InputsChanged, JobCreated, JobFailed]);
    lab.writes_fail = None;
    assert_eq!(
        told(&mut lab, 60),
        [InputsChanged, JobCreated, JobSucceeded]
    );
    lab.edit(|world| world.cluster(|cluster| cluster.spec.paused = true));
    assert_eq!(told(&mut lab, 100), [Paused]);
    lab.edit(|world| world.cluster(|cluster| cluster.spec.paused = false));
    assert_eq!(told(&mut lab, 100), [Resumed]);
    lab.cloud.group.as_mut().expect("a group").instances.clear();
    lab.delete();
    let mut events = Vec::new();
    for _ in 0..10 {
        events.extend(told(&mut lab, 60));
        lab.cloud.tick();
    }
    assert_eq!(
        events,
        [
            DeletionStarted,
            JobCreated,
            JobSucceeded,
            Destroyed,
            FinalizerRemoved
        ]
    );
}

#[test]
fn a_bad_start_warns_and_a_good_end_tells() {
    let mut missing = world();
    missing.owner = Lookup::Missing;
    let mut lab = Lab::new(missing);
    let publication = lab.pass();
    let events: Vec<(Severity, EventReason)> = publication
        .events
        .iter()
        .map(|event| (event.severity, event.reason))
        .collect();
    assert_eq!(events, [(Severity::Warning, EventReason::ConditionChanged)]);
    assert!(
        publication.events[0]
            .note
            .starts_with("DependenciesReady: OwnerNotFound")
    );
    assert_eq!(told(&mut lab, 1300), []);
    lab.world.owner = world().owner;
    let publication = lab.pass();
    let back = &publication.events[0];
    assert_eq!(
        (back.severity, back.reason),
        (Severity::Normal, EventReason::ConditionChanged)
    );
}

#[test]
fn no_event_holds_a_secret() {
    let secret: fn(World) -> World = |world| world.bootstrap(b"#cloud-config\n# token: hunter2");
    let mut lab = Lab::new(secret(world()));
    for _ in 0..6 {
        let publication = lab.pass();
        let text = format!("{publication:?}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}
