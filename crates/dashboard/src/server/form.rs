//! Forms: small, and sent from a page that this session was shown.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    body::Bytes,
    extract::{DefaultBodyLimit, FromRequest, Request},
    response::{IntoResponse, Response},
};
use http::StatusCode;

use super::{Inner, Person};
use crate::session::same;

/// A token may be long; nothing else is.
const LARGEST: usize = 64 * 1024;

/// The fields of a form.
pub(super) struct Form(BTreeMap<String, String>);

impl Form {
    /// A field; empty when it is not there.
    pub(super) fn field(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// A field that is a number.
    pub(super) fn number(&self, name: &str) -> Option<i64> {
        self.field(name).trim().parse().ok()
    }

    /// The person said yes on the page that asks.
    pub(super) fn is_confirmed(&self) -> bool {
        self.field("confirmed") == "yes"
    }

    /// Refuses a form that this session was never shown.
    #[allow(clippy::result_large_err, reason = "the refusal is the answer to send")]
    pub(super) fn check(&self, person: &Person) -> Result<(), Response> {
        if same(self.field("csrf"), &person.csrf) {
            return Ok(());
        }
        let why = "this form is out of date: go back, reload the page and send it again";
        Err((StatusCode::FORBIDDEN, why).into_response())
    }
}

impl FromRequest<Arc<Inner>> for Form {
    type Rejection = Response;

    async fn from_request(mut request: Request, inner: &Arc<Inner>) -> Result<Self, Response> {
        DefaultBodyLimit::apply(DefaultBodyLimit::max(LARGEST), &mut request);
        let body = Bytes::from_request(request, inner)
            .await
            .map_err(IntoResponse::into_response)?;
        let pairs = form_urlencoded::parse(&body);
        Ok(Self(
            pairs
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect(),
        ))
    }
}
