//! The part of the control API that all clouds share: journal and faults as JSON over HTTP.
//!
//! | request | what it does |
//! | --- | --- |
//! | `GET /journal?since=N`, `DELETE /journal` | recorded calls |
//! | `POST /faults`, `DELETE /faults` | script a failure, end all |

use std::{collections::BTreeMap, time::Duration};

use axum::{
    Json, Router,
    extract::{Query, State},
    http::StatusCode,
    routing::{get, post},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Effect, Fault, Faults, Journal};

pub(crate) type Reply = Result<Json<Value>, (StatusCode, Json<Value>)>;

/// The shared routes.
pub(crate) fn router(faults: Faults, journal: Journal) -> Router {
    let faults = Router::new()
        .route("/faults", post(add_fault).delete(end_faults))
        .with_state(faults);
    Router::new()
        .route("/journal", get(recorded).delete(forget_journal))
        .with_state(journal)
        .merge(faults)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Since {
    #[serde(default)]
    since: u64,
}

async fn recorded(
    State(journal): State<Journal>,
    Query(Since { since }): Query<Since>,
) -> Json<Value> {
    Json(json!({ "calls": journal.since(since), "next": journal.next_number() }))
}

async fn forget_journal(State(journal): State<Journal>) -> Json<Value> {
    journal.clear();
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
    /// Of `refuse` and `answer`.
    status: Option<u16>,
    /// Of `answer`.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<String>,
    service: Option<String>,
    action: Option<String>,
    resource: Option<String>,
    /// Access key id, or client id at Azure.
    #[serde(alias = "accessKeyId")]
    caller: Option<String>,
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
    Answer,
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
                code: self
                    .code
                    .ok_or("refuse needs code, an error code of the cloud")?,
                message: self.message.unwrap_or_else(|| "scripted".to_owned()),
                status: self.status.unwrap_or(400),
            },
            EffectName::Answer => Effect::Answer {
                status: self.status.ok_or("answer needs status")?,
                headers: self.headers.into_iter().collect(),
                body: self.body.unwrap_or_default(),
            },
        };
        let mut fault = Fault::new(effect)
            .skip(self.skip.unwrap_or(0))
            .every(self.every.unwrap_or(1));
        fault = match (self.service, self.action) {
            (Some(service), Some(action)) => fault.on(&service, &action),
            (Some(service), None) => fault.service(&service),
            (None, Some(_)) => return Err("action needs service, as the journal names it"),
            (None, None) => fault,
        };
        if let Some(part) = self.resource {
            fault = fault.resource(&part);
        }
        if let Some(id) = self.caller {
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

async fn add_fault(State(faults): State<Faults>, Json(request): Json<FaultRequest>) -> Reply {
    let fault = request.into_fault().map_err(bad)?;
    faults.script(fault);
    Ok(done())
}

async fn end_faults(State(faults): State<Faults>) -> Json<Value> {
    faults.clear();
    done()
}

pub(crate) fn done() -> Json<Value> {
    Json(json!({ "done": true }))
}

pub(crate) fn found(known: bool, otherwise: &str) -> Reply {
    if known {
        Ok(done())
    } else {
        Err((StatusCode::NOT_FOUND, Json(json!({ "error": otherwise }))))
    }
}

pub(crate) fn bad(why: &str) -> (StatusCode, Json<Value>) {
    (StatusCode::BAD_REQUEST, Json(json!({ "error": why })))
}
