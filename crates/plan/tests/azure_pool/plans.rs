//! A few plans as people see them.

use remuda_plan::pool::action::{Action, Plan};
use serde_json::json;

use super::{
    cloud::{Cloud, applied, name_of},
    demo::{Demo, demo},
    ownership::found,
};

/// A plan as people see it, one line a step.
fn rendered(plan: &Plan) -> String {
    let mut lines: Vec<String> = plan
        .steps
        .iter()
        .map(|step| {
            let call = match &step.action {
                Action::Azure(call) => name_of(call),
                Action::Remember(_) => "REMEMBER".to_owned(),
                Action::Aws(_) => panic!("a call of another cloud"),
            };
            let word = |value| match value {
                Ok(serde_json::Value::String(word)) => word,
                other => panic!("a word: {other:?}"),
            };
            format!(
                "{call} {} [{} / {}] because {}",
                step.object,
                word(serde_json::to_value(step.kind)),
                word(serde_json::to_value(step.effect)),
                step.because,
            )
        })
        .collect();
    lines.push(format!("{:?}", plan.outlook));
    lines.join("\n")
}

fn shown(cloud: &Cloud, demo: &Demo) -> String {
    rendered(&cloud.plan(demo).expect("a plan can be made"))
}

#[test]
fn first_apply() {
    insta::assert_snapshot!(shown(&Cloud::new(), &demo().autoscaled(2, 5)));
}

#[test]
fn version_roll() {
    let (cloud, demo) = applied(demo());
    insta::assert_snapshot!(shown(&cloud, &demo.version("v1.35.0")));
}

#[test]
fn scale_in_tags_and_size() {
    let (cloud, demo) = applied(demo());
    let demo = demo
        .replicas(1)
        .var("additional_tags", json!({ "team": "a" }))
        .var("vm_size", json!("Standard_D8s_v5"));
    insta::assert_snapshot!(shown(&cloud, &demo));
}

#[test]
fn taking_over_from_the_module() {
    let (cloud, demo) = found(|held| {
        held.set.tags.remove("remuda.dev_installation");
    });
    insta::assert_snapshot!(shown(&cloud, &demo));
}

#[test]
fn deletion() {
    let (cloud, demo) = applied(demo().autoscaled(1, 5));
    insta::assert_snapshot!(rendered(&cloud.teardown(&demo)));
}
