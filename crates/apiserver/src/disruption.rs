//! Disruption budgets: whether one more pod of a selection may go.
//!
//! The part of Kubernetes' disruption controller is played here as well, so a budget's figures are
//! those of this moment, not of the controller's last turn. An eviction takes its permit from the
//! budget's own object: of two at once, one wins and the other counts again.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use crate::handlers::Writing;
use crate::instance::Instance;
use crate::object::{self, at, child_mut, text};
use crate::registry::set_condition;
use crate::request::selector::LabelSelector;
use crate::status_error::{Cause, Failure, Outcome};
use crate::store::Key;

/// The shelf of pods.
pub(crate) const PODS: &str = "pods";
/// The shelf of budgets.
pub(crate) const BUDGETS: &str = "poddisruptionbudgets.policy";
/// The shelf of ReplicaSets.
pub(crate) const REPLICA_SETS: &str = "replicasets.apps";
/// The shelf of Deployments.
pub(crate) const DEPLOYMENTS: &str = "deployments.apps";

/// How long an evicted pod counts as gone before its deletion is seen: Kubernetes' own bound.
const UNSEEN: SignedDuration = SignedDuration::from_mins(2);

/// Where a budget stands now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) expected: i64,
    pub(crate) healthy: i64,
    pub(crate) desired: i64,
    /// Evicted pods whose deletion is still to be seen, and since when.
    pub(crate) disrupted: Map<String, Value>,
}

impl Standing {
    pub(crate) fn allowed(&self) -> i64 {
        if self.expected == 0 {
            0
        } else {
            (self.healthy - self.desired).max(0)
        }
    }

    /// Writes the figures into a budget's status.
    pub(crate) fn write(&self, budget: &mut Value, now: &str) {
        let allowed = self.allowed();
        let (status, reason) = if allowed > 0 {
            ("True", "SufficientPods")
        } else {
            ("False", "InsufficientPods")
        };
        let generation = at(budget, &["metadata", "generation"]).cloned();
        let fields = child_mut(budget, "status");
        fields.insert("disruptionsAllowed".into(), allowed.into());
        fields.insert("currentHealthy".into(), self.healthy.into());
        fields.insert("desiredHealthy".into(), self.desired.into());
        fields.insert("expectedPods".into(), self.expected.into());
        fields.insert(
            "observedGeneration".into(),
            generation.unwrap_or(Value::Null),
        );
        if self.disrupted.is_empty() {
            fields.remove("disruptedPods");
        } else {
            fields.insert("disruptedPods".into(), self.disrupted.clone().into());
        }
        let condition = json!({
            "type": "DisruptionAllowed", "status": status, "reason": reason, "message": "",
            "lastTransitionTime": now,
        });
        set_condition(
            fields.entry("conditions").or_insert_with(|| json!([])),
            condition,
        );
    }
}

/// A pod that budgets have a say about.
pub(crate) struct Budgeted<'a> {
    pub(crate) pod: &'a Value,
    pub(crate) dry_run: bool,
}

/// Takes a permit from the pod's budget, or refuses the eviction.
pub(crate) async fn spend(instance: &Instance, asked: &Budgeted<'_>) -> Outcome<()> {
    let pod = asked.pod;
    let namespace = object::namespace(pod);
    let budgets: Vec<Value> = instance
        .space()
        .list(BUDGETS, Some(namespace))
        .records
        .iter()
        .map(|(_, record)| record.value())
        .filter(|budget| selector(budget).is_some_and(|selector| selects(&selector, pod)))
        .collect();
    if budgets.len() > 1 {
        return Err(Failure::internal(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does \
             not support.",
        ));
    }
    let served = instance.registry().by_shelf(BUDGETS);
    let (Some(budget), Some(served)) = (budgets.first(), served) else {
        return Ok(());
    };
    let key = Key {
        shelf: BUDGETS.into(),
        namespace: namespace.to_owned(),
        name: object::name(budget).to_owned(),
    };
    let writing = Writing {
        dry_run: asked.dry_run,
        ..Writing::own(instance, served, "status")
    };
    let taken = writing
        .update(&key, |budget| take(instance, budget, pod))
        .await;
    match taken {
        // The budget has gone meanwhile, and its say with it.
        Err(failure) if failure.code == 404 => Ok(()),
        taken => taken.map(drop),
    }
}

/// The budget after one more of its pods has gone.
fn take(instance: &Instance, budget: &Value, pod: &Value) -> Outcome<Value> {
    let mut standing = standing(instance, budget);
    let mut new = budget.clone();
    let now = instance.stamp();
    if is_spare(budget, &standing, pod) {
        return Ok(new);
    }
    if standing.allowed() == 0 {
        return Err(refusal(budget, &standing));
    }
    standing.healthy -= 1;
    standing
        .disrupted
        .insert(object::name(pod).to_owned(), now.as_str().into());
    standing.write(&mut new, &now);
    Ok(new)
}

/// Whether a pod counts for nothing, so that it may go without a permit.
fn is_spare(budget: &Value, standing: &Standing, pod: &Value) -> bool {
    if is_ready(pod) {
        return false;
    }
    let always = text(budget, &["spec", "unhealthyPodEvictionPolicy"]) == "AlwaysAllow";
    always || (standing.desired > 0 && standing.healthy >= standing.desired)
}

fn refusal(budget: &Value, standing: &Standing) -> Failure {
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    let cause = format!(
        "The disruption budget {} needs {} healthy pods and has {} currently",
        object::name(budget),
        standing.desired,
        standing.healthy
    );
    let failure = Failure::too_many_requests(message);
    failure.with_causes(&[Cause::new("DisruptionBudget", "", cause)])
}

fn selector(budget: &Value) -> Option<LabelSelector> {
    at(budget, &["spec", "selector"]).map(LabelSelector::from_object)
}

fn selects(selector: &LabelSelector, pod: &Value) -> bool {
    selector.matches(|key| at(pod, &["metadata", "labels", key]).and_then(Value::as_str))
}

fn is_ready(pod: &Value) -> bool {
    let list = at(pod, &["status", "conditions"]).and_then(Value::as_array);
    let ready = |c: &Value| text(c, &["type"]) == "Ready" && text(c, &["status"]) == "True";
    list.into_iter().flatten().any(ready)
}

/// Counts the pods of a budget.
pub(crate) fn standing(instance: &Instance, budget: &Value) -> Standing {
    let namespace = object::namespace(budget);
    let selector = selector(budget).unwrap_or_default();
    let pods: Vec<Value> = instance
        .space()
        .list(PODS, Some(namespace))
        .records
        .iter()
        .filter(|(_, record)| selector.matches(|key| record.label(key)))
        .map(|(_, record)| record.value())
        .filter(|pod| !matches!(text(pod, &["status", "phase"]), "Succeeded" | "Failed"))
        .collect();
    let disrupted = unseen(budget, &pods, instance.now());
    let healthy = pods
        .iter()
        .filter(|pod| !object::is_deleting(pod) && is_ready(pod))
        .filter(|pod| !disrupted.contains_key(object::name(pod)))
        .count();
    let there = count(&pods);
    let spec = |field: &str| at(budget, &["spec", field]).filter(|value| !value.is_null());
    let (expected, desired) = match (spec("minAvailable"), spec("maxUnavailable")) {
        (Some(least), _) if least.is_number() => (there, portion(least, there)),
        (Some(least), _) => {
            let wanted = wanted(instance, &pods);
            (wanted, portion(least, wanted))
        }
        (None, Some(most)) => {
            let wanted = wanted(instance, &pods);
            (wanted, (wanted - portion(most, wanted)).max(0))
        }
        (None, None) => (there, (there - 1).max(0)),
    };
    Standing {
        expected,
        healthy: i64::try_from(healthy).unwrap_or(i64::MAX),
        desired,
        disrupted,
    }
}

fn count(pods: &[Value]) -> i64 {
    i64::try_from(pods.len()).unwrap_or(i64::MAX)
}

/// The evicted pods whose deletion has not begun, as far as they are still expected to go.
fn unseen(budget: &Value, pods: &[Value], now: Timestamp) -> Map<String, Value> {
    let noted = at(budget, &["status", "disruptedPods"]).and_then(Value::as_object);
    let is_unseen = |name: &str, since: &Value| {
        let recent = since
            .as_str()
            .and_then(|since| since.parse::<Timestamp>().ok())
            .is_some_and(|since| now.duration_since(since) < UNSEEN);
        let there = |pod: &Value| object::name(pod) == name && !object::is_deleting(pod);
        recent && pods.iter().any(there)
    };
    noted
        .into_iter()
        .flatten()
        .filter(|(name, since)| is_unseen(name, since))
        .map(|(name, since)| (name.clone(), since.clone()))
        .collect()
}

/// How many pods there should be: as many as their controllers want, not as there happen to be. Of
/// pods whose controller has no number of its own, those that there are.
fn wanted(instance: &Instance, pods: &[Value]) -> i64 {
    let mut controllers: BTreeMap<String, i64> = BTreeMap::new();
    let mut own = 0;
    for pod in pods {
        match scale_of(instance, pod) {
            Some((uid, replicas)) => {
                controllers.insert(uid, replicas);
            }
            None => own += 1,
        }
    }
    controllers.into_values().sum::<i64>() + own
}

/// The controller that says how many of a pod there are: its uid, and the number.
fn scale_of(instance: &Instance, pod: &Value) -> Option<(String, i64)> {
    let namespace = object::namespace(pod);
    let set = controller(instance, namespace, pod, "ReplicaSet", REPLICA_SETS)?;
    let deployment = controller(instance, namespace, &set, "Deployment", DEPLOYMENTS);
    let scaled = deployment.unwrap_or(set);
    let replicas = at(&scaled, &["spec", "replicas"]).and_then(Value::as_i64);
    Some((object::uid(&scaled).to_owned(), replicas.unwrap_or(1)))
}

fn controller(
    instance: &Instance,
    namespace: &str,
    object: &Value,
    kind: &str,
    shelf: &str,
) -> Option<Value> {
    let owners = at(object, &["metadata", "ownerReferences"]).and_then(Value::as_array)?;
    let owner = owners.iter().find(|owner| {
        owner.get("controller") == Some(&Value::Bool(true)) && text(owner, &["kind"]) == kind
    })?;
    let key = Key {
        shelf: shelf.into(),
        namespace: namespace.to_owned(),
        name: text(owner, &["name"]).to_owned(),
    };
    let found = instance.latest(&key)?.value();
    (object::uid(&found) == text(owner, &["uid"])).then_some(found)
}

/// A number, or a percentage of the total, rounded up.
fn portion(value: &Value, total: i64) -> i64 {
    let percent = value.as_str().and_then(|text| text.strip_suffix('%'));
    match percent.and_then(|number| number.parse::<i64>().ok()) {
        Some(percent) => (total * percent + 99) / 100,
        None => value.as_i64().unwrap_or(0),
    }
}
