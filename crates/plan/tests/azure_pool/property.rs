//! Settles and survives: from any state of a pool and any change of its inputs, passes come to an
//! end with the world as wished; killed after any step, they come to the same end.

use proptest::prelude::*;
use remuda_plan::{
    azure::desired::{Model, Profile},
    error::FailureClass,
    pool::{action::Outlook, inputs::Autoscaling},
};
use serde_json::{Value, json};

use super::{
    cloud::{Cloud, failure},
    demo::{Demo, demo},
    ownership::found,
};

/// One change of the inputs.
#[derive(Debug, Clone, Copy)]
enum Change {
    Version(u8),
    Replicas(u8),
    Autoscaling(Option<(u8, u8)>),
    Zones(u8),
    Variable(u8),
    Label(u8),
    Data(u8),
    Tag(u8),
    Subnet(bool),
}

/// One change of the cloud by somebody else, or by bad luck.
#[derive(Debug, Clone, Copy)]
enum Drift {
    Capacity(u8),
    SetsGone,
    SettingsGone,
    SettingEdited,
    ModelEdited,
    TagGone,
    NextFails,
    RecordLost,
    Halfway(u8),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![
        (0..3u8).prop_map(Change::Version),
        (0..5u8).prop_map(Change::Replicas),
        proptest::option::of((0..3u8, 3..6u8)).prop_map(Change::Autoscaling),
        (0..3u8).prop_map(Change::Zones),
        (0..7u8).prop_map(Change::Variable),
        (0..3u8).prop_map(Change::Label),
        (0..3u8).prop_map(Change::Data),
        (0..3u8).prop_map(Change::Tag),
        any::<bool>().prop_map(Change::Subnet),
    ];
    prop::collection::vec(change, 0..4)
}

fn drifts() -> impl Strategy<Value = Vec<Drift>> {
    let drift = prop_oneof![
        (0..5u8).prop_map(Drift::Capacity),
        Just(Drift::SetsGone),
        Just(Drift::SettingsGone),
        Just(Drift::SettingEdited),
        Just(Drift::ModelEdited),
        Just(Drift::TagGone),
        Just(Drift::NextFails),
        Just(Drift::RecordLost),
        (1..8u8).prop_map(Drift::Halfway),
    ];
    prop::collection::vec(drift, 0..3)
}

fn changed(mut demo: Demo, changes: &[Change]) -> Demo {
    for change in changes {
        demo = match *change {
            Change::Version(n) => demo.version(&format!("v1.3{n}.0")),
            Change::Replicas(n) => demo.replicas(i64::from(n)),
            Change::Autoscaling(Some((min, max))) => {
                demo.autoscaled(i64::from(min), i64::from(max))
            }
            Change::Autoscaling(None) => demo.with(|inputs| inputs.autoscaling = Autoscaling::OFF),
            Change::Zones(0) => demo.zones([]),
            Change::Zones(1) => demo.zones(["2"]),
            Change::Zones(_) => demo.zones(["1", "3"]),
            Change::Variable(n) => variable(demo, n),
            Change::Label(0) => demo.labels([]),
            Change::Label(n) => demo.labels([("team", if n == 1 { "a" } else { "b" })]),
            Change::Data(n) => demo.bootstrap(["AAAA", "BBBB", "CCCC"][usize::from(n)]),
            Change::Tag(n) => demo.var("additional_tags", json!({ format!("tag-{n}"): "x" })),
            Change::Subnet(other) => demo.exports(|exports| {
                exports["worker_subnet_id"] =
                    json!(if other { "/subnets/b" } else { "/subnets/a" });
            }),
        };
    }
    demo
}

fn variable(demo: Demo, n: u8) -> Demo {
    let (name, value): (&str, Value) = match n {
        0 => ("vm_size", json!("Standard_D8s_v5")),
        1 => ("spot", json!(true)),
        2 => ("spot", json!(false)),
        3 => ("autoscaler", json!("external")),
        4 => ("autoscaling_scale_out_cpu_percent", json!(80)),
        5 => ("encryption_at_host", json!(true)),
        _ => ("os_disk_size_gib", json!(256)),
    };
    demo.var(name, value)
}

fn drifted(cloud: &mut Cloud, demo: &mut Demo, drifts: &[Drift]) {
    for drift in drifts {
        match drift {
            Drift::Capacity(n) => {
                for held in cloud.sets.values_mut() {
                    held.fill(i64::from(*n));
                }
            }
            Drift::SetsGone => {
                if demo.record.is_some() && cloud.running.is_none() {
                    cloud.sets.clear();
                }
            }
            Drift::SettingsGone => cloud.settings.clear(),
            Drift::SettingEdited => {
                for setting in cloud.settings.values_mut() {
                    setting.profile = None;
                }
            }
            Drift::ModelEdited => {
                for held in cloud.sets.values_mut() {
                    held.set.model.vm_size = "Standard_B1s".to_owned();
                }
            }
            Drift::TagGone => {
                for held in cloud.sets.values_mut() {
                    held.set.tags.remove("captf.io_managed-by");
                }
            }
            Drift::NextFails => {
                let code = "InternalServerError";
                cloud.next_failure = Some(failure(FailureClass::Transient, code));
            }
            Drift::RecordLost => {
                // Without a set there is nothing certain to rebuild a record from.
                if !cloud.sets.is_empty() && cloud.running.is_none() {
                    demo.record = None;
                }
            }
            Drift::Halfway(passes) => {
                let mut other = demo.clone().version("v1.39.0");
                for _ in 0..*passes {
                    cloud.pass(&mut other);
                    cloud.tick();
                }
                demo.record = other.record;
                demo.now = other.now;
            }
        }
    }
}

/// A pool of some inputs at rest, or one made by the module.
fn start(is_adopted: bool, before: &[Change]) -> (Cloud, Demo) {
    if is_adopted {
        return found(|held| {
            held.set.tags.remove("remuda.dev_installation");
        });
    }
    let mut cloud = Cloud::new();
    let mut demo = changed(demo(), before);
    cloud.settle(&mut demo);
    (cloud, demo)
}

/// What a pool came to.
#[derive(Debug, PartialEq)]
struct EndState {
    sets: Vec<String>,
    model: Model,
    tags: Vec<(String, String)>,
    custom_data: String,
    settings: Vec<(String, Option<Profile>)>,
    retiring: usize,
    has_operation: bool,
}

fn end_state(cloud: &Cloud, demo: &Demo) -> EndState {
    let held = cloud.set(&demo.good().set.name);
    let record = demo.remembered();
    EndState {
        sets: cloud.sets.keys().cloned().collect(),
        model: held.set.model.clone(),
        tags: held.set.tags.clone().into_iter().collect(),
        custom_data: held.custom_data.clone(),
        settings: cloud
            .settings
            .iter()
            .map(|(name, setting)| (name.clone(), setting.profile.clone()))
            .collect(),
        retiring: record.retiring.len(),
        has_operation: record.operation.is_some(),
    }
}

fn wished(demo: &Demo) -> EndState {
    let desired = demo.good();
    EndState {
        sets: vec![desired.set.name.clone()],
        model: desired.set.model,
        tags: desired.set.tags.into_iter().collect(),
        custom_data: desired.set.custom_data.base64.reveal().clone(),
        settings: desired
            .setting
            .into_iter()
            .map(|setting| (setting.name, Some(setting.profile)))
            .collect(),
        retiring: 0,
        has_operation: false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn settles_as_wished_and_writes_nothing_more(
        is_adopted: bool,
        before in changes(),
        drift in drifts(),
        after in changes(),
    ) {
        let (mut cloud, mut demo) = start(is_adopted, &before);
        drifted(&mut cloud, &mut demo, &drift);
        let mut demo = changed(demo, &after);
        cloud.settle(&mut demo);
        prop_assert_eq!(end_state(&cloud, &demo), wished(&demo));
        let second = cloud.plan(&demo).expect("a plan can be made");
        prop_assert!(second.steps.is_empty(), "{second:?}");
        prop_assert_eq!(second.outlook, Outlook::Settled);
    }

    #[test]
    fn survives_a_crash_after_any_step(
        is_adopted: bool,
        before in changes(),
        drift in drifts(),
        after in changes(),
        crashes in prop::collection::vec((1..10usize, any::<bool>()), 1..6),
    ) {
        let (mut cloud, mut demo) = start(is_adopted, &before);
        drifted(&mut cloud, &mut demo, &drift);
        let mut demo = changed(demo, &after);
        for (crash_after, time_goes_by) in crashes {
            demo.now += 10;
            let plan = cloud.plan(&demo).expect("a plan can be made");
            cloud.run(&mut demo, &plan, crash_after);
            if time_goes_by {
                cloud.tick();
            }
        }
        cloud.settle(&mut demo);
        prop_assert_eq!(end_state(&cloud, &demo), wished(&demo));
    }

    #[test]
    fn deletion_leaves_nothing_of_ours_whatever_happened_before(
        before in changes(),
        drift in drifts(),
        after in changes(),
        crash in 0..10usize,
        crashes in prop::collection::vec(1..6usize, 0..4),
    ) {
        let (mut cloud, mut demo) = start(false, &before);
        drifted(&mut cloud, &mut demo, &drift);
        if demo.record.is_none() {
            cloud.settle(&mut demo);
        }
        let mut demo = changed(demo, &after);
        let plan = cloud.plan(&demo).expect("a plan can be made");
        cloud.run(&mut demo, &plan, crash);
        for crash_after in crashes {
            let plan = cloud.teardown(&demo);
            cloud.run(&mut demo, &plan, crash_after);
            cloud.tick();
        }
        cloud.destroy(&mut demo);
        prop_assert!(cloud.sets.is_empty(), "{:?}", cloud.sets.keys());
        prop_assert!(cloud.settings.is_empty(), "{:?}", cloud.settings.keys());
    }

    /// The members that a pool serves never all go while it rolls.
    #[test]
    fn a_roll_never_takes_the_last_machines_before_the_new_ones_are_there(
        replicas in 1..5u8,
        crashes in prop::collection::vec((1..10usize, any::<bool>()), 0..12),
    ) {
        let (mut cloud, mut demo) = start(false, &[Change::Replicas(replicas)]);
        demo = demo.version("v1.35.0");
        for (crash_after, time_goes_by) in crashes {
            demo.now += 10;
            let plan = cloud.plan(&demo).expect("a plan can be made");
            cloud.run(&mut demo, &plan, crash_after);
            if time_goes_by {
                cloud.tick();
            }
            let machines: usize = cloud.sets.values().map(|held| held.instances.len()).sum();
            prop_assert!(machines >= usize::from(replicas), "{machines}");
        }
    }

    #[test]
    fn no_bad_input_panics(
        exports in json_value(),
        value in json_value(),
        name in "[a-zA-Z0-9._-]{0,60}",
        version in proptest::option::of(".{0,12}"),
    ) {
        let mut demo = demo();
        demo.inputs.captf_cluster_outputs = exports;
        demo.inputs.machinepool_name = name;
        demo.inputs.kubernetes_version = version;
        for variable in ["image_id", "vm_size", "additional_tags", "external_cluster_exports"] {
            demo.variables.insert(variable.to_owned(), value.clone());
        }
        if let Ok(desired) = demo.desired() {
            prop_assert!(desired.set.name.chars().count() <= 50);
        }
    }
}

/// Any JSON, deep enough for a bad export or variable.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z0-9:/.'-]{0,12}".prop_map(Value::from),
        Just(json!("captf.io/azure-cluster/v1")),
    ];
    let key = prop_oneof![
        Just("schema".to_owned()),
        Just("region".to_owned()),
        Just("worker".to_owned()),
        Just("failure_domains".to_owned()),
        Just("cloud_provider_config".to_owned()),
        "[a-z_]{1,6}",
    ];
    leaf.prop_recursive(4, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}
