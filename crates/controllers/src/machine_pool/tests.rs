//! The pure decisions of a MachinePool, in tables.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{
    conditions::ConditionType,
    facts::{
        Bootstrap, Facts, InfraFacts, Infrastructure, MachineFact, Machines, NodeRef, Nodes,
        PoolMachines, Previous, Remediation,
    },
    status::{Verdict, decide},
};
use crate::workload::NodeFact;

fn now() -> Timestamp {
    "2026-10-01T12:00:00Z".parse().unwrap()
}

fn node(number: usize, ready: bool) -> Arc<NodeFact> {
    Arc::new(NodeFact {
        name: format!("n{number}"),
        uid: format!("uid-{number}"),
        provider_id: Some(id(number)),
        ready,
        ready_since: Some(now() - SignedDuration::from_secs(600)),
        kubelet_version: Some("v1.34.1".to_owned()),
        back_pointers: Box::default(),
        uninitialized: false,
    })
}

fn id(number: usize) -> String {
    format!("aws:///us-east-1a/i-{number}")
}

/// A provisioned pool of `desired` with these Nodes, as a settled pass would find it.
fn settled(desired: i32, nodes: Vec<Arc<NodeFact>>) -> Facts {
    let ids: Vec<String> = nodes
        .iter()
        .filter_map(|node| node.provider_id.clone())
        .collect();
    let refs: Vec<NodeRef> = nodes
        .iter()
        .map(|node| NodeRef {
            name: node.name.clone(),
            uid: node.uid.clone(),
        })
        .collect();
    Facts {
        desired,
        min_ready_seconds: 0,
        version: Some("v1.34.1".to_owned()),
        replicas_managed: false,
        deleting: false,
        cluster_deleting: false,
        paused: false,
        bootstrap: Bootstrap::SecretProvided,
        infrastructure: Infrastructure::Known(InfraFacts {
            provisioned: true,
            replicas: i32::try_from(nodes.len()).ok(),
            provider_ids: ids.clone(),
            ready: None,
            deleting: false,
        }),
        nodes: known(&nodes),
        machines: Machines::Off,
        previous: Previous {
            provider_ids: ids,
            replicas: i32::try_from(nodes.len()).ok(),
            node_refs: refs,
            provisioned: true,
            ..Previous::default()
        },
        now: now(),
    }
}

fn known(nodes: &[Arc<NodeFact>]) -> Nodes {
    Nodes::Known {
        by_provider_id: nodes
            .iter()
            .filter_map(|node| Some((node.provider_id.clone()?, node.clone())))
            .collect(),
        by_name: nodes
            .iter()
            .map(|node| (node.name.clone(), Some(node.clone())))
            .collect(),
    }
}

fn three() -> Vec<Arc<NodeFact>> {
    (1..=3).map(|number| node(number, true)).collect()
}

fn infra(facts: &mut Facts) -> &mut InfraFacts {
    match &mut facts.infrastructure {
        Infrastructure::Known(infra) => infra,
        other => panic!("not known: {other:?}"),
    }
}

fn status(verdict: &Verdict, kind: ConditionType) -> (&'static str, String) {
    let finding = verdict
        .conditions
        .iter()
        .find(|finding| finding.kind == kind)
        .unwrap();
    (finding.status, finding.reason.clone())
}

/// Proves: CAPI-29.
#[test]
fn the_phase_follows_provisioning_and_ready_nodes() {
    let mut provisioning = settled(3, Vec::new());
    infra(&mut provisioning).provisioned = false;
    assert_eq!(decide(&provisioning).phase, "Provisioning");

    assert_eq!(decide(&settled(3, three())).phase, "Running");
    assert_eq!(decide(&settled(4, three())).phase, "ScalingUp");
    assert_eq!(decide(&settled(2, three())).phase, "ScalingDown");

    // `replicas-managed-by: "false"` is not a claim: `gather` leaves the fact false.
    let mut managed = settled(4, three());
    managed.replicas_managed = true;
    assert_eq!(decide(&managed).phase, "Scaling");
    managed.deleting = true;
    assert_eq!(decide(&managed).phase, "Deleting");
}

/// Proves: CAPI-24.
#[test]
fn an_empty_list_with_replicas_changes_nothing() {
    let mut facts = settled(5, (1..=5).map(|number| node(number, true)).collect());
    infra(&mut facts).provider_ids.clear();
    let before = facts.previous.clone();
    let verdict = decide(&facts);
    assert_eq!(verdict.provider_ids, None);
    assert_eq!(verdict.counters.node_refs, before.node_refs);
    assert!(verdict.retired.is_empty());
}

#[test]
fn an_empty_list_without_any_count_is_guarded_by_the_previous_one() {
    let mut facts = settled(3, three());
    infra(&mut facts).provider_ids.clear();
    infra(&mut facts).replicas = None;
    assert_eq!(decide(&facts).provider_ids, None);
}

#[test]
fn the_last_nodes_of_a_pool_scaled_to_zero_are_retired() {
    let mut facts = settled(0, three());
    infra(&mut facts).provider_ids.clear();
    infra(&mut facts).replicas = Some(0);
    let verdict = decide(&facts);
    assert_eq!(verdict.provider_ids, Some(Vec::new()));
    assert_eq!(verdict.retired.len(), 3);
    assert_eq!(verdict.counters.replicas, Some(0));
    assert!(verdict.counters.node_refs.is_empty());
    assert_eq!(verdict.phase, "Running");
}

#[test]
fn only_the_node_whose_member_left_is_retired() {
    let mut facts = settled(2, vec![node(1, true), node(2, true)]);
    infra(&mut facts).provider_ids = vec![id(1)];
    infra(&mut facts).replicas = Some(1);
    let verdict = decide(&facts);
    let retired: Vec<&str> = verdict
        .retired
        .iter()
        .map(|node| node.name.as_str())
        .collect();
    assert_eq!(retired, ["n2"]);
    assert_eq!(verdict.counters.node_refs.len(), 1);
}

#[test]
fn nodes_without_a_provider_id_are_never_retired() {
    let mut facts = settled(1, vec![node(1, true)]);
    let stranger = Arc::new(NodeFact {
        provider_id: None,
        ..(*node(7, true)).clone()
    });
    facts.previous.node_refs.push(NodeRef {
        name: "n7".to_owned(),
        uid: "uid-7".to_owned(),
    });
    if let Nodes::Known { by_name, .. } = &mut facts.nodes {
        by_name.insert("n7".to_owned(), Some(stranger));
    }
    assert!(decide(&facts).retired.is_empty());
}

/// Proves: CAPI-27.
#[test]
fn a_node_made_anew_under_its_name_is_referred_to_by_its_new_uid() {
    let mut facts = settled(1, vec![node(1, true)]);
    let again = Arc::new(NodeFact {
        uid: "uid-new".to_owned(),
        ..(*node(1, true)).clone()
    });
    facts.nodes = known(&[again]);
    let verdict = decide(&facts);
    assert_eq!(verdict.counters.node_refs[0].uid, "uid-new");
    assert!(verdict.retired.is_empty());
}

/// Proves: CAPI-30.
#[test]
fn provisioned_can_return_to_false_and_node_refs_stay() {
    let mut facts = settled(3, three());
    infra(&mut facts).provisioned = false;
    let verdict = decide(&facts);
    assert!(!verdict.provisioned);
    assert_eq!(verdict.counters.node_refs.len(), 3);
    assert!(verdict.retired.is_empty());
}

/// Proves: CAPI-31.
#[test]
fn ready_replicas_count_ready_nodes() {
    let verdict = decide(&settled(
        3,
        vec![node(1, true), node(2, false), node(3, true)],
    ));
    assert_eq!(verdict.counters.ready, Some(2));
    assert_eq!(verdict.counters.available, Some(2));
    assert_eq!(verdict.counters.replicas, Some(3));
    assert_eq!(status(&verdict, ConditionType::MachinesReady).0, "False");
}

/// Proves: CAPI-33.
#[test]
fn a_node_ready_for_less_than_min_ready_seconds_is_ready_but_not_available() {
    let young = Arc::new(NodeFact {
        ready_since: Some(now() - SignedDuration::from_secs(20)),
        ..(*node(1, true)).clone()
    });
    let mut facts = settled(1, vec![young]);
    facts.min_ready_seconds = 30;
    let verdict = decide(&facts);
    assert_eq!(
        (verdict.counters.ready, verdict.counters.available),
        (Some(1), Some(0))
    );
    assert_eq!(verdict.recheck, Some(SignedDuration::from_secs(10)));
}

#[test]
fn an_unreachable_workload_cluster_changes_no_counter_and_no_list() {
    let mut facts = settled(3, three());
    facts.previous.ready = Some(3);
    facts.nodes = Nodes::Unknown("away".to_owned());
    infra(&mut facts).provider_ids.push(id(4));
    let verdict = decide(&facts);
    assert_eq!(verdict.provider_ids, None);
    assert_eq!(verdict.counters.ready, Some(3));
    assert_eq!(verdict.counters.node_refs.len(), 3);
    assert_eq!(
        status(&verdict, ConditionType::MachinesReady),
        ("Unknown", "ReadyUnknown".into())
    );
}

#[test]
fn an_unreadable_infrastructure_object_concludes_nothing() {
    let mut facts = settled(3, three());
    facts.infrastructure = Infrastructure::Unreadable("away".to_owned());
    let verdict = decide(&facts);
    assert!(verdict.provisioned, "the last known value stays");
    assert_eq!(verdict.provider_ids, None);
    assert!(verdict.retired.is_empty());
    assert_eq!(
        status(&verdict, ConditionType::InfrastructureReady).0,
        "Unknown"
    );
}

#[test]
fn a_list_whose_nodes_are_late_keeps_the_old_references() {
    let mut facts = settled(1, vec![node(1, true)]);
    infra(&mut facts).provider_ids = vec![id(9)];
    let verdict = decide(&facts);
    assert_eq!(verdict.provider_ids, Some(vec![id(9)]));
    assert_eq!(verdict.counters.node_refs.len(), 1);
    assert_eq!(verdict.counters.ready, Some(0));
}

#[test]
fn a_version_change_rolls_out_until_no_old_kubelet_is_left() {
    let mut facts = settled(3, three());
    facts.version = Some("v1.35.0".to_owned());
    let verdict = decide(&facts);
    assert_eq!(verdict.counters.up_to_date, Some(0));
    assert_eq!(status(&verdict, ConditionType::RollingOut).0, "True");
    assert_eq!(status(&verdict, ConditionType::MachinesUpToDate).0, "False");
}

#[test]
fn the_infrastructure_condition_mirrors_ready() {
    let mut facts = settled(3, three());
    infra(&mut facts).ready = Some((
        "False".to_owned(),
        "NotReady".to_owned(),
        "ApplyJobSucceeded".to_owned(),
    ));
    let verdict = decide(&facts);
    assert_eq!(
        status(&verdict, ConditionType::InfrastructureReady),
        ("False", "NotReady".into())
    );
    infra(&mut facts).ready = Some(("True".to_owned(), "Ready".to_owned(), String::new()));
    let verdict = decide(&facts);
    assert_eq!(
        status(&verdict, ConditionType::InfrastructureReady).0,
        "True"
    );
    assert_eq!(status(&verdict, ConditionType::Available).0, "True");
}

/// The Machines of a pool, all well.
fn machines(numbers: &[usize]) -> PoolMachines {
    let machine = |number: &usize| MachineFact {
        name: format!("m{number}"),
        provider_id: Some(id(*number)),
        node: Some(format!("n{number}")),
        ready: Some(true),
        available: Some(true),
        up_to_date: Some(true),
        version: Some("v1.34.1".to_owned()),
        ..MachineFact::default()
    };
    PoolMachines {
        machines: numbers.iter().map(machine).collect(),
        ..PoolMachines::default()
    }
}

fn with_machines(desired: i32, nodes: Vec<Arc<NodeFact>>, pool: PoolMachines) -> Facts {
    Facts {
        machines: Machines::Known(pool),
        ..settled(desired, nodes)
    }
}

#[test]
fn with_machines_the_counters_are_the_machines() {
    let mut pool = machines(&[1, 2, 3]);
    pool.machines[0].ready = Some(false);
    pool.machines[0].available = Some(false);
    pool.machines[1].up_to_date = Some(false);
    pool.machines[2].version = Some("v1.35.0".to_owned());
    let verdict = decide(&with_machines(3, three(), pool));
    let counters = &verdict.counters;
    assert_eq!(
        (counters.ready, counters.available, counters.up_to_date),
        (Some(2), Some(2), Some(2))
    );
    assert_eq!(
        counters.versions,
        [("v1.34.1".to_owned(), 2), ("v1.35.0".to_owned(), 1)]
    );
    assert_eq!(verdict.phase, "Running", "its Nodes are Ready");
    assert_eq!(counters.node_refs.len(), 3);
    assert!(
        verdict.members.is_empty(),
        "their Machines initialize the Nodes"
    );
}

#[test]
fn conditions_name_the_machines_they_speak_of() {
    let message = |pool: PoolMachines, kind: ConditionType| {
        let verdict = decide(&with_machines(3, three(), pool));
        let finding = verdict
            .conditions
            .into_iter()
            .find(|f| f.kind == kind)
            .unwrap();
        (finding.status, finding.message)
    };
    let all = || machines(&[1, 2, 3]);
    assert_eq!(message(all(), ConditionType::MachinesReady).0, "True");
    let mut two = all();
    two.machines[0].ready = Some(false);
    two.machines[2].ready = None;
    assert_eq!(
        message(two, ConditionType::MachinesReady),
        (
            "False",
            "not ready: m1; not known to be ready: m3".to_owned()
        )
    );
    let mut unknown = all();
    unknown.machines[0].ready = None;
    assert_eq!(message(unknown, ConditionType::MachinesReady).0, "Unknown");
    let bare = PoolMachines { bare: 1, ..all() };
    assert_eq!(message(bare, ConditionType::MachinesReady).0, "False");
    let mut old = all();
    old.machines[1].outdated = true;
    old.machines[1].up_to_date = Some(false);
    let (status, text) = message(old.clone(), ConditionType::RollingOut);
    assert_eq!(status, "True");
    assert!(text.ends_with(": m2"), "{text}");
    assert_eq!(message(old, ConditionType::MachinesUpToDate).0, "False");
    let none = PoolMachines::default();
    assert_eq!(message(none, ConditionType::MachinesReady).0, "True");
}

#[test]
fn remediation_shows_who_goes_and_who_waits_and_what_was() {
    let mut pool = machines(&[1, 2, 3]);
    pool.history = "replaced last: m0".to_owned();
    let finding = |pool: &PoolMachines| {
        let verdict = decide(&with_machines(3, three(), pool.clone()));
        let kind = ConditionType::Remediating;
        verdict
            .conditions
            .into_iter()
            .find(|f| f.kind == kind)
            .unwrap()
    };
    assert_eq!(finding(&pool).status, "False");
    assert_eq!(finding(&pool).message, "replaced last: m0");
    pool.machines[0].remediation = Remediation::Going;
    pool.machines[1].remediation = Remediation::Waiting;
    assert_eq!(finding(&pool).status, "True");
    assert_eq!(
        finding(&pool).message,
        "being replaced: m1; waiting for their turn: m2"
    );
}

#[test]
fn the_node_of_a_machine_goes_with_the_machine_and_not_before() {
    let left = |pool: PoolMachines| {
        let mut facts = with_machines(2, vec![node(1, true), node(2, true)], pool);
        infra(&mut facts).provider_ids = vec![id(1)];
        decide(&facts)
    };
    let draining = left(machines(&[1, 2]));
    assert!(draining.retired.is_empty());
    assert_eq!(draining.counters.node_refs.len(), 2, "it stays in sight");
    // The Machine is gone and left its Node behind.
    let gone = left(machines(&[1]));
    assert_eq!(gone.retired[0].name, "n2");
    assert_eq!(gone.counters.node_refs.len(), 1);
}

#[test]
fn machines_that_cannot_be_read_change_no_counter_and_retire_no_node() {
    let mut facts = settled(3, three());
    facts.machines = Machines::Unknown("away".to_owned());
    facts.previous.ready = Some(2);
    infra(&mut facts).provider_ids = vec![id(1)];
    let verdict = decide(&facts);
    assert_eq!(verdict.counters.ready, Some(2));
    assert!(verdict.retired.is_empty());
    let (status, reason) = status(&verdict, ConditionType::MachinesReady);
    assert_eq!((status, reason.as_str()), ("Unknown", "ReadyUnknown"));
}

/// Proves: CAPI-14.
#[test]
fn provisioned_is_read_before_ready() {
    let provisioned = |status: serde_json::Value| {
        let object = serde_json::json!({ "status": status });
        super::gather::infra_facts(&object, &remuda_plan::pool::objects::Metadata::default())
            .provisioned
    };
    assert!(provisioned(serde_json::json!({ "ready": true })));
    assert!(!provisioned(serde_json::json!({
        "ready": true,
        "initialization": { "provisioned": false },
    })));
    assert!(!provisioned(serde_json::json!({})));
}
