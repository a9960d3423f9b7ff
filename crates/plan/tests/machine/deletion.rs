//! The order of a Machine's deletion, its gate, its timeouts.

use std::collections::BTreeMap;

use jiff::Timestamp;
use remuda_plan::machines::{
    deletion::{
        DeletionFacts, Dependent, Ended, LOOK_AGAIN, Starts, Step, Timeouts, begun, look_again,
        standing, step,
    },
    gate::{Closed, ControlPlane, ControlPlaneMachines, Gate, GateFacts, NodeKnown, gate},
};

use crate::{at, labels};

const PRE_DRAIN: &str = "pre-drain.delete.hook.machine.cluster.x-k8s.io";
const PRE_TERMINATE: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io";

/// A Machine with a Node and an instance, deleted at 0, looked at `seconds` later.
fn facts(annotations: &BTreeMap<String, String>, seconds: i64) -> DeletionFacts<'_> {
    DeletionFacts {
        deleted_at: at(0),
        annotations,
        gate: Gate::Open,
        starts: Starts::default(),
        timeouts: Timeouts::default(),
        infrastructure: Dependent::There,
        waits_for_drain: false,
        bootstrap: Dependent::Gone,
        ended: Ended::default(),
        node_tries_since: None,
        now: at(seconds),
    }
}

#[test]
fn an_infrastructure_object_deleted_by_hand_spares_the_drain_only_where_it_may_be_ending() {
    let none = BTreeMap::new();
    let mut facts = facts(&none, 0);
    facts.infrastructure = Dependent::Deleting;
    assert_eq!(step(&facts), Step::AwaitInfrastructure);
    facts.waits_for_drain = true;
    assert_eq!(step(&facts), Step::Drain);
    facts.ended.drain = true;
    facts.ended.volumes = true;
    assert_eq!(step(&facts), Step::AwaitInfrastructure);
}

fn hook(prefix: &str, name: &str) -> String {
    format!("{prefix}/{name}")
}

/// Proves: CAPI-58.
#[test]
fn hooks_before_the_drain_hold_it_and_are_named_in_order() {
    let annotations = labels(&[
        (&hook(PRE_DRAIN, "b"), "x"),
        (&hook(PRE_DRAIN, "a"), "y"),
        ("pre-drain.delete.hook.machine.cluster.x-k8s.iox", "z"),
    ]);
    let facts = facts(&annotations, 1);
    let Step::PreDrainHooks(hooks) = step(&facts) else {
        panic!("{:?}", step(&facts));
    };
    assert_eq!(hooks, [hook(PRE_DRAIN, "a"), hook(PRE_DRAIN, "b")]);
    let told = standing(&step(&facts), &facts.starts, "");
    assert_eq!(told.condition.reason, "WaitingForPreDrainHook");
    assert!(
        told.condition.message.contains(&hooks.join(", ")),
        "{told:?}"
    );
    // One of the two is not enough.
    let one = labels(&[(&hook(PRE_DRAIN, "b"), "x")]);
    let mut facts = self::facts(&one, 1);
    assert!(matches!(step(&facts), Step::PreDrainHooks(_)));
    let none = labels(&[]);
    facts.annotations = &none;
    assert_eq!(step(&facts), Step::Drain);
}

/// Proves: CAPI-102.
#[test]
fn no_step_comes_before_the_one_ahead_of_it_has_ended() {
    let hooks = labels(&[(PRE_DRAIN, ""), (PRE_TERMINATE, "")]);
    let terminate = labels(&[(PRE_TERMINATE, "")]);
    let none = labels(&[]);
    let mut facts = facts(&hooks, 5);
    facts.bootstrap = Dependent::There;
    let mut order = vec![step(&facts)];
    facts.annotations = &terminate;
    order.push(step(&facts));
    facts.ended.drain = true;
    order.push(step(&facts));
    facts.ended.volumes = true;
    order.push(step(&facts));
    facts.annotations = &none;
    order.push(step(&facts));
    facts.infrastructure = Dependent::Deleting;
    order.push(step(&facts));
    facts.infrastructure = Dependent::Gone;
    order.push(step(&facts));
    facts.bootstrap = Dependent::Deleting;
    order.push(step(&facts));
    facts.bootstrap = Dependent::Gone;
    order.push(step(&facts));
    facts.ended.node = true;
    order.push(step(&facts));
    assert_eq!(
        order,
        [
            Step::PreDrainHooks(vec![PRE_DRAIN.to_owned()]),
            Step::Drain,
            Step::Volumes,
            Step::PreTerminateHooks(vec![PRE_TERMINATE.to_owned()]),
            Step::DeleteInfrastructure,
            Step::AwaitInfrastructure,
            Step::DeleteBootstrap,
            Step::AwaitBootstrap,
            Step::DeleteNode,
            Step::Release,
        ]
    );
}

/// Proves: CAPI-59.
#[test]
fn a_hook_before_the_end_holds_the_instance_and_drains_no_second_time() {
    let annotations = labels(&[(PRE_TERMINATE, "")]);
    let mut facts = facts(&annotations, 5);
    facts.starts.drain = Some(at(1));
    facts.starts.pre_terminate_hook = Some(at(3));
    // A new pass: nothing has ended in it, and still it does not drain.
    assert_eq!(facts.ended, Ended::default());
    assert!(matches!(step(&facts), Step::PreTerminateHooks(_)));
    let none = labels(&[]);
    facts.annotations = &none;
    assert_eq!(step(&facts), Step::DeleteInfrastructure);
}

/// Proves: CAPI-62.
#[test]
fn a_drain_ends_at_its_timeout_counted_from_its_own_start() {
    let none = labels(&[]);
    let mut facts = facts(&none, 1000);
    facts.timeouts.drain = Some(60);
    facts.starts.drain = Some(at(941));
    assert_eq!(step(&facts), Step::Drain, "59 s");
    facts.starts.drain = Some(at(940));
    assert_eq!(step(&facts), Step::Volumes, "60 s");
    for unlimited in [None, Some(0)] {
        facts.timeouts.drain = unlimited;
        facts.starts.drain = Some(at(-1_000_000));
        assert_eq!(step(&facts), Step::Drain);
    }
    let told = standing(&Step::Drain, &facts.starts, "why");
    assert_eq!(
        (told.again, told.condition.message.as_str()),
        (Some(LOOK_AGAIN), "why")
    );
}

#[test]
fn volumes_have_a_clock_of_their_own() {
    let none = labels(&[]);
    let mut facts = facts(&none, 1000);
    facts.ended.drain = true;
    facts.timeouts.volumes = Some(30);
    assert_eq!(step(&facts), Step::Volumes, "not begun");
    facts.starts.volumes = Some(at(971));
    assert_eq!(step(&facts), Step::Volumes, "29 s");
    facts.starts.volumes = Some(at(970));
    assert_eq!(step(&facts), Step::DeleteInfrastructure);
}

/// Proves: CAPI-67.
#[test]
fn presence_of_an_annotation_leaves_out_drain_or_volumes() {
    let no_drain = labels(&[("machine.cluster.x-k8s.io/exclude-node-draining", "")]);
    assert_eq!(step(&facts(&no_drain, 1)), Step::Volumes);
    let key = "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach";
    let no_volumes = labels(&[(key, "false")]);
    let mut facts = facts(&no_volumes, 1);
    assert_eq!(step(&facts), Step::Drain);
    facts.ended.drain = true;
    assert_eq!(step(&facts), Step::DeleteInfrastructure);
}

/// Proves: CAPI-70.
#[test]
fn a_dying_cluster_is_not_drained_but_its_last_hooks_are_heard() {
    let hooks = labels(&[(PRE_DRAIN, ""), (PRE_TERMINATE, "")]);
    let mut facts = facts(&hooks, 1);
    let mut known = open_gate();
    known.cluster_deleting = true;
    facts.gate = gate(&known);
    assert_eq!(facts.gate, Gate::Closed(Closed::ClusterDeleting));
    assert!(matches!(step(&facts), Step::PreTerminateHooks(_)));
    let none = labels(&[]);
    facts.annotations = &none;
    assert_eq!(step(&facts), Step::DeleteInfrastructure);
    facts.infrastructure = Dependent::Gone;
    assert_eq!(
        step(&facts),
        Step::Release,
        "its Node goes with the cluster"
    );
}

/// Proves: CAPI-71.
#[test]
fn a_node_that_cannot_be_deleted_is_given_up_after_its_time_and_one_series() {
    let none = labels(&[]);
    let mut facts = facts(&none, 11);
    facts.infrastructure = Dependent::Gone;
    facts.timeouts.node = Some(10);
    assert_eq!(step(&facts), Step::DeleteNode, "no try was made yet");
    facts.node_tries_since = Some(at(5));
    assert_eq!(step(&facts), Step::DeleteNode, "the series lasts 10 s");
    facts.node_tries_since = Some(at(1));
    assert_eq!(step(&facts), Step::Release);
    for forever in [None, Some(0)] {
        facts.timeouts.node = forever;
        facts.now = at(1_000_000);
        assert_eq!(step(&facts), Step::DeleteNode);
    }
}

#[test]
fn what_cannot_be_read_stops_the_deletion_where_it_is() {
    let none = labels(&[]);
    let mut facts = facts(&none, 1);
    facts.infrastructure = Dependent::Unknown("503".to_owned());
    assert_eq!(step(&facts), Step::Stop("503".to_owned()));
    facts.gate = Gate::Unknown("500".to_owned());
    assert_eq!(step(&facts), Step::Stop("500".to_owned()));
    let told = standing(&step(&facts), &facts.starts, "");
    assert_eq!(told.condition.reason, "InternalError");
    assert!(told.again.is_some());
}

#[test]
fn a_clock_that_was_wrong_neither_shortens_nor_stretches_a_step() {
    assert_eq!(begun(None, at(7)), at(7));
    assert_eq!(begun(Some(at(3)), at(7)), at(3));
    // Recorded while the clock ran ahead: it begins anew.
    assert_eq!(begun(Some(at(90_000)), at(7)), at(7));
    let none = labels(&[]);
    let mut facts = facts(&none, 7);
    facts.timeouts.drain = Some(60);
    facts.starts.drain = Some(at(90_000));
    assert_eq!(step(&facts), Step::Drain, "not over by a negative time");
    let later: Timestamp = begun(facts.starts.drain, facts.now);
    facts.starts.drain = Some(later);
    facts.now = at(67);
    assert_eq!(step(&facts), Step::Volumes);
}

/// A linked Machine of a Cluster without a control plane object.
fn open_gate() -> GateFacts {
    GateFacts {
        cluster_deleting: false,
        node: NodeKnown::Linked,
        control_plane: ControlPlane::None,
        control_plane_machines: ControlPlaneMachines::Counted { all: 0, active: 0 },
    }
}

/// Proves: CAPI-69.
#[test]
fn without_any_control_plane_the_gate_is_open() {
    assert_eq!(gate(&open_gate()), Gate::Open);
}

#[test]
fn every_cause_of_a_closed_gate() {
    let closed = |change: fn(&mut GateFacts)| {
        let mut facts = open_gate();
        change(&mut facts);
        gate(&facts)
    };
    let there = |deleting, external| ControlPlane::There { deleting, external };
    assert_eq!(
        closed(|facts| facts.node = NodeKnown::Never),
        Gate::Closed(Closed::NoNode)
    );
    let mut facts = open_gate();
    facts.control_plane = there(true, true);
    assert_eq!(gate(&facts), Gate::Closed(Closed::ControlPlaneDeleting));
    facts.control_plane = there(false, true);
    assert_eq!(gate(&facts), Gate::Open);
    facts.control_plane = there(false, false);
    assert_eq!(gate(&facts), Gate::Closed(Closed::NoControlPlane));
    facts.control_plane_machines = ControlPlaneMachines::Counted { all: 3, active: 1 };
    assert_eq!(gate(&facts), Gate::Open);
    facts.control_plane = ControlPlane::None;
    facts.control_plane_machines = ControlPlaneMachines::Counted { all: 1, active: 0 };
    assert_eq!(gate(&facts), Gate::Closed(Closed::NoControlPlane));
}

#[test]
fn a_gate_nobody_can_judge_is_not_closed() {
    let mut facts = open_gate();
    facts.node = NodeKnown::Unknown;
    assert_eq!(
        gate(&facts),
        Gate::Open,
        "a failed look-up is no proof that there is no Node"
    );
    facts.control_plane = ControlPlane::Unknown("503".to_owned());
    assert_eq!(gate(&facts), Gate::Unknown("503".to_owned()));
    facts.control_plane = ControlPlane::None;
    facts.control_plane_machines = ControlPlaneMachines::Unknown("504".to_owned());
    assert_eq!(gate(&facts), Gate::Unknown("504".to_owned()));
}

#[test]
fn what_goes_by_itself_is_looked_at_soon_and_then_less_and_less_often() {
    let mut looks = vec![0];
    while let Some(last) = looks.last().copied().filter(|last| *last < 100) {
        let wait = look_again(at(0), at(last)).as_secs();
        looks.push(last + i64::try_from(wait).expect("small"));
    }
    assert_eq!(looks, [0, 2, 4, 8, 16, 32, 52, 72, 92, 112]);
    assert_eq!(
        look_again(at(5), at(0)).as_secs(),
        2,
        "a clock that went back"
    );
}
