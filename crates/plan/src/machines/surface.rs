//! What the object of a member says of it, and what is written where it says something else.

use std::fmt;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    group::{GroupMember, Leaving},
    names::{label_value, member_name},
    objects::{InfraMachine, InfraMachineStatus, MemberCondition},
};
use crate::pool::{keys, members::MemberState, objects::Initialization};

/// Whose objects they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner<'a> {
    /// Namespace of the pool and of everything it owns.
    pub namespace: &'a str,
    /// Name of the pool.
    pub pool: &'a str,
    /// UID of the pool.
    pub uid: &'a str,
    /// Name of the MachinePool.
    pub machine_pool: &'a str,
    /// Name of the Cluster.
    pub cluster: &'a str,
    /// Value of the watch-filter label, where the pool carries one.
    pub watch_filter: Option<&'a str>,
}

impl Owner<'_> {
    /// Selects the objects of the pool, and its Machines.
    pub fn selector(&self) -> String {
        format!(
            "{}={},{}={}",
            keys::CLUSTER_NAME,
            self.cluster,
            keys::POOL_NAME,
            label_value(self.machine_pool)
        )
    }

    fn labels(&self) -> Vec<(&'static str, String)> {
        let mut labels = vec![
            (keys::CLUSTER_NAME, self.cluster.to_owned()),
            (keys::POOL_NAME, label_value(self.machine_pool)),
        ];
        labels.extend(
            self.watch_filter
                .map(|filter| (keys::WATCH_FILTER, filter.to_owned())),
        );
        labels
    }

    /// No controller: that place is the Machine's.
    fn reference(&self) -> Value {
        json!({
            "apiVersion": keys::MEMBER_API_VERSION,
            "kind": keys::POOL_KIND,
            "name": self.pool,
            "uid": self.uid,
        })
    }
}

/// A write of one object: what it is, and what it says.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectWrite {
    /// Name of the object.
    pub name: String,
    /// It is there already.
    pub exists: bool,
    /// The object to create, or a merge patch of an existing one; `None`: only its status differs.
    pub body: Option<Value>,
    /// Its whole new status; `None`: nothing of it differs.
    pub status: Option<InfraMachineStatus>,
}

/// The object of a member that has none.
pub(super) fn new_object(owner: Owner<'_>, member: &GroupMember, now: Timestamp) -> ObjectWrite {
    let id = &member.member.provider_id;
    let name = member_name(owner.pool, id);
    let labels: serde_json::Map<String, Value> = owner
        .labels()
        .into_iter()
        .map(|(key, value)| (key.to_owned(), Value::from(value)))
        .collect();
    let status = status(&InfraMachine::default(), Some(member), now);
    ObjectWrite {
        body: Some(json!({
            "apiVersion": keys::MEMBER_API_VERSION,
            "kind": keys::MEMBER_KIND,
            "metadata": {
                "name": name,
                "namespace": owner.namespace,
                "labels": labels,
                "finalizers": [keys::MEMBER_FINALIZER],
                "ownerReferences": [owner.reference()],
            },
            "spec": { "providerID": id },
        })),
        name,
        exists: false,
        status: Some(status),
    }
}

/// What an existing object lacks or says wrongly; `None`: nothing.
pub(super) fn correction(
    owner: Owner<'_>,
    infra: &InfraMachine,
    member: Option<&GroupMember>,
    now: Timestamp,
) -> Option<ObjectWrite> {
    let wanted = status(infra, member, now);
    let write = ObjectWrite {
        name: infra.metadata.name.clone(),
        exists: true,
        body: repair(owner, infra),
        status: (wanted != infra.status).then_some(wanted),
    };
    (write.body.is_some() || write.status.is_some()).then_some(write)
}

/// Labels, owner and finalizer that somebody took away. An object on its way out keeps what it has.
fn repair(owner: Owner<'_>, infra: &InfraMachine) -> Option<Value> {
    if infra.is_deleting() {
        return None;
    }
    let metadata = &infra.metadata;
    let mut patch = serde_json::Map::new();
    let labels: serde_json::Map<String, Value> = owner
        .labels()
        .into_iter()
        .filter(|(key, value)| metadata.labels.get(*key) != Some(value))
        .map(|(key, value)| (key.to_owned(), Value::from(value)))
        .collect();
    if !labels.is_empty() {
        patch.insert("labels".to_owned(), Value::Object(labels));
    }
    if !metadata
        .finalizers
        .iter()
        .any(|it| it == keys::MEMBER_FINALIZER)
    {
        let mut all = metadata.finalizers.clone();
        all.push(keys::MEMBER_FINALIZER.to_owned());
        patch.insert("finalizers".to_owned(), json!(all));
    }
    let is_owned = metadata
        .owner_references
        .iter()
        .any(|reference| reference.uid == owner.uid);
    if !is_owned {
        let mut all: Vec<Value> = metadata
            .owner_references
            .iter()
            // A reference to an earlier pool of this name.
            .filter(|reference| reference.kind != keys::POOL_KIND)
            .map(|reference| json!(reference))
            .collect();
        all.push(owner.reference());
        patch.insert("ownerReferences".to_owned(), Value::Array(all));
    }
    if patch.is_empty() {
        return None;
    }
    if let Some(version) = &metadata.resource_version {
        patch.insert("resourceVersion".to_owned(), json!(version));
    }
    Some(json!({ "metadata": patch }))
}

crate::documented! {
    /// Types of the conditions of a member's object, in the order in which they are written.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Type {
        /// It is on its way out. Negative polarity.
        Leaving,
        /// Its instance runs.
        Ready,
        /// It is made as a new one would be.
        UpToDate,
    }
}

crate::documented! {
    /// Reasons of these conditions.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Reason {
        /// Its instance runs.
        Provisioned,
        /// Its instance is coming up.
        NotProvisioned,
        /// Its instance was stopped.
        InstanceStopped,
        /// Its instance runs with a fault.
        InstanceDegraded,
        /// Its instance is gone.
        InstanceTerminated,
        /// Its instance is in a state that is not known here.
        InstanceStateUnknown,
        /// Its deletion is under way.
        Deleting,
        /// It is as a new one would be.
        UpToDate,
        /// It differs from what a new one would be.
        NotUpToDate,
        /// The cloud ends it and holds it until its Node is drained.
        HeldByCloud,
        /// The cloud ends it.
        Ending,
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What the object should say. A member that is not there any more is told as terminated.
fn status(
    infra: &InfraMachine,
    member: Option<&GroupMember>,
    now: Timestamp,
) -> InfraMachineStatus {
    let before = &infra.status;
    let state = match member {
        None => MemberState::Terminated,
        Some(member) if member.leaving == Some(Leaving::Ending) => MemberState::Terminated,
        Some(member) => member.member.state,
    };
    let had_run = before.initialization.is_some_and(|it| it.provisioned);
    let provisioned = had_run || state == MemberState::Running;
    let mut says = Says {
        infra,
        now,
        conditions: Vec::new(),
    };
    says.leaving(member);
    says.ready(state);
    says.up_to_date(member);
    let seen = member.map(|member| &member.member);
    InfraMachineStatus {
        addresses: seen.map_or_else(|| before.addresses.clone(), |seen| seen.addresses.clone()),
        conditions: says.conditions,
        failure_domain: seen
            .and_then(|seen| seen.failure_domain.clone())
            .or_else(|| before.failure_domain.clone()),
        initialization: provisioned.then_some(Initialization { provisioned }),
        instance_state: Some(word(state).to_owned()),
        interruptible: member
            .map(|member| member.interruptible)
            .filter(|it| *it)
            .or(before.interruptible),
        ready: provisioned.then_some(true),
        revision: member.map_or_else(|| before.revision.clone(), |member| member.revision.clone()),
        up_to_date: member.map_or(before.up_to_date, is_up_to_date),
    }
}

/// `None`: nobody knows from which model it was made.
fn is_up_to_date(member: &GroupMember) -> Option<bool> {
    (member.outdated || member.revision.is_some()).then_some(!member.outdated)
}

fn word(state: MemberState) -> &'static str {
    match state {
        MemberState::Pending => "pending",
        MemberState::Running => "running",
        MemberState::Degraded => "degraded",
        MemberState::Stopped => "stopped",
        MemberState::Terminated => "terminated",
        MemberState::Unknown => "unknown",
    }
}

struct Says<'a> {
    infra: &'a InfraMachine,
    now: Timestamp,
    conditions: Vec<MemberCondition>,
}

impl Says<'_> {
    fn set(&mut self, kind: Type, status: &str, reason: Reason, message: impl Into<String>) {
        let kind = kind.to_string();
        let since = self
            .infra
            .status
            .conditions
            .iter()
            .find(|before| before.kind == kind && before.status == status)
            .map_or(self.now, |before| before.last_transition_time);
        self.conditions.push(MemberCondition {
            kind,
            status: status.to_owned(),
            reason: reason.to_string(),
            message: message.into(),
            observed_generation: self.infra.metadata.generation,
            last_transition_time: since,
        });
    }

    fn leaving(&mut self, member: Option<&GroupMember>) {
        match member.and_then(|member| member.leaving.as_ref()) {
            None => {}
            Some(Leaving::Held { because, until }) => {
                let until =
                    until.map_or_else(String::new, |until| format!(", at most until {until}"));
                self.set(
                    Type::Leaving,
                    "True",
                    Reason::HeldByCloud,
                    format!(
                        "the cloud ends the instance ({because}) and waits for its drain{until}"
                    ),
                );
            }
            Some(Leaving::Ending) => {
                self.set(
                    Type::Leaving,
                    "True",
                    Reason::Ending,
                    "the instance is being ended",
                );
            }
        }
    }

    fn ready(&mut self, state: MemberState) {
        if self.infra.is_deleting() {
            let message = "the object is being deleted, and its instance with it";
            self.set(Type::Ready, "False", Reason::Deleting, message);
            return;
        }
        let (status, reason, message) = match state {
            MemberState::Running => ("True", Reason::Provisioned, ""),
            MemberState::Pending => ("False", Reason::NotProvisioned, "the instance starts"),
            MemberState::Degraded => (
                "False",
                Reason::InstanceDegraded,
                "the cloud calls the instance unhealthy",
            ),
            MemberState::Stopped => ("False", Reason::InstanceStopped, "the instance is stopped"),
            MemberState::Terminated => {
                ("False", Reason::InstanceTerminated, "the instance is gone")
            }
            MemberState::Unknown => (
                "Unknown",
                Reason::InstanceStateUnknown,
                "the cloud gives no state that is known here",
            ),
        };
        self.set(Type::Ready, status, reason, message);
    }

    fn up_to_date(&mut self, member: Option<&GroupMember>) {
        let Some(member) = member else { return };
        let model = member.revision.as_deref().unwrap_or("an older model");
        match is_up_to_date(member) {
            None => {}
            Some(true) => self.set(Type::UpToDate, "True", Reason::UpToDate, ""),
            Some(false) => self.set(
                Type::UpToDate,
                "False",
                Reason::NotUpToDate,
                format!("made from {model}; a new member would be made otherwise"),
            ),
        }
    }
}
