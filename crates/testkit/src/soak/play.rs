//! Makes a story happen to a world in virtual time, step by step, and looks at every step.

use std::{fmt::Write as _, time::Duration};

use http::Method;
use jiff::Timestamp;
use remuda_controllers::kinds::Kind;
use remuda_sim::{Effect, Fault};
use serde_json::{Value, json};

use super::{
    cloud::{Cloud, Place},
    guard::{DRAIN_TIMEOUT_SECONDS, Guard, Violations, all},
    picture::picture,
    rest::at_rest,
    story::{CHAPTER, Chapter, Happening, story},
};
use crate::{demo::NAMESPACE, expect::condition, tripwire::Tripwire, world::World};

/// Time between two looks.
const STEP: Duration = Duration::from_secs(10);
/// How long after its end a chapter may take to come to rest.
const PATIENCE: Duration = Duration::from_hours(1);
/// Name of the pods' Deployment and of their budget.
const BUDGET: &str = "app";
/// Where budgets live.
const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

/// What a run came to.
#[derive(Debug, Clone)]
pub struct Played {
    /// Where it was played.
    pub cloud: Cloud,
    /// Seed.
    pub seed: u64,
    /// Chapters that came to rest.
    pub chapters: usize,
    /// What happened, a line each.
    pub log: Vec<String>,
    /// What must not be, a line each; empty in a good run.
    pub violations: Vec<String>,
}

impl Played {
    /// The run was good.
    ///
    /// # Panics
    /// It was not; the message tells the story.
    pub fn assert_good(&self) {
        let story = self.log.iter().fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "  {line}");
            text
        });
        assert!(
            self.violations.is_empty(),
            "seed {} on {}:\n{}\nstory:\n{story}",
            self.seed,
            self.cloud,
            self.violations.join("\n")
        );
    }
}

/// Plays the story of a seed.
pub async fn play(cloud: Cloud, seed: u64, hours: u64) -> Played {
    replay(cloud, seed, &story(seed, hours)).await
}

/// Plays a story; `seed` is for what the world itself leaves to chance.
pub async fn replay(cloud: Cloud, seed: u64, story: &[Chapter]) -> Played {
    let mut stage = Stage::set(cloud, seed).await;
    let mut chapters = 0;
    for chapter in story {
        stage.act(chapter).await;
        if !stage.violations.all().is_empty() {
            break;
        }
        chapters += 1;
    }
    let violations = stage.violations.all();
    stage.world.stop().await;
    Played {
        cloud,
        seed,
        chapters,
        log: stage.log,
        violations,
    }
}

/// Something that lasts, and when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lasting {
    Throttle,
    Quota,
    Outage,
    StrictBudget,
    Pause,
}

struct Stage {
    world: World,
    place: Place,
    wire: Tripwire,
    violations: Violations,
    log: Vec<String>,
    minor: u32,
    is_down: bool,
    lasting: Vec<(Timestamp, Lasting)>,
}

impl Stage {
    /// A pool of three with Machines, pods and a budget, at rest.
    async fn set(cloud: Cloud, seed: u64) -> Self {
        let world = World::builder()
            .seed(seed)
            .full_speed()
            .workload_cluster(cloud.cluster())
            .whole_cluster()
            .build()
            .await;
        let demo = cloud.demo().machines();
        let demo = demo.edit("MachinePool", cloud.pool(), |pool| {
            pool["spec"]["template"]["spec"]["deletion"] =
                json!({ "nodeDrainTimeoutSeconds": DRAIN_TIMEOUT_SECONDS });
        });
        world.apply(&demo).await;
        let violations = Violations::default();
        let wire = Tripwire::never();
        let mut stage = Self {
            place: Place::of(cloud, &world),
            world,
            wire,
            violations,
            log: Vec::new(),
            minor: 34,
            is_down: false,
            lasting: Vec::new(),
        };
        stage.start(Tripwire::never());
        stage.world.is_running(cloud.pool(), 3).await;
        stage.furnish().await;
        stage.check_health().await;
        stage.comes_to_rest().await;
        stage
    }

    /// Starts a manager whose writes are looked at, on this wire.
    fn start(&mut self, wire: Tripwire) {
        self.wire = wire;
        self.wire.cut_workload(self.is_down);
        let guard = std::sync::Arc::new(Guard {
            management: self.world.objects.clone(),
            workload: self.world.workload(),
            place: self.place.clone(),
            violations: self.violations.clone(),
        });
        let clock = self.world.clock;
        self.wire.before_writes(move |write| {
            let guard = guard.clone();
            Box::pin(async move {
                guard
                    .look(&write, remuda_controllers::clock::Clock::now(&clock))
                    .await;
            })
        });
        self.world.start_with(&self.wire);
    }

    /// Pods that must leave before a machine may go, and their budget.
    async fn furnish(&self) {
        self.world
            .create_workload(
                "/apis/apps/v1/namespaces/default/deployments",
                &json!({
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "metadata": { "name": BUDGET, "namespace": "default" },
                    "spec": {
                        "replicas": 6,
                        "selector": { "matchLabels": { "app": BUDGET } },
                        "template": {
                            "metadata": { "labels": { "app": BUDGET } },
                            "spec": {
                                "terminationGracePeriodSeconds": 30,
                                "containers": [{ "name": "app", "image": "app" }],
                            },
                        },
                    },
                }),
            )
            .await;
        self.world
            .create_workload(
                BUDGETS,
                &json!({
                    "apiVersion": "policy/v1",
                    "kind": "PodDisruptionBudget",
                    "metadata": { "name": BUDGET, "namespace": "default" },
                    "spec": {
                        "maxUnavailable": 2,
                        "selector": { "matchLabels": { "app": BUDGET } },
                    },
                }),
            )
            .await;
    }

    /// A health check: a Machine whose Node a person deletes never comes back by itself.
    async fn check_health(&self) {
        self.world
            .create(&json!({
                "apiVersion": "cluster.x-k8s.io/v1beta2",
                "kind": "MachineHealthCheck",
                "metadata": { "name": "pool", "namespace": NAMESPACE },
                "spec": {
                    "clusterName": self.place.cloud.cluster(),
                    "selector": { "matchLabels": { "cluster.x-k8s.io/pool-name": self.pool() } },
                    "checks": {
                        "nodeStartupTimeoutSeconds": 900,
                        "unhealthyNodeConditions": [
                            { "type": "Ready", "status": "Unknown", "timeoutSeconds": 300 },
                            { "type": "Ready", "status": "False", "timeoutSeconds": 300 },
                        ],
                    },
                },
            }))
            .await;
    }

    async fn act(&mut self, chapter: &Chapter) {
        let begin = self.world.now();
        let floor = chapter.is_calm().then_some(self.ready_machines().await);
        let mut due = chapter.happenings.iter().peekable();
        while self.world.now() < after(begin, CHAPTER) {
            while let Some((at, happening)) =
                due.next_if(|(at, _)| after(begin, *at) <= self.world.now())
            {
                debug_assert!(after(begin, *at) <= self.world.now());
                self.happen(happening).await;
            }
            self.step().await;
            if let Some(floor) = floor {
                self.keeps(floor).await;
            }
        }
        self.comes_to_rest().await;
    }

    async fn happen(&mut self, happening: &Happening) {
        self.log.push(format!("{} {happening}", self.world.now()));
        match happening {
            Happening::Scale(replicas) => self.scale(*replicas).await,
            Happening::Upgrade => self.upgrade().await,
            Happening::DeleteMachine(nth) => {
                if let Some(name) = self.nth(Kind::Machine, *nth).await {
                    self.world.delete(Kind::Machine, &name).await;
                }
            }
            Happening::MarkAndShrink(nth) => self.mark_and_shrink(*nth).await,
            Happening::DeleteInfraMachine(nth) => {
                let kind = Kind::TerraformMachinePoolMachine;
                if let Some(name) = self.nth(kind, *nth).await {
                    self.world.delete(kind, &name).await;
                }
            }
            Happening::DeleteNode(nth) => self.delete_node(*nth).await,
            Happening::LoseInstance(nth) => {
                if let Some(member) = self.place.member(*nth) {
                    member.is_lost(&self.place);
                }
            }
            Happening::StopInstance(nth) => {
                if let Some(member) = self.place.member(*nth) {
                    member.is_stopped(&self.place);
                }
            }
            Happening::EndInstance(nth) => {
                if let Some(member) = self.place.member(*nth) {
                    member.is_ended(&self.place);
                }
            }
            Happening::Remediate(nth) => self.remediate(*nth).await,
            Happening::Throttle(minutes) => {
                let every_second = Fault::new(Effect::Throttle).every(2);
                self.place.faults().script(every_second);
                self.lasts(Lasting::Throttle, *minutes);
            }
            Happening::Quota(minutes) => {
                self.place.quota(true);
                self.lasts(Lasting::Quota, *minutes);
            }
            Happening::Outage(minutes) => {
                self.is_down = true;
                self.wire.cut_workload(true);
                self.lasts(Lasting::Outage, *minutes);
            }
            Happening::StrictBudget(minutes) => {
                self.budget(0).await;
                self.lasts(Lasting::StrictBudget, *minutes);
            }
            Happening::Pause(minutes) => {
                self.pause(true).await;
                self.lasts(Lasting::Pause, *minutes);
            }
            Happening::Crash => self.crash(Tripwire::never()).await,
            Happening::CrashInWrite(nth) => self.crash(Tripwire::after(*nth)).await,
        }
    }

    fn lasts(&mut self, what: Lasting, minutes: u64) {
        let until = after(self.world.now(), Duration::from_mins(minutes));
        self.lasting.retain(|(_, known)| *known != what);
        self.lasting.push((until, what));
    }

    async fn end_what_is_over(&mut self) {
        let now = self.world.now();
        let over: Vec<Lasting> = self
            .lasting
            .extract_if(.., |(until, _)| *until <= now)
            .map(|(_, what)| what)
            .collect();
        for what in over {
            self.log.push(format!("{now} over: {what:?}"));
            match what {
                Lasting::Throttle => self.place.faults().clear(),
                Lasting::Quota => self.place.quota(false),
                Lasting::Outage => {
                    self.is_down = false;
                    self.wire.cut_workload(false);
                }
                Lasting::StrictBudget => self.budget(2).await,
                Lasting::Pause => self.pause(false).await,
            }
        }
    }

    async fn scale(&self, replicas: u32) {
        let patch = json!({ "spec": { "replicas": replicas } });
        self.world
            .patch(Kind::MachinePool, self.pool(), patch)
            .await;
    }

    async fn upgrade(&mut self) {
        self.minor += 1;
        self.place.offer(&self.version());
        let patch = json!({ "spec": { "template": { "spec": { "version": self.version() } } } });
        self.world
            .patch(Kind::MachinePool, self.pool(), patch)
            .await;
    }

    fn version(&self) -> String {
        format!("v1.{}.1", self.minor)
    }

    async fn mark_and_shrink(&self, nth: usize) {
        let Some(name) = self.nth(Kind::Machine, nth).await else {
            return;
        };
        let mark = json!({ "metadata": { "annotations": {
            "cluster.x-k8s.io/delete-machine": "2026-10-01T08:00:00Z",
        } } });
        self.world.patch(Kind::Machine, &name, mark).await;
        let pool = self.world.get(Kind::MachinePool, self.pool()).await;
        let replicas = pool.and_then(|pool| pool["spec"]["replicas"].as_u64());
        let lower = u32::try_from(replicas.unwrap_or(1))
            .unwrap_or(1)
            .saturating_sub(1);
        self.scale(lower).await;
    }

    async fn remediate(&self, nth: usize) {
        if let Some(name) = self.nth(Kind::Machine, nth).await {
            let mark = json!({ "metadata": { "annotations": {
                "cluster.x-k8s.io/remediate-machine": "",
            } } });
            self.world.patch(Kind::Machine, &name, mark).await;
        }
    }

    async fn delete_node(&self, nth: usize) {
        let nodes = all(&self.world.workload(), Kind::Node, "").await;
        if let Some(name) = pick(&nodes, nth) {
            // Somebody else may be quicker: gone is gone.
            let _ = self
                .world
                .workload()
                .delete(&Kind::Node.resource(), None, &name, None)
                .await;
        }
    }

    async fn budget(&self, max_unavailable: u32) {
        let path = format!("{BUDGETS}/{BUDGET}");
        let mut budget = self.world.ask_workload(Method::GET, &path, None).await.ok();
        budget["spec"]["maxUnavailable"] = Value::from(max_unavailable);
        // The simulated cluster keeps the status: a conflict is tried again.
        while self
            .world
            .ask_workload(Method::PUT, &path, Some(&budget))
            .await
            .code
            == 409
        {
            budget = self.world.ask_workload(Method::GET, &path, None).await.ok();
            budget["spec"]["maxUnavailable"] = Value::from(max_unavailable);
        }
    }

    async fn pause(&self, paused: bool) {
        let patch = json!({ "spec": { "paused": paused } });
        self.world
            .patch(Kind::Cluster, self.place.cloud.cluster(), patch)
            .await;
    }

    async fn nth(&self, kind: Kind, nth: usize) -> Option<String> {
        let objects = all(&self.world.objects, kind, NAMESPACE).await;
        pick(&objects, nth)
    }

    async fn ready_machines(&self) -> usize {
        let machines = all(&self.world.objects, Kind::Machine, NAMESPACE).await;
        machines.iter().filter(|machine| is_ready(machine)).count()
    }

    /// In a calm chapter the pool never has fewer ready Machines than it began with.
    async fn keeps(&self, floor: usize) {
        let ready = self.ready_machines().await;
        if ready < floor {
            let what = format!("{ready} Machines are Ready in a calm chapter, {floor} must be");
            self.violations.add(self.world.now(), &what);
        }
    }

    async fn comes_to_rest(&mut self) {
        let deadline = after(self.world.now(), PATIENCE);
        loop {
            let Err(instead) = at_rest(&self.world, &self.place, &self.version()).await else {
                self.log.push(format!("{} at rest", self.world.now()));
                return;
            };
            if self.world.now() >= deadline {
                let what = format!(
                    "no rest: {instead}\n{}",
                    picture(&self.world, &self.place).await
                );
                self.violations.add(self.world.now(), &what);
                return;
            }
            self.step().await;
        }
    }

    async fn step(&mut self) {
        self.end_what_is_over().await;
        self.world.pass(STEP).await;
        if self.wire.has_tripped() {
            self.log
                .push(format!("{} killed in a write", self.world.now()));
            self.crash(Tripwire::never()).await;
        }
    }

    async fn crash(&mut self, wire: Tripwire) {
        self.world.crash().await;
        self.start(wire);
    }

    fn pool(&self) -> &'static str {
        self.place.cloud.pool()
    }
}

fn pick(objects: &[Value], nth: usize) -> Option<String> {
    let index = nth.checked_rem(objects.len())?;
    objects[index]["metadata"]["name"]
        .as_str()
        .map(str::to_owned)
}

fn is_ready(machine: &Value) -> bool {
    condition(machine, "Ready").is_some_and(|(status, _)| status == "True")
}

fn after(time: Timestamp, span: Duration) -> Timestamp {
    time.saturating_add(span).unwrap_or(Timestamp::MAX)
}
