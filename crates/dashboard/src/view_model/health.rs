//! How a pool is, in words.

use jiff::Timestamp;
use remuda_api::keys::annotation;
use serde::Serialize;
use serde_json::Value;

use super::{
    Level, Scene,
    words::{count, is_are, sentence, spaced},
};
use crate::object::{self, Condition};

/// Something that goes on by itself for longer than this deserves a look.
const LONG: i64 = 15 * 60;

/// What feeds `Ready` of a TerraformMachinePool, in the order in which a pool gets ready.
const STEPS: [&str; 6] = [
    "DependenciesReady",
    "IdentityAllowed",
    "StateReadable",
    "ApplyJobSucceeded",
    "OutputsValid",
    "InfrastructureHealthy",
];

/// Reasons of a step that is not reached yet, beside those that begin with `Waiting`.
const NOT_YET: [&str; 6] = [
    "NoApplyYet",
    "Provisioning",
    "InstancePending",
    "MirrorPending",
    "OutputsMissing",
    "OutputsPending",
];

/// A verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Health {
    pub(crate) level: Level,
    /// One or two words.
    pub(crate) word: String,
    /// A sentence.
    pub(crate) says: String,
}

impl Health {
    fn new(level: Level, word: &str, says: impl Into<String>) -> Self {
        Self {
            level,
            word: word.to_owned(),
            says: says.into(),
        }
    }
}

/// How many machines of a pool are wanted, there, and ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    /// `None` when nobody asked for a number.
    pub(crate) wanted: Option<i64>,
    pub(crate) have: i64,
    pub(crate) ready: i64,
    /// `None` when the pool does not say.
    pub(crate) up_to_date: Option<i64>,
}

impl Counts {
    /// From a MachinePool and how many members are seen.
    pub(crate) fn of(pool: &Value, members: usize) -> Self {
        let members = i64::try_from(members).unwrap_or(i64::MAX);
        Self {
            wanted: object::int(pool, "/spec/replicas"),
            have: members,
            ready: object::int(pool, "/status/readyReplicas").unwrap_or(0),
            up_to_date: object::int(pool, "/status/upToDateReplicas"),
        }
    }

    /// Everything wanted is there and ready, and nothing else.
    pub(crate) fn settled(self) -> bool {
        let wanted = self.wanted.unwrap_or(self.have);
        self.have == wanted && self.ready == wanted
    }
}

/// The first thing that is to be said of a pool, the gravest before the rest.
pub(crate) fn judge(pool: &Value, infra: Option<&Value>, counts: Counts, scene: &Scene) -> Health {
    deleting(pool)
        .or_else(|| paused(pool, infra))
        .or_else(|| lacking(pool, infra, scene))
        .or_else(|| infra.and_then(|infra| failing(infra, scene.now)))
        .or_else(|| unseen(pool))
        .or_else(|| unready_infrastructure(pool, infra))
        .or_else(|| changing(pool, counts, scene.now))
        .or_else(|| infra.and_then(drifted))
        .unwrap_or_else(|| good(counts))
}

fn deleting(pool: &Value) -> Option<Health> {
    object::is_deleting(pool).then(|| {
        let message = object::condition(pool, "Deleting").map_or("", |c| c.message);
        let says = match message {
            "" => "Its machines are being removed.".to_owned(),
            message => sentence(message),
        };
        Health::new(Level::Busy, "Being deleted", says)
    })
}

/// Whether somebody paused a pool, and with which words it says so.
pub(crate) fn pause(pool: &Value, infra: Option<&Value>) -> Option<String> {
    let objects = [Some(pool), infra];
    let mut objects = objects.into_iter().flatten();
    let by_condition = objects.clone().find_map(|object| {
        let paused = object::condition(object, "Paused").filter(Condition::holds)?;
        Some(paused.message.to_owned()).filter(|message| !message.is_empty())
    });
    let by_annotation =
        objects.any(|object| object::annotation(object, annotation::PAUSED).is_some());
    by_condition.or_else(|| by_annotation.then(|| "the annotation is set".to_owned()))
}

fn paused(pool: &Value, infra: Option<&Value>) -> Option<Health> {
    let why = pause(pool, infra)?;
    let says = format!("Nothing changes until it is resumed: {why}.");
    Some(Health::new(Level::Paused, "Paused", says))
}

/// The infrastructure object is not there, or cannot be seen.
fn lacking(pool: &Value, infra: Option<&Value>, scene: &Scene) -> Option<Health> {
    const REFERENCE: &str = "/spec/template/spec/infrastructureRef";
    let kind = object::text(pool, &format!("{REFERENCE}/kind"))?;
    let name = object::text(pool, &format!("{REFERENCE}/name"))?;
    if infra.is_some() || kind != "TerraformMachinePool" {
        return None;
    }
    Some(match scene.infra.doubt() {
        Some(why) => Health::new(
            Level::Unknown,
            "Not readable",
            format!(
                "{kind} {name} cannot be read: {}.",
                why.trim_end_matches('.')
            ),
        ),
        None => Health::new(
            Level::Bad,
            "Incomplete",
            format!("{kind} {name}, which would describe its machines, does not exist."),
        ),
    })
}

/// The first step towards `Ready` that is not good.
fn failing(infra: &Value, now: Timestamp) -> Option<Health> {
    let step = STEPS.iter().find_map(|kind| {
        object::condition(infra, kind)
            .filter(|c| c.fails() || (c.status == "Unknown" && *kind == "InfrastructureHealthy"))
    })?;
    let says = match step.message {
        "" => sentence(&spaced(step.reason)),
        message => sentence(message),
    };
    let waits = step.reason.starts_with("Waiting") || NOT_YET.contains(&step.reason);
    let level = match (waits, step.status) {
        (true, _) if is_long(step.since, now) => Level::Warn,
        (true, _) => Level::Busy,
        (false, "Unknown") => Level::Unknown,
        (false, _) => Level::Bad,
    };
    Some(Health::new(level, &spaced(step.reason), says))
}

fn unseen(pool: &Value) -> Option<Health> {
    let seen = pool.get("status").and_then(Value::as_object);
    seen.is_none_or(serde_json::Map::is_empty).then(|| {
        let says = "No controller has looked at it yet.";
        Health::new(Level::Unknown, "Not looked at", says)
    })
}

/// For infrastructure of kinds this program does not read.
fn unready_infrastructure(pool: &Value, infra: Option<&Value>) -> Option<Health> {
    if infra.is_some() {
        return None;
    }
    let ready = object::condition(pool, "InfrastructureReady").filter(Condition::fails)?;
    let says = match ready.message {
        "" => sentence(&spaced(ready.reason)),
        message => sentence(message),
    };
    Some(Health::new(Level::Bad, "Infrastructure not ready", says))
}

fn changing(pool: &Value, counts: Counts, now: Timestamp) -> Option<Health> {
    if counts.settled() {
        let rolling = object::condition(pool, "RollingOut").filter(Condition::holds)?;
        let fresh = counts.up_to_date.unwrap_or(0);
        let says = format!(
            "{fresh} of {} on the newest model.",
            count(counts.have, "machine")
        );
        return Some(timed(rolling.since, now, "Rolling", says));
    }
    let (have, ready) = (counts.have, counts.ready);
    let wanted = counts.wanted.unwrap_or(have);
    if have < wanted {
        let says = format!(
            "{have} of {} {} there; {} to come.",
            count(wanted, "machine"),
            is_are(have),
            wanted - have
        );
        return Some(timed(since(pool, "ScalingUp"), now, "Growing", says));
    }
    if have > wanted {
        let says = format!(
            "{} of {} {} to go.",
            have - wanted,
            count(have, "machine"),
            is_are(have - wanted)
        );
        return Some(timed(since(pool, "ScalingDown"), now, "Shrinking", says));
    }
    let late = since(pool, "Available").or_else(|| since(pool, "MachinesReady"));
    let says = format!("{ready} of {} ready.", count(wanted, "machine"));
    Some(timed(late, now, "Getting ready", says))
}

fn timed(since: Option<Timestamp>, now: Timestamp, word: &str, says: String) -> Health {
    if is_long(since, now) {
        let says = format!("{says} It has been so for longer than a quarter of an hour.");
        return Health::new(Level::Warn, word, says);
    }
    Health::new(Level::Busy, word, says)
}

fn since(pool: &Value, kind: &str) -> Option<Timestamp> {
    object::condition(pool, kind)?.since
}

fn is_long(since: Option<Timestamp>, now: Timestamp) -> bool {
    since.is_some_and(|since| now.duration_since(since).as_secs() > LONG)
}

fn drifted(infra: &Value) -> Option<Health> {
    let drift = object::condition(infra, "DriftDetected").filter(Condition::holds)?;
    Some(Health::new(Level::Warn, "Drifted", sentence(drift.message)))
}

fn good(counts: Counts) -> Health {
    if counts.have == 0 {
        return Health::new(
            Level::Good,
            "Empty",
            "No machine is wanted and there is none.",
        );
    }
    let says = match counts.have {
        1 => "Its machine is ready.".to_owned(),
        many => format!("All {many} machines are ready."),
    };
    Health::new(Level::Good, "Healthy", says)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Known, fixtures};
    use super::*;

    struct Row {
        what: &'static str,
        pool: Value,
        infra: Option<Value>,
        level: Level,
        word: &'static str,
    }

    fn row(what: &'static str, level: Level, word: &'static str) -> Row {
        Row {
            what,
            pool: fixtures::pool("web", 3, 3),
            infra: Some(fixtures::infra("web", 3)),
            level,
            word,
        }
    }

    fn rows() -> Vec<Row> {
        let mut rows = vec![row("all is well", Level::Good, "Healthy")];
        let mut empty = row("no machine is wanted", Level::Good, "Empty");
        empty.pool = fixtures::pool("web", 0, 0);
        empty.infra = Some(fixtures::infra("web", 0));
        rows.push(empty);
        let mut grows = row("more are wanted", Level::Busy, "Growing");
        grows.pool["spec"]["replicas"] = json!(5);
        rows.push(grows);
        let mut stuck = row("more are wanted for long", Level::Warn, "Growing");
        stuck.pool["spec"]["replicas"] = json!(5);
        fixtures::set(&mut stuck.pool, "ScalingUp", "True", "ScalingUp", "", 2_000);
        rows.push(stuck);
        let mut shrinks = row("fewer are wanted", Level::Busy, "Shrinking");
        shrinks.pool["spec"]["replicas"] = json!(1);
        rows.push(shrinks);
        let mut joins = row("a node is missing", Level::Busy, "Getting ready");
        joins.pool["status"]["readyReplicas"] = json!(2);
        rows.push(joins);
        let mut rolls = row("a roll", Level::Busy, "Rolling");
        fixtures::set(&mut rolls.pool, "RollingOut", "True", "RollingOut", "", 10);
        rows.push(rolls);
        let mut paused = row("paused by annotation", Level::Paused, "Paused");
        paused.pool["metadata"]["annotations"] = json!({ annotation::PAUSED: "" });
        rows.push(paused);
        let mut deleted = row("being deleted", Level::Busy, "Being deleted");
        deleted.pool["metadata"]["deletionTimestamp"] = json!("2026-10-01T08:00:00Z");
        rows.push(deleted);
        let mut refused = row(
            "the identity is refused",
            Level::Bad,
            "Namespace not allowed",
        );
        let infra = refused.infra.as_mut().unwrap();
        fixtures::set(
            infra,
            "IdentityAllowed",
            "False",
            "NamespaceNotAllowed",
            "no",
            5,
        );
        rows.push(refused);
        let mut waits = row("a dependency", Level::Busy, "Waiting for bootstrap data");
        let infra = waits.infra.as_mut().unwrap();
        fixtures::set(
            infra,
            "DependenciesReady",
            "False",
            "WaitingForBootstrapData",
            "",
            5,
        );
        rows.push(waits);
        let mut drifts = row("drift", Level::Warn, "Drifted");
        let infra = drifts.infra.as_mut().unwrap();
        fixtures::set(
            infra,
            "DriftDetected",
            "True",
            "DriftReported",
            "1 to change",
            5,
        );
        rows.push(drifts);
        let mut alone = row("no infrastructure object", Level::Bad, "Incomplete");
        alone.infra = None;
        rows.push(alone);
        let mut new = row("no status", Level::Unknown, "Not looked at");
        new.pool.as_object_mut().unwrap().remove("status");
        rows.push(new);
        let mut foreign = row(
            "another kind of infrastructure",
            Level::Bad,
            "Infrastructure not ready",
        );
        foreign.infra = None;
        foreign.pool["spec"]["template"]["spec"]["infrastructureRef"]["kind"] = json!("Other");
        fixtures::set(
            &mut foreign.pool,
            "InfrastructureReady",
            "False",
            "NotReady",
            "",
            5,
        );
        rows.push(foreign);
        rows
    }

    #[test]
    fn verdicts() {
        let scene = fixtures::scene();
        for row in rows() {
            let members = row
                .infra
                .as_ref()
                .map_or(3, |infra| object::list(infra, "/spec/providerIDList").len());
            let counts = Counts::of(&row.pool, members);
            let health = judge(&row.pool, row.infra.as_ref(), counts, &scene);
            assert_eq!(
                (health.level, health.word.as_str()),
                (row.level, row.word),
                "{}",
                row.what
            );
            assert!(health.says.ends_with('.'), "{}: {}", row.what, health.says);
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_missing() {
        let mut scene = fixtures::scene();
        scene.infra = Known::Unknown("forbidden".into());
        let pool = fixtures::pool("web", 3, 3);
        let health = judge(&pool, None, Counts::of(&pool, 3), &scene);
        assert_eq!(health.level, Level::Unknown);
        assert!(health.says.contains("forbidden"), "{}", health.says);
    }

    #[test]
    fn an_object_with_nothing_in_it_has_a_verdict() {
        let pool = json!({});
        let health = judge(&pool, None, Counts::of(&pool, 0), &fixtures::scene());
        assert_eq!(health.level, Level::Unknown);
    }
}
