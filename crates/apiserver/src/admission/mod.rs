//! Admission webhooks: who is asked about a write, what they may change, and what stops it.
//!
//! | file | duty |
//! | --- | --- |
//! | `attributes` | a request as webhooks see it |
//! | `hook` | webhooks as their configurations describe them |
//! | `configuration`, `rule_problems` | what is wrong with a configuration |
//! | `select`, `conditions` | which webhooks are asked |
//! | `rounds` | which of them are asked twice |
//! | `review`, `verdict` | the question, the answer |
//! | `ask` | the calls, in order or at the same time |
//!
//! In: the attributes of a request. Out: the object as the mutating webhooks left it, or the first
//! refusal. Everything but `ask` is a pure function. Nothing of a write is held while a webhook is
//! asked, so a webhook may call back.

mod ask;
mod attributes;
mod conditions;
mod configuration;
mod hook;
mod review;
mod rounds;
mod rule_problems;
mod select;
mod verdict;

pub(crate) use ask::Asking;
pub(crate) use attributes::{Attributes, KindName, NamespaceLabels, Operation, Resource};
pub(crate) use configuration::{complete, validate};
pub(crate) use hook::{Concerned, Hooks};
pub use review::AdmissionReview;

/// The shelves of the configurations.
pub(crate) const MUTATING_SHELF: &str =
    "mutatingwebhookconfigurations.admissionregistration.k8s.io";
pub(crate) const VALIDATING_SHELF: &str =
    "validatingwebhookconfigurations.admissionregistration.k8s.io";
