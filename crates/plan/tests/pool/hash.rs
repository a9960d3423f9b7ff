//! What re-applies.

use remuda_plan::{
    pool::{
        gate::ApplyReason,
        keys,
        objects::{DeletionPolicy, DriftAction, DriftPolicy, IdentityRef, JobPolicy},
        world::World,
    },
    status::wire::Operation,
};

use super::{
    lab::Lab,
    world::{Edit as _, world},
};

/// Applies and cloud calls that a change of a quiet pool leads to.
fn after(change: impl FnOnce(World) -> World) -> (usize, Vec<String>) {
    let mut lab = Lab::ready();
    let calls = lab.cloud.calls.len();
    lab.edit(change);
    lab.settle();
    lab.run_for(30);
    (
        lab.operations(Operation::Apply),
        lab.cloud.calls[calls..].to_vec(),
    )
}

/// Proves: CAPTF-49.
#[test]
fn labels_annotations_and_uid_apply_nothing() {
    let label: fn(World) -> World = |world| {
        world.pool(|pool| {
            let labels = &mut pool.metadata.labels;
            labels.insert("team".to_owned(), "b".to_owned());
        })
    };
    let annotation: fn(World) -> World = |world| {
        world.pool(|pool| {
            let annotations = &mut pool.metadata.annotations;
            annotations.insert("note".to_owned(), "b".to_owned());
        })
    };
    let uid: fn(World) -> World =
        |world| world.pool(|pool| pool.metadata.uid = "another".to_owned());
    for change in [label, annotation, uid] {
        assert_eq!(after(change), (0, Vec::new()));
    }
}

#[test]
fn operational_policy_and_identity_apply_nothing() {
    let changes: [fn(World) -> World; 5] = [
        |world| {
            world.pool(|pool| {
                pool.spec.jobs = Some(JobPolicy {
                    active_deadline_seconds: Some(900),
                    ..JobPolicy::default()
                });
            })
        },
        |world| {
            world.pool(|pool| {
                pool.spec.drift = Some(DriftPolicy {
                    interval_seconds: Some(900),
                    action: Some(DriftAction::Remediate),
                });
            })
        },
        |world| world.pool(|pool| pool.spec.membership_refresh_interval_seconds = Some(15)),
        |world| world.pool(|pool| pool.spec.deletion_policy = Some(DeletionPolicy::Retain)),
        |world| {
            world.pool(|pool| {
                pool.spec.identity_ref = Some(IdentityRef {
                    kind: None,
                    name: "other".to_owned(),
                });
            })
        },
    ];
    for change in changes {
        assert_eq!(after(change), (0, Vec::new()));
    }
}

/// Proves: CAPTF-50.
#[test]
fn a_pull_policy_applies_nothing_and_a_tag_once_without_effect() {
    let policy = after(|world| {
        world.pool(|pool| pool.spec.source.image_pull_policy = Some("Always".to_owned()))
    });
    assert_eq!(policy, (0, Vec::new()));
    let tag = after(|world| {
        world.pool(|pool| {
            pool.spec.source.image = "ghcr.io/captf-io/aws-machinepool:v0.4.0".to_owned();
        })
    });
    assert_eq!(tag, (1, Vec::new()));
}

/// Proves: CAPTF-51.
#[test]
fn a_rebase_updates_the_template_tag_once() {
    let (applies, calls) = after(|world| {
        world.pool(|pool| {
            let annotations = &mut pool.metadata.annotations;
            annotations.insert(keys::CLONED_FROM_NAME.to_owned(), "demo-worker".to_owned());
        })
    });
    assert_eq!(applies, 1);
    assert!(
        calls.iter().any(|call| call == "CreateOrUpdateTags"),
        "{calls:?}"
    );
    let mut lab = Lab::ready();
    lab.edit(|world| {
        world.pool(|pool| {
            let annotations = &mut pool.metadata.annotations;
            annotations.insert(keys::CLONED_FROM_NAME.to_owned(), "demo-worker".to_owned());
        })
    });
    lab.run_for(300);
    assert_eq!(lab.operations(Operation::Apply), 1, "exactly one");
    let tags = &lab.cloud.group.as_ref().expect("a group").tags;
    assert_eq!(tags["captf.io/template"].0, "demo-worker");
    let instances = &lab.cloud.group.as_ref().expect("a group").instances;
    assert_eq!(instances.len(), 3);
}

#[test]
fn everything_rendered_is_hashed() {
    let hash = |world: World| Lab::new(world).gate().findings.inputs_hash.expect("a hash");
    let base = hash(world());
    let changed: [fn(World) -> World; 8] = [
        |world| world.bootstrap(b"#cloud-config\n# other"),
        |world| world.owner(|owner| owner.spec.replicas = Some(4)),
        |world| world.bounds("1", "5"),
        |world| world.owner(|owner| owner.spec.failure_domains = vec!["us-east-1a".to_owned()]),
        |world| world.owner(|owner| owner.spec.template.spec.version = Some("v1.34.2".to_owned())),
        |world| world.infra(|cluster| cluster.status.failure_domains.truncate(1)),
        |world| {
            world.pool(|pool| {
                let variables = serde_json::json!({ "instance_type": "m6i.large" });
                pool.spec.variables = variables.as_object().cloned();
            })
        },
        |world| {
            world.owner(|owner| {
                let labels = &mut owner.spec.template.metadata.labels;
                labels.insert("team".to_owned(), "b".to_owned());
            })
        },
    ];
    let mut seen = vec![base];
    for change in changed {
        let hash = hash(change(world()));
        assert!(!seen.contains(&hash), "each change has a hash of its own");
        seen.push(hash);
    }
    let autoscaled = |replicas| {
        let world = world().bounds("1", "5");
        hash(world.owner(|owner| owner.spec.replicas = Some(replicas)))
    };
    assert_eq!(autoscaled(2), autoscaled(4), "the count is the cloud's");
}

#[test]
fn the_reason_is_named() {
    let mut lab = Lab::ready();
    lab.edit(|world| world.bootstrap(b"#cloud-config\n# rotated"));
    assert_eq!(
        lab.gate().findings.apply_due,
        Some(ApplyReason::InputsChanged)
    );
}
