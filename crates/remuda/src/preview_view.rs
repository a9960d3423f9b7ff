//! A preview for people and for programs.

use remuda_controllers::{Preview, terraform_machine_pool::Outcome};
use remuda_plan::{
    error::Refusal,
    pool::action::{Action, Plan, Step},
    status::pass::{PassEnd, Unrecoverable},
};
use serde_json::{Value, json};

use crate::{output::lines, plan_text};

/// Whether the cloud would be written to.
pub(crate) fn changes_something(preview: &Preview) -> bool {
    let deletes = preview.machines.as_ref();
    matches!(&preview.outcome, Outcome::Plan(plan) if calls(plan).next().is_some())
        || deletes.is_some_and(|decision| !decision.deletions.is_empty())
}

/// Whether there is no plan because something is wrong.
pub(crate) fn is_problem(preview: &Preview) -> bool {
    matches!(preview.outcome, Outcome::Held | Outcome::Stopped(_))
}

/// As text.
pub(crate) fn text(preview: &Preview) -> String {
    let pool = format!("{}/{}", preview.namespace, preview.name);
    let paused = if preview.paused {
        " (paused: nothing happens until it is resumed)"
    } else {
        ""
    };
    match &preview.outcome {
        Outcome::Plan(plan) => {
            let steps = plan_text::render(&format!("{pool}{paused}"), plan);
            format!("{steps}{}", machines(preview))
        }
        Outcome::Released(release) => {
            format!("{pool}{paused}: the object goes, the cloud stays as it is ({release:?})\n")
        }
        Outcome::NotOurs => format!("{pool}: managed by someone else; Remuda leaves it alone\n"),
        Outcome::Held | Outcome::Stopped(_) => {
            let problems = lines(
                problems(preview)
                    .iter()
                    .map(|problem| format!("  {problem}")),
            );
            format!("{pool}{paused}: no plan can be made\n{problems}")
        }
    }
}

/// Machines that go, each with the reason; empty when none does.
fn machines(preview: &Preview) -> String {
    let decision = preview.machines.iter();
    let going: Vec<String> = decision
        .flat_map(|decision| &decision.deletions)
        .map(|it| format!("    - Machine {}: {}", it.machine, it.because))
        .collect();
    if going.is_empty() {
        return String::new();
    }
    let head = if going.len() == 1 {
        "\n  1 Machine is deleted, which drains its Node first\n".to_owned()
    } else {
        format!(
            "\n  {} Machines are deleted, which drains their Nodes first\n",
            going.len()
        )
    };
    format!("{head}{}", lines(going.into_iter()))
}

/// As one JSON object.
pub(crate) fn json(preview: &Preview) -> Value {
    let (steps, outlook) = match &preview.outcome {
        Outcome::Plan(plan) => (json!(calls(plan).collect::<Vec<_>>()), json!(plan.outlook)),
        _ => (json!([]), Value::Null),
    };
    let effect = match &preview.outcome {
        Outcome::Plan(plan) => json!(calls(plan).map(|step| step.effect).max()),
        _ => Value::Null,
    };
    json!({
        "namespace": preview.namespace,
        "name": preview.name,
        "operation": preview.operation,
        "because": preview.because,
        "paused": preview.paused,
        "effect": effect,
        "steps": steps,
        "machines": preview.machines.as_ref().map(|decision| json!({
            "deletions": decision.deletions,
            "capacity": decision.wish.capacity,
            "rolling": decision.rolling,
        })),
        "outlook": outlook,
        "problems": problems(preview),
    })
}

/// Steps that call the cloud; record writes are our own bookkeeping.
fn calls(plan: &Plan) -> impl Iterator<Item = &Step> {
    plan.steps
        .iter()
        .filter(|step| !matches!(step.action, Action::Remember(_)))
}

/// Why there is no plan, one line each.
fn problems(preview: &Preview) -> Vec<String> {
    match &preview.outcome {
        Outcome::Held => preview.findings.problems(),
        Outcome::Stopped(end) => stopped(end),
        Outcome::Plan(_) | Outcome::Released(_) | Outcome::NotOurs => Vec::new(),
    }
}

/// Why a pass stopped, one line each.
pub(crate) fn stopped(end: &PassEnd) -> Vec<String> {
    match end {
        PassEnd::Refused(refusals) => refusals.iter().map(Refusal::to_string).collect(),
        PassEnd::Failed(failure) => vec![format!("the cloud could not be read: {failure}")],
        PassEnd::Unrecoverable(Unrecoverable::NothingFound) => {
            vec![
                "the record is lost and no group of the expected name carries the pool's tags"
                    .into(),
            ]
        }
        PassEnd::Unrecoverable(Unrecoverable::Inconsistent) => {
            vec!["the record is lost and a group of the expected name is not certainly ours".into()]
        }
        PassEnd::RecordUnwritable(why) => vec![format!("the record cannot be written: {why}")],
        PassEnd::DeadlineExceeded => vec!["reading the cloud took longer than the deadline".into()],
        PassEnd::Interrupted => vec!["interrupted".into()],
        PassEnd::AtGate | PassEnd::Done => Vec::new(),
    }
}
