//! Cluster exports: where they come from, and reading them tolerantly (captf document 2.5). A field
//! of a wrong type reads as missing; exports are complete or refused.

use serde_json::Value;

use crate::error::Refusal;

/// The exports one cloud's driver reads.
#[derive(Debug)]
pub struct Schema {
    /// Its name: `captf.io/aws-cluster/v1`.
    pub name: &'static str,
    /// Code of exports that follow another schema.
    pub wrong: &'static str,
    /// What to do about them.
    pub wrong_remedy: &'static str,
    /// Code of a cluster without exports.
    pub none: &'static str,
    /// Code of exports that lack something.
    pub incomplete: &'static str,
}

/// Which input the exports come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Cluster,
    External,
}

impl Source {
    fn input(self) -> &'static str {
        match self {
            Self::Cluster => "captf_cluster_outputs",
            Self::External => "external_cluster_exports",
        }
    }
}

/// Whether the cluster is externally managed: its outputs are `{}` or null.
pub fn is_externally_managed(cluster_outputs: &Value) -> bool {
    match cluster_outputs {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
    }
}

impl Schema {
    /// Whether a value says it follows this schema.
    pub fn is_of(&self, value: &Value) -> bool {
        value.get("schema").and_then(Value::as_str) == Some(self.name)
    }

    /// The exports a pool uses, unless the input that would hold them is itself bad. `external` is
    /// the variable `external_cluster_exports`, `None` where the variables are bad; it counts only
    /// for an externally managed cluster. `complete` gives all fields, or the names of the missing
    /// ones.
    pub fn gather<T>(
        &self,
        cluster_outputs: &Value,
        external: Option<Option<&Value>>,
        complete: impl Fn(&Value) -> Result<T, Vec<&'static str>>,
        refusals: &mut Vec<Refusal>,
    ) -> Option<T> {
        if let Err(refusal) = self.check(cluster_outputs) {
            refusals.push(refusal);
            return None;
        }
        if external.is_none() && is_externally_managed(cluster_outputs) {
            return None;
        }
        match self.read(cluster_outputs, external.flatten(), complete) {
            Ok(exports) => Some(exports),
            Err(refusal) => {
                refusals.push(refusal);
                None
            }
        }
    }

    fn check(&self, cluster_outputs: &Value) -> Result<(), Refusal> {
        if is_externally_managed(cluster_outputs) || self.is_of(cluster_outputs) {
            return Ok(());
        }
        let found = match cluster_outputs.get("schema") {
            Some(Value::String(schema)) => format!("schema `{schema}`"),
            Some(_) | None => "no schema".to_owned(),
        };
        Err(Refusal::new(
            self.wrong,
            "captf_cluster_outputs",
            format!(
                "has {found}, expected `{}`: the cluster runs another module or an incompatible version of it",
                self.name
            ),
        )
        .with_remedy(self.wrong_remedy))
    }

    fn read<T>(
        &self,
        cluster_outputs: &Value,
        external: Option<&Value>,
        complete: impl Fn(&Value) -> Result<T, Vec<&'static str>>,
    ) -> Result<T, Refusal> {
        let (source, value) = if is_externally_managed(cluster_outputs) {
            let external = external.ok_or_else(|| {
                Refusal::new(
                    self.none,
                    "external_cluster_exports",
                    "the TerraformCluster is externally managed and exports nothing",
                )
                .with_remedy("set the variable spec.variables.external_cluster_exports to the cluster's exports")
            })?;
            (Source::External, external)
        } else {
            (Source::Cluster, cluster_outputs)
        };
        complete(value).map_err(|missing| {
            let input = source.input();
            Refusal::new(
                self.incomplete,
                input,
                format!("the cluster's exports lack {}", missing.join(", ")),
            )
            .with_remedy(format!("{input} must hold them"))
        })
    }
}

/// A scalar as text; null, absent, empty and compound values are missing.
pub fn text(value: Option<&Value>) -> Option<String> {
    let text = match value? {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    (!text.is_empty()).then_some(text)
}
