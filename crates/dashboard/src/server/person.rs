//! Who asks: the session in the cookie, and the API with that person's rights.

use std::sync::Arc;

use axum::{
    extract::FromRequestParts,
    response::{IntoResponse, Redirect, Response},
};
use http::{HeaderMap, header, request::Parts};

use super::{Inner, path_and_query};
use crate::{client::Api, place::Place, session::Session};

/// Somebody who is signed in.
#[derive(Clone)]
pub(crate) struct Person {
    /// Id of the session; a secret.
    pub(crate) id: String,
    pub(crate) user: String,
    pub(crate) csrf: String,
    pub(crate) api: Api,
}

impl Person {
    fn of(inner: &Inner, id: &str, session: Session) -> Self {
        Self {
            id: id.to_owned(),
            api: Api::new(&inner.kubernetes, &session.token),
            user: session.user,
            csrf: session.csrf,
        }
    }
}

impl FromRequestParts<Arc<Inner>> for Person {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, inner: &Arc<Inner>) -> Result<Self, Response> {
        let id = cookie(&parts.headers, &inner.cookie);
        let session = id.and_then(|id| Some((id, inner.sessions.get(id, inner.now())?)));
        match session {
            Some((id, session)) => Ok(Self::of(inner, id, session)),
            None => Err(to_sign_in(path_and_query(&parts.uri))),
        }
    }
}

/// Sends somebody to sign in, and back afterwards.
pub(super) fn to_sign_in(wanted: &str) -> Response {
    let target = match Place::at(wanted) {
        Some(place) if place != Place::at("/").unwrap_or(Place::Calls) => {
            let query = form_urlencoded::Serializer::new(String::new())
                .append_pair("next", &place.path())
                .finish();
            format!("/sign-in?{query}")
        }
        _ => "/sign-in".to_owned(),
    };
    Redirect::to(&target).into_response()
}

/// The value of a cookie.
pub(super) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(header::COOKIE).into_iter();
    let pairs = all
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'));
    pairs
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
}
