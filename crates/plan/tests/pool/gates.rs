//! Owner and dependency gates, pause, filter, finalizer.

use remuda_plan::{
    pool::{
        gate::{Next, Release, Wait, gate},
        keys,
        objects::OwnerReference,
        world::{BootstrapSecret, Lookup, World},
    },
    status::{
        condition::{ConditionStatus, ConditionType, Reason},
        event::EventReason,
        publication::FinalizerChange,
        wire::Operation,
    },
};
use serde_json::json;

use super::{
    lab::Lab,
    world::{Edit as _, message, start, world, writes_nothing},
};
use ConditionStatus::{False, True, Unknown};

/// One pass of a world behind a closed gate: nothing starts, the condition says so.
fn closed(world: World, status: ConditionStatus, reason: Reason) -> Lab {
    let mut lab = Lab::new(world);
    let publication = lab.pass();
    assert_eq!(
        lab.condition(ConditionType::DependenciesReady),
        Some((status, reason))
    );
    assert!(lab.started.is_empty(), "no operation starts");
    assert!(lab.cloud.calls.is_empty(), "no cloud call is made");
    assert!(
        publication.owner.is_none(),
        "the MachinePool is not patched"
    );
    let ready = lab
        .condition(ConditionType::Ready)
        .map(|(status, _)| status);
    assert_eq!(ready, Some(status), "Ready follows the gate");
    assert!(writes_nothing(&lab.pass()), "a second pass writes nothing");
    lab
}

fn without_owners() -> World {
    world().pool(|pool| pool.metadata.owner_references.clear())
}

/// Proves: CAPTF-1.
#[test]
fn a_pool_without_owner_references_waits_for_its_owner() {
    closed(without_owners(), Unknown, Reason::WaitingForOwner);
}

/// Proves: CAPTF-2.
#[test]
fn an_owner_of_another_kind_is_not_the_owner() {
    for (api_version, kind) in [
        ("cluster.x-k8s.io/v1beta2", "Cluster"),
        ("example.org/v1", "MachinePool"),
    ] {
        let world = world().pool(|pool| {
            pool.metadata.owner_references = vec![OwnerReference {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
                name: "demo-pool-0".to_owned(),
                uid: "x".to_owned(),
                ..OwnerReference::default()
            }];
        });
        closed(world, False, Reason::WaitingForOwnerMachinePool);
    }
}

#[test]
fn an_owner_that_is_gone_is_named() {
    let mut world = world();
    world.owner = Lookup::Missing;
    let lab = closed(world, False, Reason::OwnerNotFound);
    assert!(message(&lab.world, ConditionType::DependenciesReady).contains("demo-pool-0"));
}

/// Proves: CAPTF-3.
#[test]
fn an_owner_that_refers_to_another_pool_is_not_touched() {
    // Autoscaled, so that a write-back would be due if the owner were believed.
    let world = world()
        .bounds("2", "10")
        .pool(|pool| pool.status.replicas = Some(5))
        .owner(|owner| {
            owner.spec.template.spec.infrastructure_ref.name = "another-pool".to_owned();
        });
    closed(world, False, Reason::OwnerMismatch);
}

/// Proves: CAPTF-4.
#[test]
fn an_owner_with_another_uid_is_another_object() {
    let world = world().owner(|owner| owner.metadata.uid = "another-uid".to_owned());
    closed(world, False, Reason::OwnerMismatch);
}

#[test]
fn an_owner_of_another_cluster_is_a_mismatch() {
    let world = world().owner(|owner| owner.spec.cluster_name = "other".to_owned());
    closed(world, False, Reason::OwnerMismatch);
}

/// Proves: CAPTF-5.
#[test]
fn a_cluster_of_another_infrastructure_is_refused() {
    let world = world().cluster(|cluster| {
        cluster.spec.infrastructure_ref.kind = "AWSCluster".to_owned();
    });
    closed(world, False, Reason::ClusterNotTerraform);
}

/// Proves: CAPTF-6.
#[test]
fn an_unprovisioned_cluster_is_waited_for() {
    let world = world().infra(|cluster| cluster.status.initialization.provisioned = false);
    closed(world, Unknown, Reason::WaitingForClusterInfrastructure);
}

/// Proves: CAPTF-7.
#[test]
fn missing_exports_are_waited_for_and_never_rendered_as_nothing() {
    let world = world().infra(|cluster| cluster.status.exports = None);
    let lab = closed(world, Unknown, Reason::WaitingForClusterExports);
    assert_eq!(lab.gate().findings.inputs_hash, None, "nothing is rendered");
    assert!(message(&lab.world, ConditionType::DependenciesReady).contains("65536"));
}

/// Proves: CAPTF-8.
#[test]
fn fractional_numbers_in_exports_cannot_be_compared() {
    for ratio in [json!(0.5), json!(1e3), json!([{ "deep": 2.0 }])] {
        let world = world().infra(|cluster| {
            cluster.status.exports = Some(json!({ "ratio": ratio }));
        });
        closed(world, Unknown, Reason::WaitingForClusterExports);
    }
}

/// Proves: CAPTF-9.
#[test]
fn bootstrap_data_is_waited_for() {
    for name in [None, Some(String::new())] {
        let world = world().owner(|owner| {
            owner.spec.template.spec.bootstrap.data_secret_name = name;
        });
        closed(world, Unknown, Reason::WaitingForBootstrapData);
    }
    let mut gone = world();
    gone.bootstrap = Lookup::Missing;
    let mut empty = world();
    empty.bootstrap = Lookup::Found(BootstrapSecret::default());
    for world in [gone, empty] {
        closed(world, Unknown, Reason::WaitingForBootstrapData);
    }
}

#[test]
fn an_unknown_bootstrap_format_is_named() {
    let mut world = world();
    if let Lookup::Found(secret) = &mut world.bootstrap {
        secret.format = Some(b"bash".to_vec());
    }
    let lab = closed(world, Unknown, Reason::WaitingForBootstrapData);
    assert!(message(&lab.world, ConditionType::DependenciesReady).contains("ignition"));
}

/// Proves: CAPTF-10.
#[test]
fn the_finalizer_is_stored_before_anything_else_happens() {
    let mut lab = Lab::new(world().pool(|pool| pool.metadata.finalizers.clear()));
    let publication = lab.pass();
    assert_eq!(
        publication.metadata.finalizer,
        Some(FinalizerChange::Add),
        "added in the first pass"
    );
    assert!(lab.started.is_empty() && lab.cloud.calls.is_empty());
    // The write got lost: still nothing happens but another try.
    lab.world.pool.metadata.finalizers.clear();
    assert_eq!(lab.pass().metadata.finalizer, Some(FinalizerChange::Add));
    assert!(lab.started.is_empty() && lab.cloud.calls.is_empty());
    lab.settle();
    assert_eq!(lab.operations(Operation::Apply), 1);
}

#[test]
fn the_finalizer_comes_after_the_owner_and_before_the_pause() {
    let naked = |world: World| world.pool(|pool| pool.metadata.finalizers.clear());
    assert_eq!(gate(&naked(without_owners()), start()).next, Next::Rest);
    let paused = naked(world()).cluster(|cluster| cluster.spec.paused = true);
    assert_eq!(gate(&paused, start()).next, Next::AddFinalizer);
}

/// Proves: CAPTF-11.
#[test]
fn a_missing_cluster_name_label_is_named_and_waited_for() {
    let world = world().pool(|pool| pool.metadata.labels.clear());
    let mut lab = closed(world, Unknown, Reason::WaitingForOwner);
    assert!(message(&lab.world, ConditionType::DependenciesReady).contains(keys::CLUSTER_NAME));
    lab.edit(|world| {
        world.pool(|pool| {
            let labels = &mut pool.metadata.labels;
            labels.insert(keys::CLUSTER_NAME.to_owned(), "demo".to_owned());
        })
    });
    lab.settle();
    assert_eq!(lab.operations(Operation::Apply), 1, "it proceeds");
}

#[test]
fn a_failed_read_neither_opens_nor_closes_a_gate() {
    let mut lab = Lab::ready();
    lab.world.owner = Lookup::Failed("timeout".to_owned());
    let gate = lab.gate();
    assert!(matches!(
        gate.findings.dependencies,
        Some(Err(Wait::Unreadable(_)))
    ));
    lab.pass();
    assert_eq!(
        lab.condition(ConditionType::DependenciesReady),
        Some((True, Reason::DependenciesReady)),
        "the last known state stays"
    );
}

#[test]
fn a_closed_later_gate_stops_applies_and_not_refreshes() {
    let mut lab = Lab::ready();
    lab.world.bootstrap = Lookup::Missing;
    lab.run_for(200);
    assert_eq!(lab.operations(Operation::Apply), 0);
    assert!(lab.operations(Operation::Refresh) >= 2);
}

#[test]
fn the_watch_filter_parts_the_objects() {
    let mut filtered = world();
    filtered.manager.watch_filter = "remuda".to_owned();
    let mut lab = Lab::new(filtered);
    assert!(writes_nothing(&lab.pass()) && lab.gate().next == Next::Ignore);
    lab.edit(|world| {
        world.pool(|pool| {
            let labels = &mut pool.metadata.labels;
            labels.insert(keys::WATCH_FILTER.to_owned(), "remuda".to_owned());
        })
    });
    lab.settle();
    assert_eq!(lab.operations(Operation::Apply), 1);
}

/// Proves: CAPTF-75.
#[test]
fn an_externally_managed_pool_is_left_alone_and_only_released() {
    let mut lab = Lab::ready();
    lab.edit(|world| {
        world.pool(|pool| {
            let annotations = &mut pool.metadata.annotations;
            annotations.insert(keys::MANAGED_BY.to_owned(), "someone".to_owned());
        })
    });
    let status = lab.world.pool.status.clone();
    let calls = lab.cloud.calls.len();
    lab.run_for(4000);
    assert_eq!(lab.world.pool.status, status, "status is untouched");
    assert_eq!(lab.gate().next, Next::Ignore);

    lab.delete();
    assert_eq!(lab.gate().next, Next::Release(Release::ExternallyManaged));
    let publication = lab.pass();
    assert_eq!(
        publication.metadata.finalizer,
        Some(FinalizerChange::Remove)
    );
    assert_eq!((publication.status, publication.record), (None, None));
    assert_eq!(lab.events, [EventReason::ExternallyManagedReleased]);
    assert_eq!(lab.cloud.calls.len(), calls, "nothing is destroyed");
    assert!(lab.cloud.group.is_some());
}

#[test]
fn a_paused_pool_starts_nothing_and_says_so() {
    let mut lab = Lab::ready();
    lab.edit(|world| {
        world
            .cluster(|cluster| cluster.spec.paused = true)
            .bootstrap(b"#cloud-config\n# rotated")
    });
    lab.run_for(4000);
    assert!(lab.started.is_empty());
    assert_eq!(
        lab.condition(ConditionType::Paused),
        Some((True, Reason::Paused))
    );
    lab.edit(|world| world.cluster(|cluster| cluster.spec.paused = false));
    lab.settle();
    assert_eq!(lab.operations(Operation::Apply), 1);
    assert_eq!(lab.events[..2], [EventReason::Paused, EventReason::Resumed]);
}
