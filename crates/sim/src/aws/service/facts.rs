//! What is known of a call before it is carried out: what the faults match and the journal keeps.

use std::{borrow::Cow, collections::BTreeMap};

use http::{Method, header};

use super::dispatch::Handler;
use crate::{
    aws::{
        autoscaling, ec2,
        protocol::{Params, Service, sigv4::Authorization},
        s3::S3Request,
        sts,
    },
    transport::Received,
};

/// Elements of a list kept in the journal, and characters of a parameter.
const FIRST_ELEMENTS: u32 = 12;
const LONGEST_PARAM: usize = 512;

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

/// Parameters worth keeping: no user data, tokens or secrets, and of long lists the first values
/// and how many there are (`Filter.1.Value.#`).
fn journal_params(params: &Params) -> BTreeMap<String, String> {
    let mut kept = BTreeMap::new();
    for (name, value) in params.leaves() {
        if is_left_out(&name) {
            continue;
        }
        match beyond_first(&name) {
            Some((list, position)) => {
                let longest: u32 = kept
                    .get(&list)
                    .and_then(|n: &String| n.parse().ok())
                    .unwrap_or(0);
                kept.insert(list, longest.max(position).to_string());
            }
            None => {
                kept.insert(name, value.chars().take(LONGEST_PARAM).collect());
            }
        }
    }
    kept
}

/// Parameters that say nothing or must not be seen.
fn is_left_out(name: &str) -> bool {
    const NAMES: [&str; 6] = [
        "UserData",
        "WebIdentityToken",
        "ClientToken",
        "Action",
        "Version",
        "Policy",
    ];
    let last = name.rsplit('.').next().unwrap_or(name);
    NAMES.contains(&last) && !name.ends_with("LaunchTemplate.Version")
}

/// For an element that is not among the first of its list: the name of the list's count, and the
/// element's position.
fn beyond_first(name: &str) -> Option<(String, u32)> {
    let parts: Vec<&str> = name.split('.').collect();
    parts.iter().enumerate().find_map(|(at, part)| {
        let position: u32 = part
            .parse()
            .ok()
            .filter(|position| *position > FIRST_ELEMENTS)?;
        Some((format!("{}.#", parts[..at].join(".")), position))
    })
}

/// All values of a call that a fault may match on.
pub(super) fn resources<'a>(facts: &'a Facts, params: &'a Params) -> Vec<Cow<'a, str>> {
    if facts.service == Service::S3 {
        return facts
            .params
            .values()
            .map(|value| value.as_str().into())
            .collect();
    }
    let leaves = params.leaves().into_iter();
    leaves
        .filter(|(name, _)| !is_left_out(name))
        .map(|(_, value)| value.into())
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
    #[test]
    fn of_long_lists_the_journal_keeps_the_beginning_and_the_length() {
        let values: Vec<String> = (1..=200)
            .map(|n| format!("Filter.1.Value.{n}=g{n}"))
            .collect();
        let kept = journal_params(&Params::parse(values.join("&").as_bytes()));
        assert_eq!(kept.len(), 13);
        assert_eq!(kept["Filter.1.Value.#"], "200");
        assert_eq!(kept["Filter.1.Value.12"], "g12");
    }
}
