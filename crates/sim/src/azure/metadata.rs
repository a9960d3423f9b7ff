//! The metadata service as the guest of one instance sees it: what the instance is, and what is
//! about to happen to it and to the others of its set (Scheduled Events).
//!
//! The address is the same on every machine, so who asks is told by the router the request comes
//! through.

use axum::Router;
use http::Method;
use serde_json::{Value, json};

use super::{
    AzureSim,
    compute::{Instance, ScaleSet, instance::instance_id},
    protocol::{Answer, ArmError, Shape, id},
    service::{self, parse_query},
    state::{State, events::SetRef},
};
use crate::transport::Received;

const INSTANCE: &str = "/metadata/instance";
const EVENTS: &str = "/metadata/scheduledevents";

/// Versions of Scheduled Events that know Terminate and Preempt.
const EVENT_VERSIONS: [&str; 3] = ["2019-08-01", "2020-07-01", "2021-09-01"];

impl AzureSim {
    /// The metadata service at `169.254.169.254`, as the guest of an instance reaches it.
    /// `instance` is the instance's ARM id.
    pub fn metadata_router(&self, instance: &str) -> Router {
        let (inner, guest) = (self.inner.clone(), instance.to_owned());
        Router::new().fallback(move |request: axum::extract::Request| {
            service::serve_guest(inner.clone(), guest.clone(), request)
        })
    }
}

/// Whether a path is answered here.
pub(crate) fn serves(path: &str) -> bool {
    [INSTANCE, EVENTS].contains(&path.trim_end_matches('/'))
}

/// The action of a path, as the journal names it.
pub(crate) fn action(path: &str) -> Option<(&'static str, &'static str)> {
    match path.trim_end_matches('/') {
        INSTANCE => Some(("imds", "Instance")),
        EVENTS => Some(("imds", "ScheduledEvents")),
        _ => None,
    }
}

/// Answers a guest.
pub(crate) fn call(
    state: &mut State,
    received: &Received,
    guest: &str,
) -> Result<Answer, ArmError> {
    if !received.header("metadata").eq_ignore_ascii_case("true") {
        return Err(bad("Required metadata header not specified"));
    }
    if !received.header("x-forwarded-for").is_empty() {
        return Err(bad("The request came through a proxy"));
    }
    let query = parse_query(received.uri.query().unwrap_or_default());
    let version = query.get("api-version").map_or("", String::as_str);
    if version.is_empty() {
        return Err(bad("Required query variable 'api-version' is missing"));
    }
    let (at, number) = find(state, guest)
        .ok_or_else(|| ArmError::new(404, "NotFound", "The machine that asks is gone."))?;
    let is_events = received.uri.path().trim_end_matches('/') == EVENTS;
    if is_events && !EVENT_VERSIONS.contains(&version) {
        return Err(bad(
            "Bad request. api-version is invalid or was not specified",
        ));
    }
    match (is_events, &received.method) {
        (false, &Method::GET) => described(state, &at, number),
        (true, &Method::GET) => events(state, &at),
        (true, &Method::POST) => start(state, &at, received),
        _ => Err(ArmError::new(405, "MethodNotAllowed", "Not allowed here.")),
    }
}

fn bad(why: &str) -> ArmError {
    let mut error = ArmError::new(400, "Bad request", why);
    error.shape = Shape::OAuth;
    error
}

/// The set and number of an instance.
fn find(state: &State, guest: &str) -> Option<(SetRef, u32)> {
    let place = state.place_of(id::part(guest, "subscriptions")?)?;
    let group = id::part(guest, "resourceGroups")?;
    let set = id::part(guest, "virtualMachineScaleSets")?;
    let set = state.subscriptions[place].scale_set(group, set).ok()?;
    let number: u32 = id::name_of(guest).parse().ok()?;
    set.instances
        .contains_key(&number)
        .then(|| (set.at.clone(), number))
}

fn set_of<'a>(state: &'a State, at: &SetRef) -> Result<&'a ScaleSet, ArmError> {
    let gone = || ArmError::new(404, "NotFound", "The machine that asks is gone.");
    state
        .subscriptions
        .get(at.place)
        .and_then(|subscription| subscription.look(at))
        .ok_or_else(gone)
}

/// The name of an instance's machine.
fn machine(set: &ScaleSet, number: u32) -> String {
    format!("{}_{number}", set.name)
}

fn described(state: &State, at: &SetRef, number: u32) -> Result<Answer, ArmError> {
    let set = set_of(state, at)?;
    let subscription = &state.subscriptions[at.place].id;
    let Some(instance) = set.instances.get(&number) else {
        return Err(ArmError::new(404, "NotFound", "The machine is gone."));
    };
    let zone = instance.zone.as_deref().unwrap_or_default();
    Ok(Answer::ok(json!({
        "compute": {
            "azEnvironment": "AzurePublicCloud",
            "location": set.location(),
            "name": machine(set, number),
            "osProfile": { "computerName": instance.computer_name },
            "osType": "Linux",
            "provider": "Microsoft.Compute",
            "resourceGroupName": &*set.group,
            "resourceId": instance_id(&set.id(subscription), number),
            "subscriptionId": subscription,
            "vmId": instance.vm_id,
            "vmScaleSetName": &*set.name,
            "vmSize": set.model_of(instance).size,
            "zone": zone,
        },
    })))
}

/// What all guests of a set are told.
fn events(state: &State, at: &SetRef) -> Result<Answer, ArmError> {
    let set = set_of(state, at)?;
    let events: Vec<Value> = set
        .instances
        .values()
        .filter_map(|instance| event(set, instance))
        .collect();
    Ok(Answer::ok(json!({
        "DocumentIncarnation": set.incarnation,
        "Events": events,
    })))
}

fn event(set: &ScaleSet, instance: &Instance) -> Option<Value> {
    let notice = instance.notice.as_ref()?;
    let (status, not_before) = if notice.started {
        ("Started", String::new())
    } else {
        let written = notice.not_before.strftime("%a, %d %b %Y %H:%M:%S GMT");
        ("Scheduled", written.to_string())
    };
    Some(json!({
        "EventId": notice.id,
        "EventStatus": status,
        "EventType": notice.kind.name(),
        "ResourceType": "VirtualMachine",
        "Resources": [machine(set, instance.number)],
        "NotBefore": not_before,
        "Description": "",
        "EventSource": "Platform",
        "DurationInSeconds": -1,
    }))
}

/// A guest says that events may begin: its own, or others' of its set.
fn start(state: &mut State, at: &SetRef, received: &Received) -> Result<Answer, ArmError> {
    let body: Value = serde_json::from_slice(&received.body)
        .map_err(|_| bad("The request body is no JSON document"))?;
    let Some(requests) = body["StartRequests"].as_array() else {
        return Err(bad("StartRequests is missing"));
    };
    let set = set_of(state, at)?;
    let mut numbers = Vec::new();
    for request in requests {
        let wanted = request["EventId"].as_str().unwrap_or_default();
        let told = set.instances.values().find(|instance| {
            let notice = instance.notice.as_ref();
            notice.is_some_and(|notice| notice.id == wanted)
        });
        let Some(instance) = told else {
            return Err(bad("There is no event of that EventId"));
        };
        numbers.push(instance.number);
    }
    let mut site = state.site(at.place);
    for number in numbers {
        site.approve_termination(at, number);
    }
    Ok(Answer::status(200))
}
