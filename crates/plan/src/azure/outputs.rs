//! What the pool publishes, from one observation (Azure document 7, 8 and 9).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    names,
    observed::{Handle, Instance, Observed, Presence},
    remembered::azure_record,
};
use crate::{
    driver::PoolContext,
    error::CloudFailure,
    pool::{
        health::{self, Health, NO_MEMBERS, SCALING_IN_PROGRESS, Scene, Verdict, is_complete},
        members::{Member, MemberState},
        outputs::Outputs,
        read::Read,
        record::AzureRecord,
    },
};

/// A member's state, and the reason when it is not running, from the power state: the text after
/// `PowerState/`, `None` when there is no such status yet.
pub fn member_state(power: Option<&str>) -> (MemberState, Option<String>) {
    let Some(power) = power.map(str::to_lowercase) else {
        return (MemberState::Pending, Some("PowerState/unknown".to_owned()));
    };
    let state = match power.as_str() {
        "running" => return (MemberState::Running, None),
        "starting" => MemberState::Pending,
        "stopping" | "stopped" | "deallocating" | "deallocated" => MemberState::Stopped,
        _ => return (MemberState::Unknown, Some("UnknownState".to_owned())),
    };
    (state, Some(format!("PowerState/{power}")))
}

/// Which set is published, and what is known of it.
struct Published<'a> {
    name: &'a str,
    presence: &'a Presence,
    was_made: bool,
}

/// Everything a pool publishes.
///
/// # Errors
/// The failed read of the sets or of the members: the previous outputs stay.
pub fn outputs(
    handle: &Handle,
    observed: &Observed,
    dropped_node_labels: &[String],
    context: &PoolContext<'_>,
) -> Result<Outputs, CloudFailure> {
    let sets = observed.sets.needed("scale sets")?;
    let record = azure_record(context);
    let published = published(handle, sets, record, context);
    let own = members(&published, observed)?;
    let set = published.presence.set();
    let (listed, capacity, health) = if context.machines.off() {
        let capacity = if is_retiring(record, published.name) {
            // What the pool has, not what is left of the old set.
            record
                .and_then(|record| record.last_capacity)
                .or(set.map(|set| set.capacity))
        } else {
            set.map(|set| set.capacity)
        };
        let members = published_of(own);
        let health = verdict(&published, capacity, &members);
        (members, capacity, health)
    } else {
        of_all_sets(handle, &published, observed, own, record)?
    };
    let exists = set.is_some();
    let has_setting = record.is_some_and(|record| record.has_setting);
    let setting = names::setting_id(&handle.place, &names::setting(published.name));
    let extra: BTreeMap<String, Value> = BTreeMap::from([
        (
            "autoscale_setting_id".to_owned(),
            json!((exists && has_setting).then_some(setting)),
        ),
        ("dropped_node_labels".to_owned(), json!(dropped_node_labels)),
        (
            "scale_set_id".to_owned(),
            json!(exists.then(|| names::set_id(&handle.place, published.name))),
        ),
        (
            "scale_set_name".to_owned(),
            json!(exists.then_some(published.name)),
        ),
    ]);
    Ok(Outputs::new(
        exists.then(|| names::provider_id(&handle.place, published.name)),
        capacity.filter(|_| exists),
        listed,
        health,
        extra,
    ))
}

fn is_retiring(record: Option<&AzureRecord>, name: &str) -> bool {
    record
        .and_then(|record| record.predecessor.as_deref())
        .is_some_and(|predecessor| predecessor == name)
}

/// With pool Machines on: members of every set, the count, and the health of them all. Machines
/// that leave are drained, and say nothing of the health of those that stay.
fn of_all_sets(
    handle: &Handle,
    published: &Published<'_>,
    observed: &Observed,
    own: Vec<Instance>,
    record: Option<&AzureRecord>,
) -> Result<(Vec<Member>, Option<i64>, Health), CloudFailure> {
    let mut all = own;
    let others = others(handle, published, observed)?;
    let is_rolling = !others.is_empty();
    let held = observed.sets.needed("scale sets")?;
    let held: Vec<i64> = handle
        .sets
        .keys()
        .filter_map(|name| held.get(name)?.set())
        .map(|set| set.capacity)
        .collect();
    let whole = published.presence.set().map(|_| held.iter().sum::<i64>());
    all.extend(others);
    let (leaving, staying): (Vec<Instance>, Vec<Instance>) =
        all.into_iter().partition(|instance| instance.is_deleting);
    let staying = published_of(staying);
    let health = verdict(published, whole, &staying);
    // While it rolls the sets hold a surge, or lack what is about to be replaced: the count is what
    // the pool had before, or autoscaling would take either for its wish.
    let before = record
        .and_then(|record| record.last_capacity)
        .filter(|_| is_rolling);
    let mut listed = published_of(leaving);
    listed.extend(staying);
    Ok((listed, before.or(whole), health))
}

fn published_of(instances: Vec<Instance>) -> Vec<Member> {
    instances
        .into_iter()
        .map(|instance| instance.member)
        .collect()
}

/// With pool Machines off the older set as long as there is one, else the serving one.
fn published<'a>(
    handle: &'a Handle,
    sets: &'a BTreeMap<String, Presence>,
    record: Option<&'a AzureRecord>,
    context: &PoolContext<'_>,
) -> Published<'a> {
    let presence = |name: &str| sets.get(name).unwrap_or(&Presence::Absent);
    let older = record
        .filter(|_| context.machines.off())
        .and_then(|record| record.predecessor.as_deref())
        .filter(|name| presence(name).set().is_some());
    let name = older.unwrap_or(&handle.set_name);
    let was_made = record
        .and_then(|record| record.current.as_ref())
        .is_some_and(|current| current.created && current.set_name == name);
    Published {
        name,
        presence: presence(name),
        was_made,
    }
}

/// Members of the published set; one that the list lacks has none to show.
fn members(published: &Published<'_>, observed: &Observed) -> Result<Vec<Instance>, CloudFailure> {
    match published.presence {
        Presence::Listed(_) => of_set(published.name, observed),
        Presence::Unlisted(_) | Presence::Absent => Ok(Vec::new()),
    }
}

/// Members of the pool's other sets: with pool Machines on every machine is listed.
fn others(
    handle: &Handle,
    published: &Published<'_>,
    observed: &Observed,
) -> Result<Vec<Instance>, CloudFailure> {
    let sets = observed.sets.needed("scale sets")?;
    let mut members = Vec::new();
    for (name, asked) in &handle.sets {
        let is_listed = matches!(sets.get(name), Some(Presence::Listed(_)));
        if asked.members && is_listed && name != published.name {
            members.extend(of_set(name, observed)?);
        }
    }
    Ok(members)
}

/// Instances of a listed set.
///
/// # Errors
/// The failed read.
pub(super) fn of_set(name: &str, observed: &Observed) -> Result<Vec<Instance>, CloudFailure> {
    let read = observed.members.get(name).unwrap_or(&Read::NotAsked);
    read.needed("members").cloned()
}

/// The health table in Azure's words.
fn verdict(published: &Published<'_>, capacity: Option<i64>, members: &[Member]) -> Health {
    let name = published.name;
    let pending = |message| Health {
        state: MemberState::Pending,
        healthy: false,
        message: Some(message),
        reasons: vec![NO_MEMBERS.to_owned()],
    };
    let no_members = || pending(format!("Azure scale set {name} has no members yet"));
    if capacity.is_none() && !published.was_made {
        return no_members();
    }
    let scene = Scene {
        desired: capacity,
        members,
        name_of: Member::hostname,
    };
    match health::judge(scene) {
        Verdict::Gone => Health {
            state: MemberState::Terminated,
            healthy: false,
            message: Some(format!("Azure scale set {name} not found")),
            reasons: vec!["ScaleSetNotFound".to_owned()],
        },
        Verdict::ScaledToZero => Health {
            state: MemberState::Running,
            healthy: true,
            message: None,
            reasons: Vec::new(),
        },
        Verdict::NoMembers { .. } => no_members(),
        Verdict::Impaired {
            state,
            reasons,
            members,
            ..
        } => Health {
            state,
            healthy: false,
            message: Some(format!(
                "{} of {members} instances not running",
                reasons.len()
            )),
            reasons,
        },
        Verdict::Running {
            mut reasons,
            members,
            desired,
        } => {
            let starting = reasons.len();
            let is_complete = is_complete(members, desired);
            let healthy = is_complete && starting == 0;
            if !is_complete {
                reasons.push(SCALING_IN_PROGRESS.to_owned());
            }
            Health {
                state: MemberState::Running,
                healthy,
                message: (!healthy)
                    .then(|| format!("{members} of {desired} instances, {starting} starting")),
                reasons,
            }
        }
    }
}
