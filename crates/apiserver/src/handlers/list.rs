//! List a collection: selectors, pages, and the state at an earlier revision.

use std::sync::Arc;

use axum::body::Body;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::{DecodeError, Engine as _};
use http::Response;
use serde_json::{Value, json};

use super::answer::{self, ListMeta};
use super::call::Call;
use crate::conversion;
use crate::object::text;
use crate::registry::Served;
use crate::request::fields::FieldSelector;
use crate::request::go_json::syntax_problem;
use crate::request::options::Options;
use crate::request::selector::LabelSelector;
use crate::status_error::{Cause, Failure, Outcome};
use crate::store::{Place, Record, Snapshot};

/// The option that says how a list's resource version is meant.
const MATCH: &str = "resourceVersionMatch";

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

    /// Goes on with the kind as it is now.
    pub(crate) fn serve(&mut self, served: &Served) {
        self.served = served.clone();
    }

    /// Records as the filter must see them: it may look into fields that conversion moves.
    pub(crate) async fn in_sight(
        &self,
        call: &Call,
        records: Vec<(Place, Arc<Record>)>,
    ) -> Outcome<Vec<(Place, Arc<Record>)>> {
        if !self.fields.needs_object() {
            return Ok(records);
        }
        let (places, records): (Vec<Place>, Vec<Arc<Record>>) = records.into_iter().unzip();
        let records = conversion::records(&call.instance, &self.served, records).await?;
        Ok(places.into_iter().zip(records).collect())
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
                    .matches_object(&conversion::value(record, &self.served)))
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
        let refused = |why: &str| {
            let what = "invalid continue token: continue key is not valid";
            Failure::bad_request(format!("{what}: {why}"))
        };
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|error| match error {
            DecodeError::InvalidByte(at, _) => {
                refused(&format!("illegal base64 data at input byte {at}"))
            }
            other => refused(&other.to_string()),
        })?;
        if let Some(problem) = syntax_problem(&bytes) {
            return Err(refused(&problem));
        }
        let invalid = || refused("it is not one of this server's");
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
pub(crate) async fn list(call: &Call) -> Outcome<Response<Body>> {
    check_list(&call.options)?;
    let filter = Filter::of(call)?;
    let from = match call.options.continue_token.as_str() {
        "" => None,
        token => Some(Continue::decode(token)?),
    };
    let mut snapshot = snapshot(call, &filter, from.as_ref())?;
    snapshot.records = filter.in_sight(call, snapshot.records).await?;
    let after = |namespace: &str, name: &str| match &from {
        Some(from) => (namespace, name) > (from.namespace.as_str(), from.name.as_str()),
        None => true,
    };
    // What any revision may answer comes from memory, as a whole.
    let limit = if call.options.limit == 0 || call.options.resource_version == "0" {
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
    let page = conversion::records(&call.instance, &call.served, page).await?;
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

/// The objects at the revision that was asked for, among them all that are meant.
fn snapshot(call: &Call, filter: &Filter, from: Option<&Continue>) -> Outcome<Snapshot> {
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
    let asked = call.options.resource_version.as_str();
    if let Some(from) = from {
        if !matches!(asked, "" | "0") {
            let why = "specifying resource version is not allowed when using continue";
            return Err(Failure::bad_request(why));
        }
        return at(from.revision).map_err(|_| {
            Failure::expired(
                "The provided continue parameter is too old to display a consistent list \
                 result. You must start a new list without the continue parameter.",
            )
        });
    }
    if asked.is_empty() {
        let labels = filter.labels.equalities();
        return Ok(if labels.is_empty() {
            space.list(shelf, namespace)
        } else {
            space.list_labeled(shelf, namespace, &labels)
        });
    }
    let wanted: u64 = asked.parse().map_err(|_| {
        let failure = unreadable(asked);
        Failure::bad_request(format!("invalid resource version: {}", failure.message))
    })?;
    let newest = space.revision();
    if wanted > newest {
        return Err(too_large(wanted, newest));
    }
    if call.options.resource_version_match != EXACT {
        return Ok(space.list(shelf, namespace));
    }
    at(wanted).map_err(|expired| Failure::too_old(wanted, expired.oldest))
}

const EXACT: &str = "Exact";
const NOT_OLDER: &str = "NotOlderThan";

fn refuse(causes: &[Cause]) -> Outcome<()> {
    if causes.is_empty() {
        return Ok(());
    }
    Err(Failure::invalid_options("ListOptions", causes))
}

/// Whether the options of a list go together.
fn check_list(options: &Options) -> Outcome<()> {
    let matching = options.resource_version_match.as_str();
    let mut causes = Vec::new();
    let mut forbid = |field: &str, why: &str| causes.push(Cause::forbidden(field, why));
    if !matching.is_empty() {
        if options.resource_version.is_empty() {
            let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            forbid(MATCH, why);
        }
        if !options.continue_token.is_empty() {
            forbid(MATCH, WITH_CONTINUE);
        }
        if matching == EXACT && options.resource_version == "0" {
            let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            forbid(MATCH, why);
        }
    }
    if options.send_initial_events.is_some() {
        forbid(
            "sendInitialEvents",
            "sendInitialEvents is forbidden for list",
        );
    }
    if !matches!(matching, "" | EXACT | NOT_OLDER) {
        causes.push(Cause::unsupported(
            MATCH,
            &matching.into(),
            &[EXACT, NOT_OLDER, ""],
        ));
    }
    refuse(&causes)
}

/// Whether the options of a watch go together.
pub(super) fn check_watch(options: &Options) -> Outcome<()> {
    let matching = options.resource_version_match.as_str();
    let mut causes = Vec::new();
    let mut forbid = |why: &str| causes.push(Cause::forbidden(MATCH, why));
    let initial = options.send_initial_events.is_some();
    if initial && matching != NOT_OLDER {
        forbid("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    }
    if !matching.is_empty() {
        if !initial {
            let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is \
                       provided";
            forbid(why);
        }
        if !options.continue_token.is_empty() {
            forbid(WITH_CONTINUE);
        }
        if matching != NOT_OLDER {
            causes.push(Cause::unsupported(MATCH, &matching.into(), &[NOT_OLDER]));
        }
    }
    refuse(&causes)
}

const WITH_CONTINUE: &str = "resourceVersionMatch is forbidden when continue is provided";

fn too_large(wanted: u64, newest: u64) -> Failure {
    let message = format!("Too large resource version: {wanted}, current: {newest}");
    Failure::new(504, "Timeout", format!("Timeout: {message}"))
}

/// The refusal of a resource version that is no number.
pub(super) fn unreadable(text: &str) -> Failure {
    Failure::unreadable_revision(&format!("resourceVersion: Invalid value: {text:?}: "), text)
}
