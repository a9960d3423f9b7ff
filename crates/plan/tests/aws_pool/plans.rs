//! A few plans as people see them.

use remuda_plan::pool::action::{ChangeKind, Effect};
use serde_json::json;

use super::{
    cloud::{Cloud, applied},
    demo::{Demo, demo},
    ownership::made_by_the_module,
    rendered,
};

fn shown(cloud: &Cloud, demo: &Demo) -> String {
    rendered::plan(&cloud.plan(demo).expect("a plan can be made")).join("\n")
}

#[test]
fn first_apply() {
    insta::assert_snapshot!(shown(&Cloud::new(), &demo().autoscaled(2, 5)));
}

#[test]
fn version_roll() {
    let (cloud, mut demo) = applied(demo());
    demo.now += 86_400;
    insta::assert_snapshot!(shown(&cloud, &demo.version("v1.35.0")));
}

#[test]
fn scale_in_zone_and_instance_type() {
    let (cloud, demo) = applied(demo());
    let demo = demo
        .with(|inputs| inputs.replicas = 1)
        .zones(["us-east-1a"])
        .var("instance_type", json!("m6i.xlarge"));
    insta::assert_snapshot!(shown(&cloud, &demo));
}

#[test]
fn taking_over_from_the_module() {
    let (cloud, demo) = made_by_the_module();
    insta::assert_snapshot!(shown(&cloud, &demo));
}

#[test]
fn deletion() {
    let (cloud, demo) = applied(demo().autoscaled(1, 5));
    insta::assert_snapshot!(rendered::plan(&cloud.teardown(&demo)).join("\n"));
}

#[test]
fn a_roll_shows_what_differs_between_the_templates_and_the_keys() {
    let (mut cloud, demo) = applied(demo());
    cloud.image = Some("ami-0bbbbbbbbbbbbbbbb".to_owned());
    let plan = cloud
        .plan(&demo.version("v1.35.0"))
        .expect("a plan can be made");
    let changes = |found: &dyn Fn(&remuda_plan::pool::action::Step) -> bool| {
        let step = plan.steps.iter().find(|step| found(step)).expect("a step");
        let changes = &step.changes;
        let shown: Vec<String> = changes
            .iter()
            .map(|c| format!("{} {:?} {:?}", c.field, c.old, c.new))
            .collect();
        shown
    };
    assert_eq!(
        changes(&|step| step.kind == ChangeKind::Replace),
        [r#"image_id Some(String("ami-0123456789abcdef0")) Some(String("ami-0bbbbbbbbbbbbbbbb"))"#]
    );
    assert_eq!(
        changes(&|step| step.effect == Effect::Rolls),
        [r#"kubernetes_version Some(String("v1.34.1")) Some(String("v1.35.0"))"#]
    );
}

#[test]
fn a_new_group_and_template_show_all_their_fields() {
    let plan = Cloud::new().plan(&demo()).expect("a plan can be made");
    let fields: Vec<&str> = plan
        .steps
        .iter()
        .filter(|step| step.kind == ChangeKind::Create)
        .flat_map(|step| &step.changes)
        .inspect(|change| assert_eq!(change.old, None, "{}", change.field))
        .map(|change| change.field.as_str())
        .collect();
    for field in [
        "instance_type",
        "image_id",
        "min_size",
        "subnets",
        "launch_template",
    ] {
        assert!(fields.contains(&field), "{field}: {fields:?}");
    }
}
