//! captf's kinds (captf document 7). Their rules are in `pool::admission`; here they meet the facts.

use super::{facts::Facts, problem::Problem, request::Request};
use crate::{
    driver::Driver,
    pool::{
        admission::{self, Violation},
        inputs::UserVariables,
    },
};

pub(super) fn pool(request: &Request<'_>) -> Vec<Problem> {
    told(admission::pool(request.object, request.old))
}

pub(super) fn template(request: &Request<'_>) -> Vec<Problem> {
    told(admission::template(
        request.object,
        request.old,
        request.dry_run,
    ))
}

pub(super) fn identity(request: &Request<'_>, facts: &Facts) -> Vec<Problem> {
    if request.leaves_spec() {
        return Vec::new();
    }
    let mut problems = told(admission::identity(request.object));
    let secret = &request.object["spec"]["secretRef"];
    let place = format!(
        "{}/{}",
        secret["namespace"].as_str().unwrap_or_default(),
        secret["name"].as_str().unwrap_or_default()
    );
    match &facts.may_read_secret {
        None | Some(Ok(true)) => {}
        Some(Ok(false)) => problems.push(Problem::forbidden(
            "spec.secretRef",
            format!(
                "you may not get the Secret {place}, so you may not hand it to others; ask for \
                 that right"
            ),
        )),
        Some(Err(why)) => problems.push(Problem::forbidden(
            "spec.secretRef",
            format!("whether you may get the Secret {place} is unknown: {why}; try again"),
        )),
    }
    problems
}

pub(super) fn identity_deletion(facts: &Facts) -> Vec<Problem> {
    match &facts.identity_users {
        None => Vec::new(),
        Some(Ok(users)) if users.is_empty() => Vec::new(),
        Some(Ok(users)) => vec![Problem::forbidden(
            "metadata",
            format!("it is used by {}; delete or change that first", some(users)),
        )],
        Some(Err(why)) => vec![Problem::forbidden(
            "metadata",
            format!("who uses it is unknown: {why}; try again"),
        )],
    }
}

/// An object stands for one instance, for as long as it exists.
pub(super) fn pool_machine(request: &Request<'_>) -> Vec<Problem> {
    let before = request.old.map(|old| &old["spec"]["providerID"]);
    let now = &request.object["spec"]["providerID"];
    match before {
        Some(before) if !before.is_null() && before != now => vec![Problem::invalid(
            "spec.providerID",
            now,
            format!("must stay {before}: the object stands for that instance"),
        )],
        _ => Vec::new(),
    }
}

/// The first user, and how many more there are.
fn some(users: &[String]) -> String {
    match users {
        [] => String::new(),
        [only] => only.clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}

/// Inline variables that the driver does not take: the pool is stored, since an image of another
/// version might take them, but it will wait (ADM-13, VAR-14). Values are not shown.
pub(super) fn pool_warnings(request: &Request<'_>) -> Vec<String> {
    let spec = &request.object["spec"];
    if request.leaves_spec() || !spec["variablesFrom"].is_null() {
        return Vec::new();
    }
    let image = spec["source"]["image"].as_str().unwrap_or_default();
    let Ok(driver) = Driver::from_image(image) else {
        return Vec::new();
    };
    let inline: UserVariables = spec["variables"].as_object().cloned().unwrap_or_default();
    let refused = driver.check_variables(&inline).err().unwrap_or_default();
    refused
        .iter()
        .map(|refusal| {
            let what = format!("spec.variables.{}: {}", refusal.subject, refusal.message);
            refusal
                .remedy
                .iter()
                .fold(what, |what, remedy| format!("{what}; {remedy}"))
        })
        .collect()
}

fn told(violations: Vec<Violation>) -> Vec<Problem> {
    violations
        .into_iter()
        .map(|it| Problem::hidden(it.field, it.message))
        .collect()
}
