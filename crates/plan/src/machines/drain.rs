//! The drain of a Node: which Pods stay, which are evicted now, which come later, and how far it
//! is (Cluster API document, 5.4). It is the only drain there is: the Machine controller carries
//! it out, `remuda machine delete --dry-run` prints it.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::{
    drain_rule::{Behavior, DrainRule},
    pod::{Pod, PodName},
};

/// On a Pod: how the drain treats it, in any case.
const DRAIN_LABEL: &str = "cluster.x-k8s.io/drain";
/// A Pod of a Node that no longer answers gets this long, and counts as gone this long after its
/// deadline (Cluster API document, DR2).
const UNREACHABLE_GRACE_SECONDS: u32 = 1;

/// Labels by key.
pub type Labels = BTreeMap<String, String>;

/// Whether an object of the workload cluster is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// It is.
    Yes,
    /// It is proven absent.
    No,
    /// Nobody knows: why.
    Unknown(String),
}

/// What the drain of one Node looks at.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// Every Pod that is bound to the Node.
    pub pods: &'a [Pod],
    /// DaemonSets that Pods name as their controller, by (namespace, name).
    pub daemon_sets: &'a BTreeMap<(String, String), Found>,
    /// Labels of namespaces; only asked when a rule selects by them.
    pub namespaces: &'a BTreeMap<String, Labels>,
    /// The drain rules of the Machine's namespace.
    pub rules: &'a [DrainRule],
    /// Labels of the Machine.
    pub machine: &'a Labels,
    /// Labels of its Cluster.
    pub cluster: &'a Labels,
    /// The Node's kubelet has not been heard of: its Pods can't be ended properly.
    pub unreachable: bool,
    /// The time.
    pub now: Timestamp,
}

/// What happens to one Pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// It is evicted when its turn comes; lower goes first.
    Drain {
        /// Its turn.
        order: i32,
    },
    /// It stays, and nothing waits for it.
    Skip,
    /// It ends by itself, and the drain waits for that.
    WaitCompleted,
}

/// What is lost or odd about a Pod that is evicted all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Caution {
    /// Its DaemonSet does not exist any more.
    DaemonSetMissing,
    /// It keeps data on the Node.
    ScratchData,
    /// Nothing makes it anew.
    NoController,
}

/// One Pod and its fate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fate<'a> {
    /// The Pod.
    pub pod: &'a Pod,
    /// What happens to it.
    pub treatment: Treatment,
    /// What to know about it, in order.
    pub cautions: Vec<Caution>,
}

/// What a drain does now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DrainPlan {
    /// Evicted now, by namespace and name, with the UIDs that are meant.
    pub evict: Vec<(PodName, String)>,
    /// Grace for those evicted; `None`: their own.
    pub grace_seconds: Option<u32>,
    /// Already being deleted.
    pub terminating: Vec<PodName>,
    /// Waited for until they end by themselves.
    pub awaited: Vec<PodName>,
    /// Evicted or waited for when those before them are gone.
    pub later: Vec<PodName>,
    /// They stay.
    pub skipped: Vec<PodName>,
    /// Claims of Pods that stay, by (namespace, name): their volumes stay attached.
    pub kept_claims: Vec<(String, String)>,
}

impl DrainPlan {
    /// Nothing is left to evict or to wait for.
    pub fn is_done(&self) -> bool {
        self.evict.is_empty()
            && self.terminating.is_empty()
            && self.awaited.is_empty()
            && self.later.is_empty()
    }
}

/// The fate of every Pod, sorted by namespace and name.
///
/// # Errors
/// Something could not be read, or a rule's selector is invalid: then nothing is evicted at all.
pub fn fates<'a>(scene: &Scene<'a>) -> Result<Vec<Fate<'a>>, String> {
    for rule in scene.rules {
        rule.check()?;
    }
    let mut rules: Vec<&DrainRule> = scene
        .rules
        .iter()
        .filter(|rule| rule.is_for_machine(scene.machine, scene.cluster))
        .collect();
    rules.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    let mut pods: Vec<&Pod> = scene.pods.iter().collect();
    pods.sort_by(|a, b| a.name.cmp(&b.name));
    pods.into_iter()
        .map(|pod| fate(pod, &rules, scene))
        .collect()
}

/// What to do now.
///
/// # Errors
/// As [`fates`].
pub fn plan(scene: &Scene<'_>) -> Result<DrainPlan, String> {
    let fates = fates(scene)?;
    let turn = fates.iter().filter_map(|fate| order(fate.treatment)).min();
    let mut plan = DrainPlan {
        grace_seconds: scene.unreachable.then_some(UNREACHABLE_GRACE_SECONDS),
        ..DrainPlan::default()
    };
    for Fate { pod, treatment, .. } in fates {
        let name = pod.name.clone();
        match treatment {
            Treatment::Skip => {
                let namespace = &pod.name.namespace;
                let claims = pod.claims.iter();
                plan.kept_claims
                    .extend(claims.map(|claim| (namespace.clone(), claim.clone())));
                plan.skipped.push(name);
            }
            _ if order(treatment) != turn => plan.later.push(name),
            Treatment::Drain { .. } if pod.deleted_at.is_some() => plan.terminating.push(name),
            Treatment::Drain { .. } => plan.evict.push((name, pod.uid.clone())),
            Treatment::WaitCompleted => plan.awaited.push(name),
        }
    }
    Ok(plan)
}

fn order(treatment: Treatment) -> Option<i32> {
    match treatment {
        Treatment::Drain { order } => Some(order),
        Treatment::WaitCompleted => Some(0),
        Treatment::Skip => None,
    }
}

fn fate<'a>(pod: &'a Pod, rules: &[&DrainRule], scene: &Scene<'_>) -> Result<Fate<'a>, String> {
    let mut cautions = Vec::new();
    let treatment = treatment(pod, rules, scene, &mut cautions)?;
    if !matches!(treatment, Treatment::Drain { .. }) {
        cautions.clear();
    }
    Ok(Fate {
        pod,
        treatment,
        cautions,
    })
}

/// The filters in their order; the first verdict that is not Drain stands, and an error ends it.
fn treatment(
    pod: &Pod,
    rules: &[&DrainRule],
    scene: &Scene<'_>,
    cautions: &mut Vec<Caution>,
) -> Result<Treatment, String> {
    if scene.unreachable && is_overdue(pod, scene.now) {
        return Ok(Treatment::Skip);
    }
    if let Some((kind, name)) = &pod.controller
        && kind == "DaemonSet"
        && !pod.finished
    {
        let id = (pod.name.namespace.clone(), name.clone());
        match scene.daemon_sets.get(&id) {
            Some(Found::Yes) => return Ok(Treatment::Skip),
            Some(Found::No) => cautions.push(Caution::DaemonSetMissing),
            Some(Found::Unknown(why)) => return Err(unread(&pod.name, "DaemonSet", why)),
            None => return Err(unread(&pod.name, "DaemonSet", "it was not asked for")),
        }
    }
    if pod.is_static {
        return Ok(Treatment::Skip);
    }
    if pod.has_scratch_data && !pod.finished {
        cautions.push(Caution::ScratchData);
    }
    if pod.controller.is_none() && !pod.finished {
        cautions.push(Caution::NoController);
    }
    if let Some(value) = pod.labels.get(DRAIN_LABEL) {
        if value.eq_ignore_ascii_case("skip") {
            return Ok(Treatment::Skip);
        }
        if value.eq_ignore_ascii_case("wait-completed") {
            return Ok(waiting_for(pod));
        }
    }
    by_rules(pod, rules, scene)
}

fn by_rules(pod: &Pod, rules: &[&DrainRule], scene: &Scene<'_>) -> Result<Treatment, String> {
    for rule in rules {
        let namespace = scene.namespaces.get(&pod.name.namespace);
        if rule.is_for_pod(pod, namespace)? {
            return Ok(match rule.spec.drain.behavior {
                Behavior::Drain => Treatment::Drain {
                    order: rule.spec.drain.order.unwrap_or(0),
                },
                Behavior::Skip => Treatment::Skip,
                Behavior::WaitCompleted => waiting_for(pod),
            });
        }
    }
    Ok(Treatment::Drain { order: 0 })
}

/// One that has ended is not waited for, although the object remains.
fn waiting_for(pod: &Pod) -> Treatment {
    if pod.finished {
        Treatment::Skip
    } else {
        Treatment::WaitCompleted
    }
}

fn is_overdue(pod: &Pod, now: Timestamp) -> bool {
    let grace = SignedDuration::from_secs(i64::from(UNREACHABLE_GRACE_SECONDS));
    pod.deleted_at
        .is_some_and(|at| now.duration_since(at) > grace)
}

fn unread(pod: &PodName, what: &str, why: &str) -> String {
    format!("the {what} of Pod {pod} could not be read: {why}")
}
