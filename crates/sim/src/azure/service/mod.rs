//! One request from the wire to the answer: who calls, is it allowed, does a fault strike, what
//! happens, what is recorded.

mod authenticate;
mod budgets;
mod dispatch;
mod record;
mod request;
mod route;

use std::{sync::Arc, time::Duration};

use axum::body::Body;
use http::{HeaderValue, Request, Response, StatusCode, header};

use self::{
    authenticate::{authenticate, client_of},
    dispatch::carry_out,
    record::Facts,
    route::{Action, Target, route},
};
pub(crate) use self::{
    budgets::{Budget, Budgets, Charged},
    request::ArmRequest,
    route::{Policy, query as parse_query},
};
use super::{
    Inner, login, metadata,
    protocol::{Answer, ArmError, Shape},
    state::State,
};
use crate::{
    cloud::CloudState,
    faults::{Effect, Verdict},
    transport::{Received, broken, scripted},
};

/// Answers a request.
pub(crate) async fn serve(inner: Arc<Inner>, request: Request<Body>) -> Response<Body> {
    let Some(received) = Received::of(request).await else {
        return broken();
    };
    held_back(&inner, inner.answer(&received, None)).await
}

/// Answers a request of the guest of an instance to its metadata service.
pub(crate) async fn serve_guest(
    inner: Arc<Inner>,
    guest: String,
    request: Request<Body>,
) -> Response<Body> {
    let Some(received) = Received::of(request).await else {
        return broken();
    };
    held_back(&inner, inner.answer(&received, Some(&guest))).await
}

async fn held_back(inner: &Inner, answered: (Response<Body>, Duration)) -> Response<Body> {
    let (answer, latency) = answered;
    if !latency.is_zero() {
        inner.clock.sleep(latency).await;
    }
    answer
}

impl Inner {
    /// Carries out a request; its answer and how long it is held back.
    fn answer(&self, received: &Received, guest: Option<&str>) -> (Response<Body>, Duration) {
        let mut state = self.lock();
        state.advance();
        let id = state.fabric.new_uuid();
        // A guest reaches no more than its metadata service.
        let routed = match guest {
            Some(_) => None,
            None => route(&received.method, received.uri.path()),
        };
        let mut facts = Facts::of(received, routed.as_ref());
        facts.caller = client_of(&state, received);
        let verdict = facts.judge(&self.faults);
        let mut charged = Charged::default();
        let result = match &verdict.refusal {
            Some(Effect::Disconnect) => Err(ArmError::new(0, "Disconnect", "")),
            Some(effect) => Err(ArmError::scripted(effect, facts.service, facts.action)),
            None if login::serves(received.uri.path()) => {
                login::call(&mut state, received, &mut facts.caller)
            }
            None => match (&routed, guest) {
                (_, Some(guest)) if metadata::serves(received.uri.path()) => {
                    guest.clone_into(&mut facts.caller);
                    metadata::call(&mut state, received, guest)
                }
                (Some((action, target)), _) => {
                    let call = Call {
                        action,
                        target,
                        caller: &facts.caller,
                        verdict: &verdict,
                    };
                    call.carry_out(&mut state, received, &mut charged)
                }
                (None, _) => Err(nothing_here(received)),
            },
        };
        facts.record(&self.journal, state.fabric.now, received, &verdict, &result);
        drop(state);
        self.wake.notify_one();
        let cut = verdict.lost || verdict.refusal == Some(Effect::Disconnect);
        let answer = if cut {
            broken()
        } else if let Some(scripted) = verdict.refusal.as_ref().and_then(scripted) {
            scripted
        } else {
            render(result, &charged, &id, received)
        };
        (answer, verdict.latency)
    }
}

/// A call of ARM.
struct Call<'a> {
    action: &'a Action,
    target: &'a Target,
    caller: &'a str,
    verdict: &'a Verdict,
}

impl Call<'_> {
    fn carry_out(
        &self,
        state: &mut State,
        received: &Received,
        charged: &mut Charged,
    ) -> Result<Answer, ArmError> {
        let (action, target) = (self.action, self.target);
        let resource = received.uri.path();
        authenticate(state, received, &target.subscription, action.name, resource)?;
        let request = ArmRequest::read(action, target.clone(), received)?;
        let now = state.fabric.now;
        *charged =
            state
                .budgets
                .charge(action, self.caller, &target.subscription, resource, now)?;
        carry_out(state, action, &request, resource, self.verdict)
    }
}

fn nothing_here(received: &Received) -> ArmError {
    let message = format!(
        "{} {} is not simulated here.",
        received.method,
        received.uri.path()
    );
    ArmError::new(404, "InvalidResourceType", message)
}

fn render(
    result: Result<Answer, ArmError>,
    charged: &Charged,
    id: &str,
    received: &Received,
) -> Response<Body> {
    let answer = result.unwrap_or_else(|error| {
        let mut body = error.body();
        if error.shape == Shape::OAuth {
            body["trace_id"] = id.into();
            body["correlation_id"] = id.into();
        }
        let mut answer = Answer::with(error.status, Some(body));
        if let Some(seconds) = error.retry_after {
            answer = answer.header("retry-after", seconds.to_string());
        }
        if error.status == 401 {
            let challenge = format!(
                "Bearer authorization_uri=\"https://login.microsoftonline.com/\", \
                 error=\"invalid_token\", error_description=\"{}\"",
                error.message
            );
            answer = answer.header("www-authenticate", challenge);
        }
        answer
    });
    let body = answer.body.map(|body| body.to_string());
    let mut response = Response::new(Body::from(body.clone().unwrap_or_default()));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_REQUEST);
    let headers = response.headers_mut();
    if body.is_some() {
        let kind = HeaderValue::from_static("application/json; charset=utf-8");
        headers.insert(header::CONTENT_TYPE, kind);
    }
    let mut own = vec![
        ("x-ms-request-id", id.to_owned()),
        ("x-ms-correlation-request-id", id.to_owned()),
    ];
    let client = received.header("x-ms-client-request-id");
    if !client.is_empty() {
        own.push(("x-ms-client-request-id", client.to_owned()));
    }
    if !charged.resource.is_empty() {
        own.push((
            "x-ms-ratelimit-remaining-resource",
            charged.resource.join(","),
        ));
        own.push(("x-ms-request-charge", "1".to_owned()));
    }
    if let Some(left) = charged.subscription {
        own.push((remaining(received), left.to_string()));
    }
    for (name, value) in own.into_iter().chain(answer.headers) {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
    response
}

fn remaining(received: &Received) -> &'static str {
    match received.method.as_str() {
        "GET" => "x-ms-ratelimit-remaining-subscription-reads",
        "DELETE" => "x-ms-ratelimit-remaining-subscription-deletes",
        _ => "x-ms-ratelimit-remaining-subscription-writes",
    }
}
