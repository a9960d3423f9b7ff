//! An AdmissionReview and its answer.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use remuda_plan::admission::{self, Facts, Kind, Operation, Problem, Request, facts, problem};
use serde_json::{Value, json};

use super::{Inner, Phase, gather};

/// What an API server asks: the `request` of an AdmissionReview, its objects apart.
#[derive(Debug, Clone, Copy)]
pub struct Review<'a> {
    /// `request`; who reads it looks at neither object.
    pub request: &'a Value,
    /// `request.object`, null for a delete.
    pub object: &'a Value,
    /// `request.oldObject`, null for a create.
    pub old_object: &'a Value,
}

impl<'a> Review<'a> {
    /// The parts of an AdmissionReview.
    pub fn of(review: &'a Value) -> Self {
        let request = &review["request"];
        Self {
            request,
            object: &request["object"],
            old_object: &request["oldObject"],
        }
    }

    fn read(&self) -> Option<Request<'a>> {
        let operation = Operation::from_name(self.request["operation"].as_str()?)?;
        Some(Request {
            operation,
            object: self.object,
            old: Some(self.old_object).filter(|old| !old.is_null()),
            dry_run: self.request["dryRun"] == true,
        })
    }
}

/// The answer to a review; an error when it is none.
pub(super) async fn answer(
    phase: Phase,
    kind: Kind,
    review: &Review<'_>,
    admission: &Inner,
) -> Result<Value, &'static str> {
    let uid = review.request["uid"].as_str();
    let uid = uid.ok_or("the review has no request")?;
    let request = review.read().ok_or("the review's operation is unknown")?;
    let mut response = match phase {
        Phase::Mutate => completed(kind, &request),
        Phase::Validate => {
            let questions = facts::questions(kind, &request);
            let facts = gather::facts(&questions, kind, review, admission).await;
            judged(kind, &request, review.request, admission, &facts)
        }
    };
    response["uid"] = uid.into();
    Ok(json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": response,
    }))
}

fn completed(kind: Kind, request: &Request<'_>) -> Value {
    let defaults = admission::defaults(kind, request);
    if defaults.operations().is_empty() {
        return json!({ "allowed": true });
    }
    let patch = Value::from(defaults.operations().to_vec()).to_string();
    json!({ "allowed": true, "patchType": "JSONPatch", "patch": STANDARD.encode(patch) })
}

fn judged(
    kind: Kind,
    request: &Request<'_>,
    asked: &Value,
    admission: &Inner,
    facts: &Facts,
) -> Value {
    let problems = admission::problems(kind, request, &admission.gates, facts);
    if problems.is_empty() {
        let warnings = admission::warnings(kind, request);
        return if warnings.is_empty() {
            json!({ "allowed": true })
        } else {
            json!({ "allowed": true, "warnings": warnings })
        };
    }
    let name = asked["name"].as_str().unwrap_or_else(|| {
        let metadata = &request.subject()["metadata"];
        let given = metadata["name"].as_str();
        given
            .or(metadata["generateName"].as_str())
            .unwrap_or_default()
    });
    json!({ "allowed": false, "status": refusal(kind, request.operation, name, &problems) })
}

fn refusal(kind: Kind, operation: Operation, name: &str, problems: &[Problem]) -> Value {
    // What may not be deleted is nothing that is wrong with the object.
    let (code, reason, message) = if operation == Operation::Delete {
        let told: Vec<&str> = problems.iter().map(|it| it.remedy.as_str()).collect();
        let what = format!("{}.{}", kind.plural(), kind.group());
        let message = format!("{what} {name:?} can't be deleted: {}", told.join("; "));
        (403, "Forbidden", message)
    } else {
        (422, "Invalid", problem::refusal(kind, name, problems))
    };
    let causes: Vec<Value> = problems.iter().map(cause).collect();
    json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
        "details": {
            "name": name, "group": kind.group(), "kind": kind.name(), "causes": causes,
        },
    })
}

fn cause(problem: &Problem) -> Value {
    json!({ "reason": problem.cause.reason(), "message": problem.detail(), "field": problem.field })
}
