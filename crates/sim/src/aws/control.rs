//! The hands on the world as JSON over HTTP, for a person with curl and for other tools.
//!
//! | request | what it does |
//! | --- | --- |
//! | `GET /world` | groups, instances, templates, boot failures |
//! | `GET /journal?since=N`, `DELETE /journal` | recorded calls |
//! | `POST /faults`, `DELETE /faults` | script a failure, end all |
//! | `POST /capacity` | `{"zone", "instanceType", "instances"}` |
//! | `POST /quota` | `{"account", "region", "onDemand", "spot"}` |
//! | `POST /groups/NAME/cpu` | `{"percent"}` |
//! | `POST /instances/ID/VERB` | `terminate`, `stop`, `start` or `interrupt` |
//!
//! It has no authentication: mount it on loopback only.

use std::time::Duration;

use axum::{
    Json, Router,
    extract::{Path, Query, State},
    http::StatusCode,
    routing::{get, post},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::AwsSim;
use crate::{Effect, Fault};

type Reply = Result<Json<Value>, (StatusCode, Json<Value>)>;

impl AwsSim {
    /// The control API. `sim.router().nest("/_sim", sim.control_router())` serves it beside the
    /// services: no bucket can have that name.
    pub fn control_router(&self) -> Router {
        Router::new()
            .route("/world", get(world))
            .route("/journal", get(journal).delete(forget_journal))
            .route("/faults", post(add_fault).delete(end_faults))
            .route("/capacity", post(capacity))
            .route("/quota", post(quota))
            .route("/groups/{name}/cpu", post(cpu))
            .route("/instances/{id}/{verb}", post(instance))
            .with_state(self.clone())
    }
}

async fn world(State(sim): State<AwsSim>) -> Json<Value> {
    let world = sim.world();
    Json(json!({
        "now": sim.clock().now(),
        "groups": world.groups(),
        "instances": world.instances(),
        "templates": world.templates(),
        "bootFailures": world.boot_failures(),
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Since {
    #[serde(default)]
    since: u64,
}

async fn journal(State(sim): State<AwsSim>, Query(Since { since }): Query<Since>) -> Json<Value> {
    let journal = sim.journal();
    Json(json!({ "calls": journal.since(since), "next": journal.next_number() }))
}

async fn forget_journal(State(sim): State<AwsSim>) -> Json<Value> {
    sim.journal().clear();
    done()
}

/// A fault as JSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FaultRequest {
    effect: EffectName,
    /// Of `latency` and `stale-read`.
    seconds: Option<f64>,
    /// Of `refuse`.
    code: Option<String>,
    message: Option<String>,
    status: Option<u16>,
    service: Option<String>,
    action: Option<String>,
    resource: Option<String>,
    access_key_id: Option<String>,
    #[serde(default)]
    from_instances: bool,
    skip: Option<u32>,
    every: Option<u32>,
    times: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum EffectName {
    Throttle,
    Denied,
    InternalError,
    Unavailable,
    ExpiredToken,
    BadSignature,
    Refuse,
    LostAnswer,
    Disconnect,
    Latency,
    StaleRead,
}

impl FaultRequest {
    fn into_fault(self) -> Result<Fault, &'static str> {
        let span = self
            .seconds
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let effect = match self.effect {
            EffectName::Throttle => Effect::Throttle,
            EffectName::Denied => Effect::Denied,
            EffectName::InternalError => Effect::InternalError,
            EffectName::Unavailable => Effect::Unavailable,
            EffectName::ExpiredToken => Effect::ExpiredToken,
            EffectName::BadSignature => Effect::BadSignature,
            EffectName::LostAnswer => Effect::LostAnswer,
            EffectName::Disconnect => Effect::Disconnect,
            EffectName::Latency => {
                Effect::Latency(span.ok_or("latency needs seconds, at least 0")?)
            }
            EffectName::StaleRead => {
                Effect::StaleRead(span.ok_or("stale-read needs seconds, at least 0")?)
            }
            EffectName::Refuse => Effect::Refuse {
                code: self.code.ok_or("refuse needs code, an AWS error code")?,
                message: self.message.unwrap_or_else(|| "scripted".to_owned()),
                status: self.status.unwrap_or(400),
            },
        };
        let mut fault = Fault::new(effect)
            .skip(self.skip.unwrap_or(0))
            .every(self.every.unwrap_or(1));
        fault = match (self.service, self.action) {
            (Some(service), Some(action)) => fault.on(&service, &action),
            (Some(service), None) => fault.service(&service),
            (None, Some(_)) => return Err("action needs service: autoscaling, ec2, s3 or sts"),
            (None, None) => fault,
        };
        if let Some(part) = self.resource {
            fault = fault.resource(&part);
        }
        if let Some(id) = self.access_key_id {
            fault = fault.caller(&id);
        }
        if self.from_instances {
            fault = fault.from_instances();
        }
        if let Some(times) = self.times {
            fault = fault.times(times);
        }
        Ok(fault)
    }
}

async fn add_fault(State(sim): State<AwsSim>, Json(request): Json<FaultRequest>) -> Reply {
    let fault = request.into_fault().map_err(bad)?;
    sim.faults().script(fault);
    Ok(done())
}

async fn end_faults(State(sim): State<AwsSim>) -> Json<Value> {
    sim.faults().clear();
    done()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Capacity {
    zone: String,
    instance_type: String,
    instances: Option<u32>,
}

async fn capacity(State(sim): State<AwsSim>, Json(limit): Json<Capacity>) -> Json<Value> {
    sim.world()
        .set_capacity(&limit.zone, &limit.instance_type, limit.instances);
    done()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Quota {
    account: String,
    region: String,
    on_demand: Option<u32>,
    spot: Option<u32>,
}

async fn quota(State(sim): State<AwsSim>, Json(quota): Json<Quota>) -> Json<Value> {
    sim.world()
        .set_vcpu_quota(&quota.account, &quota.region, quota.on_demand, quota.spot);
    done()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cpu {
    percent: f64,
}

async fn cpu(
    State(sim): State<AwsSim>,
    Path(name): Path<String>,
    Json(Cpu { percent }): Json<Cpu>,
) -> Reply {
    found(
        sim.world().set_cpu(&name, percent),
        "there is no group of that name",
    )
}

async fn instance(State(sim): State<AwsSim>, Path((id, verb)): Path<(String, String)>) -> Reply {
    let world = sim.world();
    let known = match verb.as_str() {
        "terminate" => world.terminate_instance(&id),
        "stop" => world.stop_instance(&id),
        "start" => world.start_instance(&id),
        "interrupt" => world.interrupt_spot(&id),
        _ => return Err(bad("the verb is none of terminate, stop, start, interrupt")),
    };
    found(known, "there is no instance of that id")
}

fn done() -> Json<Value> {
    Json(json!({ "done": true }))
}

fn found(known: bool, otherwise: &str) -> Reply {
    if known {
        Ok(done())
    } else {
        Err((StatusCode::NOT_FOUND, Json(json!({ "error": otherwise }))))
    }
}

fn bad(why: &str) -> (StatusCode, Json<Value>) {
    (StatusCode::BAD_REQUEST, Json(json!({ "error": why })))
}
