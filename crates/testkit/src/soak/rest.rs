//! What must hold once nothing disturbs any more: every count agrees, and nothing is left over.

use std::collections::BTreeSet;

use remuda_controllers::kinds::Kind;
use serde_json::Value;

use super::{cloud::Place, guard::all};
use crate::{
    demo::NAMESPACE,
    expect::{condition, holds},
    world::World,
};

/// Everything agrees on the members: cloud, pool, infrastructure Machines, Machines and Nodes, as
/// many as are wanted, all Ready, all of the wanted version.
///
/// # Errors
/// What does not.
pub(super) async fn at_rest(world: &World, place: &Place, version: &str) -> Result<(), String> {
    let pool = world.get(Kind::MachinePool, place.cloud.pool()).await;
    let pool = pool.ok_or("the MachinePool is gone")?;
    let wanted = usize::try_from(pool["spec"]["replicas"].as_u64().unwrap_or(1)).unwrap_or(0);

    let groups = place.groups();
    holds(groups == 1, || format!("{groups} groups are there"))?;
    let cloud = lower(place.instances());
    holds(cloud.len() == wanted, || {
        format!("{} instances exist, {wanted} are wanted", cloud.len())
    })?;
    agrees(
        "spec.providerIDList of the MachinePool",
        listed(&pool),
        &cloud,
    )?;

    let infra = world
        .get(Kind::TerraformMachinePool, place.cloud.pool())
        .await;
    let infra = infra.ok_or("the TerraformMachinePool is gone")?;
    agrees("spec.providerIDList of the pool", listed(&infra), &cloud)?;

    for kind in [Kind::TerraformMachinePoolMachine, Kind::Machine] {
        let objects = all(&world.objects, kind, NAMESPACE).await;
        let what = format!("{kind:?}");
        agrees(&what, ids(&objects), &cloud)?;
        all_say(&what, &objects)?;
    }
    let nodes = all(&world.workload(), Kind::Node, "").await;
    agrees("Nodes", ids(&nodes), &cloud)?;
    all_say("Node", &nodes)?;
    for node in &nodes {
        let runs = &node["status"]["nodeInfo"]["kubeletVersion"];
        holds(runs == version, || {
            format!(
                "Node {} runs {runs}, not {version}",
                node["metadata"]["name"]
            )
        })?;
        holds(node["spec"]["unschedulable"] != true, || {
            format!("Node {} is left cordoned", node["metadata"]["name"])
        })?;
    }
    Ok(())
}

/// Clouds do not tell the case of letters apart.
fn lower(ids: BTreeSet<String>) -> BTreeSet<String> {
    ids.iter().map(|id| id.to_lowercase()).collect()
}

fn listed(object: &Value) -> BTreeSet<String> {
    let list = object
        .pointer("/spec/providerIDList")
        .and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(|id| id.as_str().map(str::to_lowercase))
        .collect()
}

fn ids(objects: &[Value]) -> BTreeSet<String> {
    objects
        .iter()
        .map(|object| {
            object["spec"]["providerID"]
                .as_str()
                .unwrap_or("none")
                .to_lowercase()
        })
        .collect()
}

fn agrees(what: &str, found: BTreeSet<String>, cloud: &BTreeSet<String>) -> Result<(), String> {
    holds(found == *cloud, || {
        let missing: Vec<&String> = cloud.difference(&found).collect();
        let left: Vec<&String> = found.difference(cloud).collect();
        format!("{what}: missing {missing:?}, left over {left:?}")
    })
}

fn all_say(what: &str, objects: &[Value]) -> Result<(), String> {
    for object in objects {
        let name = &object["metadata"]["name"];
        holds(object["metadata"]["deletionTimestamp"].is_null(), || {
            format!("{what} {name} is being deleted")
        })?;
        let ready = condition(object, "Ready");
        holds(
            ready.as_ref().is_some_and(|(status, _)| status == "True"),
            || format!("{what} {name} is not Ready: {ready:?}"),
        )?;
    }
    Ok(())
}
