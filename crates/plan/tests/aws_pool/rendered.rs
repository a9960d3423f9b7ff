//! Inputs and plans as JSON, for the schema and snapshot tests only. Nothing shipped renders a
//! secret.

use remuda_plan::pool::{action::Plan, inputs::Inputs};
use serde_json::{Value, json};

/// Inputs as the contract's `terraform.tfvars.json` has them, the bootstrap data included.
pub(crate) fn inputs(inputs: &Inputs) -> Value {
    let mut rendered = serde_json::to_value(inputs).expect("inputs serialize");
    rendered["bootstrap_data"] = json!(inputs.bootstrap_data.reveal());
    rendered
}

/// A plan as people see it, one line a step.
pub(crate) fn plan(plan: &Plan) -> Vec<String> {
    let mut lines: Vec<String> = plan
        .steps
        .iter()
        .map(|step| {
            let effect = serde_json::to_value(step.effect).expect("effects serialize");
            let kind = serde_json::to_value(step.kind).expect("kinds serialize");
            format!(
                "{} {} [{} / {}] because {}",
                super::cloud::name_of(&step.action),
                step.object,
                kind.as_str().unwrap_or_default(),
                effect.as_str().unwrap_or_default(),
                step.because,
            )
        })
        .collect();
    lines.push(format!("{:?}", plan.outlook));
    lines
}
