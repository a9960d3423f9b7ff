//! Outputs: limits, order, what is written of them.

use std::collections::BTreeMap;

use remuda_plan::{
    pool::{
        health::Health,
        members::{Member, MemberState},
        outputs::Outputs,
    },
    status::{
        condition::{ConditionStatus, ConditionType, Reason},
        event::EventReason,
    },
};
use serde_json::json;

use super::{
    lab::Lab,
    world::{Edit as _, message, world, writes_nothing},
};
use ConditionStatus::{False, True};

pub(crate) fn member(number: usize, state: MemberState) -> Member {
    Member {
        provider_id: format!("aws:///us-east-1a/i-{number:017x}"),
        instance_id: format!("i-{number:017x}"),
        addresses: Vec::new(),
        failure_domain: Some("us-east-1a".to_owned()),
        state,
        reason: None,
    }
}

pub(crate) fn health(state: MemberState, healthy: bool) -> Health {
    Health {
        state,
        healthy,
        message: None,
        reasons: Vec::new(),
    }
}

/// Outputs of a group with so many running members, all of them wished.
pub(crate) fn running(count: usize) -> Outputs {
    Outputs {
        provider_id: Some("arn:aws:autoscaling:us-east-1:123456789012:group".to_owned()),
        provider_id_list: (0..count)
            .map(|number| member(number, MemberState::Running).provider_id)
            .collect(),
        replicas: Some(i64::try_from(count).expect("small")),
        instances: (0..count)
            .map(|number| member(number, MemberState::Running))
            .collect(),
        health: health(MemberState::Running, true),
        extra: BTreeMap::new(),
    }
}

/// A quiet pool with a refresh due.
pub(crate) fn due() -> Lab {
    let mut lab = Lab::ready();
    lab.wait(70);
    lab
}

/// Proves: CAPTF-17.
#[test]
fn the_status_shows_a_thousand_instances_and_the_list_all() {
    let mut lab = due();
    lab.refresh_showing(running(1200));
    assert_eq!(lab.world.pool.status.instances.len(), 1000);
    assert_eq!(lab.world.pool.spec.provider_id_list.len(), 1200);
    assert_eq!(
        lab.condition(ConditionType::OutputsValid),
        Some((True, Reason::InstancesTruncated))
    );
    assert_eq!(
        lab.condition(ConditionType::Ready),
        Some((True, Reason::Ready))
    );
}

/// Proves: CAPTF-18.
#[test]
fn bad_outputs_are_named_and_nothing_of_them_is_written() {
    // A health state that the contract does not know cannot even become outputs.
    let mut unknown = serde_json::to_value(running(1)).expect("JSON");
    unknown["health"]["state"] = json!("exploded");
    assert!(serde_json::from_value::<Outputs>(unknown).is_err());

    let long = "x".repeat(513);
    let mut too_many = running(10_001);
    too_many.instances.clear();
    let bad: [Outputs; 5] = [
        Outputs {
            provider_id: Some(long.clone()),
            ..running(4)
        },
        Outputs {
            provider_id_list: vec![String::new()],
            ..running(4)
        },
        Outputs {
            replicas: Some(-1),
            ..running(4)
        },
        Outputs {
            instances: vec![Member {
                failure_domain: Some(long),
                ..member(0, MemberState::Running)
            }],
            ..running(4)
        },
        too_many,
    ];
    for outputs in bad {
        let mut lab = due();
        let before = lab.world.pool.clone();
        let publication = lab.refresh_showing(outputs);
        assert_eq!(
            lab.condition(ConditionType::OutputsValid),
            Some((False, Reason::OutputsInvalid))
        );
        assert_eq!(lab.events, [EventReason::OutputsInvalid]);
        assert_eq!(publication.spec.merge_patch(), None);
        let (before, after) = (before.status, &lab.world.pool.status);
        assert_eq!(after.replicas, before.replicas);
        assert_eq!(after.instances, before.instances);
        assert_eq!(
            after.condition(ConditionType::InfrastructureHealthy),
            before.condition(ConditionType::InfrastructureHealthy)
        );
    }
}

/// Proves: CAPTF-19.
#[test]
fn the_list_is_sorted_unique_and_written_once() {
    let mut outputs = running(3);
    outputs.provider_id_list.reverse();
    let again = outputs.provider_id_list[0].clone();
    outputs.provider_id_list.push(again);
    outputs.instances.reverse();
    let mut lab = due();
    lab.world.pool.spec.provider_id_list.clear();
    lab.refresh_showing(outputs.clone());
    assert_eq!(
        lab.world.pool.spec.provider_id_list,
        running(3).provider_id_list
    );
    lab.wait(70);
    assert!(writes_nothing(&lab.refresh_showing(outputs)));
}

/// Proves: CAPTF-20.
#[test]
fn an_observed_zero_is_written() {
    let mut lab = Lab::new(world().owner(|owner| owner.spec.replicas = Some(0)));
    lab.settle();
    lab.run_for(60);
    let json = serde_json::to_string(&lab.world.pool.status).expect("JSON");
    assert!(json.contains("\"replicas\":0"), "{json}");
    assert!(!json.contains("\"instances\""), "an empty list is left out");
}

/// Proves: CAPTF-21.
#[test]
fn a_pool_of_nothing_is_healthy_and_provisioned() {
    let mut lab = Lab::new(world().owner(|owner| owner.spec.replicas = Some(0)));
    lab.settle();
    lab.run_for(60);
    assert_eq!(
        lab.condition(ConditionType::InfrastructureHealthy),
        Some((True, Reason::Healthy))
    );
    assert!(lab.world.pool.status.provisioned());
    assert_eq!(lab.world.pool.status.ready, Some(true));
}

#[test]
fn the_health_message_names_reasons() {
    let cases = [
        (Some("3 of 4"), vec!["A", "B"], "3 of 4; reasons: A, B"),
        (Some("3 of 4"), vec![], "3 of 4"),
        (None, vec!["A"], "reasons: A"),
        (None, vec![], "InstanceUnhealthy"),
    ];
    for (text, reasons, expected) in cases {
        let mut lab = due();
        let mut outputs = running(3);
        outputs.health = Health {
            state: MemberState::Running,
            healthy: false,
            message: text.map(str::to_owned),
            reasons: reasons.into_iter().map(str::to_owned).collect(),
        };
        lab.refresh_showing(outputs);
        assert_eq!(
            message(&lab.world, ConditionType::InfrastructureHealthy),
            expected
        );
    }
}

#[test]
fn the_status_keeps_the_published_schema() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/data/captf/crds/",
        "infrastructure.cluster.x-k8s.io_terraformmachinepools.yaml"
    );
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("skipped: the published CRDs are not beside the workspace");
        return;
    };
    let crd: serde_json::Value = serde_saphyr::from_str(&text).expect("YAML");
    let mut schema =
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"].clone();
    close(&mut schema);
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let mut lab = Lab::ready();
    for step in 0..4 {
        let status = serde_json::to_value(&lab.world.pool.status).expect("JSON");
        let errors: Vec<String> = validator
            .iter_errors(&status)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{errors:?}");
        match step {
            0 => lab.edit(|world| world.bootstrap(b"#cloud-config\n# rotated")),
            1 => lab.writes_fail = Some(super::schedule::failure(super::schedule::PLAIN)),
            _ => lab.delete(),
        }
        lab.pass();
    }
}

/// Unknown fields would be pruned, so they count as errors here.
fn close(schema: &mut serde_json::Value) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    if fields.contains_key("properties") {
        fields.insert("additionalProperties".to_owned(), json!(false));
    }
    for value in fields.values_mut() {
        match value {
            serde_json::Value::Array(items) => items.iter_mut().for_each(close),
            other => close(other),
        }
    }
}
