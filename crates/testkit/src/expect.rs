//! Expectations in words. Each waits in virtual time and, when it is not met, fails with what the
//! world looks like.

use std::{future::Future, time::Duration};

use remuda_controllers::{kinds::Kind, objects::Objects};
use serde_json::Value;

use crate::{
    demo::{NAMESPACE, POOL},
    world::World,
};

/// How long an expectation may take to come true, in virtual time.
const PATIENCE: Duration = Duration::from_mins(45);
/// Between two looks.
const LOOK: Duration = Duration::from_secs(2);

/// Status and reason of a condition of an object.
pub fn condition(object: &Value, kind: &str) -> Option<(String, String)> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    let found = conditions
        .iter()
        .find(|condition| condition["type"] == kind)?;
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    Some((text("status"), text("reason")))
}

/// The answer of a check: yes, or what is the case instead.
///
/// # Errors
/// What is the case instead.
pub fn holds(yes: bool, instead: impl FnOnce() -> String) -> Result<(), String> {
    if yes { Ok(()) } else { Err(instead()) }
}

impl World {
    /// Waits until `check` says yes; what it says instead ends up in the failure.
    pub async fn eventually<F, Fut>(&self, what: &str, mut check: F)
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<(), String>>,
    {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let Err(instead) = check().await else { return };
            if tokio::time::Instant::now() >= deadline {
                let report = self.report().await;
                panic!("expected: {what}\ninstead: {instead}\n\n{report}");
            }
            self.pass(LOOK).await;
        }
    }

    /// Waits until an object satisfies `check`.
    pub async fn object_becomes(
        &self,
        kind: Kind,
        name: &str,
        what: &str,
        check: impl Fn(&Value) -> bool,
    ) {
        self.eventually(what, || async {
            match self.get(kind, name).await {
                Some(object) if check(&object) => Ok(()),
                Some(object) => Err(format!("status {:#}", object["status"])),
                None => Err("it does not exist".to_owned()),
            }
        })
        .await;
    }

    /// Waits until a condition of the pool has this status and reason.
    pub async fn pool_says(&self, kind: &str, status: &str, reason: &str) {
        self.says(POOL, kind, status, reason).await;
    }

    /// Waits until a condition of a pool has this status and reason.
    pub async fn says(&self, pool: &str, kind: &str, status: &str, reason: &str) {
        let what = format!("{pool} says {kind}={status}/{reason}");
        self.object_becomes(Kind::TerraformMachinePool, pool, &what, |pool| {
            condition(pool, kind) == Some((status.to_owned(), reason.to_owned()))
        })
        .await;
    }

    /// Waits until the DEMO pool is Ready.
    pub async fn pool_is_ready(&self) {
        self.pool_says("Ready", "True", "Ready").await;
    }

    /// Waits until the DEMO MachinePool is Running with this many Nodes, all Ready.
    pub async fn machine_pool_is_running(&self, replicas: u64) {
        self.is_running(POOL, replicas).await;
    }

    /// Waits until a MachinePool is Running with this many Nodes, all Ready.
    pub async fn is_running(&self, pool: &str, replicas: u64) {
        let what = format!("{pool} is Running with {replicas} Nodes");
        self.object_becomes(Kind::MachinePool, pool, &what, |pool| {
            let status = &pool["status"];
            let count = |field: &str| status[field].as_u64().unwrap_or(0);
            let references = status["nodeRefs"].as_array().map_or(0, Vec::len);
            status["phase"] == "Running"
                && count("replicas") == replicas
                && count("readyReplicas") == replicas
                && u64::try_from(references) == Ok(replicas)
        })
        .await;
    }

    /// Waits until an object is gone.
    pub async fn is_gone(&self, kind: Kind, name: &str) {
        self.eventually(&format!("{kind:?} {name} is gone"), || async {
            match self.get(kind, name).await {
                None => Ok(()),
                Some(object) => Err(format!("{object:#}")),
            }
        })
        .await;
    }

    /// Lets `span` pass and asserts that the controllers wrote nothing anywhere in it.
    pub async fn stays_quiet(&self, span: Duration) {
        let mark = self.mark();
        self.pass(span).await;
        let kubernetes = self.kubernetes_writes(mark);
        let clouds = [self.aws_writes(mark), self.azure_writes(mark)].concat();
        assert!(
            kubernetes.is_empty() && clouds.is_empty(),
            "a settled world was written to\nKubernetes: {kubernetes:#?}\nClouds: {clouds:#?}\n\n{}",
            self.report().await
        );
    }

    /// Reasons of the events about an object of the DEMO namespace, oldest first.
    pub async fn event_reasons(&self, name: &str) -> Vec<String> {
        let mut events = self.objects.list(Kind::Event, NAMESPACE, "").await.unwrap();
        events.retain(|event| event["regarding"]["name"] == name);
        events.sort_by_key(|event| event["eventTime"].as_str().unwrap_or_default().to_owned());
        events
            .iter()
            .map(|event| event["reason"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// What the world looks like, for a failure's message.
    pub async fn report(&self) -> String {
        let pool = self.get(Kind::TerraformMachinePool, POOL).await;
        let machine_pool = self.get(Kind::MachinePool, POOL).await;
        let part = |object: &Option<Value>| match object {
            Some(object) => format!(
                "metadata.finalizers {} annotations {}\nspec {:#}\nstatus {:#}",
                object["metadata"]["finalizers"],
                object["metadata"]["annotations"],
                object["spec"],
                object["status"]
            ),
            None => "does not exist".to_owned(),
        };
        let groups = self.aws.world().groups();
        let calls = self.aws.journal().write_names();
        format!(
            "at {}\nTerraformMachinePool {}\nMachinePool {}\nevents {:?}\ngroups {:#?}\n\
             boot failures {:?}\nAWS writes {:?}",
            self.now(),
            part(&pool),
            part(&machine_pool),
            self.event_reasons(POOL).await,
            groups,
            self.aws.world().boot_failures(),
            calls
        )
    }
}
