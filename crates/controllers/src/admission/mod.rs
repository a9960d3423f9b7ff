//! Admission webhooks: what `remuda_plan::admission` decides, where the API server can ask for it.
//!
//! | file | duty |
//! | --- | --- |
//! | `review` | an AdmissionReview and its answer |
//! | `gather` | what a decision needs to know beyond the review |
//! | `configurations` | the webhook configurations, as data |
//! | `certificates` | a certificate authority of our own, and when it is due for renewal. Pure |
//! | `keeper` | keeps certificates and configurations as they should be |
//! | `listener` | HTTPS, with whatever certificate is the current one |
//!
//! ```text
//! API server --review--> listener --> Admission --questions--> gather --facts--> plan::admission
//! keeper --certificate--> listener;  keeper --CA bundle--> webhook configurations
//! ```

mod certificates;
mod configurations;
mod gather;
mod keeper;
mod listener;
mod review;

pub(crate) use self::configurations::{MUTATING, VALIDATING};
pub use self::{
    certificates::CertificateError,
    configurations::{Endpoint, Scope, configurations},
    keeper::{Certificates, KeepError, Keeper},
    listener::{Listener, Rotating},
    review::Review,
};

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, State},
    http::{StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::post,
};
use kube::Client;
use remuda_plan::admission::{Gates, Kind};
use serde_json::Value;

use crate::{contract::Contracts, objects::LiveObjects};

/// Name of the Secret with the webhooks' own certificates.
pub const CERTIFICATES: &str = "remuda-webhook-certificates";
/// Largest review that is read: two objects of the largest size that an API server stores, and what
/// JSON adds to them.
const REVIEW_BYTES: usize = 16 * 1024 * 1024;

/// Which question a path asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// What is the object completed with?
    Mutate,
    /// Is there a reason to refuse it?
    Validate,
}

/// The path of a webhook: `/validate-cluster-x-k8s-io-v1beta2-machinepool`.
pub(crate) fn path(phase: Phase, kind: Kind) -> String {
    let verb = match phase {
        Phase::Mutate => "mutate",
        Phase::Validate => "validate",
    };
    let group = kind.group().replace('.', "-");
    format!("/{verb}-{group}-{}-{}", kind.version(), kind.singular())
}

/// Answers reviews. Cheap to clone.
#[derive(Clone)]
pub struct Admission {
    inner: Arc<Inner>,
}

struct Inner {
    gates: Gates,
    objects: LiveObjects,
    contracts: Contracts,
}

impl Admission {
    /// Answers with these gates; what a review does not say is read through `client`.
    pub fn new(client: Client, gates: Gates) -> Self {
        Self {
            inner: Arc::new(Inner {
                gates,
                objects: LiveObjects::new(client),
                contracts: Contracts::default(),
            }),
        }
    }

    /// One path a webhook.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/{webhook}", post(answer))
            .layer(DefaultBodyLimit::max(REVIEW_BYTES))
            .with_state(self.clone())
    }
}

/// Why a review has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// Nobody answers at this path.
    #[error("there is no such webhook")]
    NoSuchWebhook,
    /// It is no review.
    #[error("{0}")]
    NoReview(&'static str),
}

impl Admission {
    /// Answers a review that was sent to `path`, with an AdmissionReview.
    ///
    /// # Errors
    /// It is not one that is answered here.
    pub async fn review(&self, path: &str, review: &Review<'_>) -> Result<Value, Unanswered> {
        let (phase, kind) = asked(path).ok_or(Unanswered::NoSuchWebhook)?;
        let answer = review::answer(phase, kind, review, &self.inner).await;
        answer.map_err(Unanswered::NoReview)
    }
}

/// Which question a path asks about which kind.
fn asked(path: &str) -> Option<(Phase, Kind)> {
    static PATHS: LazyLock<BTreeMap<String, (Phase, Kind)>> = LazyLock::new(|| {
        let phases = [Phase::Mutate, Phase::Validate].into_iter();
        let all = phases.flat_map(|phase| Kind::ALL.map(|kind| (phase, kind)));
        all.map(|(phase, kind)| (self::path(phase, kind), (phase, kind)))
            .collect()
    });
    PATHS.get(path).copied()
}

async fn answer(State(admission): State<Admission>, uri: Uri, body: Bytes) -> Response {
    if asked(uri.path()).is_none() {
        return (StatusCode::NOT_FOUND, Unanswered::NoSuchWebhook.to_string()).into_response();
    }
    let Ok(review) = serde_json::from_slice::<Value>(&body) else {
        return (StatusCode::BAD_REQUEST, "the review is not JSON").into_response();
    };
    match admission.review(uri.path(), &Review::of(&review)).await {
        Ok(answer) => {
            let json = [(header::CONTENT_TYPE, "application/json")];
            (json, answer.to_string()).into_response()
        }
        Err(why) => (StatusCode::BAD_REQUEST, why.to_string()).into_response(),
    }
}
