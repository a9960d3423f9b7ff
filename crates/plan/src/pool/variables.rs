//! User variables: merge of `variablesFrom` and `variables`, and the rules of their names
//! (captf document 5). Types and constraints are the driver's.
//!
//! Invariant: an error names key and source, never a value.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    findings::Wait,
    keys,
    objects::{PoolSpec, SourceFormat, VariableSourceRef},
    world::{Lookup, VariableSource},
};
use crate::limits;

/// Merged variables.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Merged {
    /// Values by name.
    pub values: Map<String, Value>,
    /// Names whose winning value came from a Secret.
    pub sensitive: BTreeSet<String>,
}

/// Names that a variable cannot have besides those that start with `captf_` (VAR-8).
const RESERVED: [&str; 17] = [
    "machinepool_name",
    "replicas",
    "bootstrap_data",
    "bootstrap_format",
    "failure_domains",
    "cluster_failure_domains",
    "kubernetes_version",
    "node_labels",
    "autoscaling",
    "source",
    "version",
    "providers",
    "count",
    "for_each",
    "depends_on",
    "lifecycle",
    "locals",
];

/// What is wrong with a variable's name, if anything (VAR-7, VAR-8).
pub fn name_problem(name: &str) -> Option<&'static str> {
    let mut chars = name.chars();
    let starts = chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if !starts || !chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) {
        return Some("is not a variable name: letters, digits, _ and -, not starting with a digit");
    }
    (name.starts_with("captf_") || RESERVED.contains(&name))
        .then_some("is reserved and cannot be set as a user variable")
}

/// What is wrong with a field of `spec`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Relative to `spec`: `variables["replicas"]`.
    pub field: String,
    /// What is wrong; never a value.
    pub message: String,
}

/// All problems of a pool's variables that show without reading any source (ADM-3).
pub fn admission_problems(spec: &PoolSpec) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut add = |field: &str, message: String| {
        problems.push(Problem {
            field: field.to_owned(),
            message,
        });
    };
    if let Some(inline) = &spec.variables
        && (inline.is_empty() || inline.len() > limits::INLINE_VARIABLES)
    {
        let message = format!("must have 1 to {} keys", limits::INLINE_VARIABLES);
        add("variables", message);
    }
    if spec.variables_from.len() > limits::VARIABLE_SOURCES {
        let message = format!("must have at most {} entries", limits::VARIABLE_SOURCES);
        add("variablesFrom", message);
    }
    for (index, reference) in spec.variables_from.iter().enumerate() {
        if reference.config_map_ref.is_some() == reference.secret_ref.is_some() {
            add(
                &format!("variablesFrom[{index}]"),
                "must name exactly one of configMapRef and secretRef".to_owned(),
            );
        }
    }
    problems.extend(spec.variables.iter().flat_map(inline_problems));
    problems
}

/// Bad names, sorted.
fn inline_problems(inline: &Map<String, Value>) -> Vec<Problem> {
    let sorted: BTreeSet<&String> = inline.keys().collect();
    sorted
        .into_iter()
        .filter_map(|name| {
            let problem = name_problem(name)?;
            Some(Problem {
                field: format!("variables[{name:?}]"),
                message: format!("{name:?} {problem}"),
            })
        })
        .collect()
}

/// Merges the sources in order, then the inline values; the later wins (VAR-1).
///
/// # Errors
/// DEP-9 for a missing or unlabeled source, DEP-10 for a bad key or value, each naming all of them.
pub fn merge(spec: &PoolSpec, reads: &[Lookup<VariableSource>]) -> Result<Merged, Wait> {
    let mut missing = Vec::new();
    let mut invalid = Vec::new();
    let mut merged = Merged::default();
    for (index, reference) in spec.variables_from.iter().enumerate() {
        let name = source_name(reference);
        let source = match reads.get(index) {
            Some(Lookup::Found(source)) => source,
            Some(Lookup::Failed(why)) => {
                return Err(Wait::Unreadable(format!("{name} could not be read: {why}")));
            }
            Some(Lookup::Missing) | None => {
                if !reference.optional {
                    missing.push(format!("{name} does not exist"));
                }
                continue;
            }
        };
        if source.labels.get(keys::VARIABLES).map(String::as_str) != Some("true") {
            if !reference.optional {
                missing.push(format!("{name} lacks the label {}=true", keys::VARIABLES));
            }
            continue;
        }
        add_source(reference, &name, source, &mut merged, &mut invalid);
    }
    if let Some(inline) = &spec.variables {
        let problems = inline_problems(inline).into_iter();
        invalid.extend(problems.map(|it| format!("spec.{}: {}", it.field, it.message)));
        for (name, value) in inline {
            merged.values.insert(name.clone(), value.clone());
            merged.sensitive.remove(name);
        }
    }
    if !missing.is_empty() {
        return Err(Wait::VariablesSource(missing.join("; ")));
    }
    if !invalid.is_empty() {
        return Err(Wait::Variables(invalid.join("; ")));
    }
    Ok(merged)
}

fn add_source(
    reference: &VariableSourceRef,
    source_name: &str,
    source: &VariableSource,
    merged: &mut Merged,
    invalid: &mut Vec<String>,
) {
    for (name, bytes) in &source.data {
        if let Some(problem) = name_problem(name) {
            invalid.push(format!("{source_name}: key {name:?} {problem}"));
            continue;
        }
        let Ok(text) = std::str::from_utf8(bytes.reveal()) else {
            invalid.push(format!(
                "{source_name}: the value of key {name:?} is not UTF-8"
            ));
            continue;
        };
        let value = match reference.format {
            SourceFormat::String => Value::String(text.to_owned()),
            // The parser's own text could quote the value.
            SourceFormat::Json => {
                if let Ok(value) = serde_json::from_str(text) {
                    value
                } else {
                    invalid.push(format!(
                        "{source_name}: the value of key {name:?} is not valid JSON"
                    ));
                    continue;
                }
            }
        };
        merged.values.insert(name.clone(), value);
        if reference.secret_ref.is_some() {
            merged.sensitive.insert(name.clone());
        } else {
            merged.sensitive.remove(name);
        }
    }
}

fn source_name(reference: &VariableSourceRef) -> String {
    match (&reference.config_map_ref, &reference.secret_ref) {
        (Some(it), _) => format!("ConfigMap {}", it.name),
        (None, Some(it)) => format!("Secret {}", it.name),
        (None, None) => "a variable source without a name".to_owned(),
    }
}
