//! Rendering of the contract inputs.

use std::io::Write as _;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use flate2::{Compression, write::GzEncoder};
use remuda_plan::{
    aws::desired::ImageChoice,
    driver::{Desired, Driver},
    pool::{gate::Goal, inputs::Inputs, keys, owner, render, world::World},
    status::{
        condition::{ConditionStatus, ConditionType, Reason},
        wire::Operation,
    },
};
use serde_json::{Value, json};

use super::{
    lab::{Lab, apply_goal},
    world::{Edit as _, message, world},
};

fn rendered(world: World) -> Inputs {
    let owners = owner::check(&world).expect("the owner gates are open");
    render::render(&world, owners)
        .expect("all gates are open")
        .inputs
}

fn shared(path: &str) -> Option<Value> {
    let root = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/data/captf/schemas/"
    );
    let text = std::fs::read_to_string(format!("{root}{path}")).ok()?;
    Some(serde_json::from_str(&text).expect("JSON"))
}

/// Proves: CAPTF-13.
#[test]
fn rendered_inputs_keep_the_published_schema() {
    let (Some(schema), Some(definitions)) = (
        shared("machinepool-inputs.json"),
        shared("definitions.json"),
    ) else {
        eprintln!("skipped: the published schemas are not beside the workspace");
        return;
    };
    let registry = jsonschema::Registry::new()
        .add(
            "https://captf.io/schemas/v1alpha1/definitions.json",
            definitions,
        )
        .expect("a schema")
        .prepare()
        .expect("a registry");
    let validator = jsonschema::options()
        .with_registry(&registry)
        .build(&schema)
        .expect("a schema");
    let plain = world();
    let full = world()
        .bounds("2", "10")
        .owner(|owner| {
            owner.spec.failure_domains = vec!["us-east-1a".to_owned()];
            owner.spec.template.spec.version = Some("v1.31.4+rke2r1".to_owned());
            let labels = &mut owner.spec.template.metadata.labels;
            labels.insert("team".to_owned(), "a".to_owned());
        })
        .pool(|pool| {
            let annotations = &mut pool.metadata.annotations;
            annotations.insert(keys::CLONED_FROM_NAME.to_owned(), "demo-worker".to_owned());
        });
    let bare = world().owner(|owner| {
        owner.spec.template.spec.version = None;
        owner.spec.replicas = None;
    });
    for world in [plain, full, bare] {
        let json = rendered(world).contract_json();
        let json = json.reveal();
        let errors: Vec<String> = validator
            .iter_errors(json)
            .map(|it| it.to_string())
            .collect();
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(json.as_object().map(serde_json::Map::len), Some(14));
    }
    let mut wrong = rendered(self::world()).contract_json().reveal().clone();
    wrong["replicas"] = json!(-1);
    assert!(!validator.is_valid(&wrong), "the oracle can say no");
}

/// Proves: CAPTF-14.
#[test]
fn raw_bytes_become_padded_standard_base64() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(b"#cloud-config\n").expect("memory");
    let bytes = encoder.finish().expect("memory");
    let inputs = rendered(world().bootstrap(&bytes));
    let text = inputs.bootstrap_data.reveal();
    assert_eq!(
        STANDARD.decode(text).expect("padded, standard alphabet"),
        bytes
    );
    assert!(text.starts_with("H4sI") && text.len().is_multiple_of(4));
    assert_eq!(inputs.bootstrap_format, "cloud-config");
}

/// Proves: CAPTF-15.
#[test]
fn the_version_is_verbatim_and_the_image_lookup_strips_it() {
    let goal = apply_goal(world().owner(|owner| {
        owner.spec.template.spec.version = Some("v1.31.4+rke2r1".to_owned());
    }));
    let inputs = goal.inputs.as_ref().expect("inputs");
    assert_eq!(inputs.kubernetes_version.as_deref(), Some("v1.31.4+rke2r1"));
    let desired = Driver::Aws.desired(inputs, &goal.variables, &goal.context());
    let Desired::Aws(desired) = desired.expect("good inputs") else {
        panic!("an AWS pool");
    };
    let ImageChoice::Lookup(query) = desired.image else {
        panic!("an image is looked up")
    };
    assert!(query.name.contains("1.31.4-"), "{}", query.name);
    assert!(!query.name.contains("rke2r1"), "{}", query.name);
}

/// Proves: CAPTF-16.
#[test]
fn only_the_labels_of_the_machine_template_reach_nodes() {
    let world = world()
        .pool(|pool| {
            let labels = &mut pool.metadata.labels;
            labels.insert("team".to_owned(), "pool".to_owned());
        })
        .owner(|owner| {
            let labels = &mut owner.metadata.labels;
            labels.insert("team".to_owned(), "owner".to_owned());
        });
    assert_eq!(rendered(world).node_labels, [].into());
}

/// Proves: CAPTF-12.
#[test]
fn an_externally_managed_cluster_exports_nothing() {
    let world = world().infra(|cluster| {
        let annotations = &mut cluster.metadata.annotations;
        annotations.insert(keys::MANAGED_BY.to_owned(), "terraform".to_owned());
        cluster.status.failure_domains.truncate(1);
    });
    let mut lab = Lab::new(world);
    lab.settle();
    // The reference module needs its own variable then; without it nothing is made.
    assert!(lab.cloud.calls.is_empty());
    assert!(message(&lab.world, ConditionType::ApplyJobSucceeded).contains("R-1"));
    lab.edit(|world| {
        world.pool(|pool| {
            let exports = super::demo::exports();
            let variables = json!({ "external_cluster_exports": exports });
            pool.spec.variables = variables.as_object().cloned();
        })
    });
    let inputs = apply_goal(lab.world).inputs.expect("inputs");
    assert_eq!(inputs.captf_cluster_outputs, json!({}));
    assert_eq!(inputs.cluster_failure_domains, ["us-east-1a"]);
}

#[test]
fn the_six_tags_are_always_there() {
    let tags = rendered(world()).captf_tags;
    assert_eq!(tags.len(), 6);
    assert_eq!(tags[keys::TAG_TEMPLATE], "");
    assert_eq!(tags[keys::TAG_MANAGED_BY], "captf");
    assert_eq!(tags[keys::TAG_CLUSTER], "demo");
}

#[test]
fn the_owners_name_counts_where_it_differs_from_the_pools() {
    let world = world()
        .pool(|pool| {
            pool.metadata.name = "infra".to_owned();
        })
        .owner(|owner| owner.spec.template.spec.infrastructure_ref.name = "infra".to_owned());
    let inputs = rendered(world);
    assert_eq!(inputs.machinepool_name, "demo-pool-0");
    assert_eq!(inputs.captf_object.name, "infra");
}

#[test]
fn too_large_inputs_run_nothing() {
    let mut lab = Lab::new(world().bootstrap(&vec![b'x'; 800_000]));
    lab.settle();
    assert_eq!(
        lab.condition(ConditionType::ApplyJobSucceeded),
        Some((ConditionStatus::False, Reason::InputsTooLarge))
    );
    assert_eq!(lab.operations(Operation::Apply), 0);
    assert!(lab.cloud.calls.is_empty());
}

/// Proves: CAPTF-90.
#[test]
fn a_record_never_holds_the_bootstrap_data() {
    let lab = Lab::ready();
    let record = lab.world.record.found().expect("a record after an apply");
    let text = serde_json::to_string(record).expect("JSON");
    let document = std::str::from_utf8(super::demo::DOCUMENT).expect("text");
    assert!(!text.contains(document) && !text.contains("echo hello"));
    assert!(!text.contains(&STANDARD.encode(document)));
    assert!(
        text.contains("payloadHash"),
        "a digest of it is there: {text}"
    );
}

#[test]
fn secrets_do_not_print() {
    let goal: Goal = apply_goal(world());
    let text = format!("{goal:?}");
    let data = STANDARD.encode(super::demo::DOCUMENT);
    assert!(!text.contains(&data) && text.contains("[redacted]"));
}
