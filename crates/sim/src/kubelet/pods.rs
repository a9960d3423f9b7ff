//! Pods on simulated nodes: the kubelet's part of a pod's life.
//!
//! In: the pods of a cluster, and which nodes' machines run. Out: pods that report Running and
//! Ready, and the confirmation that a deleted one has stopped, within the time it was given. Nobody
//! speaks for the pods of a machine that does not run.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::Router;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::{
    sync::mpsc,
    task::{AbortHandle, JoinSet},
};

use super::{
    Nodes,
    host::{Hosts, Place},
};
use crate::cluster::client::{self, Seen, text};

/// How long a pod takes to be Ready once its node knows of it. Ours.
const START: Duration = Duration::from_secs(2);
/// How long a pod takes to stop, unless it says otherwise. Ours.
const STOP: Duration = Duration::from_secs(3);
/// Seconds that a pod takes to stop, as an annotation on it.
const STOP_SECONDS: &str = "sim.remuda.dev/stop-seconds";
/// Pause before a request that was not answered as it should is sent again.
const AGAIN: Duration = Duration::from_secs(5);

/// The nodes of a cluster that have joined, with their machines.
#[derive(Default)]
pub(super) struct Joined {
    clusters: Mutex<HashMap<String, Members>>,
}

#[derive(Default)]
struct Members {
    machines: HashMap<String, (Place, Arc<str>)>,
    /// Hears of nodes that join.
    news: Option<mpsc::UnboundedSender<String>>,
}

impl Joined {
    fn of<T>(&self, cluster: &str, change: impl FnOnce(&mut Members) -> T) -> T {
        let mut clusters = self.clusters.lock().unwrap_or_else(PoisonError::into_inner);
        change(clusters.entry(cluster.to_owned()).or_default())
    }

    /// A node has joined. Whether nobody looks after its cluster's pods yet.
    pub(super) fn add(&self, cluster: &str, node: &str, machine: (Place, Arc<str>)) -> bool {
        self.of(cluster, |members| {
            members.machines.insert(node.to_owned(), machine);
            match &members.news {
                Some(news) => news.send(node.to_owned()).is_err(),
                None => true,
            }
        })
    }

    /// A node has left, if it still is that machine's.
    pub(super) fn remove(&self, cluster: &str, node: &str, id: &Arc<str>) {
        self.of(cluster, |members| {
            if members.machines.get(node).is_some_and(|(_, own)| own == id) {
                members.machines.remove(node);
            }
        });
    }

    fn machine(&self, cluster: &str, node: &str) -> Option<(Place, Arc<str>)> {
        self.of(cluster, |members| members.machines.get(node).cloned())
    }

    /// From now on nodes that join are told of; `None` when they are already.
    fn listen(&self, cluster: &str) -> Option<mpsc::UnboundedReceiver<String>> {
        self.of(cluster, |members| {
            if members.news.as_ref().is_some_and(|news| !news.is_closed()) {
                return None;
            }
            let (sender, news) = mpsc::unbounded_channel();
            members.news = Some(sender);
            Some(news)
        })
    }
}

/// What a kubelet has to do about a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Duty {
    /// Report it Ready.
    Start,
    /// Confirm its end after this time.
    Stop(Duration),
}

/// What is to be done about a pod, if anything.
fn duty(pod: &Value) -> Option<Duty> {
    if !text(pod, "/metadata/deletionTimestamp").is_empty() {
        let given = pod.pointer("/metadata/deletionGracePeriodSeconds");
        let given = given.and_then(Value::as_u64).unwrap_or(0);
        let own = pod
            .pointer("/metadata/annotations")
            .and_then(|all| all.get(STOP_SECONDS)?.as_str()?.parse().ok())
            .map_or(STOP, Duration::from_secs);
        return Some(Duty::Stop(own.min(Duration::from_secs(given))));
    }
    if matches!(text(pod, "/status/phase"), "Succeeded" | "Failed") || is_ready(pod) {
        return None;
    }
    Some(Duty::Start)
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    text(pod, "/status/phase") == "Running"
        && conditions
            .into_iter()
            .flatten()
            .any(|c| text(c, "/type") == "Ready" && text(c, "/status") == "True")
}

/// Pods of a node by namespace and name.
type Pods = BTreeMap<(String, String), Value>;

/// What is under way for the pods of a cluster.
struct Ward<H: Hosts> {
    nodes: Arc<Nodes<H>>,
    cluster: String,
    api: Router,
    by_node: HashMap<String, Pods>,
    duties: HashMap<String, (Duty, AbortHandle)>,
    tasks: JoinSet<()>,
}

impl<H: Hosts> Nodes<H> {
    /// Looks after the pods of a cluster's nodes for as long as it is polled.
    pub(super) async fn tend_pods(self: Arc<Self>, cluster: String) {
        let (Some(api), Some(mut joined)) = (self.api(&cluster), self.joined.listen(&cluster))
        else {
            return;
        };
        let (sender, mut seen) = mpsc::unbounded_channel();
        let mut ward = Ward {
            nodes: self,
            cluster,
            api: api.clone(),
            by_node: HashMap::new(),
            duties: HashMap::new(),
            tasks: JoinSet::new(),
        };
        let feed = client::follow(api, "/api/v1/pods", move |news| {
            let _ = sender.send(news);
        });
        let work = async {
            loop {
                tokio::select! {
                    Some(news) = seen.recv() => ward.take(news),
                    Some(node) = joined.recv() => ward.look_at(&node),
                    Some(_) = ward.tasks.join_next() => {}
                    else => return,
                }
            }
        };
        tokio::select! {
            () = feed => {}
            () = work => {}
        }
    }

    /// Whether the machine of a node runs.
    fn machine_runs(&self, cluster: &str, node: &str) -> bool {
        let machine = self.joined.machine(cluster, node);
        machine.is_some_and(|(place, id)| self.host.runs(place, &id))
    }

    /// Does what there is to do about a pod, if its machine still runs by then.
    async fn do_duty(&self, cluster: &str, api: &Router, pod: &Value, duty: Duty) {
        let immediate = self.host.clock().is_immediate();
        let wait = match duty {
            _ if immediate => Duration::ZERO,
            Duty::Start => START,
            Duty::Stop(after) => after,
        };
        self.host.clock().sleep(wait).await;
        let (namespace, name) = (
            text(pod, "/metadata/namespace"),
            text(pod, "/metadata/name"),
        );
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
        while self.machine_runs(cluster, text(pod, "/spec/nodeName")) {
            let reply = match duty {
                Duty::Start => {
                    let body = json!({ "status": running(pod, &self.now()) });
                    let path = format!("{path}/status");
                    self.send(api, Method::PATCH, &path, Some(&body)).await
                }
                Duty::Stop(_) => {
                    let uid = text(pod, "/metadata/uid");
                    let body = json!({
                        "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
                        "preconditions": { "uid": uid },
                    });
                    self.send(api, Method::DELETE, &path, Some(&body)).await
                }
            };
            let over = matches!(reply.status, StatusCode::NOT_FOUND | StatusCode::CONFLICT);
            if reply.is_success() || over {
                return;
            }
            tracing::debug!(pod = name, why = reply.why(), "a kubelet's request failed");
            self.host.clock().sleep(AGAIN).await;
        }
    }
}

impl<H: Hosts> Ward<H> {
    fn take(&mut self, news: Seen) {
        match news {
            Seen::All(pods) => {
                self.by_node.clear();
                for pod in pods {
                    self.note(pod);
                }
            }
            Seen::Changed(pod) => self.note(pod),
            Seen::Gone(pod) => {
                if let Some(pods) = self.by_node.get_mut(text(&pod, "/spec/nodeName")) {
                    pods.remove(&key(&pod));
                }
                if let Some((_, task)) = self.duties.remove(text(&pod, "/metadata/uid")) {
                    task.abort();
                }
            }
        }
    }

    fn note(&mut self, pod: Value) {
        let node = text(&pod, "/spec/nodeName").to_owned();
        if node.is_empty() {
            return;
        }
        self.see(&pod);
        self.by_node.entry(node).or_default().insert(key(&pod), pod);
    }

    /// A node has joined, or is back.
    fn look_at(&mut self, node: &str) {
        let pods: Vec<Value> = self
            .by_node
            .get(node)
            .into_iter()
            .flat_map(BTreeMap::values)
            .cloned()
            .collect();
        for pod in &pods {
            self.see(pod);
        }
    }

    /// Begins what there is to do about a pod, and ends what no longer is.
    fn see(&mut self, pod: &Value) {
        let uid = text(pod, "/metadata/uid").to_owned();
        let runs = self
            .nodes
            .machine_runs(&self.cluster, text(pod, "/spec/nodeName"));
        let duty = duty(pod).filter(|_| runs);
        let current = self.duties.get(&uid);
        let same =
            |(known, task): &(Duty, AbortHandle)| Some(*known) == duty && !task.is_finished();
        if current.is_some_and(same) {
            return;
        }
        if let Some((_, task)) = self.duties.remove(&uid) {
            task.abort();
        }
        let Some(duty) = duty else { return };
        let (nodes, cluster) = (self.nodes.clone(), self.cluster.clone());
        let (api, pod) = (self.api.clone(), pod.clone());
        let task = self.tasks.spawn(async move {
            nodes.do_duty(&cluster, &api, &pod, duty).await;
        });
        self.duties.insert(uid, (duty, task));
    }
}

fn key(pod: &Value) -> (String, String) {
    let of = |pointer| text(pod, pointer).to_owned();
    (of("/metadata/namespace"), of("/metadata/name"))
}

/// The status that a kubelet reports of a pod whose containers all run.
fn running(pod: &Value, now: &str) -> Value {
    let mut conditions: Vec<Value> = pod
        .pointer("/status/conditions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|condition| {
            !matches!(
                text(condition, "/type"),
                "Initialized" | "Ready" | "ContainersReady" | "PodReadyToStartContainers"
            )
        })
        .cloned()
        .collect();
    for kind in [
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
    ] {
        conditions.push(json!({
            "type": kind, "status": "True", "lastProbeTime": null, "lastTransitionTime": now,
        }));
    }
    let containers = pod.pointer("/spec/containers").and_then(Value::as_array);
    let statuses: Vec<Value> = containers
        .into_iter()
        .flatten()
        .map(|container| {
            json!({
                "name": text(container, "/name"), "image": text(container, "/image"),
                "imageID": "", "ready": true, "started": true, "restartCount": 0,
                "state": { "running": { "startedAt": now } },
            })
        })
        .collect();
    json!({
        "phase": "Running", "conditions": conditions, "containerStatuses": statuses,
        "startTime": now,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_stops_within_the_time_it_was_given() {
        let stopping = |grace: u64, own: Option<&str>| {
            let mut pod = json!({ "metadata": {
                "deletionTimestamp": "2026-10-01T08:00:30Z", "deletionGracePeriodSeconds": grace,
            } });
            if let Some(own) = own {
                pod["metadata"]["annotations"] = json!({ STOP_SECONDS: own });
            }
            duty(&pod)
        };
        let seconds = |seconds| Some(Duty::Stop(Duration::from_secs(seconds)));
        assert_eq!(stopping(30, None), seconds(3));
        assert_eq!(stopping(30, Some("20")), seconds(20));
        assert_eq!(stopping(30, Some("90")), seconds(30));
        assert_eq!(stopping(1, None), seconds(1));
        assert_eq!(stopping(30, Some("soon")), seconds(3));
    }

    #[test]
    fn what_is_ready_or_finished_is_left_alone() {
        let pod = |phase: &str, ready: &str| {
            json!({ "status": { "phase": phase, "conditions": [
                { "type": "Ready", "status": ready },
            ] } })
        };
        assert_eq!(duty(&pod("Pending", "False")), Some(Duty::Start));
        assert_eq!(duty(&pod("Running", "False")), Some(Duty::Start));
        assert_eq!(duty(&pod("Running", "True")), None);
        assert_eq!(duty(&pod("Succeeded", "False")), None);
    }
}
