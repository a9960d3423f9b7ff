//! A pool as its cloud and Kubernetes show it, and what one decision changes about that.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use remuda_plan::{
    machines::{
        because::Because,
        group::{GroupMember, Leaving},
        names::{instance_key, member_name},
        objects::{
            InfraMachine, InfraMachineSpec, Machine, MachineCondition, MachineObjects, MachineSpec,
            MachineStatus,
        },
        pool::{Deleting, PoolDecision, PoolFacts, decide},
        rollout::RolloutSpec,
        surface::Owner,
    },
    pool::{
        keys,
        members::{Member, MemberState},
        objects::{ContractRef, Metadata},
    },
};
use serde_json::json;

pub(crate) const POOL: &str = "demo-pool-0";
pub(crate) const OWNER: Owner<'static> = Owner {
    namespace: "team-a",
    pool: POOL,
    uid: "pool-uid",
    machine_pool: POOL,
    cluster: "demo",
    watch_filter: None,
};

/// 2026-10-01T00:00:00Z.
pub(crate) fn start() -> Timestamp {
    Timestamp::from_second(1_790_812_800).unwrap()
}

/// A pool as both sides show it.
#[derive(Debug, Clone)]
pub(crate) struct Fleet {
    pub(crate) members: Vec<GroupMember>,
    pub(crate) objects: MachineObjects,
    pub(crate) wanted: Option<i64>,
    pub(crate) is_managed: bool,
    pub(crate) rollout: Option<RolloutSpec>,
    pub(crate) cordoned: BTreeSet<String>,
    pub(crate) taken: BTreeMap<String, String>,
    pub(crate) published: Vec<String>,
    pub(crate) deleting: Option<Deleting>,
    pub(crate) is_turning_off: bool,
    pub(crate) remediates: bool,
    pub(crate) is_empty_certain: bool,
    pub(crate) now: Timestamp,
}

/// `a` to `aws:///us-east-1a/i-a`; the zone may be given: `b@us-east-1b`.
pub(crate) fn id(name: &str) -> String {
    let (name, zone) = name.split_once('@').unwrap_or((name, "us-east-1a"));
    format!("aws:///{zone}/i-{name}")
}

/// Name of a member's objects.
pub(crate) fn called(name: &str) -> String {
    member_name(POOL, &id(name))
}

pub(crate) fn member(name: &str, age_hours: i64) -> GroupMember {
    let (_, zone) = name.split_once('@').unwrap_or((name, "us-east-1a"));
    GroupMember {
        member: Member {
            provider_id: id(name),
            instance_id: format!("i-{name}"),
            addresses: Vec::new(),
            failure_domain: Some(zone.to_owned()),
            state: MemberState::Running,
            reason: None,
        },
        revision: Some("lt-1".to_owned()),
        outdated: false,
        leaving: None,
        interruptible: false,
        launched_at: Some(start() - SignedDuration::from_hours(age_hours)),
    }
}

fn condition(kind: &str, status: &str, reason: &str) -> MachineCondition {
    MachineCondition {
        kind: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
    }
}

impl Fleet {
    /// Running members of equal age, one hour, with objects and available Machines.
    pub(crate) fn of(names: &[&str]) -> Self {
        let mut fleet = Self {
            members: Vec::new(),
            objects: MachineObjects::default(),
            wanted: Some(i64::try_from(names.len()).unwrap()),
            is_managed: false,
            rollout: None,
            cordoned: BTreeSet::new(),
            taken: BTreeMap::new(),
            published: Vec::new(),
            deleting: None,
            is_turning_off: false,
            remediates: false,
            is_empty_certain: false,
            now: start(),
        };
        for name in names {
            fleet.join(member(name, 1));
        }
        fleet
    }

    /// A member comes with its objects.
    pub(crate) fn join(&mut self, member: GroupMember) {
        let provider_id = member.member.provider_id.clone();
        self.members.push(member);
        self.published.push(provider_id.clone());
        self.surface(&provider_id);
        self.machine_for(&provider_id);
    }

    /// The object of a member, as its decision would make it.
    pub(crate) fn surface(&mut self, provider_id: &str) {
        let name = member_name(POOL, provider_id);
        self.objects.infra.push(InfraMachine {
            metadata: Metadata {
                uid: format!("infra-{name}"),
                name,
                namespace: "team-a".to_owned(),
                labels: [
                    (keys::CLUSTER_NAME.to_owned(), "demo".to_owned()),
                    (keys::POOL_NAME.to_owned(), POOL.to_owned()),
                ]
                .into(),
                finalizers: vec![keys::MEMBER_FINALIZER.to_owned()],
                owner_references: vec![
                    serde_json::from_value(json!({
                        "apiVersion": keys::MEMBER_API_VERSION,
                        "kind": keys::POOL_KIND, "name": POOL, "uid": "pool-uid",
                    }))
                    .unwrap(),
                ],
                ..Metadata::default()
            },
            spec: InfraMachineSpec {
                provider_id: Some(provider_id.to_owned()),
            },
            ..InfraMachine::default()
        });
    }

    fn machine_for(&mut self, provider_id: &str) {
        let name = member_name(POOL, provider_id);
        self.objects.machines.push(Machine {
            metadata: Metadata {
                uid: format!("machine-{name}"),
                name: name.clone(),
                ..Metadata::default()
            },
            spec: MachineSpec {
                infrastructure_ref: ContractRef {
                    api_group: keys::POOL_GROUP.to_owned(),
                    kind: keys::MEMBER_KIND.to_owned(),
                    name,
                },
            },
            status: MachineStatus {
                conditions: vec![condition("Available", "True", "Available")],
            },
        });
    }

    pub(crate) fn member(&mut self, name: &str) -> &mut GroupMember {
        let id = id(name);
        self.members
            .iter_mut()
            .find(|member| member.member.provider_id == id)
            .unwrap()
    }

    pub(crate) fn infra(&mut self, name: &str) -> &mut InfraMachine {
        let name = called(name);
        self.objects
            .infra
            .iter_mut()
            .find(|infra| infra.metadata.name == name)
            .unwrap()
    }

    pub(crate) fn machine(&mut self, name: &str) -> &mut Machine {
        let name = called(name);
        self.objects
            .machines
            .iter_mut()
            .find(|machine| machine.metadata.name == name)
            .unwrap()
    }

    pub(crate) fn without_machine(&mut self, name: &str) {
        let name = called(name);
        self.objects
            .machines
            .retain(|machine| machine.metadata.name != name);
    }

    pub(crate) fn set(&mut self, name: &str, kind: &str, status: &str, reason: &str) {
        let conditions = &mut self.machine(name).status.conditions;
        conditions.retain(|it| it.kind != kind);
        conditions.push(condition(kind, status, reason));
    }

    pub(crate) fn mark(&mut self, name: &str) {
        let annotations = &mut self.machine(name).metadata.annotations;
        annotations.insert(keys::DELETE_MACHINE.to_owned(), "2026-10-01".to_owned());
    }

    pub(crate) fn cordon(&mut self, name: &str) {
        self.cordoned.insert(instance_key(&id(name)));
    }

    pub(crate) fn delete_machine(&mut self, name: &str) {
        self.machine(name).metadata.deletion_timestamp = Some(start());
        self.set(name, "Deleting", "True", "DrainingNode");
    }

    /// The Machine controller is through with the drain and deletes the object.
    pub(crate) fn drained(&mut self, name: &str) {
        self.set(name, "Deleting", "True", "WaitingForInfrastructureDeletion");
        self.infra(name).metadata.deletion_timestamp = Some(start());
    }

    /// The cloud shows the instance no longer.
    pub(crate) fn vanish(&mut self, name: &str) {
        let id = id(name);
        self.members
            .retain(|member| member.member.provider_id != id);
    }

    pub(crate) fn leave(&mut self, name: &str, leaving: Leaving) {
        self.member(name).leaving = Some(leaving);
    }

    pub(crate) fn decide(&self) -> PoolDecision {
        decide(&PoolFacts {
            owner: OWNER,
            members: &self.members,
            objects: &self.objects,
            wanted: self.wanted,
            is_managed: self.is_managed,
            bounds: self.wanted.map(|wanted| (wanted, wanted)),
            rollout: self.rollout.as_ref(),
            cordoned: &self.cordoned,
            taken: &self.taken,
            published: &self.published,
            deleting: self.deleting,
            is_turning_off: self.is_turning_off,
            remediates: self.remediates,
            is_empty_certain: self.is_empty_certain,
            now: self.now,
        })
    }

    /// Names of the Machines that go, in the order of the decision.
    pub(crate) fn going(&self) -> Vec<String> {
        let decision = self.decide();
        decision
            .deletions
            .iter()
            .map(|it| it.machine.clone())
            .collect()
    }

    /// Who goes and why.
    pub(crate) fn reasons(&self) -> Vec<(String, Because)> {
        let decision = self.decide();
        decision
            .deletions
            .iter()
            .map(|it| (it.machine.clone(), it.because.clone()))
            .collect()
    }
}

pub(crate) fn all_called(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| called(name)).collect()
}
