//! One request from the wire to the answer: who calls, is it allowed, does a fault strike, what
//! happens, what is recorded.

mod authenticate;
mod dispatch;
mod facts;

use std::{sync::Arc, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};

pub(crate) use self::dispatch::Handler;
use self::{
    authenticate::authenticate,
    dispatch::carry_out,
    facts::{Facts, facts, query_params, resources, service_of},
};
use super::{
    Inner,
    protocol::{AwsError, Params, Service, sigv4::Authorization},
    state::{State, identity::Rights},
};
use crate::{
    cloud::CloudState,
    faults::{CallFacts, Effect, Verdict},
    journal::{Call, Outcome},
    transport::{Received, broken, scripted},
};

/// Answers a request.
pub(crate) async fn serve(inner: Arc<Inner>, request: Request<Body>) -> Response<Body> {
    let Some(received) = Received::of(request).await else {
        return broken();
    };
    let (answer, latency) = inner.answer(received);
    if !latency.is_zero() {
        inner.clock.sleep(latency).await;
    }
    answer
}

impl Inner {
    /// Carries out a request; its answer and how long it is held back.
    fn answer(&self, received: Received) -> (Response<Body>, Duration) {
        let mut state = self.lock();
        state.advance();
        let id = state.fabric.new_uuid();
        let authorization = Authorization::of(&received.headers);
        let params = query_params(&received).unwrap_or_default();
        let Some(service) = service_of(authorization.as_ref(), &params) else {
            return (no_service(&id), Duration::ZERO);
        };
        let mut facts = facts(service, authorization.as_ref(), &received, &params);
        let principal = authenticate(&state, authorization.as_ref(), &received, service);
        if let Ok(Some(principal)) = &principal {
            facts.account.clone_from(&principal.account);
            facts.from_instance = principal.rights == Rights::Worker;
        }
        let verdict = self.judge(&facts, &params);
        let result = match (&principal, &verdict.refusal) {
            (Err(error), _) => Err(error.clone()),
            (_, Some(Effect::Disconnect)) => Err(AwsError::new("Disconnect", "")),
            (_, Some(effect)) => Err(AwsError::scripted(effect, service, &facts.action)),
            (Ok(principal), None) => carry_out(
                &mut state,
                principal.as_ref(),
                &facts,
                &received,
                &params,
                &verdict,
            ),
        };
        self.record(&state, facts, &verdict, &result);
        drop(state);
        self.wake.notify_one();
        let cut = verdict.lost || verdict.refusal == Some(Effect::Disconnect);
        let answer = if cut {
            broken()
        } else if let Some(scripted) = verdict.refusal.as_ref().and_then(scripted) {
            scripted
        } else {
            render(result, service, &id, &received)
        };
        (answer, verdict.latency)
    }

    fn judge(&self, facts: &Facts, params: &Params) -> Verdict {
        if self.faults.is_empty() {
            return Verdict::default();
        }
        self.faults.judge(&CallFacts {
            service: facts.service.name(),
            action: &facts.action,
            caller: &facts.access_key_id,
            from_instance: facts.from_instance,
            resources: &resources(facts, params),
        })
    }

    fn record(
        &self,
        state: &State,
        facts: Facts,
        verdict: &Verdict,
        result: &Result<Response<Bytes>, AwsError>,
    ) {
        let outcome = match result {
            Err(error) => Outcome::Refused {
                code: error.code.to_string(),
                status: error.status,
            },
            Ok(_) if verdict.lost => Outcome::AnswerLost,
            Ok(_) => Outcome::Ok,
        };
        self.journal.push(Call {
            number: 0,
            at: state.fabric.now,
            account: facts.account,
            access_key_id: facts.access_key_id,
            region: facts.region,
            service: facts.service.name().to_owned(),
            action: facts.action,
            params: facts.params,
            outcome,
            write: facts.write,
            from_instance: facts.from_instance,
            sent: None,
        });
    }
}

fn no_service(id: &str) -> Response<Body> {
    let error = AwsError::with_status(
        "MissingAuthenticationToken",
        "The request is not signed for a service simulated here: autoscaling, ec2, s3, sts.",
        403,
    );
    let body = error.render(Service::Sts, id, "");
    let mut answer = Response::new(Body::from(body));
    *answer.status_mut() = StatusCode::FORBIDDEN;
    answer
}

fn render(
    result: Result<Response<Bytes>, AwsError>,
    service: Service,
    id: &str,
    received: &Received,
) -> Response<Body> {
    let mut answer = match result {
        Ok(answer) => answer.map(Body::from),
        Err(error) => {
            // An answer to HEAD has no body.
            let body = if received.method == Method::HEAD {
                String::new()
            } else {
                error.render(service, id, received.uri.path())
            };
            let mut answer = Response::new(Body::from(body));
            *answer.status_mut() =
                StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
            answer.headers_mut().insert(
                header::CONTENT_TYPE,
                HeaderValue::from_static("text/xml;charset=UTF-8"),
            );
            answer
        }
    };
    if let Ok(id) = HeaderValue::from_str(id) {
        let name = if service == Service::S3 {
            "x-amz-request-id"
        } else {
            "x-amzn-requestid"
        };
        answer.headers_mut().insert(name, id);
    }
    answer
}
