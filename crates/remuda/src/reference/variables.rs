//! Variables of the machine pool drivers.

use remuda_plan::{
    aws, azure,
    pool::{
        action::Effect,
        declared::{Declared, Kind},
    },
};

use super::{cell, page};

pub(crate) fn variables() -> String {
    let mut text = page(
        "Variables",
        "What `spec.variables` and `spec.variablesFrom` of a TerraformMachinePool may hold. A \
         variable that is not here is refused. *Effect* is what a change does to running machines \
         where pool Machines are off; with them on, whatever makes a machine differ from a new one \
         rolls. `remuda plan` says it for the pool at hand.",
    );
    for (title, table) in [
        ("AWS: image `aws-machinepool`", aws::vars::Vars::TABLE),
        ("Azure: image `azure-machinepool`", azure::vars::Vars::TABLE),
    ] {
        text.extend([format!("\n## {title}\n")]);
        for variable in table {
            describe(variable, variable.name, &mut text);
        }
    }
    text
}

fn describe(variable: &Declared, name: &str, text: &mut String) {
    let nullable = if variable.nullable {
        ", may be null"
    } else {
        ""
    };
    text.extend([format!(
        "\n### `{name}`\n\n{}\n\n| type | default | effect |\n| --- | --- | --- |\n| {}{nullable} | `{}` | {} |\n",
        variable.doc.iter().map(|line| line.trim()).collect::<Vec<_>>().join("\n"),
        variable.kind.name(),
        cell(variable.default),
        effect(variable.effect),
    )]);
    if !variable.checks.is_empty() {
        text.push('\n');
    }
    for check in variable.checks {
        text.extend([format!("* {}: {}\n", check.code, check.rule)]);
    }
    if let Kind::Object(fields) = variable.kind {
        for field in fields {
            describe(field, &format!("{name}.{}", field.name), text);
        }
    }
}

/// As `remuda plan` words it.
fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::None => "none",
        Effect::NewMachinesOnly => "new machines only",
        Effect::Rolls => "rolls",
        Effect::Replaces => "replaces",
        Effect::Removes => "removes",
    }
}
