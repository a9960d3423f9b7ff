//! One pass over one object: a task of its own, counted and timed, and with a number that stands in
//! every line it logs.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use remuda_plan::status::publication::Requeue;
use tokio_util::task::AbortOnDropHandle;
use tracing::{Instrument as _, Span};

use crate::{kinds::Kind, metrics::Metrics, objects::ApiError, watching::ObjectKey};

/// What a controller makes of an object.
pub(crate) type Reconciled = Pin<Box<dyn Future<Output = Result<Requeue, ApiError>> + Send>>;

/// Passes of this process, for their numbers.
static PASSES: AtomicU64 = AtomicU64::new(1);

/// Runs a pass. A task of its own: passes of one controller run side by side.
///
/// # Cancellation
/// Dropping the future stops the pass.
pub(crate) async fn run(
    kind: Kind,
    key: &ObjectKey,
    pass: Reconciled,
    metrics: &Arc<Metrics>,
) -> Result<Requeue, ApiError> {
    let span = span(kind, key);
    let running = metrics.pass_begins(kind, key);
    let task = AbortOnDropHandle::new(tokio::spawn(pass.instrument(span.clone())));
    let (result, outcome) = match task.await {
        Ok(Ok(requeue)) => ("success", Ok(requeue)),
        Ok(Err(error @ ApiError::Conflict(_))) => ("conflict", Err(error)),
        Ok(Err(error)) => ("error", Err(error)),
        Err(panicked) => {
            let error = ApiError::Failed {
                what: "a pass".to_owned(),
                why: panicked.to_string(),
            };
            ("panic", Err(error))
        }
    };
    running.ended(result);
    span.in_scope(|| match &outcome {
        Ok(_) => tracing::debug!("a pass ended"),
        Err(error @ ApiError::Conflict(_)) => tracing::debug!(%error, "a pass starts over"),
        Err(error) => tracing::warn!(%error, "a pass failed"),
    });
    outcome
}

/// What stands in every line that the pass logs.
fn span(kind: Kind, key: &ObjectKey) -> Span {
    let kind = kind.resource().kind;
    let number = PASSES.fetch_add(1, Ordering::Relaxed);
    let object = match key {
        ObjectKey { namespace, name } if namespace.is_empty() => name.clone(),
        ObjectKey { namespace, name } => format!("{namespace}/{name}"),
    };
    // The queue's own span says nothing that this one does not.
    tracing::info_span!(parent: None, "pass", %kind, %object, pass = number)
}
