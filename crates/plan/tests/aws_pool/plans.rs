//! A few plans as people see them.

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
