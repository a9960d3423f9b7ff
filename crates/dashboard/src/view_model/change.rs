//! What a change will do, said before it is made.

use remuda_api::keys::annotation;
use serde::Serialize;
use serde_json::Value;

use super::{
    Scene,
    health::{Counts, pause},
    machine::instance_name,
    members::Belongings,
    pool::{count_owner, has_machines},
    words::{count, span},
};
use crate::{object, place::Place};

pub(crate) use super::members::pool_of as pool_of_machine;

/// More machines than this at once are worth a second look: they cost money.
const MANY: i64 = 20;

/// A page that asks whether it is really meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Confirm {
    pub(crate) title: String,
    /// What will happen, one sentence each.
    pub(crate) says: Vec<String>,
    /// Machines are lost.
    pub(crate) destructive: bool,
    /// Where the form goes.
    pub(crate) action: String,
    pub(crate) button: String,
    /// What the form carries.
    pub(crate) fields: Vec<(&'static str, String)>,
    pub(crate) back: String,
}

/// Asks about another count; `None` when there is nothing to ask.
pub(crate) fn scale(pool: &Value, scene: &Scene, to: i64) -> Option<Confirm> {
    let belongings = Belongings::of(scene);
    let infra = belongings.infra(pool);
    let machines = belongings.machines(pool);
    let members = belongings.members(pool);
    let have = i64::try_from(members.len()).unwrap_or(i64::MAX);
    let from = object::int(pool, "/spec/replicas").unwrap_or(1);
    let lost = have.max(from) - to;
    let grows = to - from;
    if lost <= 0 && grows <= MANY {
        return None;
    }
    let name = object::name(pool);
    let back = Place::pool(object::namespace(pool), name).path();
    let mut says = Vec::new();
    if lost > 0 {
        says.push(match to {
            0 => format!(
                "All {} of the pool go; none is left.",
                count(have.max(from), "machine")
            ),
            _ => format!(
                "{} of {} {}.",
                lost,
                count(have.max(from), "machine"),
                if lost == 1 { "goes" } else { "go" }
            ),
        });
        says.extend(how_they_go(has_machines(infra, machines)).map(str::to_owned));
    } else {
        says.push(format!(
            "{} are added to the {have} there are. They cost what machines of their type cost.",
            count(grows, "machine")
        ));
    }
    says.extend(caveats(pool, infra));
    Some(Confirm {
        title: format!("Scale {name} from {from} to {to}?"),
        says,
        destructive: lost > 0,
        action: format!("{back}/scale"),
        button: format!("Scale to {to}"),
        fields: vec![
            ("replicas", to.to_string()),
            ("from", from.to_string()),
            ("confirmed", "yes".to_owned()),
        ],
        back,
    })
}

fn how_they_go(drained: bool) -> impl Iterator<Item = &'static str> {
    let says: &[&str] = if drained {
        &[
            "Each is drained first: its Node takes no new Pods, and the Pods on it are moved away as their disruption budgets allow.",
            "Machines that are marked for deletion go first, then failed ones, then cordoned ones, then those of an older model; the rest from the fullest zone, the oldest first.",
        ]
    } else {
        &[
            "Nothing is drained: this pool has no Machines, so the cloud chooses which instances end, and Pods on them are cut off.",
        ]
    };
    says.iter().copied()
}

fn caveats(pool: &Value, infra: Option<&Value>) -> Vec<String> {
    let mut says = Vec::new();
    if let Some(owner) = count_owner(pool) {
        says.push(format!(
            "The count is set by {owner}, which may set it again."
        ));
    }
    if pause(pool, infra).is_some() {
        says.push("The pool is paused: nothing happens until it is resumed.".to_owned());
    }
    says
}

/// Asks about resuming a pool; `None` when no machine is lost by it.
pub(crate) fn resume(pool: &Value, scene: &Scene) -> Option<Confirm> {
    let belongings = Belongings::of(scene);
    let infra = belongings.infra(pool);
    let machines = belongings.machines(pool);
    let counts = Counts::of(pool, belongings.members(pool).len());
    let lost = counts.have - counts.wanted?;
    if lost <= 0 {
        return None;
    }
    let name = object::name(pool);
    let back = Place::pool(object::namespace(pool), name).path();
    let mut says = vec![format!(
        "{lost} of {} {}: the pool wants fewer than there are, and goes on with that at once.",
        count(counts.have, "machine"),
        if lost == 1 { "goes" } else { "go" }
    )];
    says.extend(how_they_go(has_machines(infra, machines)).map(str::to_owned));
    Some(Confirm {
        title: format!("Resume {name}?"),
        says,
        destructive: true,
        action: format!("{back}/resume"),
        button: "Resume".to_owned(),
        fields: vec![("confirmed", "yes".to_owned())],
        back,
    })
}

/// Asks about a Machine's end.
pub(crate) fn delete_machine(machine: &Value, pool: Option<&Value>) -> Confirm {
    let name = object::name(machine);
    let place = Place::Machine {
        namespace: object::namespace(machine).to_owned(),
        name: name.to_owned(),
    };
    let back = place.path();
    let mut says = vec![drain(machine)];
    says.extend(hooks(machine));
    says.push(match instance_name(machine) {
        Some(instance) => {
            format!("Then its instance {instance} ends, with everything on its own disks.")
        }
        None => "It has no instance yet.".to_owned(),
    });
    if let Some(pool) = pool {
        let wanted = object::int(pool, "/spec/replicas").unwrap_or(1);
        says.push(format!(
            "{} still wants {}: a new one takes its place.",
            object::name(pool),
            count(wanted, "machine")
        ));
        says.extend(caveats(pool, None));
    }
    Confirm {
        title: format!("Delete {name}?"),
        says,
        destructive: true,
        action: format!("{back}/delete"),
        button: "Delete this machine".to_owned(),
        fields: vec![
            ("uid", object::uid(machine).unwrap_or_default().to_owned()),
            ("confirmed", "yes".to_owned()),
        ],
        back,
    }
}

fn drain(machine: &Value) -> String {
    let Some(node) = object::text(machine, "/status/nodeRef/name") else {
        return "It has no Node: there is nothing to drain.".to_owned();
    };
    if object::annotation(machine, annotation::EXCLUDE_NODE_DRAINING).is_some() {
        return format!(
            "Its Node {node} is not drained: an annotation of the machine says so. Pods on it are cut off."
        );
    }
    let limit = object::int(machine, "/spec/deletion/nodeDrainTimeoutSeconds")
        .filter(|seconds| *seconds > 0);
    let limit = match limit {
        Some(seconds) => format!("for at most {}", span(seconds)),
        None => "without a time limit".to_owned(),
    };
    format!(
        "Its Node {node} takes no new Pods, and the Pods on it are moved away as their disruption budgets allow, {limit}."
    )
}

fn hooks(machine: &Value) -> Option<String> {
    let annotations = machine.pointer("/metadata/annotations")?.as_object()?;
    let prefixes = [
        annotation::PRE_DRAIN_HOOK_PREFIX,
        annotation::PRE_TERMINATE_HOOK_PREFIX,
    ];
    let held = annotations
        .keys()
        .filter(|key| prefixes.iter().any(|prefix| key.starts_with(prefix)));
    let held = i64::try_from(held.count()).ok().filter(|held| *held > 0)?;
    let (hold, they) = if held == 1 {
        ("holds", "it is")
    } else {
        ("hold", "they are")
    };
    Some(format!(
        "{} {hold} its deletion until {they} removed.",
        count(held, "hook")
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Known, fixtures};
    use super::*;

    fn world(members: usize) -> (Value, Scene) {
        let mut scene = fixtures::scene();
        scene.infra = Known::All(vec![fixtures::infra("web", members)]);
        (fixtures::pool("web", members, members), scene)
    }

    #[test]
    fn growing_a_little_needs_no_question() {
        let (pool, scene) = world(3);
        assert_eq!(scale(&pool, &scene, 3), None);
        assert_eq!(scale(&pool, &scene, 5), None);
        assert!(!scale(&pool, &scene, 300).unwrap().destructive);
    }

    #[test]
    fn fewer_machines_are_asked_about_with_how_they_go() {
        let (pool, mut scene) = world(3);
        let without = scale(&pool, &scene, 1).unwrap();
        assert!(without.destructive);
        assert_eq!(without.says[0], "2 of 3 machines go.");
        assert!(without.says[1].starts_with("Nothing is drained"));
        scene.machines = Known::All((0..3).map(|n| fixtures::machine("web", n)).collect());
        let with = scale(&pool, &scene, 0).unwrap();
        assert_eq!(with.says[0], "All 3 machines of the pool go; none is left.");
        assert!(with.says[1].starts_with("Each is drained first"));
        assert_eq!(with.fields[1], ("from", "3".to_owned()));
    }

    #[test]
    fn who_else_sets_the_count_is_said() {
        let (mut pool, scene) = world(3);
        pool["metadata"]["annotations"] =
            json!({ annotation::REPLICAS_MANAGED_BY: "captf", annotation::PAUSED: "" });
        let says = scale(&pool, &scene, 2).unwrap().says.join(" ");
        assert!(
            says.contains("the cloud's autoscaler") && says.contains("paused"),
            "{says}"
        );
    }

    #[test]
    fn resuming_asks_only_when_machines_would_go() {
        let (mut pool, scene) = world(3);
        assert_eq!(resume(&pool, &scene), None);
        pool["spec"]["replicas"] = json!(1);
        assert!(resume(&pool, &scene).unwrap().says[0].starts_with("2 of 3 machines go"));
    }

    #[test]
    fn a_deletion_says_what_is_drained_and_what_comes_after() {
        let pool = fixtures::pool("web", 3, 3);
        let mut machine = fixtures::machine("web", 1);
        machine["spec"]["deletion"] = json!({ "nodeDrainTimeoutSeconds": 600 });
        machine["metadata"]["annotations"] =
            json!({ "pre-drain.delete.hook.machine.cluster.x-k8s.io/backup": "" });
        let confirm = delete_machine(&machine, Some(&pool));
        let says = confirm.says.join(" ");
        for part in [
            "Node node-1",
            "at most 10 min",
            "1 hook holds",
            "i-00000000000000001",
            "still wants 3 machines",
        ] {
            assert!(says.contains(part), "{part}: {says}");
        }
        assert_eq!(confirm.fields[0], ("uid", "machine-1".to_owned()));
        assert_eq!(confirm.action, "/machines/team-a/web-1/delete");
        let bare = delete_machine(&json!({}), None);
        assert!(bare.says[0].contains("nothing to drain"));
    }
}
