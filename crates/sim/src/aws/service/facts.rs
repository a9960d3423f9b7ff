//! What is known of a call before it is carried out: what the faults match and the journal keeps.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderMap, Method, Uri, header};

use super::dispatch::Handler;
use crate::aws::{
    autoscaling, ec2,
    protocol::{Params, Service, sigv4::Authorization},
    s3::S3Request,
    sts,
};

/// Parameters kept in the journal, and characters of each.
const MOST_PARAMS: usize = 48;
const LONGEST_PARAM: usize = 512;

/// A received request.
pub(super) struct Received {
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// What is known of a call before it is carried out.
pub(super) struct Facts {
    pub(super) service: Service,
    pub(super) region: String,
    pub(super) access_key_id: String,
    pub(super) account: String,
    pub(super) from_instance: bool,
    pub(super) action: String,
    pub(super) write: bool,
    pub(super) params: BTreeMap<String, String>,
}

/// The service a signature is for; an unsigned call can only be STS's.
pub(super) fn service_of(
    authorization: Option<&Authorization>,
    params: &Params,
) -> Option<Service> {
    match authorization {
        Some(authorization) => Service::from_scope(&authorization.service),
        None => params
            .text("Action")
            .filter(|action| sts::is_action(action))
            .map(|_| Service::Sts),
    }
}

/// The parameters of a Query call, from the body or the address.
pub(super) fn query_params(received: &Received) -> Option<Params> {
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

/// What the journal and the faults see of a call.
pub(super) fn facts(
    service: Service,
    authorization: Option<&Authorization>,
    received: &Received,
    params: &Params,
) -> Facts {
    let request = (service == Service::S3)
        .then(|| S3Request::of(&received.method, &received.uri, &received.headers))
        .flatten();
    let (action, write, journal) = match &request {
        Some(request) => s3_facts(request),
        None => query_facts(service, params),
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

fn s3_facts(request: &S3Request<'_>) -> (String, bool, BTreeMap<String, String>) {
    let places = [("Bucket", &request.bucket), ("Key", &request.key)];
    let journal = places
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (name.to_owned(), value.clone()))
        .collect();
    let action = request.action;
    (action.name().to_owned(), action.writes(), journal)
}

fn query_facts(service: Service, params: &Params) -> (String, bool, BTreeMap<String, String>) {
    let action = params.text("Action").unwrap_or_default();
    let handler = match service {
        Service::AutoScaling => autoscaling::handler(action),
        Service::Ec2 => ec2::handler(action),
        Service::S3 | Service::Sts => None,
    };
    let write = matches!(handler, Some(Handler::Write(_)));
    (action.to_owned(), write, journal_params(params))
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
