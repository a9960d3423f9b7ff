//! One request as handlers see it.

use std::collections::BTreeMap;

use http::{Uri, header};
use serde_json::Value;

use super::route::{Action, Target, query};
use crate::{
    azure::{
        protocol::{ArmError, page::Page, page::read_token},
        state::View,
    },
    transport::Received,
};

/// Where ARM answers when a request does not say where it was sent.
const ARM: &str = "https://management.azure.com";

/// One request.
pub(crate) struct ArmRequest {
    pub(crate) target: Target,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) body: Value,
    /// `https://management.azure.com`: what addresses in answers begin with.
    pub(crate) origin: String,
    /// The request's own absolute address, without a skip token.
    pub(crate) address: String,
    pub(crate) if_match: String,
    pub(crate) if_none_match: String,
    skip: usize,
}

impl ArmRequest {
    /// Reads a request, or says why it is refused before anything is looked at.
    pub(crate) fn read(
        action: &Action,
        target: Target,
        received: &Received,
    ) -> Result<Self, ArmError> {
        let query_text = received.uri.query().unwrap_or_default();
        let query = query(query_text);
        check_version(action, &query)?;
        let origin = origin(received);
        let address = address(&origin, &received.uri);
        let skip = read_token(query.get("$skiptoken").map(String::as_str))?;
        let body = if received.body.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&received.body).map_err(|error| {
                let message = format!(
                    "The request content was invalid and could not be deserialized: '{error}'."
                );
                ArmError::new(400, "InvalidRequestContent", message)
            })?
        };
        Ok(Self {
            target,
            query,
            body,
            origin,
            address,
            if_match: received.header("if-match").to_owned(),
            if_none_match: received.header("if-none-match").to_owned(),
            skip,
        })
    }

    pub(crate) fn group(&self) -> &str {
        &self.target.group
    }

    pub(crate) fn name(&self) -> &str {
        &self.target.name
    }

    pub(crate) fn instance(&self) -> &str {
        &self.target.instance
    }

    pub(crate) fn verb(&self) -> &str {
        &self.target.verb
    }

    /// A parameter of the query.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        self.query
            .get(&name.to_ascii_lowercase())
            .map(String::as_str)
    }

    /// The body, which must be an object.
    pub(crate) fn object(&self) -> Result<&Value, ArmError> {
        if self.body.is_object() {
            return Ok(&self.body);
        }
        let message = "The request content was invalid: a JSON object is expected.";
        Err(ArmError::new(400, "InvalidRequestContent", message))
    }

    /// The page that is asked for.
    pub(crate) fn page(&self, view: View<'_>) -> Page<'_> {
        Page {
            skip: self.skip,
            size: view.fabric.behaviour.page_size.max(1),
            address: &self.address,
        }
    }

    /// Refuses a write whose `If-Match` or `If-None-Match` does not hold for a resource of this
    /// tag, or for none.
    pub(crate) fn check_preconditions(&self, etag: Option<u64>) -> Result<(), ArmError> {
        let refused = |message: &str| Err(ArmError::new(412, "PreconditionFailed", message));
        let quoted = etag.map(|etag| format!("\"{etag}\""));
        if self.if_none_match == "*" && etag.is_some() {
            return refused("The condition 'If-None-Match: *' is not met: the resource exists.");
        }
        let wanted = self.if_match.as_str();
        let met = match (&quoted, wanted) {
            (_, "") => true,
            (Some(_), "*") => true,
            (Some(quoted), wanted) => quoted == wanted,
            (None, _) => false,
        };
        if met {
            return Ok(());
        }
        refused("The condition 'If-Match' is not met.")
    }
}

fn check_version(action: &Action, query: &BTreeMap<String, String>) -> Result<(), ArmError> {
    let Some(version) = query.get("api-version").filter(|v| !v.is_empty()) else {
        let message =
            "The api-version query parameter (?api-version=) is required for all requests.";
        return Err(ArmError::new(400, "MissingApiVersionParameter", message));
    };
    let known = action.versions();
    if known.contains(&version.as_str()) {
        return Ok(());
    }
    let message = format!(
        "No registered resource provider found for API version '{version}' of '{}'. The supported \
         api-versions are '{}'.",
        action.provider(),
        known.join(", ")
    );
    Err(ArmError::new(400, "NoRegisteredProviderFound", message))
}

/// Scheme and host a request was sent to. A socket without TLS in front of it is told by
/// `X-Forwarded-Proto` that there is one.
fn origin(received: &Received) -> String {
    if let (Some(scheme), Some(authority)) = (received.uri.scheme_str(), received.uri.authority()) {
        return format!("{scheme}://{authority}");
    }
    let host = received.header(header::HOST.as_str());
    if host.is_empty() || host == "management.azure.com" {
        return ARM.to_owned();
    }
    let scheme = match received.header("x-forwarded-proto") {
        "https" => "https",
        _ => "http",
    };
    format!("{scheme}://{host}")
}

fn address(origin: &str, uri: &Uri) -> String {
    let kept: Vec<&str> = uri
        .query()
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty())
        .filter(|pair| {
            let name = pair.split('=').next().unwrap_or_default();
            let name = name.replace("%24", "$").to_ascii_lowercase();
            name != "$skiptoken"
        })
        .collect();
    if kept.is_empty() {
        return format!("{origin}{}", uri.path());
    }
    format!("{origin}{}?{}", uri.path(), kept.join("&"))
}
