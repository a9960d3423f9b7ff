//! The calls on resource groups.

use serde_json::{Value, json};

use crate::azure::{
    compute::{Operation, check_tags},
    protocol::{Answer, ArmError, id},
    service::ArmRequest,
    state::{Group, Name, Site, View, region::region_key},
};

impl Group {
    /// An empty group.
    pub(crate) fn new(name: &str, location: &str, tags: Value) -> Self {
        Self {
            name: name.into(),
            location: location.to_owned(),
            tags,
            sets: std::collections::BTreeMap::new(),
            settings: std::collections::BTreeMap::new(),
            ghosts: Vec::new(),
            deleting: false,
        }
    }

    fn render(&self, subscription: &str) -> Value {
        let state = if self.deleting {
            "Deleting"
        } else {
            "Succeeded"
        };
        json!({
            "id": format!("/subscriptions/{subscription}/resourceGroups/{}", self.name),
            "name": self.name,
            "type": "Microsoft.Resources/resourceGroups",
            "location": self.location,
            "tags": self.tags,
            "properties": { "provisioningState": state },
        })
    }
}

/// `GET` of a group.
pub(crate) fn get_group(view: View<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let group = view.subscription.group(request.group())?;
    Ok(Answer::ok(group.render(&view.subscription.id)))
}

/// `PUT` of a group.
pub(crate) fn put_group(site: &mut Site<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let body = request.object()?;
    check_tags(&body["tags"])?;
    let location = body["location"].as_str().unwrap_or_default();
    if !site.fabric.regions.contains_key(&*region_key(location)) {
        let message = format!("The provided location '{location}' is not available.");
        return Err(ArmError::new(
            400,
            "LocationNotAvailableForResourceGroup",
            message,
        ));
    }
    let key: Name = id::key(request.group()).into();
    let tags = if body["tags"].is_null() {
        json!({})
    } else {
        body["tags"].clone()
    };
    let subscription = site.subscription.id.clone();
    if let Some(group) = site.subscription.groups.get_mut(&key) {
        if region_key(&group.location) != region_key(location) {
            let message = format!(
                "Invalid resource group location '{location}'. The Resource group already exists \
                 in location '{}'.",
                group.location
            );
            return Err(ArmError::new(409, "InvalidResourceGroupLocation", message));
        }
        group.tags = tags;
        return Ok(Answer::ok(group.render(&subscription)));
    }
    let group = Group::new(request.group(), &region_key(location), tags);
    let body = group.render(&subscription);
    site.subscription.groups.insert(key, group);
    Ok(Answer::with(201, Some(body)))
}

/// `DELETE` of a group and everything in it.
pub(crate) fn delete_group(site: &mut Site<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let key: Name = id::key(request.group()).into();
    let group = site.subscription.group_mut(request.group())?;
    let operation = Operation::on_group(&group.location, &key, site.fabric.timing.delete);
    group.deleting = true;
    group.settings.clear();
    let sets: Vec<_> = group.sets.values().map(|set| set.at.clone()).collect();
    for at in sets {
        // One that is being changed is deleted all the same.
        if let Some(set) = site.subscription.at(&at) {
            set.operations.clear();
        }
        if let Err(error) = site.start_deletion(&at)
            && error.code != "OperationNotAllowed"
        {
            return Err(error);
        }
    }
    let id = site.begin(operation);
    let (origin, subscription) = (&request.origin, &site.subscription.id);
    let address = format!(
        "{origin}/subscriptions/{subscription}/operationresults/{id}?api-version=2020-06-01"
    );
    Ok(Answer::status(202)
        .header("location", address)
        .header("retry-after", site.fabric.timing.retry_after.to_string()))
}

/// What the caller may do in a group: everything, as the owner of the subscription.
pub(crate) fn permissions(view: View<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    view.subscription.group(request.group())?;
    let owner =
        json!({ "actions": ["*"], "notActions": [], "dataActions": [], "notDataActions": [] });
    Ok(Answer::ok(json!({ "value": [owner] })))
}
