//! One pool: its machines in their zones, what is changing and why, what was done last.

use std::cmp::Ordering;

use jiff::Timestamp;
use remuda_api::keys::annotation;
use serde::Serialize;
use serde_json::Value;

use super::{
    Doubt, Level, Scene,
    events::{EventRow, events},
    health::{Counts, Health, judge, pause},
    members::{Belongings, Member},
    overview::cloud_of,
    plot::{Plot, plot},
    words::{Moment, count, is_are, sentence, spaced},
    zones::{NOWHERE, Spread, spread},
};
use crate::{history::Point, object, place::Place};

/// Machines that are listed unless all are asked for.
const LISTED: usize = 100;
/// Events that are listed.
const EVENTS: usize = 12;

/// The page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct PoolPage {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) href: String,
    pub(crate) cluster: String,
    pub(crate) cloud: Option<&'static str>,
    pub(crate) version: Option<String>,
    pub(crate) counts: Counts,
    pub(crate) health: Health,
    /// Why it is paused.
    pub(crate) paused: Option<String>,
    pub(crate) deleting: bool,
    /// Its machines are Machines: one can be deleted, and is drained.
    pub(crate) has_machines: bool,
    /// Who owns the count, when it is not the person.
    pub(crate) count_owner: Option<String>,
    pub(crate) changes: Vec<Change>,
    pub(crate) zones: Spread,
    /// Machines by zone.
    pub(crate) lanes: Vec<Lane>,
    /// Link to the whole list, with how many there are.
    pub(crate) all: Option<All>,
    pub(crate) plot: Option<Plot>,
    pub(crate) run: Option<Run>,
    pub(crate) pending_plan: Option<String>,
    pub(crate) conditions: Vec<ConditionRow>,
    pub(crate) events: Vec<EventRow>,
    pub(crate) doubts: Vec<Doubt>,
}

/// The machines of one zone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Lane {
    pub(crate) zone: String,
    /// How many there are, listed or not.
    pub(crate) count: String,
    pub(crate) members: Vec<Member>,
}

/// Where every machine is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct All {
    pub(crate) href: String,
    pub(crate) members: usize,
}

/// Something that is changing, or is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Change {
    pub(crate) level: Level,
    pub(crate) what: String,
    /// Why, in the words of whoever knows.
    pub(crate) because: Option<String>,
    pub(crate) since: Option<Moment>,
}

/// The newest finished operation, and the running one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Run {
    /// `Apply`.
    pub(crate) operation: String,
    pub(crate) job: String,
    pub(crate) steps: Vec<RunStep>,
    /// What went wrong.
    pub(crate) error: Option<String>,
    /// Resources the error is about.
    pub(crate) resources: Vec<String>,
    /// What a drift check found.
    pub(crate) drift: Option<String>,
    pub(crate) refreshed: Option<Moment>,
    pub(crate) checked_for_drift: Option<Moment>,
}

/// One step of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct RunStep {
    pub(crate) name: String,
    pub(crate) ok: bool,
    pub(crate) took: Option<String>,
}

/// A condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ConditionRow {
    pub(crate) of: &'static str,
    pub(crate) kind: String,
    pub(crate) status: String,
    pub(crate) level: Level,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) since: Option<Moment>,
}

/// The page of a MachinePool.
pub(crate) fn pool(pool: &Value, scene: &Scene, points: &[Point], all: bool) -> PoolPage {
    let belongings = Belongings::of(scene);
    let infra = belongings.infra(pool);
    let machines = belongings.machines(pool);
    let mut members = belongings.members(pool);
    let counts = Counts::of(pool, members.len());
    let zones = spread(pool, &members);
    let (namespace, name) = (
        object::namespace(pool).to_owned(),
        object::name(pool).to_owned(),
    );
    let changes = changes(pool, infra, counts, &members, scene.now);
    let has_machines = has_machines(infra, machines);
    let shortened = !all && members.len() > LISTED;
    let whole = shortened.then(|| All {
        members: members.len(),
        href: Place::Pool {
            namespace: namespace.clone(),
            name: name.clone(),
            all: true,
        }
        .path(),
    });
    if shortened {
        // What needs a look is never cut off.
        members.sort_by_key(|member| member.level);
        members.truncate(LISTED);
    }
    let about: Vec<&Value> = [Some(pool), infra].into_iter().flatten().collect();
    let mut conditions = rows("MachinePool", pool, scene.now);
    conditions.extend(
        infra
            .map(|infra| rows("TerraformMachinePool", infra, scene.now))
            .unwrap_or_default(),
    );
    PoolPage {
        href: Place::pool(&namespace, &name).path(),
        cluster: object::text(pool, "/spec/clusterName")
            .unwrap_or_default()
            .to_owned(),
        cloud: cloud_of(infra),
        version: object::text(pool, "/spec/template/spec/version").map(str::to_owned),
        counts,
        health: judge(pool, infra, counts, scene),
        paused: pause(pool, infra),
        deleting: object::is_deleting(pool),
        has_machines,
        count_owner: count_owner(pool),
        changes,
        lanes: lanes(&zones, members),
        zones,
        all: whole,
        plot: plot(points, scene.now),
        run: infra.and_then(|infra| run(infra, scene.now)),
        pending_plan: infra
            .and_then(|infra| object::text(infra, "/status/pendingPlanRef/name"))
            .map(str::to_owned),
        conditions,
        events: events(scene.events.objects(), &about, scene.now, EVENTS),
        doubts: scene.doubts(),
        namespace,
        name,
    }
}

fn lanes(zones: &Spread, members: Vec<Member>) -> Vec<Lane> {
    let mut lanes: Vec<Lane> = zones
        .zones
        .iter()
        .map(|zone| Lane {
            zone: zone.name.clone(),
            count: count(i64::try_from(zone.count).unwrap_or(i64::MAX), "machine"),
            members: Vec::new(),
        })
        .collect();
    for member in members {
        let zone = member.zone.as_deref().unwrap_or(NOWHERE);
        if let Some(lane) = lanes.iter_mut().find(|lane| lane.zone == zone) {
            lane.members.push(member);
        }
    }
    lanes
}

/// Whether Machines stand for the members of a pool.
pub(crate) fn has_machines(infra: Option<&Value>, machines: &[&Value]) -> bool {
    let published =
        infra.and_then(|infra| object::text(infra, "/status/infrastructureMachineKind"));
    published.is_some() || !machines.is_empty()
}

/// Who else sets the count: a person's number would not last.
pub(crate) fn count_owner(pool: &Value) -> Option<String> {
    match object::annotation(pool, annotation::REPLICAS_MANAGED_BY)? {
        "false" => None,
        "" => Some("an autoscaler".to_owned()),
        annotation::REPLICAS_MANAGED_BY_CAPTF => Some("the cloud's autoscaler".to_owned()),
        owner => Some(owner.to_owned()),
    }
}

fn changes(
    pool: &Value,
    infra: Option<&Value>,
    counts: Counts,
    members: &[Member],
    now: Timestamp,
) -> Vec<Change> {
    let mut changes: Vec<Change> = counted(pool, counts, now).into_iter().collect();
    changes.extend(infra.into_iter().flat_map(|infra| of_infra(infra, now)));
    for kind in ["RollingOut", "Remediating"] {
        if let Some(condition) = object::condition(pool, kind).filter(object::Condition::holds) {
            changes.push(Change {
                level: Level::Busy,
                what: format!("{}.", spaced(kind)),
                because: Some(sentence(condition.message)).filter(|said| !said.is_empty()),
                since: condition.since.map(|since| Moment::new(since, now)),
            });
        }
    }
    changes.extend(of_members(members));
    changes
}

fn counted(pool: &Value, counts: Counts, now: Timestamp) -> Option<Change> {
    let wanted = counts.wanted?;
    let (what, kind) = match counts.have.cmp(&wanted) {
        Ordering::Less => (
            format!(
                "{} to come: {wanted} wanted, {} there.",
                count(wanted - counts.have, "machine"),
                counts.have
            ),
            "ScalingUp",
        ),
        Ordering::Greater => (
            format!(
                "{} to go: {wanted} wanted, {} there.",
                count(counts.have - wanted, "machine"),
                counts.have
            ),
            "ScalingDown",
        ),
        Ordering::Equal => return None,
    };
    let condition = object::condition(pool, kind).filter(object::Condition::holds);
    Some(Change {
        level: Level::Busy,
        what,
        because: condition
            .map(|c| sentence(c.message))
            .filter(|said| !said.is_empty()),
        since: condition
            .and_then(|c| c.since)
            .map(|since| Moment::new(since, now)),
    })
}

fn of_infra(infra: &Value, now: Timestamp) -> Vec<Change> {
    const TELLING: [(&str, &str, Level, &str); 3] = [
        (
            "InputsApplied",
            "False",
            Level::Busy,
            "The current inputs are not applied yet.",
        ),
        (
            "DriftDetected",
            "True",
            Level::Warn,
            "The cloud differs from the inputs.",
        ),
        (
            "InfrastructureHealthy",
            "False",
            Level::Warn,
            "The group is not healthy.",
        ),
    ];
    let mut changes = Vec::new();
    if let Some(operation) = object::text(infra, "/status/activeJob/operation") {
        let attempt =
            object::int(infra, "/status/activeJob/attempt").filter(|attempt| *attempt > 1);
        let again = attempt.map_or(String::new(), |attempt| format!(", attempt {attempt}"));
        changes.push(Change {
            level: Level::Busy,
            what: format!("An operation is running: {operation}{again}."),
            because: None,
            since: object::time(infra, "/status/activeJob/startTime")
                .map(|at| Moment::new(at, now)),
        });
    }
    for (kind, status, level, what) in TELLING {
        let Some(condition) = object::condition(infra, kind).filter(|c| c.status == status) else {
            continue;
        };
        let level = if condition.reason.ends_with("Failed") {
            Level::Bad
        } else {
            level
        };
        let because = match condition.message {
            "" => sentence(&spaced(condition.reason)),
            message => sentence(message),
        };
        changes.push(Change {
            level,
            what: what.to_owned(),
            because: Some(because),
            since: condition.since.map(|since| Moment::new(since, now)),
        });
    }
    changes
}

/// One line for each sort of state that is not good.
fn of_members(members: &[Member]) -> Vec<Change> {
    const NAMED: usize = 3;
    let mut states: Vec<(Level, &str, Vec<&Member>)> = Vec::new();
    for member in members.iter().filter(|member| member.level != Level::Good) {
        match states.iter_mut().find(|(_, word, _)| *word == member.word) {
            Some((_, _, of)) => of.push(member),
            None => states.push((member.level, &member.word, vec![member])),
        }
    }
    states.sort_by_key(|(level, _, _)| *level);
    let lines = states.into_iter().map(|(level, word, of)| {
        let number = i64::try_from(of.len()).unwrap_or(i64::MAX);
        let names: Vec<&str> = of
            .iter()
            .take(NAMED)
            .map(|member| member.name.as_str())
            .collect();
        let more = of.len() - names.len();
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        Change {
            level,
            what: format!(
                "{} {}: {}{more}.",
                count(number, "machine"),
                match word {
                    "Unknown" => format!("{} in an unknown state", is_are(number)),
                    word => format!("{} {}", is_are(number), word.to_lowercase()),
                },
                names.join(", ")
            ),
            because: of
                .iter()
                .find_map(|member| member.says.as_deref())
                .map(sentence),
            since: None,
        }
    });
    lines.collect()
}

fn run(infra: &Value, now: Timestamp) -> Option<Run> {
    let run = infra.pointer("/status/lastRun")?;
    let steps = object::list(run, "/steps").iter().map(|step| RunStep {
        name: object::text(step, "/name").unwrap_or("unnamed").to_owned(),
        ok: object::int(step, "/exitCode") == Some(0),
        took: object::int(step, "/durationMilliseconds").map(took),
    });
    let error = run.get("error").map(failure);
    let moment = |pointer| object::time(infra, pointer).map(|at| Moment::new(at, now));
    Some(Run {
        operation: sentence(object::text(run, "/operation").unwrap_or("operation"))
            .trim_end_matches('.')
            .to_owned(),
        job: object::text(run, "/job").unwrap_or_default().to_owned(),
        steps: steps.collect(),
        error,
        resources: object::list(run, "/error/resources")
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        drift: run.get("drift").map(drift),
        refreshed: moment("/status/lastRefresh"),
        checked_for_drift: moment("/status/lastDriftCheck"),
    })
}

/// Why an operation failed.
fn failure(error: &Value) -> String {
    let kind = object::text(error, "/kind").unwrap_or_default();
    let step = object::text(error, "/step").unwrap_or("unnamed");
    let what = match kind {
        "step" => format!("The step {step} failed"),
        "image-layout" => "The image does not hold what it must".to_owned(),
        "interrupted" => "It was interrupted".to_owned(),
        "blocked" => "It would destroy something and was held back".to_owned(),
        "plan-changed" => "It was no longer what had been approved".to_owned(),
        _ => "It failed".to_owned(),
    };
    match object::text(error, "/summary") {
        Some(summary) => format!("{what}: {summary}"),
        None => format!("{what}."),
    }
}

fn took(milliseconds: i64) -> String {
    match milliseconds {
        ..1 => "under 1 ms".to_owned(),
        1..1_000 => format!("{milliseconds} ms"),
        _ => format!("{}.{} s", milliseconds / 1_000, milliseconds % 1_000 / 100),
    }
}

fn drift(found: &Value) -> String {
    const SORTS: [(&str, &str); 4] = [
        ("/create", "to create"),
        ("/update", "to change"),
        ("/replace", "to replace"),
        ("/delete", "to delete"),
    ];
    let counts = SORTS.iter().filter_map(|(pointer, what)| {
        let number = object::int(found, pointer).filter(|number| *number > 0)?;
        Some(format!("{number} {what}"))
    });
    let counts: Vec<String> = counts.collect();
    let names: Vec<&str> = object::list(found, "/resources")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    match (counts.is_empty(), names.is_empty()) {
        (true, true) => "nothing".to_owned(),
        (_, true) => counts.join(", "),
        (_, false) => format!("{} ({})", counts.join(", "), names.join(", ")),
    }
}

/// Conditions of which "False" is good.
const NEGATIVE: [&str; 9] = [
    "Deleting",
    "Paused",
    "DriftDetected",
    "Remediating",
    "RollingOut",
    "ScalingDown",
    "ScalingUp",
    "Updating",
    "AutoscalingActive",
];

/// Every condition of an object.
pub(crate) fn rows(of: &'static str, object: &Value, now: Timestamp) -> Vec<ConditionRow> {
    let rows = object::conditions(object).map(|condition| {
        let negative = NEGATIVE.contains(&condition.kind);
        let level = match (condition.status, negative) {
            ("True", false) | ("False", true) => Level::Good,
            ("True", true) => Level::Busy,
            ("False", false) => Level::Warn,
            _ => Level::Unknown,
        };
        ConditionRow {
            of,
            kind: condition.kind.to_owned(),
            status: condition.status.to_owned(),
            level,
            reason: condition.reason.to_owned(),
            message: condition.message.to_owned(),
            since: condition.since.map(|since| Moment::new(since, now)),
        }
    });
    rows.collect()
}

#[cfg(test)]
mod tests;
