//! User variables.

use std::collections::BTreeSet;

use remuda_plan::{
    aws::vars::{self, Vars},
    driver::Driver,
    pool::action::Effect,
};
use serde_json::{Map, Value, json};

use super::{
    cloud::applied,
    demo::{demo, names},
};

fn resolved(variables: Value) -> Vars {
    vars::resolve(variables.as_object().expect("an object")).expect("good variables")
}

fn refused(name: &str, value: Value) -> Vec<(&'static str, String)> {
    let variables: Map<String, Value> = [(name.to_owned(), value)].into_iter().collect();
    Driver::Aws
        .check_variables(&variables)
        .expect_err("bad variables")
        .into_iter()
        .map(|refusal| (refusal.code, refusal.subject))
        .collect()
}

/// Proves: AWS-113.
#[test]
fn every_variable_has_the_default_of_the_document() {
    let all = resolved(json!({ "instance_type": "m6i.large" }));
    assert_eq!(all, resolved(json!({})));
    assert!(all.additional_security_group_ids.is_empty());
    assert!(all.additional_tags.is_empty());
    assert!((all.autoscaling_target_cpu_percent - 60.0).abs() < f64::EPSILON);
    assert_eq!(all.drain_heartbeat_seconds, 300);
    assert_eq!(all.drain_limit_seconds, 3600);
    assert_eq!(all.external_cluster_exports, None);
    assert_eq!(all.instance_metadata_hop_limit, 1);
    assert_eq!(all.instance_type, "m6i.large");
    assert_eq!(all.machine_image.id, None);
    assert_eq!(all.machine_image.owner, "819546954734");
    assert_eq!(
        all.machine_image.name_format,
        "capa-ami-ubuntu-24.04-?{semver}-*"
    );
    assert_eq!(all.machine_image.architecture, "x86_64");
    assert_eq!(all.machine_image.root_device_name, "/dev/sda1");
    assert!(!all.public_ip);
    assert_eq!(all.rollout_instance_warmup_seconds, 300);
    assert_eq!(all.root_volume_kms_key_id, None);
    assert_eq!(all.root_volume_size_gib, 40);
    assert_eq!(all.root_volume_type, "gp3");
    assert!(!all.spot);
    assert_eq!(all.ssh_key_name, None);
    assert_eq!(all.autoscaler, "native");
    assert_eq!(
        vars::listed().len(),
        21,
        "another variable needs its default above"
    );
}

/// One bad value for each rule of a variable: code, variable (or field of the image), value.
fn bad_variables() -> Vec<(&'static str, &'static str, Value)> {
    let tags_41: Map<String, Value> = (0..41).map(|i| (format!("k{i}"), json!("v"))).collect();
    let other_schema = json!({ "schema": "captf.io/aws-cluster/v2" });
    let other_cluster = json!({ "kubernetes.io/cluster/other": "owned" });
    vec![
        ("V-10", "additional_security_group_ids", json!(["bastion"])),
        ("V-11a", "additional_tags", json!(tags_41)),
        ("V-11b", "additional_tags", json!({ "k": "v".repeat(257) })),
        ("V-11c", "additional_tags", json!({ "k": "x#1" })),
        ("V-11d", "additional_tags", other_cluster),
        ("V-12", "autoscaling_target_cpu_percent", json!(0)),
        ("V-13", "external_cluster_exports", other_schema),
        ("V-14", "instance_metadata_hop_limit", json!(1.5)),
        ("V-15", "instance_type", json!("m6i")),
        ("V-16a", "machine_image.id", json!("ami-XYZ")),
        ("V-16b", "machine_image.name_format", json!("my-image")),
        ("V-16c", "machine_image.architecture", json!("aarch64")),
        ("V-16d", "machine_image.owner", json!("1234")),
        ("V-16e", "machine_image.root_device_name", json!("sda1")),
        ("V-17", "rollout_instance_warmup_seconds", json!(-30)),
        ("V-18", "root_volume_kms_key_id", json!("alias/aws/ebs")),
        ("V-19", "root_volume_size_gib", json!(20_000)),
        ("V-20", "root_volume_type", json!("st1")),
        ("V-21", "autoscaler", json!("cluster-autoscaler")),
    ]
}

/// Proves: AWS-71.
#[test]
fn each_bad_input_is_exactly_its_own_error() {
    let contract = [
        (
            demo().with(|i| i.captf_contract = "v1beta1".into()),
            "V-1",
            "captf_contract",
        ),
        (demo().with(|i| i.replicas = -1), "V-5", "replicas"),
        (
            demo().with(|i| i.bootstrap_format = "cloud-init".into()),
            "V-7",
            "bootstrap_format",
        ),
        (
            demo().labels([("team", "platform'; reboot; '")]),
            "V-8",
            "node_labels",
        ),
        (demo().autoscaled(5, 2), "V-9", "autoscaling"),
    ];
    for (demo, code, subject) in contract {
        assert_eq!(demo.refused(), [(code, subject.to_owned())], "{code}");
    }
    for (code, subject, value) in bad_variables() {
        let demo = match subject.split_once('.') {
            Some((object, field)) => demo().var(object, json!({ field: value })),
            None => demo().var(subject, value),
        };
        assert_eq!(demo.refused(), [(code, subject.to_owned())], "{code}");
    }
}

#[test]
fn all_bad_variables_are_told_together_in_order() {
    let demo = demo()
        .var("root_volume_type", json!("st1"))
        .var("autoscaler", json!("none"))
        .var("instance_tpye", json!("m6i.large"))
        .with(|i| i.replicas = -1)
        .zones(["us-west-2a"]);
    let codes: Vec<&str> = demo.refused().into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes, ["R-3", "V-0", "V-20", "V-21", "V-5"]);
}

/// Proves: AWS-72.
#[test]
fn a_number_may_come_as_text() {
    assert_eq!(
        resolved(json!({ "root_volume_size_gib": "40" })).root_volume_size_gib,
        40
    );
    assert_eq!(
        demo().var("root_volume_size_gib", json!("40")).good(),
        demo().good()
    );
}

/// Proves: CAPTF-88.
#[test]
fn null_means_the_default() {
    let nulls: Map<String, Value> = Vars::TABLE
        .iter()
        .map(|row| (row.name.to_owned(), Value::Null))
        .collect();
    assert_eq!(resolved(Value::Object(nulls)), resolved(json!({})));
    let image: Map<String, Value> = [
        "id",
        "owner",
        "name_format",
        "architecture",
        "root_device_name",
    ]
    .into_iter()
    .map(|field| (field.to_owned(), Value::Null))
    .collect();
    assert_eq!(
        resolved(json!({ "machine_image": image })),
        resolved(json!({}))
    );
}

#[test]
fn scalars_are_converted_where_their_text_is_exact() {
    let all = resolved(json!({
        "spot": "true",
        "public_ip": "false",
        "autoscaling_target_cpu_percent": "62.5",
        "instance_metadata_hop_limit": 2.0,
        "additional_tags": { "count": 4, "on": true },
        "ssh_key_name": 7,
    }));
    assert!(all.spot && !all.public_ip);
    assert!((all.autoscaling_target_cpu_percent - 62.5).abs() < f64::EPSILON);
    assert_eq!(all.instance_metadata_hop_limit, 2);
    assert_eq!(all.additional_tags["count"], "4");
    assert_eq!(all.additional_tags["on"], "true");
    assert_eq!(all.ssh_key_name.as_deref(), Some("7"));
}

#[test]
fn what_cannot_be_converted_is_refused_without_its_value() {
    let secret = "hunter2";
    let rows = [
        ("root_volume_size_gib", json!(secret)),
        ("root_volume_size_gib", json!(" 40")),
        ("root_volume_size_gib", json!(true)),
        ("spot", json!("yes")),
        ("spot", json!(1)),
        ("additional_security_group_ids", json!("sg-1")),
        ("additional_security_group_ids", json!([null])),
        ("additional_tags", json!([secret])),
        ("additional_tags", json!({ "k": { "v": secret } })),
        ("instance_type", json!([secret])),
        ("machine_image", json!(secret)),
        ("nonsense", json!(secret)),
    ];
    for (name, value) in rows {
        assert_eq!(
            refused(name, value.clone()),
            [("V-0", name.to_owned())],
            "{name}"
        );
        let demo = demo().var(name, value);
        assert!(!format!("{:?}", demo.refusals()).contains(secret), "{name}");
    }
    assert_eq!(
        refused("machine_image", json!({ "id": [] })),
        [("V-0", "machine_image.id".to_owned())]
    );
}

#[test]
fn no_refusal_of_a_bad_value_shows_it() {
    for (name, value) in [
        ("instance_type", json!("hunter2")),
        ("root_volume_kms_key_id", json!("hunter2")),
        ("additional_tags", json!({ "k": "hunter2#" })),
        ("machine_image", json!({ "owner": "hunter2" })),
    ] {
        let text = format!("{:?}", demo().var(name, value).refusals());
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[test]
fn unknown_fields_of_the_image_are_dropped_silently() {
    assert_eq!(
        resolved(json!({ "machine_image": { "colour": "blue", "owner": "self" } })),
        resolved(json!({ "machine_image": { "owner": "self" } })),
    );
}

#[test]
fn the_name_format_is_checked_even_when_an_id_is_set() {
    let image = json!({ "id": "ami-0a", "name_format": "my-image" });
    assert_eq!(
        refused("machine_image", image),
        [("V-16b", "machine_image.name_format".to_owned())]
    );
}

/// Proves: AWS-100.
#[test]
fn reserved_tag_prefixes_are_refused_and_forty_tags_are_not() {
    for key in ["aws:x", "AWS:x", "captf.io/x"] {
        assert_eq!(
            refused("additional_tags", json!({ key: "v" })),
            [("V-11d", "additional_tags".to_owned())],
            "{key}"
        );
    }
    let forty: Map<String, Value> = (0..40)
        .map(|i| (format!("Team:{i}/ä b_.=+-@"), json!("x".repeat(256))))
        .collect();
    assert_eq!(
        resolved(json!({ "additional_tags": forty }))
            .additional_tags
            .len(),
        40
    );
    assert_eq!(
        resolved(json!({ "additional_tags": { "Captf.io/x": "" } }))
            .additional_tags
            .len(),
        1
    );
}

#[test]
fn bounds_are_inclusive() {
    for (name, good, bad) in [
        (
            "instance_metadata_hop_limit",
            json!([1, 64]),
            json!([0, 65, "x"]),
        ),
        (
            "root_volume_size_gib",
            json!([8, 16_384]),
            json!([7, 16_385, 8.5]),
        ),
        (
            "autoscaling_target_cpu_percent",
            json!([0.5, 100]),
            json!([0, 100.5, -1]),
        ),
        (
            "rollout_instance_warmup_seconds",
            json!([0]),
            json!([-1, 0.5]),
        ),
    ] {
        for value in good.as_array().expect("a list") {
            assert!(
                Driver::Aws.check_variables(&one(name, value)).is_ok(),
                "{name} {value}"
            );
        }
        for value in bad.as_array().expect("a list") {
            assert!(
                Driver::Aws.check_variables(&one(name, value)).is_err(),
                "{name} {value}"
            );
        }
    }
    for id in ["", "ami-", "ami-0A", "ami-0a "] {
        assert_eq!(
            refused("machine_image", json!({ "id": id })),
            [("V-16a", "machine_image.id".to_owned())],
            "{id:?}"
        );
    }
    for arn in [
        "",
        "arn:aws:kms:us-east-1:123456789012:alias/x",
        "arn:aws:kms:us-east-1:123456789012:key/",
    ] {
        assert_eq!(
            refused("root_volume_kms_key_id", json!(arn)),
            [("V-18", "root_volume_kms_key_id".to_owned())],
            "{arn:?}"
        );
    }
    for kind in ["m6i.", ".large", "m6i.large.x", "M6i.large"] {
        assert_eq!(
            refused("instance_type", json!(kind)),
            [("V-15", "instance_type".to_owned())]
        );
    }
}

fn one(name: &str, value: &Value) -> Map<String, Value> {
    [(name.to_owned(), value.clone())].into_iter().collect()
}

#[test]
fn the_table_is_complete_documented_and_reads_its_own_defaults() {
    let mut seen = BTreeSet::new();
    for (name, row) in vars::listed() {
        assert!(seen.insert(name.clone()), "{name} is listed twice");
        assert!(
            row.doc.iter().any(|line| line.trim().len() > 10),
            "{name} has no documentation"
        );
        assert!(row.default_value().is_null() == row.nullable, "{name}");
        for check in row.checks {
            assert!(check.code.starts_with("V-"), "{name}");
            let default = row.default_value();
            assert!(
                default.is_null() || (check.holds)(&default),
                "{name}: {}",
                check.code
            );
        }
    }
}

/// One value for each variable that differs from the default.
fn another(name: &str) -> Value {
    match name {
        "additional_security_group_ids" => json!(["sg-0abc000000000000a"]),
        "additional_tags" => json!({ "team": "data" }),
        "autoscaler" => json!("external"),
        "autoscaling_target_cpu_percent" => json!(70),
        "drain_heartbeat_seconds" => json!(60),
        "drain_limit_seconds" => json!(900),
        "instance_metadata_hop_limit" => json!(2),
        "instance_type" => json!("m6i.xlarge"),
        "machine_image.architecture" => json!({ "architecture": "arm64" }),
        "machine_image.id" => json!({ "id": "ami-0aaaaaaaaaaaaaaaa" }),
        "machine_image.name_format" => json!({ "name_format": "img-{version}" }),
        "machine_image.owner" => json!({ "owner": "self" }),
        "machine_image.root_device_name" => json!({ "root_device_name": "/dev/xvda" }),
        "public_ip" | "spot" => json!(true),
        "rollout_instance_warmup_seconds" => json!(600),
        "root_volume_kms_key_id" => json!("arn:aws:kms:us-east-1:123456789012:key/abc"),
        "root_volume_size_gib" => json!(80),
        "root_volume_type" => json!("gp2"),
        "ssh_key_name" => json!("ops"),
        other => panic!("{other} is new: say here what another value of it is"),
    }
}

#[test]
fn the_effect_in_the_table_is_what_a_change_does() {
    let lookup = names(["architecture", "name_format", "owner"]);
    for (name, row) in vars::listed() {
        if name == "external_cluster_exports" {
            continue; // Stands for all exports; their effects are tested one by one.
        }
        let (mut cloud, demo) = applied(demo().autoscaled(1, 5));
        if lookup.iter().any(|field| name.ends_with(field)) {
            cloud.image = Some("ami-0bbbbbbbbbbbbbbbb".to_owned()); // what the other lookup finds
        }
        let top = name.split('.').next().expect("a name").to_owned();
        let demo = demo.var(&top, another(&name));
        let plan = cloud.plan(&demo).expect("a plan can be made");
        let worst = plan
            .steps
            .iter()
            .map(|step| step.effect)
            .max()
            .unwrap_or(Effect::None);
        assert_eq!(worst, row.effect, "{name}: {plan:?}");
    }
}

#[test]
fn a_mistyped_name_is_told_the_nearest_one() {
    let remedy = |name: &str| {
        let refusals = Driver::Aws
            .check_variables(&one(name, &json!("x")))
            .expect_err("unknown");
        refusals[0].remedy.clone().unwrap_or_default()
    };
    assert_eq!(
        remedy("instance_typ"),
        "remove it, or did you mean instance_type?"
    );
    assert_eq!(remedy("spott"), "remove it, or did you mean spot?");
    let all = remedy("colour");
    assert!(
        all.contains("additional_tags") && all.contains("ssh_key_name"),
        "{all}"
    );
}
