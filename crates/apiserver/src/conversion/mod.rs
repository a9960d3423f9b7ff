//! Objects at another version than the one they are stored at.
//!
//! | file | duty |
//! | --- | --- |
//! | `plain` | what every reader gets: pruned and defaulted by the stored version, renamed, pruned |
//! | `review` | the question to a conversion webhook, and its answer |
//!
//! Kinds without a conversion webhook convert at once: [`Text`] and [`value`]. For kinds with one,
//! [`records`] asks first, all objects in one review; what it returns is then shown as it is.
//! Nothing of the store is held meanwhile.

mod plain;
mod review;

pub(crate) use plain::{Text, as_read, reads_differently, value};

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::instance::Instance;
use crate::registry::{Kind, Served};
use crate::status_error::{Failure, Outcome};
use crate::store::Record;
use crate::webhook::Endpoint;

/// How long a conversion webhook may take (Kubernetes' own bound).
const TIMEOUT: Duration = Duration::from_secs(30);

/// How a webhook of a definition is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConversionHook {
    pub(crate) endpoint: Endpoint,
    /// The first version of the review that both sides know.
    pub(crate) review_version: Option<&'static str>,
}

/// Records as their readers at this version get them.
pub(crate) async fn records(
    instance: &Instance,
    served: &Served,
    records: Vec<Arc<Record>>,
) -> Outcome<Vec<Arc<Record>>> {
    let wanted = served.api_version();
    let foreign = |record: &Arc<Record>| !record.shown && *record.head.api_version != *wanted;
    if served.kind.conversion.is_none() || !records.iter().any(foreign) {
        return Ok(records);
    }
    let due: Vec<&Arc<Record>> = records.iter().filter(|record| foreign(record)).collect();
    let values = due.iter().map(|record| as_read(record, &served.kind));
    let mut converted = objects(instance, &served.kind, values.collect(), &wanted)
        .await?
        .into_iter();
    let shown = records.iter().map(|record| {
        let next = if foreign(record) {
            converted.next()
        } else {
            None
        };
        next.map_or_else(
            || record.clone(),
            |object| Arc::new(Record::shown(&object, record.revision)),
        )
    });
    Ok(shown.collect())
}

/// One record as its readers at this version get it.
pub(crate) async fn record(
    instance: &Instance,
    served: &Served,
    record: Arc<Record>,
) -> Outcome<Arc<Record>> {
    let mut found = records(instance, served, vec![record]).await?;
    found
        .pop()
        .ok_or_else(|| Failure::internal("a record got lost"))
}

/// An object at the version that its kind is stored at.
pub(crate) async fn to_stored(
    instance: &Instance,
    served: &Served,
    object: Value,
) -> Outcome<Value> {
    self::object(instance, &served.kind, object, &served.kind.stored_as).await
}

/// An object at another version of its kind.
pub(crate) async fn object(
    instance: &Instance,
    kind: &Kind,
    object: Value,
    api_version: &str,
) -> Outcome<Value> {
    let mut found = objects(instance, kind, vec![object], api_version).await?;
    found
        .pop()
        .ok_or_else(|| Failure::internal("an object got lost"))
}

/// Objects at another version of their kind, in their order, with at most one review.
///
/// # Errors
/// Code 500 with the reason when a conversion webhook does not convert.
pub(crate) async fn objects(
    instance: &Instance,
    kind: &Kind,
    objects: Vec<Value>,
    api_version: &str,
) -> Outcome<Vec<Value>> {
    let Some(hook) = &kind.conversion else {
        let each = objects.into_iter();
        return Ok(each
            .map(|object| plain::to(object, kind, api_version))
            .collect());
    };
    let foreign = |object: &Value| crate::object::text(object, &["apiVersion"]) != api_version;
    let due: Vec<Value> = objects
        .iter()
        .filter(|object| foreign(object))
        .cloned()
        .collect();
    if due.is_empty() {
        return Ok(objects);
    }
    let mut converted = ask(instance, hook, &due, api_version).await?.into_iter();
    let merged = objects.into_iter().map(|object| {
        if !foreign(&object) {
            return object;
        }
        let mut new = converted.next().unwrap_or(object);
        plain::prune(&mut new, kind, api_version);
        new
    });
    Ok(merged.collect())
}

async fn ask(
    instance: &Instance,
    hook: &ConversionHook,
    objects: &[Value],
    wanted: &str,
) -> Outcome<Vec<Value>> {
    let failed = |why: String| Failure::new(500, "", why);
    let about = objects.first().map(review::kind_of).unwrap_or_default();
    let Some(version) = hook.review_version else {
        return Err(failed(format!(
            "conversion webhook for {about} failed: it knows no version of ConversionReview that \
             this server does (v1, v1beta1)"
        )));
    };
    let uid = instance.ids().uid();
    let question = review::review(version, &uid, wanted, objects);
    let answer = instance
        .webhooks()
        .ask(instance.name(), &hook.endpoint, &question, TIMEOUT)
        .await
        .map_err(|why| failed(format!("conversion webhook for {about} failed: {why}")))?;
    review::converted(version, &uid, wanted, objects, &answer).map_err(failed)
}
