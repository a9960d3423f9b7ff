//! Settles and survives: from any state of a pool and any change of its inputs, passes come to an
//! end with the world as wished; killed after any step, they come to the same end.

use proptest::prelude::*;
use remuda_plan::{
    aws::{desired::TemplateData, observed::Group, observed::Refresh},
    pool::action::Outlook,
};
use serde_json::{Value, json};

use super::{
    cloud::Cloud,
    demo::{Demo, demo},
    ownership::made_by_the_module,
};

/// One change of the inputs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change {
    Version(u8),
    Image(Option<u8>),
    Replicas(u8),
    Autoscaling(Option<(u8, u8)>),
    Zones(u8),
    Variable(u8),
    Label(u8),
    Document(u8),
    Tag(u8),
    Bucket(bool),
    ClusterId(bool),
}

/// One change of the cloud by somebody else.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Drift {
    Bounds(u8),
    Count(u8),
    GroupGone,
    TemplateGone,
    ObjectGone,
    PolicyGone,
    Processes,
    TagGone,
    ForeignTag,
    OldVersion,
    OtherVersion,
    RefreshRuns,
    PointedElsewhere,
    RecordLost,
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    prop::collection::vec(change(), 0..4)
}

pub(crate) fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (0..3u8).prop_map(Change::Version),
        proptest::option::of(0..2u8).prop_map(Change::Image),
        (0..5u8).prop_map(Change::Replicas),
        proptest::option::of((0..3u8, 3..6u8)).prop_map(Change::Autoscaling),
        (0..4u8).prop_map(Change::Zones),
        (0..6u8).prop_map(Change::Variable),
        (0..3u8).prop_map(Change::Label),
        (0..3u8).prop_map(Change::Document),
        (0..3u8).prop_map(Change::Tag),
        any::<bool>().prop_map(Change::Bucket),
        any::<bool>().prop_map(Change::ClusterId),
    ]
}

fn drifts() -> impl Strategy<Value = Vec<Drift>> {
    prop::collection::vec(drift(), 0..3)
}

pub(crate) fn drift() -> impl Strategy<Value = Drift> {
    prop_oneof![
        (0..5u8).prop_map(Drift::Bounds),
        (0..5u8).prop_map(Drift::Count),
        Just(Drift::GroupGone),
        Just(Drift::TemplateGone),
        Just(Drift::ObjectGone),
        Just(Drift::PolicyGone),
        Just(Drift::Processes),
        Just(Drift::TagGone),
        Just(Drift::ForeignTag),
        Just(Drift::OldVersion),
        Just(Drift::OtherVersion),
        Just(Drift::RefreshRuns),
        Just(Drift::PointedElsewhere),
        Just(Drift::RecordLost),
    ]
}

pub(crate) fn changed(mut demo: Demo, changes: &[Change]) -> Demo {
    for change in changes {
        demo = match *change {
            Change::Version(n) => demo.version(&format!("v1.3{n}.0")),
            Change::Image(id) => demo.var(
                "machine_image",
                json!({ "id": id.map(|n| format!("ami-0{n}")) }),
            ),
            Change::Replicas(n) => demo.with(|inputs| inputs.replicas = i64::from(n)),
            Change::Autoscaling(Some((min, max))) => {
                demo.autoscaled(i64::from(min), i64::from(max))
            }
            Change::Autoscaling(None) => demo.with(|inputs| {
                inputs.autoscaling = remuda_plan::pool::inputs::Autoscaling::OFF;
            }),
            Change::Zones(0) => demo.zones([]),
            Change::Zones(1) => demo.zones(["us-east-1a"]),
            Change::Zones(2) => demo.zones(["us-east-1a", "us-east-1c"]),
            Change::Zones(_) => demo.zones(["us-east-1b"]),
            Change::Variable(n) => variable(demo, n),
            Change::Label(0) => demo.labels([]),
            Change::Label(n) => demo.labels([("team", if n == 1 { "a" } else { "b" })]),
            Change::Document(n) => demo.document(format!("#cloud-config\nn: {n}\n").as_bytes()),
            Change::Tag(n) => demo.var("additional_tags", json!({ format!("tag-{n}"): "x" })),
            Change::Bucket(other) => demo.exports(|exports| {
                exports["bootstrap_bucket"] = json!(if other {
                    "other-bucket"
                } else {
                    super::demo::BUCKET
                });
            }),
            Change::ClusterId(other) => demo.exports(|exports| {
                exports["kubernetes_cluster_id"] = json!(if other { "other" } else { "demo-id" });
            }),
        };
    }
    demo
}

fn variable(demo: Demo, n: u8) -> Demo {
    let (name, value): (&str, Value) = match n {
        0 => ("instance_type", json!("m6i.xlarge")),
        1 => ("spot", json!(true)),
        2 => ("spot", json!(false)),
        3 => ("autoscaler", json!("external")),
        4 => ("autoscaling_target_cpu_percent", json!(75)),
        _ => ("root_volume_size_gib", json!(80)),
    };
    demo.var(name, value)
}

pub(crate) fn drifted(cloud: &mut Cloud, demo: &mut Demo, drifts: &[Drift]) {
    for drift in drifts {
        if let Drift::RecordLost = drift {
            // Without a group there is nothing certain to rebuild a record from.
            if cloud.group.is_some() {
                demo.record = None;
            }
            continue;
        }
        let latest = cloud
            .group
            .as_ref()
            .and_then(|group| group.template_name.clone());
        match drift {
            Drift::GroupGone => {
                if demo.record.is_some() {
                    cloud.group = None;
                    cloud.policy = None;
                }
            }
            Drift::TemplateGone => cloud.templates.clear(),
            Drift::ObjectGone => cloud.objects.clear(),
            Drift::PolicyGone => cloud.policy = None,
            Drift::RefreshRuns => refresh(cloud),
            Drift::PointedElsewhere => point_elsewhere(cloud),
            Drift::OldVersion | Drift::OtherVersion => {
                if let Some(found) = latest.and_then(|name| cloud.templates.get_mut(&name)) {
                    if let Drift::OtherVersion = drift {
                        let mut data = found.latest().clone();
                        data.instance_type = "t3.nano".to_owned();
                        found.versions.push(data);
                    }
                    found.default = 1;
                }
            }
            Drift::Bounds(_)
            | Drift::Count(_)
            | Drift::Processes
            | Drift::TagGone
            | Drift::ForeignTag => {
                if let Some(group) = &mut cloud.group {
                    spoil(group, *drift);
                }
            }
            Drift::RecordLost => {}
        }
    }
}

/// Somebody's own template, under our prefix, without our tags.
pub(crate) const BY_HAND: &str = "captf-team-a-demo-pool-0-43c6d828-by-hand";

fn point_elsewhere(cloud: &mut Cloud) {
    let Some(mut template) = cloud.templates.values().next().cloned() else {
        return;
    };
    if let Some(group) = &mut cloud.group {
        template.tags.clear();
        template.id = "lt-by-hand".to_owned();
        group.template_name = Some(BY_HAND.to_owned());
        cloud.templates.insert(BY_HAND.to_owned(), template);
    }
}

fn spoil(group: &mut Group, drift: Drift) {
    match drift {
        Drift::Bounds(n) => {
            group.min_size = group.min_size.min(i64::from(n));
            group.max_size = group.max_size.max(i64::from(n));
        }
        Drift::Count(n) => {
            group.max_size = group.max_size.max(i64::from(n));
            group.min_size = group.min_size.min(i64::from(n));
            group.desired_capacity = i64::from(n);
        }
        Drift::Processes => drop(group.suspended.insert("Launch".to_owned())),
        Drift::TagGone => drop(group.tags.remove("captf.io/managed-by")),
        _ => drop(
            group
                .tags
                .insert("theirs".to_owned(), ("x".to_owned(), true)),
        ),
    }
}

fn refresh(cloud: &mut Cloud) {
    if cloud.group.is_some() && cloud.running_refresh().is_none() {
        // By whomever it is started, it replaces with what the group uses. Members of somebody's
        // own template are his: older or other members are no drift (captf document, DRF-5).
        if cloud.group().template_name.as_deref() != Some(BY_HAND) {
            cloud.rolled_to = cloud.group().template_name.clone();
        }
        cloud.refreshes.insert(
            0,
            Refresh {
                id: "by-hand".to_owned(),
                status: "InProgress".to_owned(),
                status_reason: None,
                percentage_complete: None,
            },
        );
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
        Just(json!("captf.io/aws-cluster/v1")),
    ];
    let key = prop_oneof![
        Just("schema".to_owned()),
        Just("region".to_owned()),
        Just("worker".to_owned()),
        Just("subnet_id".to_owned()),
        Just("failure_domains".to_owned()),
        Just("security_group_ids".to_owned()),
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

/// What a pool came to, without generated names and ids.
#[derive(Debug, PartialEq)]
struct EndState {
    group: (i64, i64, Vec<String>, bool, Vec<String>),
    tags: Vec<(String, String)>,
    policy: Option<String>,
    data: TemplateData,
    template_tags: Vec<(String, String)>,
    objects: Vec<((String, String), Vec<u8>)>,
    /// Templates there are.
    templates: usize,
    /// Refreshes that were started by us.
    refreshes: usize,
    payload_hash: Option<String>,
    has_pending_roll: bool,
}

fn end_state(cloud: &Cloud, demo: &Demo) -> EndState {
    let group = cloud.group();
    let (_, template) = cloud.template();
    let record = demo.remembered();
    EndState {
        group: (
            group.min_size,
            group.max_size,
            group.subnets.iter().cloned().collect(),
            group.capacity_rebalance,
            group.suspended.iter().cloned().collect(),
        ),
        tags: group
            .tags
            .iter()
            .map(|(k, (v, _))| (k.clone(), v.clone()))
            .collect(),
        policy: cloud.policy.as_ref().map(|policy| format!("{policy:?}")),
        data: template.latest().clone(),
        template_tags: template.tags.clone().into_iter().collect(),
        objects: cloud
            .objects
            .iter()
            .map(|(place, (body, _))| (place.clone(), body.clone()))
            .collect(),
        templates: ours(cloud).len(),
        refreshes: cloud
            .refreshes
            .iter()
            .filter(|refresh| refresh.id != "by-hand")
            .count(),
        payload_hash: record.payload_hash,
        has_pending_roll: record.pending_roll.is_some(),
    }
}

/// Names of the templates that are not somebody's own.
pub(crate) fn ours(cloud: &Cloud) -> Vec<&str> {
    let names = cloud.templates.keys().map(String::as_str);
    names.filter(|name| *name != BY_HAND).collect()
}

/// A pool of some inputs at rest, or one made by the module.
fn start(is_adopted: bool, before: &[Change]) -> (Cloud, Demo) {
    if is_adopted {
        return made_by_the_module();
    }
    let mut cloud = Cloud::new();
    let mut demo = changed(demo(), before);
    cloud.settle(&mut demo);
    (cloud, demo)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn settles_and_writes_nothing_more(
        is_adopted: bool,
        before in changes(),
        drift in drifts(),
        after in changes(),
    ) {
        let (mut cloud, mut demo) = start(is_adopted, &before);
        let rolls_before = cloud.refreshes.len();
        drifted(&mut cloud, &mut demo, &drift);
        let is_record_lost = demo.record.is_none();
        let had_group = cloud.group.is_some();
        let key = demo.good().roll_key;
        let mut demo = changed(demo, &after);
        let is_roll = key != demo.good().roll_key;
        cloud.settle(&mut demo);

        let second = cloud.plan(&demo).expect("a plan can be made");
        prop_assert!(second.steps.is_empty(), "{second:?}");
        prop_assert_eq!(second.outlook, Outlook::Settled);

        let desired = demo.good();
        let group = cloud.group();
        prop_assert_eq!((group.min_size, group.max_size), (desired.group.min_size, desired.group.max_size));
        for (key, value) in &desired.group.tags {
            prop_assert_eq!(group.tags.get(key), Some(&(value.clone(), false)));
        }
        let mut expected = desired.template.clone();
        expected.image_id = match &desired.image {
            remuda_plan::aws::desired::ImageChoice::Pinned(id) => id.clone(),
            remuda_plan::aws::desired::ImageChoice::Lookup(_) => super::demo::IMAGE.to_owned(),
        };
        prop_assert_eq!(cloud.template().1.latest(), &expected);
        let started = cloud.refreshes.iter().filter(|r| r.id != "by-hand").count();
        let owed = usize::from(is_roll && !is_record_lost && had_group);
        prop_assert_eq!(started - rolls_before.min(started), owed, "refreshes");
    }

    #[test]
    fn survives_a_crash_after_any_step(
        is_adopted: bool,
        before in changes(),
        drift in drifts(),
        after in changes(),
        crashes in prop::collection::vec(1..14usize, 1..4),
    ) {
        let (mut cloud, mut demo) = start(is_adopted, &before);
        drifted(&mut cloud, &mut demo, &drift);
        let demo = changed(demo, &after);

        let (mut calm, mut calm_demo) = (cloud.clone(), demo.clone());
        calm.settle(&mut calm_demo);

        let mut demo = demo;
        for crash_after in crashes {
            demo.now += 60;
            let plan = cloud.plan(&demo).expect("a plan can be made");
            cloud.run(&mut demo, &plan, crash_after);
            cloud.tick();
        }
        cloud.settle(&mut demo);
        prop_assert_eq!(end_state(&cloud, &demo), end_state(&calm, &calm_demo));
    }

    #[test]
    fn deletion_leaves_nothing_of_ours_whatever_happened_before(
        is_adopted: bool,
        before in changes(),
        drift in drifts(),
        after in changes(),
        crash in 0..14usize,
        crashes in prop::collection::vec(1..6usize, 0..4),
    ) {
        let (mut cloud, mut demo) = start(is_adopted, &before);
        drifted(&mut cloud, &mut demo, &drift);
        if demo.record.is_none() {
            cloud.settle(&mut demo);
        }
        let mut demo = changed(demo, &after);
        let plan = cloud.plan(&demo).expect("a plan can be made");
        cloud.run(&mut demo, &plan, crash); // dies in the middle of an apply

        let theirs = (format!("{}-theirs", super::demo::GROUP), cloud.templates.values().next().cloned());
        if let (name, Some(mut template)) = theirs.clone() {
            template.tags.clear();
            cloud.templates.insert(name, template);
        }
        for crash_after in crashes {
            let plan = cloud.teardown(&demo);
            cloud.run(&mut demo, &plan, crash_after);
            cloud.tick();
        }
        for _ in 0..10 {
            let plan = cloud.teardown(&demo);
            cloud.run(&mut demo, &plan, usize::MAX);
            if plan.outlook == Outlook::Settled {
                break;
            }
            cloud.tick();
        }
        prop_assert!(cloud.group.is_none() && cloud.policy.is_none(), "the group is gone");
        prop_assert!(cloud.objects.is_empty(), "{:?}", cloud.objects.keys());
        let left = ours(&cloud);
        let expected: Vec<&str> = theirs.1.iter().map(|_| theirs.0.as_str()).collect();
        prop_assert_eq!(left, expected);
        prop_assert!(cloud.teardown(&demo).steps.is_empty());
    }

    #[test]
    fn no_exports_and_no_variables_bring_the_plan_down(
        exports in json_value(),
        external in json_value(),
        name in prop::sample::select(vec!["machine_image", "additional_tags", "spot", "root_volume_size_gib", "x"]),
        value in json_value(),
    ) {
        let demo = demo()
            .exports(|e| *e = exports)
            .var("external_cluster_exports", external)
            .var(name, value);
        if let Err(refusals) = demo.desired() {
            prop_assert!(!refusals.is_empty());
            let mut sorted = refusals.clone();
            sorted.sort();
            prop_assert_eq!(refusals, sorted);
        }
    }

    #[test]
    fn every_group_name_fits_and_is_its_own(
        namespace in "[a-z0-9.-]{1,63}",
        pool in "\\PC{1,80}",
        other in "\\PC{1,80}",
    ) {
        let name = remuda_plan::aws::names::group(&namespace, &pool);
        prop_assert!(name.len() <= 63);
        prop_assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
        prop_assert_eq!(name == remuda_plan::aws::names::group(&namespace, &other), pool == other);
    }

    #[test]
    fn a_label_that_passes_is_harmless_in_the_stub(key in "\\PC{0,20}", value in "\\PC{0,20}") {
        if remuda_plan::pool::labels::is_valid(&key, &value) {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
            prop_assert!(key.chars().all(is_plain) && value.chars().all(is_plain));
        }
    }
}
