//! The hands on the world as JSON over HTTP, for a person with curl and for other tools.
//!
//! | request | what it does |
//! | --- | --- |
//! | `GET /world` | scale sets with instances, settings, operations, boot failures |
//! | `GET /journal?since=N`, `DELETE /journal` | recorded calls |
//! | `POST /faults`, `DELETE /faults` | script a failure, end all |
//! | `POST /capacity` | `{"region", "zone", "size", "instances"}` |
//! | `POST /quota` | `{"subscription", "region", "regular", "spot"}` |
//! | `POST /lock` | `{"scope", "lock": "CanNotDelete" \| "ReadOnly" \| null}` |
//! | `POST /throttle` | `{"policy", "refill", "bucket"}`, or `{}` for Azure's own budgets |
//! | `POST /scale-sets/NAME/cpu` | `{"percent"}`, null when it cannot be read |
//! | `POST /scale-sets/NAME/instances/ID/VERB` | `stop`, `deallocate`, `hibernate`, `start`, `restart`, `fail`, `delete`, `vanish`, `approve`, `evict` |
//! | `GET`, `POST /scale-sets/NAME/instances/ID/metadata/…` | the instance's metadata service, Scheduled Events among them |
//! | `POST /autoscale` | Autoscale looks at all settings now |
//!
//! It has no authentication: mount it on loopback only.

use axum::{
    Json, Router,
    extract::{Path, Request, State},
    response::{IntoResponse, Response},
    routing::{any, get, post},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{AzureSim, Lock};
use crate::control::{Reply, bad, done, found};

/// What of the control API is this cloud's own.
pub(super) fn router(sim: &AzureSim) -> Router {
    let instance = "/scale-sets/{name}/instances/{id}/{verb}";
    let guest = "/scale-sets/{name}/instances/{id}/metadata";
    Router::new()
        .route("/world", get(world))
        .route("/capacity", post(capacity))
        .route("/quota", post(quota))
        .route("/lock", post(lock))
        .route("/throttle", post(throttle))
        .route("/autoscale", post(autoscale))
        .route("/scale-sets/{name}/cpu", post(cpu))
        .route(instance, post(operate))
        .route(&format!("{guest}/{{*rest}}"), any(metadata))
        .with_state(sim.clone())
}

async fn world(State(sim): State<AzureSim>) -> Json<Value> {
    let world = sim.world();
    Json(json!({
        "now": sim.clock().now(),
        "scaleSets": world.scale_sets(),
        "settings": world.settings(),
        "operations": world.operations(),
        "bootFailures": world.boot_failures(),
    }))
}

async fn metadata(
    State(sim): State<AzureSim>,
    Path((name, id, rest)): Path<(String, String, String)>,
    mut request: Request,
) -> Response {
    let sets = sim.world().scale_sets();
    let instance = sets
        .iter()
        .filter(|set| set.name.eq_ignore_ascii_case(&name))
        .flat_map(|set| &set.instances)
        .find(|instance| instance.instance_id == id);
    let Some(instance) = instance else {
        return bad("there is no such instance").into_response();
    };
    let query = request.uri().query();
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    match format!("/metadata/{rest}{query}").parse() {
        Ok(path) => *request.uri_mut() = path,
        Err(_) => return bad("the address is none").into_response(),
    }
    let router = sim.metadata_router(&instance.id);
    match tower::ServiceExt::oneshot(router, request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Capacity {
    region: String,
    zone: Option<String>,
    size: String,
    instances: Option<u32>,
}

async fn capacity(State(sim): State<AzureSim>, Json(limit): Json<Capacity>) -> Json<Value> {
    let zone = limit.zone.as_deref();
    sim.world()
        .set_capacity(&limit.region, zone, &limit.size, limit.instances);
    done()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Quota {
    subscription: String,
    region: String,
    regular: Option<u32>,
    spot: Option<u32>,
}

async fn quota(State(sim): State<AzureSim>, Json(quota): Json<Quota>) -> Json<Value> {
    sim.world().set_core_quota(
        &quota.subscription,
        &quota.region,
        quota.regular,
        quota.spot,
    );
    done()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LockRequest {
    scope: String,
    lock: Option<Lock>,
}

async fn lock(State(sim): State<AzureSim>, Json(wanted): Json<LockRequest>) -> Json<Value> {
    sim.world().set_lock(&wanted.scope, wanted.lock);
    done()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Throttle {
    policy: Option<String>,
    refill: Option<f64>,
    bucket: Option<f64>,
}

async fn throttle(State(sim): State<AzureSim>, Json(wanted): Json<Throttle>) -> Reply {
    let world = sim.world();
    match (wanted.policy, wanted.refill, wanted.bucket) {
        (None, None, None) => {
            world.throttle_like_azure();
            Ok(done())
        }
        (Some(policy), Some(refill), Some(bucket)) => found(
            world.throttle(&policy, refill, bucket),
            "there is no policy of that name",
        ),
        _ => Err(bad("policy, refill and bucket belong together")),
    }
}

async fn autoscale(State(sim): State<AzureSim>) -> Json<Value> {
    sim.world().run_autoscale();
    done()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cpu {
    percent: Option<f64>,
}

async fn cpu(
    State(sim): State<AzureSim>,
    Path(name): Path<String>,
    Json(Cpu { percent }): Json<Cpu>,
) -> Reply {
    found(
        sim.world().set_cpu(&name, percent),
        "there is no scale set of that name",
    )
}

async fn operate(
    State(sim): State<AzureSim>,
    Path((name, id, verb)): Path<(String, u32, String)>,
) -> Reply {
    found(
        sim.world().operate(&name, id, &verb),
        "there is no such instance or verb",
    )
}
