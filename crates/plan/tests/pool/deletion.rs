//! Deletion: what stands between a deleting pool and its end.

use remuda_plan::{
    pool::{
        gate::{Next, Release},
        keys,
        objects::DeletionPolicy,
        record::{DriverRecord, Record},
        world::{Lookup, RecordRead, World},
    },
    status::{
        condition::{ConditionStatus, ConditionType, Reason},
        event::EventReason,
        publication::RecordWrite,
        wire::Operation,
    },
};

use super::{
    lab::Lab,
    schedule::{PLAIN, failure},
    world::{Edit as _, UID, message, start, world},
};
use ConditionStatus::{False, True};

fn released(lab: &Lab) -> bool {
    lab.world.pool.metadata.finalizers.is_empty()
}

/// Everything that Cluster API deletes together with the pool.
fn orphan(mut world: World) -> World {
    world.owner = Lookup::Missing;
    world.cluster = Lookup::Missing;
    world.bootstrap = Lookup::Missing;
    world.sources.clear();
    world
}

fn policy(policy: DeletionPolicy) -> impl FnOnce(World) -> World {
    move |world| world.pool(|pool| pool.spec.deletion_policy = Some(policy))
}

/// Lets the cloud finish what was begun.
fn finish(lab: &mut Lab) {
    for _ in 0..20 {
        lab.run_for(60);
        lab.cloud.tick();
    }
}

/// Proves: CAPTF-68.
#[test]
fn the_record_is_enough_to_destroy() {
    // The pool says what deletion does, or the TerraformCluster is still there to inherit from.
    let own: fn(World) -> World = |mut world| {
        world.infra_cluster = Lookup::Missing;
        // Nothing but the record names the identity now.
        world.pool(|pool| pool.spec.deletion_policy = Some(DeletionPolicy::Destroy))
    };
    let inherited: fn(World) -> World = |world| world;
    for change in [own, inherited] {
        let mut lab = Lab::ready();
        lab.edit(|world| change(orphan(world)));
        lab.delete();
        lab.cloud.group.as_mut().expect("a group").instances.clear();
        finish(&mut lab);
        assert_eq!(lab.cloud.group, None);
        assert!(lab.cloud.templates.is_empty() && lab.cloud.objects.is_empty());
        assert!(released(&lab));
        assert_eq!(lab.world.record, RecordRead::Missing);
        assert_eq!(lab.events.first(), Some(&EventReason::DeletionStarted));
        let last: Vec<EventReason> = lab.events.iter().rev().take(2).copied().collect();
        assert_eq!(
            last,
            [EventReason::FinalizerRemoved, EventReason::Destroyed]
        );
    }
}

/// Proves: CAPTF-69.
#[test]
fn a_pool_that_never_applied_goes_at_once() {
    let waiting = world().infra(|cluster| cluster.status.initialization.provisioned = false);
    let refused = world().pool(|pool| {
        let variables = serde_json::json!({ "instance_typo": 1 });
        pool.spec.variables = variables.as_object().cloned();
    });
    for world in [waiting, refused] {
        let mut lab = Lab::new(world);
        lab.settle();
        lab.delete();
        assert_eq!(lab.gate().next, Next::Release(Release::NeverApplied));
        lab.settle();
        assert!(released(&lab));
        assert!(lab.started.is_empty() && lab.cloud.calls.is_empty());
    }
}

#[test]
fn a_first_apply_that_failed_half_way_is_destroyed() {
    let mut lab = Lab::new(world());
    lab.settle();
    // The record says places and nothing more: the apply never came to its end.
    if let RecordRead::Found { record, .. } = &mut lab.world.record {
        record.applied = false;
        record.inputs_hash = None;
        assert!(matches!(record.driver, DriverRecord::Aws(_)));
    }
    lab.world.pool.status = remuda_plan::status::wire::PoolStatus::default();
    lab.cloud.group.as_mut().expect("a group").instances.clear();
    lab.delete();
    finish(&mut lab);
    assert_eq!(lab.cloud.group, None);
    assert!(released(&lab));
}

/// Proves: CAPTF-70.
#[test]
fn retained_infrastructure_stays_with_its_record() {
    let mut lab = Lab::ready();
    lab.edit(policy(DeletionPolicy::Retain));
    lab.delete();
    let calls = lab.cloud.calls.len();
    let publication = lab.pass();
    assert_eq!(publication.record, Some(RecordWrite::Retain));
    assert!(released(&lab));
    assert!(lab.cloud.group.is_some());
    assert_eq!(lab.cloud.calls.len(), calls);
    let RecordRead::Found {
        retained_from,
        owned,
        ..
    } = &lab.world.record
    else {
        panic!("the record stays")
    };
    assert_eq!((retained_from.as_deref(), *owned), (Some(UID), false));
    assert!(lab.events.contains(&EventReason::InfrastructureRetained));
}

#[test]
fn retained_state_holds_a_new_pool_until_it_adopts() {
    let mut lab = Lab::ready();
    lab.edit(policy(DeletionPolicy::Retain));
    lab.delete();
    lab.settle();
    let mut next = world().pool(|pool| pool.metadata.uid = "a-new-pool".to_owned());
    next.record = lab.world.record.clone();
    lab.world = next;
    lab.started.clear();
    lab.events.clear();
    let calls = lab.cloud.calls.len();
    lab.run_for(100);
    assert_eq!(
        lab.condition(ConditionType::StateReadable),
        Some((False, Reason::RetainedStateFound))
    );
    assert!(lab.started.is_empty());
    // Deleting the holding pool touches nothing.
    let held = lab.world.clone();
    lab.delete();
    lab.settle();
    assert!(released(&lab));
    assert_eq!(lab.world.record, held.record);
    // Adopting takes it over.
    lab.world = held;
    lab.edit(|world| world.pool(|pool| pool.spec.adopt_retained_state = true));
    lab.run_for(200);
    let RecordRead::Found {
        retained_from,
        owned,
        ..
    } = &lab.world.record
    else {
        panic!("the record stays")
    };
    assert_eq!((retained_from, *owned), (&None, true));
    let adopted = |event: &&EventReason| **event == EventReason::RetainedStateAdopted;
    assert_eq!(lab.events.iter().filter(adopted).count(), 1);
    assert!(lab.world.pool.status.provisioned());
    assert_eq!(lab.cloud.calls.len(), calls, "the inputs are the same");
}

/// Proves: CAPTF-71.
#[test]
fn an_unknown_policy_is_never_guessed() {
    let mut lab = Lab::ready();
    lab.edit(orphan);
    lab.world.infra_cluster = Lookup::Missing;
    lab.delete();
    let calls = lab.cloud.calls.len();
    lab.run_for(1300);
    assert_eq!(
        lab.condition(ConditionType::Deleting),
        Some((True, Reason::DeletionPolicyUnresolved))
    );
    assert!(lab.started.is_empty());
    assert_eq!(lab.cloud.calls.len(), calls);
    assert!(!released(&lab));
    lab.edit(policy(DeletionPolicy::Retain));
    lab.settle();
    assert!(released(&lab), "Retain releases it");
}

/// Proves: CAPTF-72.
#[test]
fn a_revoked_namespace_waits_until_it_is_allowed() {
    let mut lab = Lab::ready();
    lab.edit(|world| world.identity(|identity| identity.spec.allowed_namespaces = None));
    lab.delete();
    lab.cloud.group.as_mut().expect("a group").instances.clear();
    lab.run_for(1300);
    assert_eq!(
        lab.condition(ConditionType::ApplyJobSucceeded),
        Some((False, Reason::IdentityNotAllowed))
    );
    assert!(lab.started.is_empty() && !released(&lab));
    lab.edit(|world| {
        world.identity(|identity| {
            identity.spec.allowed_namespaces =
                Some(remuda_plan::pool::objects::AllowedNamespaces {
                    list: vec!["team-a".to_owned()],
                    selector: None,
                });
        })
    });
    finish(&mut lab);
    assert!(released(&lab) && lab.cloud.group.is_none());
}

/// Proves: CAPTF-73.
#[test]
fn a_paused_cluster_keeps_a_deleting_pool() {
    let mut lab = Lab::ready();
    lab.edit(|world| world.cluster(|cluster| cluster.spec.paused = true));
    lab.delete();
    let calls = lab.cloud.calls.len();
    lab.run_for(1300);
    assert!(!released(&lab));
    assert!(lab.started.is_empty());
    assert_eq!(lab.cloud.calls.len(), calls);
    // Whether the cluster is paused must be known.
    lab.world.cluster = Lookup::Failed("timeout".to_owned());
    lab.run_for(100);
    assert!(lab.started.is_empty() && !released(&lab));
}

#[test]
fn a_paused_orphan_that_never_applied_is_released() {
    let paused = world()
        .cluster(|cluster| cluster.spec.paused = true)
        .deleting(start());
    let mut owned = Lab::new(paused.clone());
    owned.settle();
    assert!(!released(&owned));
    let mut lab = Lab::new(paused.pool(|pool| pool.metadata.owner_references.clear()));
    lab.settle();
    assert!(released(&lab));
}

#[test]
fn abandoning_needs_the_very_uid_and_a_reason() {
    let abandon = |uid: &'static str| {
        move |world: World| {
            world.pool(|pool| {
                let annotations = &mut pool.metadata.annotations;
                annotations.insert(keys::ABANDON.to_owned(), uid.to_owned());
            })
        }
    };
    // The record is lost and so is everything to rebuild it from.
    let mut lab = Lab::ready();
    lab.edit(|world| policy(DeletionPolicy::Destroy)(orphan(world)));
    lab.world.record = RecordRead::Missing;
    lab.delete();
    lab.run_for(100);
    assert!(!released(&lab));
    assert_eq!(
        lab.condition(ConditionType::StateReadable),
        Some((False, Reason::StateLost))
    );
    lab.edit(abandon("another-uid"));
    lab.run_for(100);
    assert!(!released(&lab), "another value is ignored");
    lab.edit(abandon(UID));
    lab.settle();
    assert!(released(&lab));
    assert!(lab.events.contains(&EventReason::InfrastructureAbandoned));

    // A deletion that works is not abandoned.
    let mut lab = Lab::ready();
    lab.edit(abandon(UID));
    lab.delete();
    lab.cloud.group.as_mut().expect("a group").instances.clear();
    finish(&mut lab);
    assert!(lab.cloud.group.is_none() && released(&lab));
}

#[test]
fn a_failed_destroy_is_named_and_tried_again() {
    let mut lab = Lab::ready();
    lab.writes_fail = Some(failure(PLAIN));
    lab.delete();
    lab.cloud.group.as_mut().expect("a group").instances.clear();
    lab.settle();
    assert_eq!(
        lab.condition(ConditionType::ApplyJobSucceeded),
        Some((False, Reason::DestroyFailed))
    );
    assert!(message(&lab.world, ConditionType::ApplyJobSucceeded).contains("security group"));
    lab.run_for(190);
    assert_eq!(lab.operations(Operation::Destroy), 3);
    lab.writes_fail = None;
    lab.run_for(600);
    finish(&mut lab);
    assert!(released(&lab) && lab.cloud.group.is_none());
}

#[test]
fn a_lost_record_is_rebuilt_to_destroy() {
    let mut lab = Lab::ready();
    lab.world.record = RecordRead::Missing;
    lab.delete();
    lab.cloud.group.as_mut().expect("a group").instances.clear();
    finish(&mut lab);
    assert!(lab.cloud.group.is_none() && released(&lab));
}

/// Whoever begins a record anew, and is gone before it is rebuilt, leaves one that names nothing.
#[test]
fn a_record_that_was_lost_and_only_begun_anew_is_rebuilt_to_destroy() {
    let mut lab = Lab::ready();
    let begun = Record::new(&lab.world.manager.installation);
    lab.world.record = RecordRead::Found {
        record: Box::new(begun),
        retained_from: None,
        owned: true,
    };
    lab.delete();
    lab.cloud.group.as_mut().expect("a group").instances.clear();
    finish(&mut lab);
    assert!(lab.cloud.group.is_none() && released(&lab));
}
