//! One machine: the phases it went through, how it leaves and what holds it.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::{
    Doubt, Level, Scene,
    events::{EventRow, events},
    members::{Belongings, Member, last_part, machine_state, pool_of},
    pool::{ConditionRow, rows},
    words::{Moment, sentence, spaced, span},
};
use crate::{object, place::Place};

/// Events that are listed.
const EVENTS: usize = 12;

/// The page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct MachinePage {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) href: String,
    /// Name and page of its pool.
    pub(crate) pool: Option<(String, String)>,
    pub(crate) level: Level,
    pub(crate) word: String,
    pub(crate) says: Option<String>,
    /// A Machine stands for it: it can be deleted by itself.
    pub(crate) is_machine: bool,
    pub(crate) deleting: bool,
    pub(crate) phases: Vec<Phase>,
    pub(crate) departure: Option<Departure>,
    pub(crate) facts: Vec<(&'static str, String)>,
    pub(crate) addresses: Vec<(String, String)>,
    pub(crate) conditions: Vec<ConditionRow>,
    pub(crate) events: Vec<EventRow>,
    pub(crate) doubts: Vec<Doubt>,
}

/// One phase on the time line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Phase {
    pub(crate) name: &'static str,
    pub(crate) state: PhaseState,
    pub(crate) at: Option<Moment>,
    /// How long after the phase before it.
    pub(crate) after: Option<String>,
}

/// Where a phase stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PhaseState {
    Done,
    Now,
    Ahead,
}

/// How a machine leaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Departure {
    /// What goes on, in words.
    pub(crate) says: String,
    /// What it waits for: the lines of the condition's message.
    pub(crate) lines: Vec<String>,
    pub(crate) steps: Vec<Phase>,
    /// When it stops waiting for the drain.
    pub(crate) limit: Option<String>,
}

/// The page of a Machine.
pub(crate) fn machine(machine: &Value, scene: &Scene) -> MachinePage {
    let (namespace, name) = (
        object::namespace(machine).to_owned(),
        object::name(machine).to_owned(),
    );
    let (level, word, says) = machine_state(machine).unwrap_or_else(|| {
        (
            Level::Unknown,
            "Unknown".to_owned(),
            Some("No controller has looked at it yet.".to_owned()),
        )
    });
    let mut facts = Vec::new();
    let mut fact = |label: &'static str, pointer: &str| {
        if let Some(value) = object::text(machine, pointer) {
            facts.push((label, value.to_owned()));
        }
    };
    fact("Node", "/status/nodeRef/name");
    fact("Zone", "/status/failureDomain");
    fact("Version", "/spec/version");
    fact("Kubelet", "/status/nodeInfo/kubeletVersion");
    fact("Operating system", "/status/nodeInfo/osImage");
    fact("Cluster", "/spec/clusterName");
    fact("Provider ID", "/spec/providerID");
    if !facts.iter().any(|(label, _)| *label == "Zone")
        && let Some(zone) = object::text(machine, "/spec/failureDomain")
    {
        facts.insert(facts.len().min(1), ("Zone", zone.to_owned()));
    }
    let departure = departure(machine, scene.now);
    MachinePage {
        href: Place::Machine {
            namespace: namespace.clone(),
            name: name.clone(),
        }
        .path(),
        pool: pool_of(machine).map(|pool| (pool.to_owned(), Place::pool(&namespace, pool).path())),
        level,
        word,
        says: departure
            .as_ref()
            .map(|leaving| leaving.says.clone())
            .or(says),
        is_machine: true,
        deleting: object::is_deleting(machine),
        phases: phases(machine, scene.now),
        departure,
        facts,
        addresses: addresses(object::list(machine, "/status/addresses")),
        conditions: rows("Machine", machine, scene.now),
        events: events(scene.events.objects(), &[machine], scene.now, EVENTS),
        doubts: scene.doubts(),
        namespace,
        name,
    }
}

/// The page of a member that no Machine stands for; `None` when the pool has no such member.
pub(crate) fn member(pool: &Value, id: &str, scene: &Scene) -> Option<MachinePage> {
    let belongings = Belongings::of(scene);
    let infra = belongings.infra(pool);
    let members = belongings.members(pool);
    let member = members
        .into_iter()
        .find(|member| member.id.as_deref() == Some(id))?;
    let instances = infra.map_or(&[][..], |infra| object::list(infra, "/status/instances"));
    let instance = instances
        .iter()
        .find(|instance| object::text(instance, "/providerID") == member.provider_id.as_deref());
    let (namespace, name) = (
        object::namespace(pool).to_owned(),
        object::name(pool).to_owned(),
    );
    Some(MachinePage {
        href: member.href.clone(),
        pool: Some((name.clone(), Place::pool(&namespace, &name).path())),
        level: member.level,
        word: member.word.clone(),
        says: member.says.clone(),
        is_machine: false,
        deleting: false,
        phases: Vec::new(),
        departure: None,
        facts: facts(&member, pool),
        addresses: instance.map_or_else(Vec::new, |instance| {
            addresses(object::list(instance, "/addresses"))
        }),
        conditions: Vec::new(),
        events: Vec::new(),
        doubts: scene.doubts(),
        name: member.name,
        namespace,
    })
}

fn facts(member: &Member, pool: &Value) -> Vec<(&'static str, String)> {
    let facts = [
        ("Node", member.node.clone()),
        ("Zone", member.zone.clone()),
        (
            "Cluster",
            object::text(pool, "/spec/clusterName").map(str::to_owned),
        ),
        ("Provider ID", member.provider_id.clone()),
    ];
    facts
        .into_iter()
        .filter_map(|(label, value)| Some((label, value?)))
        .collect()
}

fn addresses(list: &[Value]) -> Vec<(String, String)> {
    let pairs = list.iter().filter_map(|address| {
        let kind = object::text(address, "/type")?;
        Some((spaced(kind), object::text(address, "/address")?.to_owned()))
    });
    pairs.collect()
}

/// When a condition became true, while it is.
fn reached(machine: &Value, kind: &str) -> Option<Timestamp> {
    object::condition(machine, kind)
        .filter(object::Condition::holds)?
        .since
}

fn phases(machine: &Value, now: Timestamp) -> Vec<Phase> {
    let leaves = object::is_deleting(machine);
    let marks = [
        (
            "Created",
            object::time(machine, "/metadata/creationTimestamp"),
            true,
        ),
        (
            "Bootstrap data",
            reached(machine, "BootstrapConfigReady"),
            holds(machine, "BootstrapConfigReady"),
        ),
        (
            "Instance",
            reached(machine, "InfrastructureReady"),
            holds(machine, "InfrastructureReady"),
        ),
        (
            "Node joined",
            reached(machine, "NodeReady"),
            object::text(machine, "/status/nodeRef/name").is_some(),
        ),
        ("Ready", reached(machine, "Ready"), holds(machine, "Ready")),
    ];
    let mut phases = line(&marks, now, !leaves);
    if leaves {
        // What it had not reached it never will.
        phases.retain(|phase| phase.state == PhaseState::Done);
        let at = object::time(machine, "/metadata/deletionTimestamp");
        phases.push(Phase {
            name: "Leaving",
            state: PhaseState::Now,
            at: at.map(|at| Moment::new(at, now)),
            after: None,
        });
    }
    phases
}

fn holds(machine: &Value, kind: &str) -> bool {
    object::condition(machine, kind).is_some_and(|condition| condition.holds())
}

/// Marks with what is known of each as a line: the first that is not reached is the current one.
fn line(
    marks: &[(&'static str, Option<Timestamp>, bool)],
    now: Timestamp,
    runs: bool,
) -> Vec<Phase> {
    let mut current = runs;
    let mut before: Option<Timestamp> = None;
    let phases = marks.iter().map(|&(name, at, reached)| {
        let state = match (reached, current) {
            (true, _) => PhaseState::Done,
            (false, true) => {
                current = false;
                PhaseState::Now
            }
            (false, false) => PhaseState::Ahead,
        };
        let after = at
            .zip(before)
            .map(|(at, before)| at.duration_since(before).as_secs());
        before = at.or(before);
        Phase {
            name,
            state,
            at: at.map(|at| Moment::new(at, now)),
            after: after
                .filter(|seconds| *seconds > 0)
                .map(|seconds| format!("after {}", span(seconds))),
        }
    });
    phases.collect()
}

fn departure(machine: &Value, now: Timestamp) -> Option<Departure> {
    const ORDER: [(&str, &str, Option<&str>); 6] = [
        (
            "WaitingForPreDrainHook",
            "Hooks before the drain",
            Some("/status/deletion/waitForPreDrainHookStartTime"),
        ),
        (
            "DrainingNode",
            "Drain",
            Some("/status/deletion/nodeDrainStartTime"),
        ),
        (
            "WaitingForVolumeDetach",
            "Volumes",
            Some("/status/deletion/waitForNodeVolumeDetachStartTime"),
        ),
        (
            "WaitingForPreTerminateHook",
            "Hooks before the end",
            Some("/status/deletion/waitForPreTerminateHookStartTime"),
        ),
        ("WaitingForInfrastructureDeletion", "Instance ends", None),
        ("DeletingNode", "Node removed", None),
    ];
    let begun = object::time(machine, "/metadata/deletionTimestamp")?;
    let condition = object::condition(machine, "Deleting");
    let reason = condition.map_or("", |condition| condition.reason);
    let current = ORDER.iter().position(|(step, _, _)| *step == reason);
    let steps = ORDER.iter().enumerate().map(|(index, (_, name, started))| {
        let at = started.and_then(|pointer| object::time(machine, pointer));
        let state = match current {
            Some(current) if index < current => PhaseState::Done,
            Some(current) if index == current => PhaseState::Now,
            _ => PhaseState::Ahead,
        };
        Phase {
            name,
            state,
            at: at.map(|at| Moment::new(at, now)),
            after: None,
        }
    });
    let steps: Vec<Phase> = steps.collect();
    let lines = condition.map_or("", |condition| condition.message);
    let lines = lines
        .lines()
        .map(|line| line.trim().trim_start_matches("* ").to_owned());
    let says = match reason {
        "DrainingNode" => "Its Pods are being moved away.".to_owned(),
        "WaitingForPreDrainHook" => "A hook holds it before the drain.".to_owned(),
        "WaitingForVolumeDetach" => "Its volumes are being detached.".to_owned(),
        "WaitingForPreTerminateHook" => "A hook holds it before the instance ends.".to_owned(),
        "WaitingForInfrastructureDeletion" => "The instance is ending.".to_owned(),
        "DeletingNode" => "The Node is being removed.".to_owned(),
        "" => "It is to go; nothing has begun yet.".to_owned(),
        reason => sentence(&spaced(reason)),
    };
    Some(Departure {
        says: format!(
            "{says} It was asked to go {}.",
            super::words::ago(begun, now)
        ),
        lines: lines.filter(|line| !line.is_empty()).collect(),
        steps,
        limit: limit(machine, now),
    })
}

fn limit(machine: &Value, now: Timestamp) -> Option<String> {
    let started = object::time(machine, "/status/deletion/nodeDrainStartTime")?;
    let seconds = object::int(machine, "/spec/deletion/nodeDrainTimeoutSeconds").unwrap_or(0);
    if seconds <= 0 {
        return Some("The drain waits without a time limit.".to_owned());
    }
    let left = seconds - now.duration_since(started).as_secs();
    Some(if left > 0 {
        format!("The drain is given up in {}.", span(left))
    } else {
        format!("The drain's limit of {} is over.", span(seconds))
    })
}

/// How a Machine is named in sentences about the cloud.
pub(crate) fn instance_name(machine: &Value) -> Option<&str> {
    object::text(machine, "/spec/providerID").map(last_part)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Known, fixtures};
    use super::*;

    #[test]
    fn a_new_machine_is_at_its_first_open_phase() {
        use PhaseState::{Ahead, Done, Now};

        let mut new = fixtures::machine("web", 0);
        new["status"] = json!({ "conditions": [] });
        fixtures::set(&mut new, "BootstrapConfigReady", "True", "Ready", "", 3_590);
        let page = machine(&new, &fixtures::scene());
        let states: Vec<PhaseState> = page.phases.iter().map(|phase| phase.state).collect();
        assert_eq!(states, [Done, Done, Now, Ahead, Ahead]);
        assert_eq!(page.phases[1].after.as_deref(), Some("after 10 s"));
        assert_eq!(page.departure, None);
    }

    #[test]
    fn a_drain_says_what_blocks_it_and_how_long_it_may() {
        let mut leaving = fixtures::machine("web", 0);
        leaving["metadata"]["deletionTimestamp"] = json!(fixtures::before(300));
        leaving["status"]["deletion"] = json!({ "nodeDrainStartTime": fixtures::before(240) });
        leaving["spec"]["deletion"] = json!({ "nodeDrainTimeoutSeconds": 600 });
        let message = "Drain not completed yet:\n* Pod team-a/db-0: cannot evict pod as it would violate the budget db";
        fixtures::set(
            &mut leaving,
            "Deleting",
            "True",
            "DrainingNode",
            message,
            240,
        );
        let page = machine(&leaving, &fixtures::scene());
        let departure = page.departure.unwrap();
        assert_eq!(departure.lines.len(), 2);
        assert!(
            departure.lines[1].starts_with("Pod team-a/db-0"),
            "{departure:?}"
        );
        assert_eq!(
            departure.limit.as_deref(),
            Some("The drain is given up in 6 min.")
        );
        assert_eq!(departure.steps[0].state, PhaseState::Done);
        assert_eq!(departure.steps[1].state, PhaseState::Now);
        assert_eq!(page.phases.last().unwrap().name, "Leaving");
        assert_eq!(page.word, "Draining");
    }

    #[test]
    fn a_member_without_a_machine_has_a_page_and_a_stranger_none() {
        let pool = fixtures::pool("web", 2, 2);
        let mut scene = fixtures::scene();
        scene.infra = Known::All(vec![fixtures::infra("web", 2)]);
        let page = member(&pool, "i-00000000000000001", &scene).unwrap();
        assert!(!page.is_machine);
        assert_eq!(
            page.addresses,
            [("Internal IP".to_owned(), "10.0.0.1".to_owned())]
        );
        assert_eq!(page.facts[0], ("Node", "node-1".to_owned()));
        assert_eq!(member(&pool, "i-nobody", &scene), None);
    }

    #[test]
    fn an_empty_machine_has_a_page() {
        let page = machine(&json!({}), &fixtures::scene());
        assert_eq!(page.level, Level::Unknown);
    }
}
