//! Long-running operations on scale sets and groups.

use std::{collections::BTreeSet, time::Duration};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Provisioning;
use crate::{
    azure::{
        protocol::{Answer, ArmError},
        state::{
            Fabric, Ghost, Name, OperationHeaders, Site,
            events::{Event, SetRef},
        },
    },
    clock::{iso, later},
};

/// How long a finished operation can be read. Ours: longer than anybody follows one, short enough
/// that a thousand pools that rotate their payloads stay small.
const REMEMBERED: Duration = Duration::from_hours(1);

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// Makes or changes a set.
    Change,
    /// Deletes instances of a set.
    Instances,
    /// Deletes a set.
    Delete,
    /// Deletes a group.
    DeleteGroup,
}

/// A long-running operation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Operation {
    pub(crate) kind: Kind,
    /// Region it is listed under.
    pub(crate) location: String,
    /// The set it works on.
    pub(crate) set: Option<SetRef>,
    /// The group it deletes.
    pub(crate) group: Option<Name>,
    pub(crate) started: Timestamp,
    /// It ends no earlier.
    pub(crate) earliest: Timestamp,
    /// Instances that must be up first.
    pub(crate) until_up: BTreeSet<u32>,
    /// Instances that must be gone first.
    pub(crate) until_gone: BTreeSet<u32>,
    /// What it ends with.
    pub(crate) failure: Option<ArmError>,
    pub(crate) ended: Option<Timestamp>,
}

impl Operation {
    /// One that works on a set for at least `span`.
    pub(crate) fn on_set(kind: Kind, location: &str, set: &SetRef, span: Duration) -> Self {
        Self {
            kind,
            location: location.to_owned(),
            set: Some(set.clone()),
            group: None,
            started: Timestamp::UNIX_EPOCH,
            earliest: later(Timestamp::UNIX_EPOCH, span),
            until_up: BTreeSet::new(),
            until_gone: BTreeSet::new(),
            failure: None,
            ended: None,
        }
    }

    /// One that deletes a group.
    pub(crate) fn on_group(location: &str, group: &Name, span: Duration) -> Self {
        let nowhere = SetRef {
            place: 0,
            group: group.clone(),
            set: group.clone(),
            serial: 0,
        };
        Self {
            set: None,
            group: Some(group.clone()),
            ..Self::on_set(Kind::DeleteGroup, location, &nowhere, span)
        }
    }

    /// The body ARM shows.
    pub(crate) fn render(&self, id: &str) -> Value {
        let status = match (&self.ended, &self.failure) {
            (None, _) => "InProgress",
            (Some(_), None) => "Succeeded",
            (Some(_), Some(_)) => "Failed",
        };
        let mut body = json!({ "startTime": iso(self.started), "status": status, "name": id });
        if let Some(ended) = self.ended {
            body["endTime"] = iso(ended).into();
            if let Some(failure) = &self.failure {
                body["error"] = failure.inner();
            }
        }
        body
    }
}

impl Site<'_> {
    /// Starts an operation: its id. Its spans count from now.
    pub(crate) fn begin(&mut self, mut operation: Operation) -> Name {
        let now = self.fabric.now;
        let span = operation.earliest.duration_since(operation.started);
        operation.started = now;
        operation.earliest = later(now, span.try_into().unwrap_or_default());
        let id: Name = self.fabric.new_uuid().into();
        if let Some(set) = operation
            .set
            .as_ref()
            .and_then(|set| self.subscription.at(set))
        {
            set.operations.push(id.clone());
        }
        let event = Event::Operation(self.subscription.place, id.clone());
        self.fabric.events.push(operation.earliest, event);
        self.subscription.operations.insert(id.clone(), operation);
        id
    }

    /// Ends an operation if everything it waits for has come.
    pub(crate) fn operation_step(&mut self, id: &Name) {
        let Some(operation) = self.subscription.operations.get(id) else {
            return;
        };
        if operation.ended.is_some() {
            self.forget_operation(id);
            return;
        }
        if operation.earliest > self.fabric.now || self.still_waits(id) {
            return;
        }
        self.end(id);
    }

    /// Whether instances an operation waits for are not there yet.
    fn still_waits(&self, id: &Name) -> bool {
        let Some(operation) = self.subscription.operations.get(id) else {
            return false;
        };
        let (up, gone) = (&operation.until_up, &operation.until_gone);
        if let Some(group) = &operation.group {
            let group = self.subscription.groups.get(group);
            return group.is_some_and(|group| !group.sets.is_empty());
        }
        let set = operation.set.as_ref();
        let Some(set) = set.and_then(|set| self.subscription.look(set)) else {
            return false;
        };
        let creating = |number: &u32| {
            set.instances
                .get(number)
                .is_some_and(|instance| instance.provisioning == Provisioning::Creating)
        };
        up.iter().any(creating) || gone.iter().any(|number| set.instances.contains_key(number))
    }

    fn end(&mut self, id: &Name) {
        let now = self.fabric.now;
        let Some(operation) = self.subscription.operations.get_mut(id) else {
            return;
        };
        operation.ended = Some(now);
        let (kind, failed) = (operation.kind, operation.failure.is_some());
        let (set, group) = (operation.set.clone(), operation.group.clone());
        let forget = Event::Operation(self.subscription.place, id.clone());
        self.fabric.after(REMEMBERED, forget);
        match kind {
            Kind::Change | Kind::Instances => {
                let Some(set) = set.and_then(|set| self.subscription.at(&set)) else {
                    return;
                };
                set.operations.retain(|running| running != id);
                if set.operations.is_empty() && set.provisioning != Provisioning::Deleting {
                    set.provisioning = if failed {
                        Provisioning::Failed
                    } else {
                        Provisioning::Succeeded
                    };
                }
            }
            Kind::Delete => {
                if let Some(set) = set {
                    self.remove_set(&set);
                }
            }
            Kind::DeleteGroup => {
                if let Some(group) = group {
                    self.subscription.groups.remove(&group);
                }
            }
        }
    }

    /// Ends all operations and forgets them.
    pub(crate) fn finish_operations(&mut self) {
        let running: Vec<Name> = self.subscription.operations.keys().cloned().collect();
        for id in running {
            self.end(&id);
        }
        self.subscription.operations.clear();
    }

    /// Ends a set's operations with a failure.
    pub(crate) fn fail_running(&mut self, at: &SetRef, code: &str, message: &str) {
        let Some(set) = self.subscription.at(at) else {
            return;
        };
        for id in set.operations.clone() {
            if let Some(operation) = self.subscription.operations.get_mut(&id) {
                operation.failure = Some(ArmError::new(409, code, message));
            }
            self.end(&id);
        }
    }

    /// Takes a set away. Operations of its group go on.
    pub(crate) fn remove_set(&mut self, at: &SetRef) {
        let Some(set) = self.subscription.look(at) else {
            return;
        };
        let ghost = Ghost {
            key: at.set.clone(),
            rendered: set.render(self.subscription),
            gone: self.fabric.now,
        };
        let Some(group) = self.subscription.groups.get_mut(&at.group) else {
            return;
        };
        group.sets.remove(&at.set);
        let lag = self
            .fabric
            .timing
            .list_lag
            .max(self.fabric.timing.index_lag);
        let now = self.fabric.now;
        group.ghosts.retain(|old| later(old.gone, lag) > now);
        if !lag.is_zero() {
            group.ghosts.push(ghost);
        }
        let of_group: Vec<Name> = self
            .subscription
            .operations
            .iter()
            .filter(|(_, running)| running.ended.is_none())
            .filter(|(_, running)| running.group.as_ref() == Some(&at.group))
            .map(|(id, _)| id.clone())
            .collect();
        for id in of_group {
            self.operation_step(&id);
        }
    }

    fn forget_operation(&mut self, id: &Name) {
        let operations = &mut self.subscription.operations;
        let ended = operations.get(id).and_then(|operation| operation.ended);
        if ended.is_some_and(|ended| later(ended, REMEMBERED) <= self.fabric.now) {
            operations.remove(id);
        }
    }
}

/// Points an answer to its operation, the way the world is set to.
pub(crate) fn point_to(
    answer: Answer,
    fabric: &Fabric,
    origin: &str,
    subscription: &str,
    location: &str,
    id: &str,
) -> Answer {
    let address = format!(
        "{origin}/subscriptions/{subscription}/providers/Microsoft.Compute/locations/{location}\
         /operations/{id}?p=sim&api-version=2024-11-01"
    );
    let style = fabric.behaviour.operation_headers;
    let mut answer = answer;
    if matches!(style, OperationHeaders::Both | OperationHeaders::AsyncOnly) {
        answer = answer.header("azure-asyncoperation", address.clone());
    }
    if matches!(
        style,
        OperationHeaders::Both | OperationHeaders::LocationOnly
    ) {
        answer = answer.header("location", format!("{address}&monitor=true"));
    }
    answer.header("retry-after", fabric.timing.retry_after.to_string())
}
