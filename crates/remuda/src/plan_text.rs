//! A plan as people read it.

use std::fmt::Write as _;

use remuda_plan::pool::action::{Action, ChangeKind, Effect, FieldChange, Outlook, Plan, Step};
use serde_json::Value;

/// Renders the steps of one pool: numbered calls, the reason, the fields that differ.
pub(crate) fn render(pool: &str, plan: &Plan) -> String {
    let calls: Vec<&Step> = plan
        .steps
        .iter()
        .filter(|step| !matches!(step.action, Action::Remember(_)))
        .collect();
    let mut text = String::new();
    if calls.is_empty() {
        line(&mut text, &format!("{pool}: no changes"));
    } else {
        let worst = calls
            .iter()
            .map(|step| step.effect)
            .max()
            .unwrap_or(Effect::None);
        let steps = if calls.len() == 1 {
            "1 step".to_owned()
        } else {
            format!("{} steps", calls.len())
        };
        line(&mut text, &format!("{pool}: {steps}, {}", effect(worst)));
    }
    for (index, step) in calls.iter().enumerate() {
        line(&mut text, "");
        line(
            &mut text,
            &format!("  {}. {} {}", index + 1, verb(step.kind), step.object),
        );
        line(&mut text, &format!("     because {}", step.because));
        line(
            &mut text,
            &format!("     running machines: {}", effect(step.effect)),
        );
        let widest = step
            .changes
            .iter()
            .map(|change| change.field.len())
            .max()
            .unwrap_or(0);
        for change in &step.changes {
            line(&mut text, &format!("       {}", field(change, widest)));
        }
    }
    match &plan.outlook {
        Outlook::LookAgain { what, .. } => {
            line(&mut text, &format!("\n  then waits for {what}"));
        }
        Outlook::Failed(failure) => line(&mut text, &format!("\n  what ran has failed: {failure}")),
        Outlook::Settled => {}
    }
    text
}

fn line(text: &mut String, content: &str) {
    writeln!(text, "{content}").expect("writing to a String never fails");
}

fn verb(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Create => "create",
        ChangeKind::Update => "update",
        ChangeKind::Replace => "replace",
        ChangeKind::Delete => "delete",
        ChangeKind::Bookkeeping => "continue",
    }
}

fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::None => "none notices",
        Effect::NewMachinesOnly => "none notices; new machines get it",
        Effect::Rolls => "all are replaced, each replacement first",
        Effect::Replaces => "some are replaced, some before their replacement is there",
        Effect::Removes => "some are removed",
    }
}

fn field(change: &FieldChange, widest: usize) -> String {
    let name = &change.field;
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => format!("~ {name:widest$}  {} -> {}", shown(old), shown(new)),
        (None, Some(new)) => format!("+ {name:widest$}  {}", shown(new)),
        (Some(old), None) => format!("- {name:widest$}  {}", shown(old)),
        (None, None) => format!("~ {name:widest$}"),
    }
}

/// Strings without quotes, long values cut: the JSON output has all of it.
fn shown(value: &Value) -> String {
    const WIDEST: usize = 80;
    let text = match value {
        Value::String(text) => text.replace('\n', "\\n"),
        other => other.to_string(),
    };
    if text.chars().count() <= WIDEST {
        return text;
    }
    let head: String = text.chars().take(WIDEST).collect();
    format!("{head}…")
}

#[cfg(test)]
mod tests {
    use remuda_plan::aws::action::{Action as AwsAction, GroupUpdate};

    use super::*;

    fn scale_out() -> Plan {
        let update = GroupUpdate {
            group: "g".into(),
            max_size: Some(5),
            ..GroupUpdate::default()
        };
        Plan {
            steps: vec![Step {
                action: Action::Aws(AwsAction::UpdateGroup(update)),
                because: "replicas 3 -> 5".into(),
                effect: Effect::NewMachinesOnly,
                object: "autoscaling_group/g".into(),
                kind: ChangeKind::Update,
                changes: vec![FieldChange {
                    field: "max_size".into(),
                    old: Some(3.into()),
                    new: Some(5.into()),
                }],
            }],
            outlook: Outlook::Settled,
        }
    }

    #[test]
    fn a_step_shows_its_reason_effect_and_fields() {
        insta::assert_snapshot!(render("team-a/demo", &scale_out()), @r"
        team-a/demo: 1 step, none notices; new machines get it

          1. update autoscaling_group/g
             because replicas 3 -> 5
             running machines: none notices; new machines get it
               ~ max_size  3 -> 5
        ");
    }

    #[test]
    fn nothing_to_do_is_one_line() {
        let plan = Plan {
            steps: Vec::new(),
            outlook: Outlook::Settled,
        };
        assert_eq!(render("team-a/demo", &plan), "team-a/demo: no changes\n");
    }
}
