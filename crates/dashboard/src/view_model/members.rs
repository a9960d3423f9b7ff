//! The machines of a pool, from whatever tells of them: Machines, the instances in the status of
//! its infrastructure, its provider IDs, its nodes.

use std::collections::{BTreeMap, HashMap};

use remuda_api::keys::label;
use serde::Serialize;
use serde_json::Value;

use super::{
    Level, Scene,
    words::{sentence, spaced},
};
use crate::{object, place::Place};

/// One machine of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Member {
    /// The Machine's name, else the cloud's id.
    pub(crate) name: String,
    /// The cloud's id.
    pub(crate) id: Option<String>,
    pub(crate) provider_id: Option<String>,
    pub(crate) zone: Option<String>,
    pub(crate) level: Level,
    /// One or two words on how it is.
    pub(crate) word: String,
    /// A sentence, where there is more to say.
    pub(crate) says: Option<String>,
    pub(crate) address: Option<String>,
    pub(crate) node: Option<String>,
    /// Name of its Machine.
    pub(crate) machine: Option<String>,
    /// What is special about it.
    pub(crate) tags: Vec<&'static str>,
    /// Its page.
    pub(crate) href: String,
}

/// Which objects belong to which pool, found once for all pools.
pub(crate) struct Belongings<'a> {
    infra: HashMap<(&'a str, &'a str), &'a Value>,
    machines: HashMap<(&'a str, &'a str), Vec<&'a Value>>,
    /// TerraformMachinePoolMachines by namespace and provider ID.
    instances: HashMap<(&'a str, &'a str), &'a Value>,
}

impl<'a> Belongings<'a> {
    /// Of the objects of a scene.
    pub(crate) fn of(scene: &'a Scene) -> Self {
        let infra = scene.infra.objects().iter();
        let mut machines: HashMap<_, Vec<_>> = HashMap::new();
        for machine in scene.machines.objects() {
            if let Some(pool) = pool_of(machine) {
                machines
                    .entry((object::namespace(machine), pool))
                    .or_default()
                    .push(machine);
            }
        }
        Self {
            infra: infra
                .map(|one| ((object::namespace(one), object::name(one)), one))
                .collect(),
            machines,
            instances: scene
                .instances
                .objects()
                .iter()
                .filter_map(|one| {
                    Some((
                        (
                            object::namespace(one),
                            object::text(one, "/spec/providerID")?,
                        ),
                        one,
                    ))
                })
                .collect(),
        }
    }

    /// The members of a pool, by zone and name.
    pub(crate) fn members(&self, pool: &Value) -> Vec<Member> {
        let mut members = members(pool, self.infra(pool), self.machines(pool));
        for member in &mut members {
            let id = member.provider_id.as_deref().unwrap_or_default();
            if let Some(instance) = self.instances.get(&(object::namespace(pool), id)) {
                member.tags = tags(instance);
            }
        }
        members
    }

    /// The infrastructure object of a MachinePool.
    pub(crate) fn infra(&self, pool: &Value) -> Option<&'a Value> {
        let reference = pool.pointer("/spec/template/spec/infrastructureRef")?;
        if object::text(reference, "/kind") != Some("TerraformMachinePool") {
            return None;
        }
        let name = object::text(reference, "/name")?;
        self.infra.get(&(object::namespace(pool), name)).copied()
    }

    /// The Machines of a MachinePool.
    pub(crate) fn machines<'s>(&'s self, pool: &'s Value) -> &'s [&'s Value] {
        let key = (object::namespace(pool), object::name(pool));
        self.machines.get(&key).map_or(&[], Vec::as_slice)
    }
}

/// What is special about an instance.
fn tags(instance: &Value) -> Vec<&'static str> {
    let says =
        |field: &str, value: bool| instance.pointer(field).and_then(Value::as_bool) == Some(value);
    let tags = [
        (says("/status/upToDate", false), "older model"),
        (says("/status/interruptible", true), "spot"),
    ];
    tags.into_iter()
        .filter_map(|(holds, tag)| holds.then_some(tag))
        .collect()
}

fn members(pool: &Value, infra: Option<&Value>, machines: &[&Value]) -> Vec<Member> {
    let mut told: BTreeMap<String, Told<'_>> = BTreeMap::new();
    let list = infra.map_or(&[][..], |infra| object::list(infra, "/spec/providerIDList"));
    let list = if list.is_empty() {
        object::list(pool, "/spec/providerIDList")
    } else {
        list
    };
    for id in list.iter().filter_map(Value::as_str) {
        told.entry(id.to_owned()).or_default();
    }
    let instances = infra.map_or(&[][..], |infra| object::list(infra, "/status/instances"));
    for instance in instances {
        if let Some(id) = object::text(instance, "/providerID") {
            told.entry(id.to_owned()).or_default().instance = Some(instance);
        }
    }
    let mut nameless = Vec::new();
    for &machine in machines {
        match object::text(machine, "/spec/providerID") {
            Some(id) => told.entry(id.to_owned()).or_default().machine = Some(machine),
            None => nameless.push(Told {
                machine: Some(machine),
                ..Told::default()
            }),
        }
    }
    nodes_by_order(pool, &mut told);
    let with_id = told.iter().map(|(id, told)| told.member(pool, Some(id)));
    let without = nameless.iter().map(|told| told.member(pool, None));
    let mut members: Vec<Member> = with_id.chain(without).collect();
    members.sort_by(|a, b| (&a.zone, &a.name).cmp(&(&b.zone, &b.name)));
    members
}

/// The name of the MachinePool that a Machine belongs to: its owner's, else its label's.
pub(crate) fn pool_of(machine: &Value) -> Option<&str> {
    let owners = object::list(machine, "/metadata/ownerReferences");
    let owner = owners
        .iter()
        .find(|owner| object::text(owner, "/kind") == Some("MachinePool"));
    match owner {
        Some(owner) => object::text(owner, "/name"),
        None => object::label(machine, label::POOL_NAME),
    }
}

/// A pool without Machines lists its nodes in the order of its provider IDs. Whose they are is
/// certain only while there is one for each.
fn nodes_by_order<'a>(pool: &'a Value, told: &mut BTreeMap<String, Told<'a>>) {
    let ids = object::list(pool, "/spec/providerIDList");
    let nodes = object::list(pool, "/status/nodeRefs");
    let certain = ids.len() == nodes.len();
    for (id, node) in ids.iter().filter_map(Value::as_str).zip(nodes) {
        if let Some(told) = told.get_mut(id) {
            told.node = certain.then_some(node);
        }
    }
    if !certain && !nodes.is_empty() {
        for told in told.values_mut() {
            told.perhaps_joined = true;
        }
    }
}

/// What is told of one member.
#[derive(Default, Clone, Copy)]
struct Told<'a> {
    machine: Option<&'a Value>,
    instance: Option<&'a Value>,
    node: Option<&'a Value>,
    /// The pool has nodes, and one of them may be this member's.
    perhaps_joined: bool,
}

impl Told<'_> {
    fn member(&self, pool: &Value, provider_id: Option<&str>) -> Member {
        let of_machine = |pointer| {
            self.machine
                .and_then(|machine| object::text(machine, pointer))
        };
        let of_instance = |pointer| {
            self.instance
                .and_then(|instance| object::text(instance, pointer))
        };
        let id = of_instance("/instanceID").or_else(|| provider_id.map(last_part));
        let machine = self.machine.map(object::name);
        // Azure numbers the instances of a set: a bare number names nothing to a person.
        let numbered = |id: &str| id.bytes().all(|byte| byte.is_ascii_digit());
        let name = match (machine, id) {
            (Some(machine), _) => machine.to_owned(),
            (None, Some(id)) if numbered(id) => format!("instance {id}"),
            (None, id) => id.unwrap_or("unnamed").to_owned(),
        };
        let node = of_machine("/status/nodeRef/name")
            .or_else(|| self.node.and_then(|node| object::text(node, "/name")));
        let (level, word, says) = self.state(node.is_some());
        let namespace = object::namespace(pool).to_owned();
        let place = match machine {
            Some(machine) => Place::Machine {
                namespace,
                name: machine.to_owned(),
            },
            None => Place::Member {
                namespace,
                pool: object::name(pool).to_owned(),
                id: id.unwrap_or_default().to_owned(),
            },
        };
        Member {
            name,
            id: id.map(str::to_owned),
            provider_id: provider_id.map(str::to_owned),
            zone: of_instance("/failureDomain")
                .or_else(|| of_machine("/status/failureDomain"))
                .or_else(|| of_machine("/spec/failureDomain"))
                .or_else(|| provider_id.and_then(zone_in_id))
                .map(str::to_owned),
            level,
            word,
            says,
            address: self.address(),
            node: node.map(str::to_owned),
            machine: machine.map(str::to_owned),
            tags: Vec::new(),
            href: place.path(),
        }
    }

    fn address(&self) -> Option<String> {
        let lists = [
            self.instance
                .map(|instance| object::list(instance, "/addresses")),
            self.machine
                .map(|machine| object::list(machine, "/status/addresses")),
        ];
        let addresses = lists.into_iter().flatten().flatten();
        let internal = addresses
            .filter(|address| object::text(address, "/type") == Some("InternalIP"))
            .find_map(|address| object::text(address, "/address"));
        internal.map(str::to_owned)
    }

    fn state(&self, has_node: bool) -> (Level, String, Option<String>) {
        if let Some(machine) = self.machine
            && let Some(state) = machine_state(machine)
        {
            return state;
        }
        let word = |level, word: &str| (level, word.to_owned(), None);
        match self
            .instance
            .and_then(|instance| object::text(instance, "/state"))
        {
            Some("running") if has_node => word(Level::Good, "Ready"),
            Some("running") if self.perhaps_joined => word(Level::Good, "Running"),
            Some("running") => word(Level::Busy, "Joining"),
            Some("pending") => word(Level::Busy, "Starting"),
            Some("degraded") => word(Level::Bad, "Degraded"),
            Some("stopped") => word(Level::Bad, "Stopped"),
            Some("terminated") => word(Level::Busy, "Ending"),
            Some(_) | None if has_node => word(Level::Good, "Ready"),
            Some(_) | None => word(Level::Unknown, "Unknown"),
        }
    }
}

/// How a Machine is; nothing while its conditions say nothing.
pub(crate) fn machine_state(machine: &Value) -> Option<(Level, String, Option<String>)> {
    const STEPS: [(&str, &str); 4] = [
        ("BootstrapConfigReady", "Preparing"),
        ("InfrastructureReady", "Starting"),
        ("NodeReady", "Joining"),
        ("NodeHealthy", "Node not healthy"),
    ];
    if object::is_deleting(machine) {
        let says = object::condition(machine, "Deleting");
        let word = match says.map(|deleting| deleting.reason) {
            Some("DrainingNode") => "Draining",
            Some("WaitingForPreDrainHook" | "WaitingForPreTerminateHook") => "Held by a hook",
            Some("WaitingForVolumeDetach") => "Detaching volumes",
            Some("WaitingForInfrastructureDeletion") => "Ending",
            _ => "Leaving",
        };
        let says = says.and_then(|deleting| gist(deleting.message));
        return Some((Level::Busy, word.to_owned(), says));
    }
    if object::text(machine, "/status/phase") == Some("Failed") {
        return Some((Level::Bad, "Failed".to_owned(), None));
    }
    let waits = STEPS.iter().find_map(|(kind, word)| {
        let condition = object::condition(machine, kind).filter(|c| !c.holds())?;
        Some((condition, *word))
    });
    if let Some((condition, word)) = waits {
        let had_a_node = object::text(machine, "/status/nodeRef/name").is_some();
        let level = match condition.status {
            "Unknown" if had_a_node => Level::Unknown,
            _ if had_a_node => Level::Bad,
            _ => Level::Busy,
        };
        let word = match (had_a_node, condition.kind) {
            (true, "NodeReady") => "Node not ready",
            _ => word,
        };
        let says = match condition.message {
            "" => sentence(&spaced(condition.reason)),
            message => sentence(message),
        };
        return Some((level, word.to_owned(), Some(says)));
    }
    let ready = object::condition(machine, "Ready")?;
    if ready.holds() {
        return Some((Level::Good, "Ready".to_owned(), None));
    }
    let says = Some(sentence(ready.message)).filter(|says| !says.is_empty());
    Some((Level::Warn, "Not ready".to_owned(), says))
}

/// The first thing a message of several lines says: its own page has them all.
fn gist(message: &str) -> Option<String> {
    const LETTERS: usize = 140;
    let mut lines = message
        .lines()
        .map(|line| line.trim().trim_start_matches("* "));
    let first = lines.find(|line| !line.is_empty() && !line.ends_with(':'))?;
    match first.char_indices().nth(LETTERS) {
        Some((end, _)) => Some(format!("{}…", first.get(..end)?.trim_end())),
        None => Some(first.to_owned()),
    }
}

/// The last part of a provider ID.
pub(crate) fn last_part(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}

/// AWS writes the zone into the provider ID: `aws:///us-east-1a/i-…`.
fn zone_in_id(id: &str) -> Option<&str> {
    let (zone, _) = id.strip_prefix("aws:///")?.split_once('/')?;
    Some(zone).filter(|zone| !zone.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Known, fixtures};
    use super::*;

    #[test]
    fn a_pool_without_machines_shows_its_instances_and_nodes() {
        let members = members(
            &fixtures::pool("web", 3, 3),
            Some(&fixtures::infra("web", 3)),
            &[],
        );
        assert_eq!(members.len(), 3);
        assert!(members.iter().all(|member| member.level == Level::Good));
        assert_eq!(members[0].node.as_deref(), Some("node-0"));
        assert_eq!(members[0].zone.as_deref(), Some("us-east-1a"));
        assert_eq!(
            members[0].href,
            "/pools/team-a/web/machines/i-00000000000000000"
        );
    }

    #[test]
    fn a_missing_node_leaves_open_whose_it_is() {
        let members = members(
            &fixtures::pool("web", 3, 2),
            Some(&fixtures::infra("web", 3)),
            &[],
        );
        assert!(
            members
                .iter()
                .all(|member| member.node.is_none() && member.word == "Running")
        );
    }

    #[test]
    fn machines_and_instances_are_one_list() {
        let mut scene = fixtures::scene();
        let mut leaving = fixtures::machine("web", 1);
        leaving["metadata"]["deletionTimestamp"] = json!(fixtures::before(5));
        fixtures::set(
            &mut leaving,
            "Deleting",
            "True",
            "DrainingNode",
            "2 Pods left",
            5,
        );
        let mut unborn = fixtures::machine("web", 9);
        unborn["spec"].as_object_mut().unwrap().remove("providerID");
        let of_another = fixtures::machine("other", 2);
        scene.machines = Known::All(vec![
            fixtures::machine("web", 0),
            leaving,
            unborn,
            of_another,
        ]);
        let pool = fixtures::pool("web", 3, 3);
        let members = members(
            &pool,
            Some(&fixtures::infra("web", 3)),
            Belongings::of(&scene).machines(&pool),
        );
        let said: Vec<(&str, &str)> = members
            .iter()
            .map(|m| (m.name.as_str(), m.word.as_str()))
            .collect();
        assert_eq!(
            said,
            [
                ("web-0", "Ready"),
                ("web-9", "Ready"),
                ("web-1", "Draining"),
                ("i-00000000000000002", "Ready"),
            ]
        );
        assert_eq!(members[2].says.as_deref(), Some("2 Pods left"));
        assert_eq!(members[0].href, "/machines/team-a/web-0");
    }

    #[test]
    fn a_long_message_is_cut_to_what_it_says_first() {
        assert_eq!(
            gist("Drain not completed:\n* Pod a: b\n* c").as_deref(),
            Some("Pod a: b")
        );
        assert_eq!(gist("2 Pods left").as_deref(), Some("2 Pods left"));
        assert_eq!(gist("only:\n"), None);
        let long = gist(&"ä".repeat(500)).unwrap();
        assert_eq!(long.chars().count(), 141);
    }

    #[test]
    fn an_older_model_is_marked() {
        let mut scene = fixtures::scene();
        scene.infra = Known::All(vec![fixtures::infra("web", 2)]);
        scene.instances = Known::All(vec![json!({
            "metadata": { "namespace": "team-a" },
            "spec": { "providerID": fixtures::id(1) },
            "status": { "upToDate": false, "interruptible": true },
        })]);
        let members = Belongings::of(&scene).members(&fixtures::pool("web", 2, 2));
        assert_eq!(members[0].tags.len(), 0);
        assert_eq!(members[1].tags, ["older model", "spot"]);
    }

    #[test]
    fn a_node_that_was_lost_is_worse_than_one_that_is_awaited() {
        let mut machine = fixtures::machine("web", 0);
        fixtures::set(
            &mut machine,
            "NodeReady",
            "False",
            "NodeNotReady",
            "kubelet stopped",
            5,
        );
        assert_eq!(machine_state(&machine).unwrap().0, Level::Bad);
        machine["status"].as_object_mut().unwrap().remove("nodeRef");
        assert_eq!(machine_state(&machine).unwrap().0, Level::Busy);
    }

    #[test]
    fn odd_objects_have_no_members() {
        assert_eq!(members(&json!({}), Some(&json!({ "spec": 1 })), &[]), []);
    }
}
