//! User variables: merge, names, conversion.

use remuda_plan::{
    driver::{Desired, Driver},
    pool::{
        keys,
        objects::{LocalRef, PoolSpec, SourceFormat, VariableSourceRef},
        secret::Secret,
        variables::{admission_problems, merge},
        world::{Lookup, VariableSource, World},
    },
    status::condition::{ConditionStatus, ConditionType, Reason},
};
use serde_json::{Value, json};

use super::{
    lab::{Lab, apply_goal},
    world::{Edit as _, message, world},
};
use ConditionStatus::False;

fn config_map(name: &str) -> VariableSourceRef {
    VariableSourceRef {
        config_map_ref: Some(LocalRef {
            name: name.to_owned(),
        }),
        ..VariableSourceRef::default()
    }
}

fn secret(name: &str) -> VariableSourceRef {
    VariableSourceRef {
        secret_ref: Some(LocalRef {
            name: name.to_owned(),
        }),
        ..VariableSourceRef::default()
    }
}

fn labeled(pairs: &[(&str, &str)]) -> Lookup<VariableSource> {
    Lookup::Found(VariableSource {
        labels: [(keys::VARIABLES.to_owned(), "true".to_owned())].into(),
        data: pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), Secret::new(value.as_bytes().to_vec())))
            .collect(),
    })
}

fn with(sources: Vec<(VariableSourceRef, Lookup<VariableSource>)>, inline: &Value) -> World {
    let mut world = world();
    world.pool.spec.variables = inline.as_object().filter(|it| !it.is_empty()).cloned();
    for (reference, read) in sources {
        world.pool.spec.variables_from.push(reference);
        world.sources.push(read);
    }
    world
}

/// Nothing runs and the gate names the reason.
fn refused(world: World, reason: Reason) -> Lab {
    let mut lab = Lab::new(world);
    lab.run_for(60);
    assert_eq!(
        lab.condition(ConditionType::DependenciesReady),
        Some((False, reason))
    );
    assert!(lab.started.is_empty() && lab.cloud.calls.is_empty());
    lab
}

/// Proves: CAPTF-60.
#[test]
fn the_later_source_wins_and_inline_wins_over_all() {
    let sources = || {
        vec![
            (
                config_map("a"),
                labeled(&[("instance_type", "a"), ("ssh_key_name", "a")]),
            ),
            (secret("b"), labeled(&[("instance_type", "b")])),
        ]
    };
    let world = with(sources(), &json!({}));
    let merged = merge(&world.pool.spec, &world.sources).expect("good sources");
    assert_eq!(merged.values["instance_type"], "b");
    assert_eq!(merged.values["ssh_key_name"], "a");
    assert_eq!(merged.sensitive, ["instance_type".to_owned()].into());
    let world = with(sources(), &json!({ "instance_type": "inline" }));
    let merged = merge(&world.pool.spec, &world.sources).expect("good sources");
    assert_eq!(merged.values["instance_type"], "inline");
    assert!(merged.sensitive.is_empty(), "the winner is no secret");
}

/// Proves: CAPTF-61.
#[test]
fn an_unlabeled_source_is_missing() {
    let unlabeled = || {
        Lookup::Found(VariableSource {
            labels: [].into(),
            ..labeled(&[("instance_type", "x")])
                .found()
                .expect("found")
                .clone()
        })
    };
    for read in [unlabeled(), Lookup::Missing] {
        let world = with(vec![(config_map("a"), read)], &json!({}));
        let lab = refused(world, Reason::VariablesSourceNotFound);
        assert!(message(&lab.world, ConditionType::DependenciesReady).contains("ConfigMap a"));
    }
    for read in [unlabeled(), Lookup::Missing] {
        let optional = VariableSourceRef {
            optional: true,
            ..config_map("a")
        };
        let goal = apply_goal(with(vec![(optional, read)], &json!({})));
        assert!(goal.variables.is_empty());
    }
}

/// Proves: CAPTF-62.
#[test]
fn bad_json_is_named_by_source_and_key_only() {
    let as_json = VariableSourceRef {
        format: SourceFormat::Json,
        ..secret("a")
    };
    let world = with(
        vec![(as_json, labeled(&[("additional_tags", "hunter2 {")]))],
        &json!({}),
    );
    let lab = refused(world, Reason::VariablesInvalid);
    let text = message(&lab.world, ConditionType::DependenciesReady);
    assert!(
        text.contains("Secret a") && text.contains("additional_tags"),
        "{text}"
    );
    let everything = format!("{:?} {:?}", lab.world.pool, lab.gate());
    assert!(!everything.contains("hunter2"), "the value appears nowhere");
}

/// Proves: CAPTF-63.
#[test]
fn an_unknown_variable_runs_nothing() {
    let lab = refused(
        with(Vec::new(), &json!({ "instance_typo": "m6i.large" })),
        Reason::VariablesInvalid,
    );
    let text = message(&lab.world, ConditionType::DependenciesReady);
    assert!(text.contains("instance_typo"), "{text}");
}

fn desired(world: World) -> remuda_plan::aws::desired::Desired {
    let goal = apply_goal(world);
    let inputs = goal.inputs.as_ref().expect("inputs");
    let Desired::Aws(desired) = Driver::Aws
        .desired(inputs, &goal.variables, &goal.context())
        .expect("good inputs")
    else {
        panic!("an AWS pool");
    };
    *desired
}

/// Proves: CAPTF-64.
#[test]
fn text_becomes_the_declared_type() {
    let source = labeled(&[("root_volume_size_gib", "100")]);
    let world = with(vec![(config_map("a"), source)], &json!({}));
    assert_eq!(desired(world).template.root_volume_size_gib, 100);
}

/// Proves: CAPTF-88.
#[test]
fn null_means_the_default() {
    let null = with(
        Vec::new(),
        &json!({ "root_volume_size_gib": null, "instance_type": null }),
    );
    let plain = with(Vec::new(), &json!({}));
    assert_eq!(desired(null).template, desired(plain).template);
}

#[test]
fn reserved_and_malformed_names_are_refused_at_admission() {
    for name in [
        "captf_x", "replicas", "source", "locals", "9lives", "a b", "",
    ] {
        let variables = json!({ name: 1, "instance_type": "m6i.large" });
        let spec = PoolSpec {
            variables: variables.as_object().cloned(),
            ..PoolSpec::default()
        };
        let problems = admission_problems(&spec);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(problems[0].field, format!("variables[{name:?}]"));
    }
    let fine = json!({ "instance_type": 1, "_x-9": 1, "replicas_of_mine": 1 });
    let spec = PoolSpec {
        variables: fine.as_object().cloned(),
        ..PoolSpec::default()
    };
    assert_eq!(admission_problems(&spec), []);
}

#[test]
fn all_admission_problems_come_together() {
    let spec = PoolSpec {
        variables: json!({ "captf_a": 1, "count": 1 }).as_object().cloned(),
        variables_from: vec![
            VariableSourceRef::default(),
            VariableSourceRef {
                secret_ref: secret("a").secret_ref,
                ..config_map("a")
            },
        ],
        ..PoolSpec::default()
    };
    assert_eq!(admission_problems(&spec).len(), 4);
}

#[test]
fn a_reserved_name_in_a_source_is_named_with_it() {
    let world = with(
        vec![(config_map("a"), labeled(&[("replicas", "7")]))],
        &json!({}),
    );
    let lab = refused(world, Reason::VariablesInvalid);
    let text = message(&lab.world, ConditionType::DependenciesReady);
    assert!(
        text.contains("ConfigMap a") && text.contains("replicas"),
        "{text}"
    );
}

#[test]
fn an_unreadable_source_is_not_missing() {
    let mut lab = Lab::ready();
    lab.edit(|world| world.pool(|pool| pool.spec.variables_from = vec![config_map("a")]));
    lab.world.sources = vec![Lookup::Failed("timeout".to_owned())];
    lab.pass();
    assert_eq!(
        lab.condition(ConditionType::DependenciesReady),
        Some((ConditionStatus::True, Reason::DependenciesReady))
    );
}
