//! Signing in, with a token or with a link that works once; signing out.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    response::{IntoResponse, Redirect, Response},
};
use http::{HeaderValue, StatusCode, Uri, header};
use serde_json::json;

use super::{Inner, Person, form::Form, view};
use crate::{
    client::{Api, Refusal, Token},
    pages::Frame,
    place::Place,
    session::Secret,
};

/// The page to sign in on.
pub(super) async fn form(State(inner): State<Arc<Inner>>, uri: Uri) -> Response {
    let query = uri.query().unwrap_or_default();
    let next = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "next");
    asked(
        &inner,
        StatusCode::OK,
        next.as_ref().map_or("/", |(_, next)| next),
        "",
    )
}

fn asked(inner: &Inner, status: StatusCode, next: &str, wrong: &str) -> Response {
    let frame = Frame {
        title: "Sign in".to_owned(),
        ..Frame::default()
    };
    let shown = json!({ "next": next, "wrong": wrong });
    view::rendered(inner, status, &frame, "sign-in", &shown)
}

/// Signs in with the token of a form.
pub(super) async fn with_token(State(inner): State<Arc<Inner>>, form: Form) -> Response {
    let next = form.field("next");
    let Some(token) = Token::new(form.field("token")) else {
        return asked(
            &inner,
            StatusCode::UNPROCESSABLE_ENTITY,
            next,
            "This is no token.",
        );
    };
    match begin(&inner, token).await {
        Ok(id) => {
            let next = Place::at(next).map_or_else(|| "/".to_owned(), |place| place.path());
            with_cookie(&inner, &id, Redirect::to(&next).into_response())
        }
        Err(Refusal::SignIn) => asked(
            &inner,
            StatusCode::UNAUTHORIZED,
            next,
            "The Kubernetes API does not accept this token.",
        ),
        Err(other) => asked(&inner, StatusCode::BAD_GATEWAY, next, &format!("{other}.")),
    }
}

/// Signs in with a link that was given out. The answer is a page that goes on by itself: a
/// redirection of a link that was opened from elsewhere would not send the new cookie.
pub(super) async fn with_link(
    State(inner): State<Arc<Inner>>,
    Path(code): Path<String>,
) -> Response {
    let Some(token) = inner.sessions.redeem(&code, inner.now()) else {
        let wrong = "This link was used before, or is too old. Sign in with a token.";
        return asked(&inner, StatusCode::GONE, "/", wrong);
    };
    match begin(&inner, token).await {
        Ok(id) => {
            let frame = Frame {
                title: "Signed in".to_owned(),
                ..Frame::default()
            };
            let page = view::rendered(&inner, StatusCode::OK, &frame, "signed-in", &json!({}));
            let mut page = with_cookie(&inner, &id, page);
            page.headers_mut()
                .insert(header::REFRESH, HeaderValue::from_static("0;url=/"));
            page
        }
        Err(error) => asked(&inner, StatusCode::BAD_GATEWAY, "/", &format!("{error}.")),
    }
}

/// Signs out.
pub(super) async fn out(State(inner): State<Arc<Inner>>, person: Person, form: Form) -> Response {
    if let Err(refused) = form.check(&person) {
        return refused;
    }
    inner.sessions.close(&person.id);
    let gone = Secret(String::new());
    with_cookie(&inner, &gone, Redirect::to("/sign-in").into_response())
}

async fn begin(inner: &Inner, token: Token) -> Result<Secret, Refusal> {
    let user = match Api::new(&inner.kubernetes, &token).who_am_i().await {
        Ok(user) => user,
        // Servers before 1.28 do not tell, and a role may forbid asking; a wrong token is 401.
        Err(Refusal::Missing | Refusal::Forbidden(_)) => "signed in".to_owned(),
        Err(other) => return Err(other),
    };
    inner
        .sessions
        .open(token, user, inner.now())
        .map_err(|error| Refusal::Unreachable(error.to_string()))
}

/// Sets the session's cookie; an empty id removes it.
fn with_cookie(inner: &Inner, id: &Secret, mut response: Response) -> Response {
    let secure = if inner.secure { "; Secure" } else { "" };
    let age = if id.0.is_empty() { "; Max-Age=0" } else { "" };
    let cookie = format!(
        "{}={}; Path=/; HttpOnly; SameSite=Strict{secure}{age}",
        inner.cookie, id.0
    );
    if let Ok(value) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    response
}
