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
};

use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, State},
    http::{StatusCode, header},
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

async fn answer(
    State(admission): State<Admission>,
    Path(webhook): Path<String>,
    body: Bytes,
) -> Response {
    let asked = [Phase::Mutate, Phase::Validate]
        .into_iter()
        .flat_map(|phase| Kind::ALL.map(|kind| (phase, kind)))
        .find(|(phase, kind)| path(*phase, *kind).strip_prefix('/') == Some(&webhook));
    let Some((phase, kind)) = asked else {
        return (StatusCode::NOT_FOUND, "there is no such webhook").into_response();
    };
    let Ok(review) = serde_json::from_slice::<Value>(&body) else {
        return (StatusCode::BAD_REQUEST, "the review is not JSON").into_response();
    };
    match review::answer(phase, kind, &review, &admission.inner).await {
        Ok(answer) => {
            let json = [(header::CONTENT_TYPE, "application/json")];
            (json, answer.to_string()).into_response()
        }
        Err(why) => (StatusCode::BAD_REQUEST, why).into_response(),
    }
}
