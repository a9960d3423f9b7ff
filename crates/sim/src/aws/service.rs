//! One request from the wire to the answer: who calls, is it allowed, does a fault strike, what
//! happens, what is recorded.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use futures::stream;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::BodyExt;

use super::{
    Inner, autoscaling, ec2,
    protocol::{
        AwsError, Params, Service, Xml, chunked, query_answer,
        sigv4::{Authorization, Signable},
    },
    s3::{self, S3Request},
    state::{
        Site, State, View,
        identity::{Principal, Rights},
    },
    sts,
};
use crate::{
    faults::{CallFacts, Effect, Verdict},
    journal::{Call, Outcome},
};

/// Largest body taken. Ours: the calls simulated here stay far below.
const MOST_BODY_BYTES: usize = 16 << 20;
/// Parameters kept in the journal, and characters of each.
const MOST_PARAMS: usize = 48;
const LONGEST_PARAM: usize = 512;

/// What carries out an action of a Query service.
#[derive(Clone, Copy)]
pub(crate) enum Handler {
    /// It only reads, and may be answered from the past.
    Read(fn(View<'_>, &Params) -> Result<Xml, AwsError>),
    /// It changes something.
    Write(fn(&mut Site<'_>, &Params) -> Result<Xml, AwsError>),
}

/// A received request.
struct Received {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
}

/// What is known of a call before it is carried out.
struct Facts {
    service: Service,
    region: String,
    access_key_id: String,
    account: String,
    from_instance: bool,
    action: String,
    write: bool,
    params: BTreeMap<String, String>,
}

/// Answers a request.
pub(crate) async fn serve(inner: Arc<Inner>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let limited = http_body_util::Limited::new(body, MOST_BODY_BYTES);
    let body = match limited.collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => return broken(),
    };
    let received = Received {
        method: parts.method,
        uri: parts.uri,
        headers: parts.headers,
        body,
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
        let params = match query_params(&received) {
            Some(params) => params,
            None => Params::default(),
        };
        let Some(service) = service_of(authorization.as_ref(), &params) else {
            return (no_service(&id), Duration::ZERO);
        };
        let mut facts = facts(service, authorization.as_ref(), &received, &params);
        let principal = authenticate(&state, authorization.as_ref(), &received, service);
        if let Ok(Some(principal)) = &principal {
            facts.account.clone_from(&principal.account);
            facts.from_instance = principal.rights == Rights::Worker;
        }
        let verdict = self.judge(&facts);
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
        } else {
            render(result, service, &id, &received)
        };
        (answer, verdict.latency)
    }

    fn judge(&self, facts: &Facts) -> Verdict {
        let resources: Vec<Cow<'_, str>> = facts
            .params
            .values()
            .map(|value| Cow::Borrowed(value.as_str()))
            .collect();
        self.faults.judge(&CallFacts {
            service: facts.service.name(),
            action: &facts.action,
            access_key_id: &facts.access_key_id,
            resources: &resources,
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
        });
    }
}

/// The service a signature is for; an unsigned call can only be STS's.
fn service_of(authorization: Option<&Authorization>, params: &Params) -> Option<Service> {
    match authorization {
        Some(authorization) => Service::from_scope(&authorization.service),
        None => params
            .text("Action")
            .filter(|action| sts::is_action(action))
            .map(|_| Service::Sts),
    }
}

fn query_params(received: &Received) -> Option<Params> {
    let form = received
        .headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"));
    if form && received.method == Method::POST {
        return Some(Params::parse(&received.body));
    }
    let query = received.uri.query()?;
    query
        .contains("Action=")
        .then(|| Params::parse(query.as_bytes()))
}

fn facts(
    service: Service,
    authorization: Option<&Authorization>,
    received: &Received,
    params: &Params,
) -> Facts {
    let s3 = (service == Service::S3)
        .then(|| S3Request::of(&received.method, &received.uri, &received.headers))
        .flatten();
    let (action, write, journal) = match &s3 {
        Some(request) => {
            let journal = [("Bucket", &request.bucket), ("Key", &request.key)]
                .into_iter()
                .filter(|(_, value)| !value.is_empty())
                .map(|(name, value)| (name.to_owned(), value.clone()))
                .collect();
            (
                request.action.name().to_owned(),
                request.action.writes(),
                journal,
            )
        }
        None => {
            let action = params.text("Action").unwrap_or_default();
            let write = match service {
                Service::AutoScaling => {
                    matches!(autoscaling::handler(action), Some(Handler::Write(_)))
                }
                Service::Ec2 => matches!(ec2::handler(action), Some((Handler::Write(_), _))),
                Service::S3 | Service::Sts => false,
            };
            (action.to_owned(), write, journal_params(params))
        }
    };
    Facts {
        service,
        region: authorization.map(|a| a.region.clone()).unwrap_or_default(),
        access_key_id: authorization
            .map(|a| a.access_key_id.clone())
            .unwrap_or_default(),
        account: String::new(),
        from_instance: false,
        action,
        write,
        params: journal,
    }
}

/// Parameters worth keeping: no user data, tokens or secrets, and of long lists the first values.
fn journal_params(params: &Params) -> BTreeMap<String, String> {
    const LEFT_OUT: [&str; 6] = [
        "UserData",
        "WebIdentityToken",
        "ClientToken",
        "Action",
        "Version",
        "Policy",
    ];
    params
        .leaves()
        .into_iter()
        .filter(|(name, _)| {
            !LEFT_OUT
                .iter()
                .any(|out| name.rsplit('.').next() == Some(*out))
                || name.contains("LaunchTemplate.Version")
        })
        .take(MOST_PARAMS)
        .map(|(name, value)| (name, value.chars().take(LONGEST_PARAM).collect()))
        .collect()
}

/// The caller; `None` for an unsigned call.
fn authenticate(
    state: &State,
    authorization: Option<&Authorization>,
    received: &Received,
    service: Service,
) -> Result<Option<Principal>, AwsError> {
    let Some(authorization) = authorization else {
        return Ok(None);
    };
    let Some(key) = state.identity.keys.get(&authorization.access_key_id) else {
        return Err(AwsError::unknown_key(service));
    };
    let token = received
        .headers
        .get("x-amz-security-token")
        .and_then(|t| t.to_str().ok());
    if key.session_token.as_ref().map(|token| token.0.as_str()) != token {
        return Err(AwsError::unknown_key(service));
    }
    let signable = Signable {
        method: &received.method,
        uri: &received.uri,
        headers: &received.headers,
        body: &received.body,
    };
    if !authorization.matches(&signable, &key.secret.0) {
        return Err(AwsError::bad_signature(service));
    }
    if !signable.body_is_intact() {
        return Err(match service {
            Service::S3 => AwsError::new(
                "XAmzContentSHA256Mismatch",
                "The provided 'x-amz-content-sha256' header does not match what was computed.",
            ),
            _ => AwsError::bad_signature(service),
        });
    }
    if key
        .expires
        .is_some_and(|expires| expires <= state.fabric.now)
    {
        return Err(AwsError::expired(service));
    }
    Ok(Some(key.principal.clone()))
}

fn carry_out(
    state: &mut State,
    principal: Option<&Principal>,
    facts: &Facts,
    received: &Received,
    params: &Params,
    verdict: &Verdict,
) -> Result<Response<Bytes>, AwsError> {
    if facts.service == Service::S3 {
        let principal = principal.ok_or_else(|| AwsError::denied(Service::S3, &facts.action))?;
        return s3_call(state, principal, received);
    }
    let xml = if facts.service == Service::Sts {
        if !sts::is_action(&facts.action) {
            return Err(no_action(&facts.action));
        }
        sts::call(state, principal, &facts.action, params)?
    } else {
        let principal = principal.ok_or_else(|| AwsError::unknown_key(facts.service))?;
        query_call(state, principal, facts, params, verdict)?
    };
    let body = query_answer(facts.service, &facts.action, &xml, &state.fabric.new_uuid());
    let mut answer = Response::new(Bytes::from(body));
    answer.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/xml;charset=UTF-8"),
    );
    Ok(answer)
}

fn s3_call(
    state: &mut State,
    principal: &Principal,
    received: &Received,
) -> Result<Response<Bytes>, AwsError> {
    let request = S3Request::of(&received.method, &received.uri, &received.headers);
    let request = request.ok_or_else(|| {
        AwsError::with_status("MethodNotAllowed", "The method is not simulated here.", 405)
    })?;
    let streaming = request
        .header("x-amz-content-sha256")
        .is_some_and(|hash| hash.starts_with("STREAMING-"));
    if streaming {
        let body = chunked::decode(&received.body).ok_or_else(|| {
            AwsError::new(
                "IncompleteBody",
                "The chunks of the body are not well-formed.",
            )
        })?;
        return s3::call(state, principal, &request, &body);
    }
    s3::call(state, principal, &request, &received.body)
}

fn query_call(
    state: &mut State,
    principal: &Principal,
    facts: &Facts,
    params: &Params,
    verdict: &Verdict,
) -> Result<Xml, AwsError> {
    let handler = match facts.service {
        Service::AutoScaling => autoscaling::handler(&facts.action),
        Service::Ec2 => match ec2::handler(&facts.action) {
            Some((handler, known)) => {
                ec2::refuse_unknown(params, known)?;
                Some(handler)
            }
            None => None,
        },
        Service::S3 | Service::Sts => None,
    };
    let handler = handler.ok_or_else(|| no_action(&facts.action))?;
    let may = principal.rights == Rights::Everything
        || ["DescribeInstances", "DescribeRegions"].contains(&facts.action.as_str());
    if !may {
        return Err(AwsError::denied(facts.service, &facts.action));
    }
    let estate = state
        .estate_id(&principal.account, &facts.region)
        .ok_or_else(|| {
            AwsError::new(
                "InvalidRegion",
                format!("There is no region {}", facts.region),
            )
        })?;
    let dry_run = params.flag("DryRun")?.unwrap_or(false);
    if dry_run && facts.service == Service::Ec2 {
        return Err(AwsError::with_status(
            "DryRunOperation",
            "Request would have succeeded, but DryRun flag is set.",
            412,
        ));
    }
    match handler {
        Handler::Read(read) => {
            let age = verdict.stale.unwrap_or(state.fabric.timing.read_lag);
            let moment = state.fabric.now - jiff::SignedDuration::try_from(age).unwrap_or_default();
            let past = if age.is_zero() {
                None
            } else {
                state.as_of(estate, moment)
            };
            match past {
                Some(past) => read(
                    View {
                        estate: &past,
                        fabric: &state.fabric,
                    },
                    params,
                ),
                None => read(state.view(estate), params),
            }
        }
        Handler::Write(write) => write(&mut state.site(estate), params),
    }
}

fn no_action(action: &str) -> AwsError {
    AwsError::new(
        "InvalidAction",
        format!("Could not find operation {action}"),
    )
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

/// An answer whose body breaks off: what a caller sees of a lost connection.
fn broken() -> Response<Body> {
    let cut = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    let body = Body::from_stream(stream::iter([Err::<Bytes, _>(cut)]));
    Response::new(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_keeps_names_and_leaves_secrets_out() {
        let params = Params::parse(
            b"Action=CreateLaunchTemplate&LaunchTemplateName=x&ClientToken=t\
              &LaunchTemplateData.UserData=c2VjcmV0&LaunchTemplate.Version=%24Latest",
        );
        let kept = journal_params(&params);
        let names: Vec<&str> = kept.keys().map(String::as_str).collect();
        assert_eq!(names, ["LaunchTemplate.Version", "LaunchTemplateName"]);
    }
}
