//! Reviews: questions about identities and rights. They are answered, never stored.

mod rights;
mod token;

use axum::body::Body;
use http::{Method, Request, Response};
use serde_json::{Value, json};

use super::answer;
use crate::instance::Instance;
use crate::metadata;
use crate::object::meta_mut;
use crate::request::accept::Wish;
use crate::request::path::Target;
use crate::request::{Caller, body};
use crate::status_error::{Failure, Outcome};

/// A question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Review {
    /// Whose token is this?
    Token,
    WhoAmI,
    MayI,
    MayThey,
    /// The same, for those who may ask about one namespace only.
    MayTheyHere,
    MyRules,
}

const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";

/// The reviews by group and plural.
pub(crate) const REVIEWS: [(&str, &str, &str, Review); 6] = [
    (
        AUTHENTICATION,
        "selfsubjectreviews",
        "SelfSubjectReview",
        Review::WhoAmI,
    ),
    (AUTHENTICATION, "tokenreviews", "TokenReview", Review::Token),
    (
        AUTHORIZATION,
        "localsubjectaccessreviews",
        "LocalSubjectAccessReview",
        Review::MayTheyHere,
    ),
    (
        AUTHORIZATION,
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
        Review::MayI,
    ),
    (
        AUTHORIZATION,
        "selfsubjectrulesreviews",
        "SelfSubjectRulesReview",
        Review::MyRules,
    ),
    (
        AUTHORIZATION,
        "subjectaccessreviews",
        "SubjectAccessReview",
        Review::MayThey,
    ),
];

impl Review {
    /// Whether the review lies in a namespace.
    pub(crate) fn namespaced(self) -> bool {
        self == Self::MayTheyHere
    }
}

/// The review that a path names.
pub(crate) fn review(target: &Target) -> Option<Review> {
    let found = REVIEWS.iter().find(|(group, plural, _, review)| {
        *group == target.group
            && *plural == target.plural
            && target.version == "v1"
            && target.namespace.is_some() == review.namespaced()
    });
    found
        .filter(|_| target.name.is_none())
        .map(|(_, _, _, review)| *review)
}

/// Answers a review.
pub(crate) async fn answer(
    review: Review,
    target: &Target,
    instance: &Instance,
    request: Request<Body>,
) -> Outcome<Response<Body>> {
    let (parts, sent) = request.into_parts();
    if parts.method != Method::POST {
        return Err(Failure::method_not_allowed());
    }
    let caller = parts
        .extensions
        .get::<Caller>()
        .cloned()
        .unwrap_or_else(Caller::admin);
    let media_type = body::media_type(&parts.headers).to_owned();
    let mut object = body::object(&media_type, &body::read(sent).await?)?;
    complete(review, target, &mut object)?;
    object["status"] = status(review, target, instance, &caller, &object)?;
    let meta = meta_mut(&mut object);
    match review {
        // The one review that is made at a time.
        Review::WhoAmI => meta.insert("creationTimestamp".into(), instance.stamp().into()),
        _ => meta.insert("creationTimestamp".into(), Value::Null),
    };
    Ok(answer::value(
        201,
        &object,
        Wish::of(&parts.headers, false).unwrap_or(Wish::JSON),
    ))
}

/// Fills in what a body may leave out, and refuses a body of another type.
fn complete(review: Review, target: &Target, object: &mut Value) -> Outcome<()> {
    if let Some(problem) = metadata::decode_problem(object) {
        return Err(Failure::bad_request(problem));
    }
    let row = REVIEWS.iter().find(|(.., of)| *of == review);
    let (group, _, kind, _) = row.expect("every review has its row");
    for (field, wanted) in [
        ("kind", (*kind).to_owned()),
        ("apiVersion", format!("{group}/v1")),
    ] {
        let given = crate::object::text(object, &[field]).to_owned();
        if !given.is_empty() && given != wanted {
            return Err(Failure::bad_request(format!(
                "the {field} in the data ({given}) does not match the expected {field} ({wanted})"
            )));
        }
        object[field] = wanted.into();
    }
    if !object.get("spec").is_some_and(Value::is_object) {
        object["spec"] = json!({});
    }
    if let Some(namespace) = &target.namespace {
        let own = crate::object::namespace(object);
        if !own.is_empty() && own != namespace {
            return Err(Failure::bad_request(
                "the namespace of the provided object does not match the namespace sent on the \
                 request",
            ));
        }
        meta_mut(object).insert("namespace".into(), namespace.as_str().into());
    }
    Ok(())
}

fn status(
    review: Review,
    target: &Target,
    instance: &Instance,
    caller: &Caller,
    object: &Value,
) -> Outcome<Value> {
    match review {
        Review::WhoAmI => Ok(json!({"userInfo": caller.user_info()})),
        Review::Token => token::status(instance, object),
        Review::MayI => rights::own(instance, caller, object),
        Review::MayThey => rights::of(instance, None, object),
        Review::MayTheyHere => rights::of(instance, target.namespace.as_deref(), object),
        Review::MyRules => rights::rules(instance, caller, object),
    }
}
