//! What is wrong with a `clientConfig`, in the words of a genuine server. Pure.

use serde_json::Value;

use crate::metadata::subdomain_problem;
use crate::object::text;
use crate::status_error::Cause;

const FORM: &str = "desired format: https://host[/path]";

/// Everything that is wrong with a `clientConfig`.
pub(crate) fn check_client_config(config: &Value, path: &str) -> Vec<Cause> {
    let given = |field: &str| config.get(field).filter(|value| !value.is_null());
    match (given("url"), given("service")) {
        (Some(url), None) => check_url(url.as_str().unwrap_or_default(), &format!("{path}.url")),
        (None, Some(service)) => check_service(service, &format!("{path}.service")),
        _ => {
            let detail = "exactly one of url or service is required";
            vec![Cause::required(path, detail)]
        }
    }
}

/// The parts of an address as far as they are checked.
struct Parts<'a> {
    scheme: &'a str,
    host: &'a str,
    user: &'a str,
    query: &'a str,
    fragment: &'a str,
}

fn check_url(url: &str, path: &str) -> Vec<Cause> {
    let parts = match split(url) {
        Ok(parts) => parts,
        Err(why) => {
            let detail = format!("url must be a valid URL: parse {url:?}: {why}; {FORM}");
            return vec![Cause::required(path, &detail)];
        }
    };
    let mut causes = Vec::new();
    let mut refuse = |value: &str, detail: &str| {
        causes.push(Cause::invalid(path, &value.into(), detail));
    };
    if parts.scheme != "https" {
        let detail = format!("'https' is the only allowed URL scheme; {FORM}");
        refuse(parts.scheme, &detail);
    }
    if parts.host.is_empty() {
        refuse(parts.host, &format!("host must be provided; {FORM}"));
    }
    for (value, detail) in [
        (parts.user, "user information is not permitted in the URL"),
        (parts.fragment, "fragments are not permitted in the URL"),
        (parts.query, "query parameters are not permitted in the URL"),
    ] {
        if !value.is_empty() {
            refuse(value, detail);
        }
    }
    causes
}

fn split(url: &str) -> Result<Parts<'_>, String> {
    for (at, _) in url.match_indices('%') {
        let digits = url.get(at + 1..at + 3).unwrap_or_default();
        if digits.len() < 2 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            let shown: String = url.chars().skip(at).take(3).collect();
            return Err(format!("invalid URL escape {shown:?}"));
        }
    }
    let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (scheme, rest) = rest.split_once("://").unwrap_or(("", rest));
    let authority = if scheme.is_empty() {
        ""
    } else {
        rest.split('/').next().unwrap_or_default()
    };
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let after_host = if host.starts_with('[') {
        host.rsplit_once(']').map_or("", |(_, after)| after)
    } else {
        host.find(':').map_or("", |at| &host[at..])
    };
    if !after_host
        .strip_prefix(':')
        .unwrap_or_default()
        .bytes()
        .all(|b| b.is_ascii_digit())
    {
        return Err(format!("invalid port {after_host:?} after host"));
    }
    Ok(Parts {
        scheme,
        host,
        user,
        query,
        fragment,
    })
}

fn check_service(service: &Value, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    // A genuine server takes one for the other.
    if text(service, &["namespace"]).is_empty() {
        let at = format!("{path}.name");
        causes.push(Cause::required(&at, ""));
    }
    if text(service, &["name"]).is_empty() {
        let at = format!("{path}.namespace");
        causes.push(Cause::required(&at, ""));
    }
    let port = service.get("port").and_then(Value::as_i64);
    if let Some(port) = port.filter(|port| !(1..=65535).contains(port)) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        causes.push(Cause::invalid(
            &format!("{path}.port"),
            &port.into(),
            detail,
        ));
    }
    check_path(
        text(service, &["path"]),
        &format!("{path}.path"),
        &mut causes,
    );
    causes
}

fn check_path(own: &str, path: &str, causes: &mut Vec<Cause>) {
    if own.is_empty() || own == "/" {
        return;
    }
    let mut refuse = |detail: &str| causes.push(Cause::invalid(path, &own.into(), detail));
    if own == "//" {
        refuse("segment[0] may not be empty");
        return;
    }
    if !own.starts_with('/') {
        refuse("must start with a '/'");
    }
    let inner = own.get(1..).unwrap_or_default();
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    for (index, segment) in inner.split('/').enumerate() {
        if segment.is_empty() {
            refuse(&format!("segment[{index}] may not be empty"));
        } else if let Some(why) = subdomain_problem(segment) {
            refuse(&format!("segment[{index}]: {why}"));
        }
    }
}
