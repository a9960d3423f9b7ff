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

use axum::{
    Json, Router,
    extract::{Path, State},
    routing::{get, post},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::AwsSim;
use crate::control::{Reply, bad, done, found};

/// What of the control API is this cloud's own.
pub(super) fn router(sim: &AwsSim) -> Router {
    Router::new()
        .route("/world", get(world))
        .route("/capacity", post(capacity))
        .route("/quota", post(quota))
        .route("/groups/{name}/cpu", post(cpu))
        .route("/instances/{id}/{verb}", post(instance))
        .with_state(sim.clone())
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
