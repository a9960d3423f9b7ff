//! Checks of the contract inputs that need no read and that every cloud makes (captf document 2.1).
//! A cloud names its own codes.

use super::{
    capacity,
    inputs::Inputs,
    labels::{self, Filtered},
    payload::Format,
};
use crate::error::Refusal;

/// The contract every driver implements.
const CONTRACT: &str = "v1alpha1";

/// A cloud's codes for these checks, and its bound.
#[derive(Debug)]
pub struct Codes {
    /// Of another contract.
    pub contract: &'static str,
    /// Of a count that cannot be.
    pub replicas: &'static str,
    /// Of an unknown bootstrap format.
    pub format: &'static str,
    /// Of a malformed node label.
    pub labels: &'static str,
    /// Of autoscaling bounds out of order.
    pub autoscaling: &'static str,
    /// Of node labels that Ignition cannot carry.
    pub ignition_labels: &'static str,
    /// Of gzip that Ignition cannot read.
    pub ignition_gzip: &'static str,
    /// Members a group may have, and whose limit that is.
    pub most: Option<(i64, &'static str)>,
}

/// The contract inputs by themselves.
pub fn contract_inputs(inputs: &Inputs, codes: &Codes) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    if inputs.captf_contract != CONTRACT {
        refusals.push(Refusal::new(
            codes.contract,
            "captf_contract",
            format!(
                "is `{}`; this pool type implements `{CONTRACT}`",
                inputs.captf_contract
            ),
        ));
    }
    let (most, bound) = match codes.most {
        None => (i64::MAX, "of at least 0".to_owned()),
        Some((most, whose)) => (most, format!("from 0 to {most}, {whose}")),
    };
    if !(0..=most).contains(&inputs.replicas) {
        refusals.push(Refusal::new(
            codes.replicas,
            "replicas",
            format!("is {}; it must be a whole number {bound}", inputs.replicas),
        ));
    }
    if Format::parse(&inputs.bootstrap_format).is_none() {
        refusals.push(Refusal::new(
            codes.format,
            "bootstrap_format",
            format!(
                "is `{}`; it must be {}",
                inputs.bootstrap_format,
                Format::NAMES
            ),
        ));
    }
    refusals.extend(
        inputs
            .node_labels
            .iter()
            .filter(|(key, value)| !labels::is_valid(key, value))
            .map(|(key, value)| {
                Refusal::new(
                    codes.labels,
                    "node_labels",
                    format!("{key:?} = {value:?} is not a label: {}", labels::RULE),
                )
            }),
    );
    let autoscaling = inputs.autoscaling;
    if autoscaling.enabled && !(capacity::is_ordered(autoscaling) && autoscaling.max <= most) {
        let rule = match codes.most {
            None => "0 <= min <= max".to_owned(),
            Some((most, _)) => format!("0 <= min <= max <= {most}"),
        };
        refusals.push(Refusal::new(
            codes.autoscaling,
            "autoscaling",
            format!(
                "min {} and max {} must satisfy {rule}",
                autoscaling.min, autoscaling.max
            ),
        ));
    }
    refusals
}

/// What Ignition cannot do.
pub fn ignition(labels: &Filtered, is_gzip: bool, codes: &Codes) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    if !labels.kept.is_empty() {
        let keys: Vec<&str> = labels.kept.keys().map(String::as_str).collect();
        refusals.push(
            Refusal::new(
                codes.ignition_labels,
                "node_labels",
                format!("Ignition cannot carry node labels: {}", keys.join(", ")),
            )
            .with_remedy("remove the labels, or use the bootstrap format cloud-config"),
        );
    }
    if is_gzip {
        refusals.push(
            Refusal::new(
                codes.ignition_gzip,
                "bootstrap_data",
                "is gzip, and Ignition cannot read a compressed configuration",
            )
            .with_remedy("turn off gzip in the bootstrap provider"),
        );
    }
    refusals
}

/// The good value; the refusals of a bad one join the others.
pub fn kept<T>(result: Result<T, Vec<Refusal>>, refusals: &mut Vec<Refusal>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(found) => {
            refusals.extend(found);
            None
        }
    }
}
