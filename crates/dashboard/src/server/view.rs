//! Pages to look at, their updates, and what is said when there is none.

use std::sync::Arc;

use axum::{
    extract::State,
    response::{Html, IntoResponse, Response},
};
use http::{StatusCode, Uri};
use serde_json::json;

use super::{Inner, Person, path_and_query, person::to_sign_in};
use crate::{
    client::Refusal,
    pages::{Fragment, Frame},
    place::Place,
    stream,
    view_model::change::Confirm,
};

/// Any page.
pub(super) async fn page(State(inner): State<Arc<Inner>>, person: Person, uri: Uri) -> Response {
    let Some(place) = Place::at(path_and_query(&uri)) else {
        return nowhere(State(inner), person).await;
    };
    match inner.page(&person, &place).await {
        Ok(page) => {
            let query = form_urlencoded::Serializer::new(String::new())
                .append_pair("at", &place.path())
                .finish();
            let frame = Frame {
                title: page.title,
                nav: page.nav,
                said: inner.sessions.said(&person.id),
                live: Some(format!("/live?{query}")),
                ..frame(&person)
            };
            document(&inner, StatusCode::OK, &frame, &page.fragments)
        }
        Err(refusal) => refused(&inner, &person, &refusal, &place.path()),
    }
}

/// The updates of a page.
pub(super) async fn live(State(inner): State<Arc<Inner>>, person: Person, uri: Uri) -> Response {
    let query = uri.query().unwrap_or_default();
    let at = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "at");
    let Some(place) = at.and_then(|(_, at)| Place::at(&at)) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let Ok(permit) = inner.streams.clone().try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many pages are open").into_response();
    };
    stream::updates(inner, person, place, permit).into_response()
}

/// There is no such page.
pub(super) async fn nowhere(State(inner): State<Arc<Inner>>, person: Person) -> Response {
    refused(&inner, &person, &Refusal::Missing, "/")
}

/// The frame of a page for somebody.
pub(super) fn frame(person: &Person) -> Frame {
    Frame {
        user: Some(person.user.clone()),
        csrf: person.csrf.clone(),
        ..Frame::default()
    }
}

/// A page that asks whether it is really meant.
pub(super) fn confirm(inner: &Inner, person: &Person, asked: &Confirm) -> Response {
    let frame = Frame {
        title: asked.title.clone(),
        nav: "pools",
        ..frame(person)
    };
    rendered(inner, StatusCode::OK, &frame, "confirm", asked)
}

/// What the API refused, in its words.
pub(super) fn refused(inner: &Inner, person: &Person, refusal: &Refusal, wanted: &str) -> Response {
    let (status, title, hint) = match refusal {
        Refusal::SignIn => {
            inner.sessions.close(&person.id);
            return to_sign_in(wanted);
        }
        Refusal::Forbidden(_) => (
            StatusCode::FORBIDDEN,
            "You may not do this",
            "The roles of your token decide. Whoever gives out roles can change that; or sign out and in with another token.",
        ),
        Refusal::Missing => (
            StatusCode::NOT_FOUND,
            "There is no such page",
            "It may have been deleted, or its name may be misspelt.",
        ),
        Refusal::Conflict(_) => (
            StatusCode::CONFLICT,
            "Somebody else was faster",
            "Nothing was changed. Look at the page again and decide anew.",
        ),
        Refusal::Invalid(_) => (
            StatusCode::UNPROCESSABLE_ENTITY,
            "The Kubernetes API refuses this",
            "Nothing was changed.",
        ),
        Refusal::Unreachable(_) => (
            StatusCode::BAD_GATEWAY,
            "The Kubernetes API does not answer",
            "The page tries again when it is reloaded.",
        ),
    };
    let scoped = matches!(
        (refusal, Place::at(wanted)),
        (Refusal::Forbidden(_), Some(Place::Overview(_)))
    );
    let shown = json!({
        "title": title,
        "text": refusal.to_string(),
        "hint": hint,
        // Somebody may be allowed to see one namespace and not all.
        "ask_namespace": scoped,
        "back": if scoped { "/" } else { wanted },
    });
    let frame = Frame {
        title: title.to_owned(),
        nav: "",
        ..frame(person)
    };
    rendered(inner, status, &frame, "refusal", &shown)
}

/// A document with one fragment.
pub(super) fn rendered<T: serde::Serialize>(
    inner: &Inner,
    status: StatusCode,
    frame: &Frame,
    template: &'static str,
    shown: &T,
) -> Response {
    match inner.pages.fragment(template, "full", shown, &frame.csrf) {
        Ok(fragment) => document(inner, status, frame, &[fragment]),
        Err(error) => broken(&error),
    }
}

fn document(inner: &Inner, status: StatusCode, frame: &Frame, fragments: &[Fragment]) -> Response {
    match inner.pages.document(frame, fragments) {
        Ok(html) => (status, Html(html)).into_response(),
        Err(error) => broken(&error),
    }
}

fn broken(error: &minijinja::Error) -> Response {
    tracing::error!(%error, "a page cannot be drawn");
    (
        StatusCode::INTERNAL_SERVER_ERROR,
        "this page cannot be drawn; the log says why",
    )
        .into_response()
}
