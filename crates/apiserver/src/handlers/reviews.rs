//! Reviews: objects that are answered, never stored.

use axum::body::Body;
use http::{Method, Request, Response};
use serde_json::{Value, json};

use super::answer;
use crate::instance::Instance;
use crate::request::accept::Wish;
use crate::request::path::Target;
use crate::request::{Caller, body};
use crate::status_error::{Failure, Outcome};

/// A question about the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Review {
    WhoAmI,
    MayI,
    MayThey,
    MyRules,
}

/// The reviews by group and plural.
pub(crate) const REVIEWS: [(&str, &str, &str, Review); 4] = [
    (
        "authentication.k8s.io",
        "selfsubjectreviews",
        "SelfSubjectReview",
        Review::WhoAmI,
    ),
    (
        "authorization.k8s.io",
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
        Review::MayI,
    ),
    (
        "authorization.k8s.io",
        "selfsubjectrulesreviews",
        "SelfSubjectRulesReview",
        Review::MyRules,
    ),
    (
        "authorization.k8s.io",
        "subjectaccessreviews",
        "SubjectAccessReview",
        Review::MayThey,
    ),
];

/// The review that a path names.
pub(crate) fn review(target: &Target) -> Option<Review> {
    let found = REVIEWS.iter().find(|(group, plural, _, _)| {
        *group == target.group && *plural == target.plural && target.version == "v1"
    });
    found
        .filter(|_| target.name.is_none())
        .map(|(_, _, _, review)| *review)
}

/// Answers a review. Whoever gets here was let in as an administrator, who may do everything.
pub(crate) async fn answer(
    review: Review,
    instance: &Instance,
    request: Request<Body>,
) -> Outcome<Response<Body>> {
    let (parts, sent) = request.into_parts();
    if parts.method != Method::POST {
        let message = "the server does not allow this method on the requested resource";
        return Err(Failure::new(405, "MethodNotAllowed", message));
    }
    let caller = parts
        .extensions
        .get::<Caller>()
        .cloned()
        .unwrap_or_else(Caller::admin);
    let media_type = body::media_type(&parts.headers).to_owned();
    let mut object = body::object(&media_type, &body::read(sent).await?)?;
    object["metadata"] = json!({"creationTimestamp": instance.stamp()});
    object["status"] = status(review, &caller, &object);
    Ok(answer::value(
        201,
        &object,
        Wish::of(&parts.headers).unwrap_or(Wish::JSON),
    ))
}

fn status(review: Review, caller: &Caller, object: &Value) -> Value {
    match review {
        Review::WhoAmI => json!({"userInfo": {"username": caller.name, "groups": caller.groups}}),
        Review::MayI => json!({"allowed": true}),
        Review::MayThey => {
            let groups = crate::object::at(object, &["spec", "groups"]).and_then(Value::as_array);
            let admin = groups
                .into_iter()
                .flatten()
                .any(|group| group == "system:masters");
            json!({"allowed": admin})
        }
        Review::MyRules => json!({
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            "incomplete": false,
        }),
    }
}
