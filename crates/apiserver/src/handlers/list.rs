//! List a collection: selectors, pages, and the state at an earlier revision.

use std::sync::Arc;

use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Response;
use serde_json::{Value, json};

use super::answer::{self, ListMeta};
use super::call::Call;
use crate::convert;
use crate::object::text;
use crate::registry::Served;
use crate::request::fields::FieldSelector;
use crate::request::selector::LabelSelector;
use crate::status_error::{Cause, Failure, Outcome};
use crate::store::{Record, Snapshot};

/// The option that says how a list's resource version is meant.
pub(crate) const MATCH: &str = "resourceVersionMatch";

/// Which objects of a collection are meant.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    served: Served,
    namespace: Option<String>,
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Filter {
    /// The filter of a list, watch or collection delete.
    pub(crate) fn of(call: &Call) -> Outcome<Self> {
        Ok(Self {
            served: call.served.clone(),
            namespace: call.target.namespace.clone(),
            labels: LabelSelector::parse(&call.options.label_selector)?,
            fields: FieldSelector::parse(&call.options.field_selector, &call.served)?,
        })
    }

    /// Whether everything of the collection is meant.
    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether one object is meant.
    pub(crate) fn accepts(&self, namespace: &str, name: &str, record: &Record) -> bool {
        self.namespace
            .as_deref()
            .is_none_or(|wanted| wanted == namespace)
            && self.fields.matches_place(namespace, name)
            && self.labels.matches(|key| record.label(key))
            && (!self.fields.needs_object()
                || self
                    .fields
                    .matches_object(&convert::value(record, &self.served)))
    }
}

/// Where a list goes on: after which object, of which revision.
struct Continue {
    revision: u64,
    namespace: String,
    name: String,
}

impl Continue {
    fn encode(&self) -> String {
        let token = json!({"v": 1, "rv": self.revision, "ns": self.namespace, "n": self.name});
        URL_SAFE_NO_PAD.encode(token.to_string())
    }

    fn decode(token: &str) -> Outcome<Self> {
        let invalid = || Failure::bad_request("invalid continue token: continue key is not valid");
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| invalid())?;
        let token: Value = serde_json::from_slice(&bytes).map_err(|_| invalid())?;
        Ok(Self {
            revision: token
                .get("rv")
                .and_then(Value::as_u64)
                .ok_or_else(invalid)?,
            namespace: text(&token, &["ns"]).to_owned(),
            name: text(&token, &["n"]).to_owned(),
        })
    }
}

/// Answers with the collection, or a page of it.
pub(crate) fn list(call: &Call) -> Outcome<Response<Body>> {
    let filter = Filter::of(call)?;
    let from = match call.options.continue_token.as_str() {
        "" => None,
        token => Some(Continue::decode(token)?),
    };
    let snapshot = snapshot(call, from.as_ref())?;
    let after = |namespace: &str, name: &str| match &from {
        Some(from) => (namespace, name) > (from.namespace.as_str(), from.name.as_str()),
        None => true,
    };
    let limit = if call.options.limit == 0 {
        usize::MAX
    } else {
        call.options.limit
    };
    let mut page: Vec<Arc<Record>> = Vec::new();
    let mut last = None;
    let mut more = 0;
    for ((namespace, name), record) in &snapshot.records {
        if !after(namespace, name) || !filter.accepts(namespace, name, record) {
            continue;
        }
        if page.len() < limit {
            page.push(record.clone());
            last = Some((namespace, name));
        } else {
            more += 1;
            if !filter.is_empty() {
                break;
            }
        }
    }
    let continue_token = last.filter(|_| more > 0).map(|(namespace, name)| {
        let (namespace, name) = (namespace.clone(), name.clone());
        Continue {
            revision: snapshot.revision,
            namespace,
            name,
        }
        .encode()
    });
    let meta = ListMeta {
        revision: snapshot.revision,
        remaining: (more > 0 && filter.is_empty()).then_some(more),
        continue_token,
    };
    Ok(answer::list(call, &meta, &page))
}

/// The objects at the revision that was asked for.
fn snapshot(call: &Call, from: Option<&Continue>) -> Outcome<Snapshot> {
    let (space, shelf) = (call.instance.space(), &call.served.kind.shelf);
    let namespace = call.target.namespace.as_deref();
    let at = |revision: u64| {
        space
            .list_at(shelf, namespace, revision)
            .map(|mut snapshot| {
                snapshot.revision = revision;
                snapshot
            })
    };
    if let Some(from) = from {
        return at(from.revision).map_err(|_| {
            Failure::expired(
                "The provided continue parameter is too old to display a consistent list \
                 result. You must start a new list without the continue parameter.",
            )
        });
    }
    let matching = call.options.resource_version_match.as_str();
    let exact = match (matching, call.options.resource_version.as_str()) {
        ("", "") => None,
        ("Exact" | "NotOlderThan", "") => {
            let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            return Err(bad_match(Cause::forbidden(MATCH, why)));
        }
        ("Exact", "0") => {
            let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            return Err(bad_match(Cause::forbidden(MATCH, why)));
        }
        ("Exact" | "NotOlderThan" | "", revision) => {
            let wanted = parse_revision(revision)?;
            let newest = space.revision();
            if wanted > newest {
                return Err(too_large(wanted, newest));
            }
            (matching == "Exact").then_some(wanted)
        }
        (other, _) => {
            let supported = ["Exact", "NotOlderThan", ""];
            return Err(bad_match(Cause::unsupported(
                MATCH,
                &other.into(),
                &supported,
            )));
        }
    };
    match exact {
        None => Ok(space.list(shelf, namespace)),
        Some(revision) => {
            at(revision).map_err(|expired| Failure::too_old(revision, expired.oldest))
        }
    }
}

fn bad_match(cause: Cause) -> Failure {
    Failure::invalid_options("ListOptions", &[cause])
}

fn too_large(wanted: u64, newest: u64) -> Failure {
    let message = format!("Too large resource version: {wanted}, current: {newest}");
    Failure::new(504, "Timeout", format!("Timeout: {message}"))
}

/// Reads a resource version.
pub(crate) fn parse_revision(text: &str) -> Outcome<u64> {
    text.parse().map_err(|_| {
        Failure::bad_request(format!(
            "invalid resource version: resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: \
             invalid syntax"
        ))
    })
}
