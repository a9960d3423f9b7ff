//! Properties over random histories: judging twice writes once, and everything comes to rest.

use jiff::SignedDuration;
use proptest::prelude::*;
use remuda_plan::{
    error::FailureClass,
    pool::{
        gate::{Next, gate},
        keys,
        objects::{DriftAction, DriftPolicy},
        record::DriverRecord,
        world::{Lookup, RecordRead},
    },
    status::{
        condition::{ConditionStatus, ConditionType, Reason},
        fold::fold,
        pass::{Pass, PassEnd},
        wire::Operation,
    },
};

use super::{
    lab::Lab,
    outputs::running,
    schedule::failure,
    world::{Edit as _, world, writes_nothing},
};

/// Something that happens to a pool.
#[derive(Debug, Clone)]
enum Happening {
    Pass,
    Wait(u32),
    Rotate(u8),
    Resize(i64),
    Autoscale,
    Fixed,
    Pause(bool),
    LoseTag,
    Remediate(bool),
    ReadsFail(Option<FailureClass>),
    WritesFail(Option<FailureClass>),
    CloudTick,
    LoseMemory,
    Bootstrap(bool),
    Forbid(bool),
    Deadline,
    Die(usize),
    DiePublishing(usize),
    LoseGroup,
    LoseRecord,
    Version(u8),
}

fn class() -> impl Strategy<Value = Option<FailureClass>> {
    prop_oneof![
        2 => Just(None),
        1 => Just(Some(FailureClass::Throttled)),
        1 => Just(Some(FailureClass::Denied)),
        1 => Just(Some(FailureClass::Rejected)),
    ]
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        8 => Just(Happening::Pass),
        4 => (1_u32..4000).prop_map(Happening::Wait),
        2 => any::<u8>().prop_map(Happening::Rotate),
        1 => (0_i64..6).prop_map(Happening::Resize),
        1 => Just(Happening::Autoscale),
        1 => Just(Happening::Fixed),
        1 => any::<bool>().prop_map(Happening::Pause),
        1 => Just(Happening::LoseTag),
        1 => any::<bool>().prop_map(Happening::Remediate),
        1 => class().prop_map(Happening::ReadsFail),
        1 => class().prop_map(Happening::WritesFail),
        3 => Just(Happening::CloudTick),
        1 => Just(Happening::LoseMemory),
        1 => any::<bool>().prop_map(Happening::Bootstrap),
        1 => any::<bool>().prop_map(Happening::Forbid),
        1 => Just(Happening::Deadline),
        2 => (0_usize..8).prop_map(Happening::Die),
        2 => (0_usize..5).prop_map(Happening::DiePublishing),
        1 => Just(Happening::LoseGroup),
        1 => Just(Happening::LoseRecord),
        1 => (0_u8..3).prop_map(Happening::Version),
    ]
}

/// What changes inputs or kills operations, and nothing else.
fn change() -> impl Strategy<Value = Happening> {
    prop_oneof![
        6 => Just(Happening::Pass),
        2 => (1_u32..100).prop_map(Happening::Wait),
        3 => (0_u8..2).prop_map(Happening::Version),
        2 => (0_u8..2).prop_map(Happening::Rotate),
        2 => (1_i64..3).prop_map(Happening::Resize),
        2 => (0_usize..8).prop_map(Happening::Die),
        2 => (0_usize..5).prop_map(Happening::DiePublishing),
        1 => Just(Happening::CloudTick),
        1 => Just(Happening::LoseMemory),
    ]
}

fn happen(lab: &mut Lab, what: &Happening) {
    match what {
        Happening::Pass => twice(lab),
        Happening::Wait(seconds) => lab.wait(i64::from(*seconds)),
        Happening::Rotate(byte) => {
            let document = format!("#cloud-config\n# {byte}\n");
            lab.edit(|world| world.bootstrap(document.as_bytes()));
        }
        Happening::Resize(count) => {
            lab.edit(|world| world.owner(|owner| owner.spec.replicas = Some(*count)));
        }
        Happening::Autoscale => lab.edit(|world| world.bounds("1", "4")),
        Happening::Fixed => {
            lab.edit(|world| world.owner(|owner| owner.metadata.annotations.clear()));
        }
        Happening::Pause(on) => {
            lab.edit(|world| world.cluster(|cluster| cluster.spec.paused = *on));
        }
        Happening::LoseTag => {
            if let Some(group) = &mut lab.cloud.group {
                group.tags.remove("captf.io/managed-by");
            }
        }
        Happening::Remediate(on) => lab.edit(|world| {
            world.pool(|pool| {
                pool.spec.drift = Some(DriftPolicy {
                    interval_seconds: Some(120),
                    action: on.then_some(DriftAction::Remediate),
                });
            })
        }),
        Happening::ReadsFail(class) => lab.reads_fail = class.map(failure),
        Happening::WritesFail(class) => lab.writes_fail = class.map(failure),
        Happening::CloudTick => lab.cloud.tick(),
        Happening::LoseMemory => lab.world.memory = None,
        Happening::Bootstrap(there) => lab.edit(|world| {
            world.owner(|owner| {
                let name = there.then(|| "demo-pool-0-bootstrap".to_owned());
                owner.spec.template.spec.bootstrap.data_secret_name = name;
            })
        }),
        Happening::Forbid(on) => lab.edit(|world| {
            let reference = world.infra_cluster.found().cloned();
            world.infra(|cluster| {
                let own = reference.and_then(|cluster| cluster.spec.identity_ref);
                cluster.spec.identity_ref = own;
                cluster.spec.defaults.identity_ref =
                    on.then(|| remuda_plan::pool::objects::IdentityRef {
                        kind: Some("Secret".to_owned()),
                        name: "local".to_owned(),
                    });
            })
        }),
        Happening::Deadline => ended(lab, PassEnd::DeadlineExceeded),
        Happening::Die(steps) => lab.die_after(*steps),
        Happening::DiePublishing(writes) => lab.die_publishing(*writes),
        // With the record lost too there is nothing to come to rest from: the pool holds.
        Happening::LoseGroup if lab.world.record == RecordRead::Missing => {}
        Happening::LoseGroup => {
            lab.cloud.group = None;
            lab.cloud.policy = None;
        }
        Happening::LoseRecord => lose_record(lab),
        Happening::Version(minor) => lab.edit(|world| {
            world.owner(|owner| {
                owner.spec.template.spec.version = Some(format!("v1.34.{minor}"));
            })
        }),
    }
}

/// The record goes while the group still says whose it is: it can be rebuilt.
fn lose_record(lab: &mut Lab) {
    let ours = lab.cloud.group.as_ref().is_some_and(|group| {
        let tags = &group.tags;
        tags.contains_key(keys::TAG_NAME) && tags.contains_key("remuda.dev/installation")
    });
    if ours && lab.world.pool.status.provisioned() {
        lab.world.record = RecordRead::Missing;
    }
}

/// A pass, judged a second time with everything written fed back.
fn twice(lab: &mut Lab) {
    let before = lab.world.clone();
    let gate = gate(&before, lab.now);
    if let Next::Go(_) = &gate.next {
        // The cloud part cannot be repeated; passes with a made-up end below are.
        lab.pass();
        return;
    }
    again(lab, Pass::at_gate(gate, lab.now));
}

fn ended(lab: &mut Lab, end: PassEnd) {
    let gate = lab.gate();
    if let Next::Go(goal) = &gate.next {
        let writes = matches!(goal.operation, Operation::Apply | Operation::Destroy);
        if writes && end == PassEnd::Done {
            // Only the model of the cloud knows what such a pass leaves behind.
            return;
        }
        let mut pass = Pass::at_gate(gate, lab.now);
        if end == PassEnd::Done {
            pass.outputs = Some(running(3));
        }
        pass.end = end;
        again(lab, pass);
    }
}

fn again(lab: &mut Lab, pass: Pass) {
    lab.judge(pass.clone());
    if let Next::Release(_) = pass.gate.next {
        // The object is gone.
        return;
    }
    let second = fold(&lab.world, &pass, lab.now);
    assert!(writes_nothing(&second), "{pass:#?}\n{second:#?}");
}

/// Nothing stands in the way any more, and what drifted is to be put back.
fn all_is_well(lab: &mut Lab) {
    lab.reads_fail = None;
    lab.writes_fail = None;
    lab.edit(|world| {
        world
            .cluster(|cluster| cluster.spec.paused = false)
            .infra(|cluster| cluster.spec.defaults.identity_ref = None)
            .owner(|owner| {
                let name = Some("demo-pool-0-bootstrap".to_owned());
                owner.spec.template.spec.bootstrap.data_secret_name = name;
                owner.spec.replicas = Some(3);
                owner.metadata.annotations.clear();
            })
            .pool(|pool| {
                pool.spec.drift = Some(DriftPolicy {
                    interval_seconds: Some(120),
                    action: Some(DriftAction::Remediate),
                });
            })
    });
}

fn ends() -> impl Strategy<Value = PassEnd> {
    prop_oneof![
        3 => Just(PassEnd::Done),
        1 => Just(PassEnd::Failed(failure(FailureClass::Rejected))),
        1 => Just(PassEnd::Failed(failure(FailureClass::Throttled))),
        1 => Just(PassEnd::DeadlineExceeded),
        1 => Just(PassEnd::Interrupted),
        1 => Just(PassEnd::RecordUnwritable("conflict".to_owned())),
    ]
}

/// A few cases each time; `PROPTEST_CASES` asks for more.
fn config() -> ProptestConfig {
    let wished = std::env::var("PROPTEST_CASES").is_ok();
    let config = ProptestConfig::default();
    ProptestConfig {
        cases: if wished { config.cases } else { 12 },
        ..config
    }
}

proptest! {
    #![proptest_config(config())]

    /// Judging a pass twice, with what it wrote fed back, writes nothing the second time.
    #[test]
    fn folding_twice_writes_once(
        history in prop::collection::vec((happening(), ends()), 1..40),
    ) {
        let mut lab = Lab::new(world());
        for (what, end) in history {
            happen(&mut lab, &what);
            ended(&mut lab, end);
        }
    }

    /// Whatever happened, once everything is well again the pool is Ready, and then nothing is
    /// written any more.
    #[test]
    fn every_history_comes_to_rest(history in prop::collection::vec(happening(), 1..40)) {
        let mut lab = Lab::new(world());
        for what in history {
            happen(&mut lab, &what);
        }
        all_is_well(&mut lab);
        for _ in 0..12 {
            lab.run_for(600);
            lab.cloud.tick();
        }
        lab.run_for(600);
        prop_assert_eq!(
            lab.condition(ConditionType::Ready),
            Some((ConditionStatus::True, Reason::Ready))
        );
        let writes = lab.writes;
        let calls = lab.cloud.calls.len();
        lab.run_for(1200);
        prop_assert_eq!(lab.writes, writes);
        prop_assert_eq!(lab.cloud.calls.len(), calls);
    }

    /// Inputs that change, and change back, while operations die: in the end the cloud is what the
    /// inputs say, although drift is only reported.
    #[test]
    fn changed_inputs_leave_nothing_behind(history in prop::collection::vec(change(), 1..40)) {
        let mut lab = Lab::new(world());
        for what in history {
            happen(&mut lab, &what);
        }
        lab.edit(|world| {
            world.pool(|pool| {
                pool.spec.drift = Some(DriftPolicy {
                    interval_seconds: Some(300),
                    action: Some(DriftAction::Report),
                });
            })
        });
        for _ in 0..12 {
            lab.run_for(600);
            lab.cloud.tick();
        }
        let gate = lab.gate();
        let record = lab.world.record.found().expect("a record");
        prop_assert_eq!(&record.inputs_hash, &gate.findings.inputs_hash);
        let DriverRecord::Aws(driver) = &record.driver else {
            panic!("the driver has written")
        };
        prop_assert_eq!(&driver.pending_roll, &None);
        prop_assert_eq!(
            lab.condition(ConditionType::DriftDetected),
            Some((ConditionStatus::False, Reason::NoDrift))
        );
    }

    /// A deletion after any history ends with nothing left in the cloud, whatever dies meanwhile.
    #[test]
    fn every_deletion_ends_with_nothing(
        before in prop::collection::vec(happening(), 0..30),
        meanwhile in prop::collection::vec(happening(), 0..10),
    ) {
        let mut lab = Lab::new(world());
        for what in before {
            happen(&mut lab, &what);
        }
        lab.delete();
        for what in meanwhile {
            happen(&mut lab, &what);
        }
        all_is_well(&mut lab);
        for _ in 0..30 {
            lab.run_for(600);
            lab.cloud.tick();
        }
        prop_assert!(lab.world.pool.metadata.finalizers.is_empty(), "{:#?}", lab.gate().findings);
        prop_assert_eq!(&lab.cloud.group, &None);
        prop_assert!(lab.cloud.templates.is_empty(), "{:?}", lab.cloud.templates);
        prop_assert!(lab.cloud.objects.is_empty());
        prop_assert_eq!(&lab.world.record, &RecordRead::Missing);
    }

    /// No world without a stored finalizer starts anything.
    #[test]
    fn nothing_starts_without_the_finalizer(history in prop::collection::vec(happening(), 1..20)) {
        let mut lab = Lab::new(world());
        for what in history {
            happen(&mut lab, &what);
            let mut naked = lab.world.clone();
            naked.pool.metadata.finalizers.clear();
            let found = gate(&naked, lab.now + SignedDuration::from_hours(1));
            prop_assert!(!matches!(found.next, Next::Go(_) | Next::Prepare(_)));
            if let Lookup::Missing = naked.owner {
                prop_assert!(!matches!(found.next, Next::AddFinalizer));
            }
        }
    }
}
