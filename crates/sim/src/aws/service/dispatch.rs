//! Carrying a call out: which service, which handler, may the caller, and on which state.

use bytes::Bytes;
use http::{HeaderValue, Response, header};

use super::facts::Facts;
use crate::{
    aws::{
        autoscaling, ec2,
        protocol::{AwsError, Params, Service, Xml, chunked, query_answer},
        s3::{self, S3Request},
        state::{
            Site, State, View,
            identity::{Principal, Rights},
        },
        sts,
    },
    faults::Verdict,
    transport::Received,
};

/// What carries out an action of a Query service.
#[derive(Clone, Copy)]
pub(crate) enum Handler {
    /// It only reads, and may be answered from the past.
    Read(fn(View<'_>, &Params) -> Result<Xml, AwsError>),
    /// It changes something.
    Write(fn(&mut Site<'_>, &Params) -> Result<Xml, AwsError>),
}

/// The answer of a call, or the refusal.
pub(super) fn carry_out(
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
    let body = query_answer(facts.service, &facts.action, xml, &state.fabric.new_uuid());
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
        Service::Ec2 => ec2::handler(&facts.action),
        Service::S3 | Service::Sts => None,
    };
    let handler = handler.ok_or_else(|| no_action(&facts.action))?;
    if facts.service == Service::Ec2 {
        ec2::refuse_unknown(&facts.action, params)?;
    }
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
