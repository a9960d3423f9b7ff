//! What people change. Everything is a form of a page and goes through the API with the person's
//! own token; what loses machines is asked about first.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    response::{IntoResponse, Redirect, Response},
};

use super::{Inner, Person, form::Form, view};
use crate::{
    client::Refusal,
    gather,
    kinds::Kind,
    object,
    place::Place,
    session::Said,
    view_model::{change, words::count},
};

/// Namespace and name in a path.
type Of = Path<(String, String)>;

/// Sets the wanted count of a pool.
pub(super) async fn scale(
    State(inner): State<Arc<Inner>>,
    person: Person,
    Path((namespace, name)): Of,
    form: Form,
) -> Response {
    if let Err(refused) = form.check(&person) {
        return refused;
    }
    let back = Place::pool(&namespace, &name).path();
    let Some(to) = form
        .number("replicas")
        .filter(|to| (0..=10_000).contains(to))
    else {
        let refusal = Refusal::Invalid("the count is a whole number from 0 to 10000".to_owned());
        return view::refused(&inner, &person, &refusal, &back);
    };
    let from = match form.number("from") {
        Some(from) if form.is_confirmed() => from,
        _ => match gather::pool(&person.api, &namespace, &name, inner.now()).await {
            Ok((pool, scene)) => match change::scale(&pool, &scene, to) {
                Some(asked) => return view::confirm(&inner, &person, &asked),
                None => object::int(&pool, "/spec/replicas").unwrap_or(1),
            },
            Err(refusal) => return view::refused(&inner, &person, &refusal, &back),
        },
    };
    let outcome = person.api.scale(&namespace, &name, from, to).await;
    done(
        &inner,
        &person,
        outcome,
        &back,
        format!("{name} now wants {}.", count(to, "machine")),
    )
}

/// Pauses a pool.
pub(super) async fn pause(
    State(inner): State<Arc<Inner>>,
    person: Person,
    Path((namespace, name)): Of,
    form: Form,
) -> Response {
    if let Err(refused) = form.check(&person) {
        return refused;
    }
    let back = Place::pool(&namespace, &name).path();
    let outcome = set_paused(&person, &namespace, &name, true).await;
    done(
        &inner,
        &person,
        outcome,
        &back,
        format!("{name} is paused: nothing changes until it is resumed."),
    )
}

/// Resumes a pool.
pub(super) async fn resume(
    State(inner): State<Arc<Inner>>,
    person: Person,
    Path((namespace, name)): Of,
    form: Form,
) -> Response {
    if let Err(refused) = form.check(&person) {
        return refused;
    }
    let back = Place::pool(&namespace, &name).path();
    if !form.is_confirmed() {
        match gather::pool(&person.api, &namespace, &name, inner.now()).await {
            Ok((pool, scene)) => {
                if let Some(asked) = change::resume(&pool, &scene) {
                    return view::confirm(&inner, &person, &asked);
                }
            }
            Err(refusal) => return view::refused(&inner, &person, &refusal, &back),
        }
    }
    let outcome = set_paused(&person, &namespace, &name, false).await;
    done(&inner, &person, outcome, &back, format!("{name} goes on."))
}

/// A pool is paused with its infrastructure: each is reconciled by a controller of its own. The
/// infrastructure comes first when it pauses and last when it goes on, so that a refusal in between
/// leaves it paused.
async fn set_paused(
    person: &Person,
    namespace: &str,
    name: &str,
    paused: bool,
) -> Result<(), Refusal> {
    let pool = person.api.get(Kind::MachinePool, namespace, name).await?;
    let reference = pool.pointer("/spec/template/spec/infrastructureRef");
    let infra = reference
        .filter(|it| object::text(it, "/kind") == Some("TerraformMachinePool"))
        .and_then(|it| object::text(it, "/name"));
    let mut objects: Vec<(Kind, &str)> = vec![(Kind::MachinePool, name)];
    objects.extend(infra.map(|infra| (Kind::TerraformMachinePool, infra)));
    if paused {
        objects.reverse();
    }
    for (kind, name) in objects {
        match person.api.set_paused(kind, namespace, name, paused).await {
            // The MachinePool is there; an infrastructure object that is not cannot be paused.
            Err(Refusal::Missing) if kind == Kind::TerraformMachinePool => {}
            outcome => outcome?,
        }
    }
    Ok(())
}

/// Asks about the end of a Machine.
pub(super) async fn ask_delete(
    State(inner): State<Arc<Inner>>,
    person: Person,
    Path((namespace, name)): Of,
) -> Response {
    let back = machine(&namespace, &name);
    match asked_delete(&person, &namespace, &name).await {
        Ok(asked) => view::confirm(&inner, &person, &asked),
        Err(refusal) => view::refused(&inner, &person, &refusal, &back),
    }
}

async fn asked_delete(
    person: &Person,
    namespace: &str,
    name: &str,
) -> Result<change::Confirm, Refusal> {
    let machine = person.api.get(Kind::Machine, namespace, name).await?;
    let pool = match change::pool_of_machine(&machine) {
        // What a page says of the pool is left out when the pool cannot be read.
        Some(pool) => person
            .api
            .get(Kind::MachinePool, namespace, pool)
            .await
            .ok(),
        None => None,
    };
    Ok(change::delete_machine(&machine, pool.as_ref()))
}

/// Deletes a Machine.
pub(super) async fn delete(
    State(inner): State<Arc<Inner>>,
    person: Person,
    Path((namespace, name)): Of,
    form: Form,
) -> Response {
    if let Err(refused) = form.check(&person) {
        return refused;
    }
    if !form.is_confirmed() || form.field("uid").is_empty() {
        return ask_delete(State(inner), person, Path((namespace, name))).await;
    }
    let back = machine(&namespace, &name);
    let outcome = person
        .api
        .delete_machine(&namespace, &name, form.field("uid"))
        .await;
    done(
        &inner,
        &person,
        outcome,
        &back,
        format!("{name} is leaving."),
    )
}

fn machine(namespace: &str, name: &str) -> String {
    let place = Place::Machine {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    place.path()
}

/// Back to the page, which says what was done; or the API's refusal.
fn done(
    inner: &Inner,
    person: &Person,
    outcome: Result<(), Refusal>,
    back: &str,
    text: String,
) -> Response {
    match outcome {
        Ok(()) => {
            inner.sessions.say(&person.id, Said { good: true, text });
            Redirect::to(back).into_response()
        }
        Err(refusal) => view::refused(inner, person, &refusal, back),
    }
}
