//! Making, changing and deleting scale sets.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    Kind, Model, Operation, Provisioning, ScaleSet, change::check_change, model::Secrets,
    operation::point_to, validate::check,
};
use crate::azure::{
    protocol::{Answer, ArmError, id, merge::merge},
    service::ArmRequest,
    state::{Name, Site, View, events::SetRef, region::region_key},
};

/// `PUT` of a scale set.
pub(crate) fn put_set(site: &mut Site<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let (group, name) = (request.group(), request.name());
    check_name(name)?;
    if site.subscription.group(group)?.deleting {
        let message = format!("The resource group '{group}' is in deprovisioning state.");
        return Err(ArmError::new(409, "ResourceGroupBeingDeleted", message));
    }
    let mut document = request.object()?.clone();
    let capacity = capacity_of(&document)?;
    let secrets = Secrets::take_from(&mut document);
    let known = site.subscription.scale_set(group, name).ok();
    request.check_preconditions(known.map(|set| set.etag))?;
    check(&document, &secrets, site.subscription, site.fabric)?;
    strip(&mut document);
    if let Some(known) = known {
        check_location(known, &document)?;
        check_change(&known.document, &document)?;
        let change = Change {
            document,
            secrets,
            capacity,
            least: site.fabric.timing.model,
        };
        let at = known.at.clone();
        return apply(site, request, &at, change);
    }
    create(site, request, document, secrets, capacity.unwrap_or(0))
}

fn create(
    site: &mut Site<'_>,
    request: &ArmRequest,
    document: Value,
    secrets: Secrets,
    capacity: u32,
) -> Result<Answer, ArmError> {
    let (group, name) = (request.group(), request.name());
    let serial = site.fabric.new_serial();
    let at = SetRef {
        place: site.subscription.place,
        group: id::key(group).into(),
        set: id::key(name).into(),
        serial,
    };
    let mut set = ScaleSet {
        name: name.into(),
        group: site.subscription.group(group)?.name.clone(),
        at: at.clone(),
        serial,
        document,
        capacity,
        unique_id: site.fabric.new_uuid(),
        created: site.fabric.now,
        etag: 1,
        provisioning: Provisioning::Creating,
        operations: Vec::new(),
        models: std::collections::BTreeMap::new(),
        instances: std::collections::BTreeMap::new(),
        next_instance: 0,
        incarnation: 1,
        cpu: Vec::new(),
        cpu_of: std::collections::BTreeMap::new(),
    };
    set.put_model(Model::of(&set.document, secrets));
    site.check_quota(&set, set.model(), capacity)?;
    let group = site.subscription.group_mut(group)?;
    group.sets.insert(at.set.clone(), set);
    let id = grow(site, &at, capacity, site.fabric.timing.create);
    Ok(answer(site, request, &at, 201, &id))
}

/// What a write makes of an existing set.
struct Change {
    document: Value,
    secrets: Secrets,
    capacity: Option<u32>,
    /// The operation takes at least so long.
    least: Duration,
}

/// `PATCH` of a scale set.
pub(crate) fn patch_set(site: &mut Site<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let known = site
        .subscription
        .scale_set(request.group(), request.name())?;
    request.check_preconditions(Some(known.etag))?;
    let mut patch = request.object()?.clone();
    let capacity = capacity_of(&patch)?;
    let secrets = Secrets::take_from(&mut patch).or(&known.model().secrets);
    if !patch["location"].is_null() {
        check_location(known, &patch)?;
    }
    strip(&mut patch);
    let mut document = known.document.clone();
    if let Some(tags) = patch.as_object_mut().and_then(|patch| patch.remove("tags")) {
        document["tags"] = tags;
    }
    merge(&mut document, &patch);
    let mut whole = document.clone();
    whole["sku"]["capacity"] = capacity.unwrap_or(known.capacity).into();
    check(&whole, &secrets, site.subscription, site.fabric)?;
    check_change(&known.document, &document)?;
    let change = Change {
        document,
        secrets,
        capacity,
        least: site.fabric.timing.model,
    };
    let at = known.at.clone();
    apply(site, request, &at, change)
}

fn apply(
    site: &mut Site<'_>,
    request: &ArmRequest,
    at: &SetRef,
    change: Change,
) -> Result<Answer, ArmError> {
    let set = site.idle_set(at)?;
    let capacity = change.capacity.unwrap_or(set.capacity);
    let resizes = capacity != set.capacity;
    let model = Model::of(&change.document, change.secrets);
    if resizes {
        site.check_quota(set, &model, capacity)?;
    }
    let span = if resizes {
        site.fabric.timing.capacity.max(change.least)
    } else {
        change.least
    };
    if let Some(set) = site.subscription.at(at) {
        set.document = change.document;
        if model != *set.model() {
            set.put_model(model);
        }
        set.capacity = capacity;
        set.etag += 1;
        set.provisioning = Provisioning::Updating;
    }
    let id = if resizes {
        grow(site, at, capacity, span)
    } else {
        let location = site.location(at);
        site.begin(Operation::on_set(Kind::Change, &location, at, span))
    };
    Ok(answer(site, request, at, 200, &id))
}

impl Site<'_> {
    /// A set, if it takes a write now.
    pub(crate) fn idle_set(&self, at: &SetRef) -> Result<&ScaleSet, ArmError> {
        let set = self
            .subscription
            .look(at)
            .ok_or_else(|| ArmError::new(404, "NotFound", "The scale set is gone."))?;
        if set.provisioning == Provisioning::Deleting {
            let message = format!("The scale set '{}' is being deleted.", set.name);
            return Err(ArmError::new(409, "OperationNotAllowed", message));
        }
        if self.fabric.behaviour.queue_writes || !self.is_worked_on(set) {
            return Ok(set);
        }
        let message = format!(
            "Another operation on the scale set '{}' is in progress. Please try again later.",
            set.name
        );
        Err(ArmError::new(409, "AnotherOperationInProgress", message))
    }

    /// Whether an operation keeps others from a set. Those on its instances do not, unless the
    /// world is set to it.
    pub(crate) fn is_worked_on(&self, set: &ScaleSet) -> bool {
        let view = View {
            subscription: self.subscription,
            fabric: self.fabric,
        };
        view.is_worked_on(set)
    }

    /// Key of the region a set is in.
    pub(crate) fn location(&self, at: &SetRef) -> String {
        self.subscription
            .look(at)
            .map(|set| region_key(set.location()))
            .unwrap_or_default()
    }
}

impl View<'_> {
    /// As [`Site::is_worked_on`].
    pub(crate) fn is_worked_on(self, set: &ScaleSet) -> bool {
        let locks = self.fabric.behaviour.instance_deletions_lock_sets;
        let mut operations = set
            .operations
            .iter()
            .filter_map(|id| self.subscription.operations.get(id));
        operations.any(|operation| locks || operation.kind != Kind::Instances)
    }
}

/// Changes the size of a set in an operation of at least `span`; the operation's id.
pub(crate) fn grow(site: &mut Site<'_>, at: &SetRef, size: u32, span: Duration) -> Name {
    let resized = site.resize(at, size);
    let mut operation = Operation::on_set(Kind::Change, &site.location(at), at, span);
    operation.until_up.extend(resized.created);
    operation.until_gone.extend(resized.removed);
    operation.failure = resized.failure;
    site.begin(operation)
}

/// `DELETE` of a scale set.
pub(crate) fn delete_set(site: &mut Site<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let Ok(known) = site.subscription.scale_set(request.group(), request.name()) else {
        return Ok(Answer::status(204));
    };
    let (at, deleting) = (
        known.at.clone(),
        known.provisioning == Provisioning::Deleting,
    );
    let id = if deleting {
        known.operations.last().cloned().unwrap_or_default()
    } else {
        site.start_deletion(&at)?
    };
    let location = site.location(&at);
    let subscription = site.subscription.id.clone();
    let answer = Answer::status(202);
    Ok(point_to(
        answer,
        site.fabric,
        &request.origin,
        &subscription,
        &location,
        &id,
    ))
}

impl Site<'_> {
    /// Starts the deletion of a set; the operation's id.
    pub(crate) fn start_deletion(&mut self, at: &SetRef) -> Result<Name, ArmError> {
        let set = self.idle_set(at)?;
        let numbers: Vec<u32> = set.live().map(|instance| instance.number).collect();
        let notice = if numbers.is_empty() {
            Duration::ZERO
        } else {
            let notice = set.model().notice();
            let approval = self.fabric.timing.terminate_approval;
            approval.map_or(notice, |approval| approval.min(notice))
        };
        let span = self.fabric.timing.delete + notice;
        let region = region_key(set.location());
        let mut operation = Operation::on_set(Kind::Delete, &region, at, span);
        operation.until_gone.extend(set.instances.keys());
        if let Some(set) = self.subscription.at(at) {
            set.provisioning = Provisioning::Deleting;
        }
        self.announce_deletion(at, &numbers);
        Ok(self.begin(operation))
    }
}

fn answer(site: &mut Site<'_>, request: &ArmRequest, at: &SetRef, status: u16, id: &str) -> Answer {
    let location = site.location(at);
    let set = site.subscription.look(at);
    let body = set.map_or_else(|| json!({}), |set| set.render(site.subscription));
    let subscription = site.subscription.id.clone();
    let answer = Answer::with(status, Some(body));
    point_to(
        answer,
        site.fabric,
        &request.origin,
        &subscription,
        &location,
        id,
    )
}

fn check_name(name: &str) -> Result<(), ArmError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.len() <= 64 && name.chars().all(plain) && !name.ends_with(['.', '-']) {
        return Ok(());
    }
    let message = format!(
        "The entity name '{name}' is invalid: at most 64 letters, digits, '_', '-' or '.', and no \
         '.' or '-' at the end."
    );
    Err(ArmError::invalid("vmScaleSetName", message))
}

fn check_location(known: &ScaleSet, body: &Value) -> Result<(), ArmError> {
    let asked = body["location"].as_str().unwrap_or_default();
    if region_key(asked) == region_key(known.location()) {
        return Ok(());
    }
    let message = format!(
        "The resource '{}' already exists in location '{}' in resource group '{}'. A resource with \
         the same name cannot be created in location '{asked}'. Please select a new resource name.",
        known.name,
        known.location(),
        known.group
    );
    Err(ArmError::new(409, "InvalidResourceLocation", message))
}

fn capacity_of(body: &Value) -> Result<Option<u32>, ArmError> {
    let capacity = &body["sku"]["capacity"];
    if capacity.is_null() {
        return Ok(None);
    }
    let whole = capacity.as_u64().and_then(|n| u32::try_from(n).ok());
    whole.map(Some).ok_or_else(|| {
        let message = format!("The capacity '{capacity}' is no whole number.");
        ArmError::invalid("sku.capacity", message)
    })
}

/// Takes out what ARM itself adds to a resource, and the capacity, which is kept apart.
fn strip(document: &mut Value) {
    let Some(top) = document.as_object_mut() else {
        return;
    };
    for own in ["id", "name", "type", "etag"] {
        top.remove(own);
    }
    if let Some(sku) = top.get_mut("sku").and_then(Value::as_object_mut) {
        sku.remove("capacity");
    }
    if let Some(properties) = top.get_mut("properties").and_then(Value::as_object_mut) {
        for own in ["provisioningState", "uniqueId", "timeCreated"] {
            properties.remove(own);
        }
        let profile = properties.get_mut("virtualMachineProfile");
        if let Some(profile) = profile.and_then(Value::as_object_mut) {
            profile.remove("timeCreated");
        }
    }
    let named = document.pointer_mut("/identity/userAssignedIdentities");
    for known in named
        .and_then(Value::as_object_mut)
        .into_iter()
        .flat_map(|named| named.values_mut())
    {
        if known.is_object() {
            *known = json!({});
        }
    }
}

/// Changes the size of a set as Autoscale does: why not all instances could be made. The capacity
/// stays at what could.
pub(crate) fn resize_set(site: &mut Site<'_>, at: &SetRef, size: u32) -> Option<ArmError> {
    let resized = site.resize(at, size);
    let span = site.fabric.timing.capacity;
    let mut operation = Operation::on_set(Kind::Change, &site.location(at), at, span);
    let made = u32::try_from(resized.created.len()).unwrap_or(0);
    let set = site.subscription.at(at)?;
    set.capacity = if resized.failure.is_some() {
        set.capacity + made
    } else {
        size
    };
    let changes = resized.failure.is_none() || made > 0;
    operation.until_up.extend(resized.created);
    operation.until_gone.extend(resized.removed);
    if changes {
        set.provisioning = Provisioning::Updating;
        set.etag += 1;
        site.begin(operation);
    }
    resized.failure
}

/// Lays a patch over a set's resource, unchecked.
pub(crate) fn set_document(set: &mut ScaleSet, patch: &Value) {
    let mut patch = patch.clone();
    let secrets = Secrets::take_from(&mut patch).or(&set.model().secrets);
    strip(&mut patch);
    merge(&mut set.document, &patch);
    let model = Model::of(&set.document, secrets);
    if model != *set.model() {
        set.put_model(model);
    }
    set.etag += 1;
}
