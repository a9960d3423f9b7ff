//! `remuda doctor`: is everything there that pools need?
//!
//! | file | what |
//! | --- | --- |
//! | `finding` | one line of the answer |
//! | `draw` | the answer as text and as JSON |
//! | `patient` | what is looked at, read once |
//! | `api`, `definitions`, `rights`, `webhooks` | checks of the management cluster |
//! | `identities` | checks of credentials |
//! | `pools`, `judge` | checks of what pools need of their clouds |
//!
//! Nothing is changed: reads, reviews of rights, and dry runs.

mod api;
mod definitions;
pub(crate) mod draw;
pub(crate) mod finding;
mod identities;
mod judge;
pub(crate) mod patient;
mod pools;
mod rights;
mod webhooks;

use futures::future::BoxFuture;

use self::{
    finding::{Finding, Report},
    patient::Patient,
};

/// One check.
pub(crate) struct Check {
    /// Its name, for `--only` and for programs.
    pub(crate) name: &'static str,
    /// What depends on it.
    pub(crate) why: &'static str,
    run: for<'a> fn(&'a Patient) -> BoxFuture<'a, Vec<Finding>>,
}

/// Every check, in order. The first decides whether the others can say anything.
pub(crate) const CHECKS: [Check; 10] = [
    Check {
        name: "api",
        why: "everything is read from the Kubernetes API and written to it",
        run: |patient| Box::pin(api::run(patient)),
    },
    Check {
        name: "definitions",
        why: "the kinds must be served, in the versions and with the contract labels that are read",
        run: |patient| Box::pin(definitions::run(patient)),
    },
    Check {
        name: "rights",
        why: "a request that the API server refuses stops what it was for",
        run: |patient| Box::pin(rights::run(patient)),
    },
    Check {
        name: "webhooks",
        why: "they refuse what cannot work; one that cannot be called refuses everything",
        run: |patient| Box::pin(webhooks::run(patient)),
    },
    Check {
        name: "identities",
        why: "pools reach their cloud with the credential of an identity",
        run: |patient| Box::pin(identities::run(patient)),
    },
    Check {
        name: "pools",
        why: "inputs that are missing or refused keep a pool from being made",
        run: |patient| Box::pin(pools::inputs(patient)),
    },
    Check {
        name: "permissions",
        why: "a call that the cloud denies stops its pool",
        run: |patient| Box::pin(pools::permissions(patient)),
    },
    Check {
        name: "images",
        why: "machines are made of an image",
        run: |patient| Box::pin(pools::images(patient)),
    },
    Check {
        name: "quotas",
        why: "beyond a quota the cloud makes nothing",
        run: |patient| Box::pin(pools::quotas(patient)),
    },
    Check {
        name: "subnets",
        why: "each machine takes an address of its subnet",
        run: |patient| Box::pin(pools::subnets(patient)),
    },
];

/// Runs the checks of these names; none: all.
pub(crate) async fn examine(patient: &Patient, only: &[String]) -> Report {
    let mut report = Report::default();
    for check in &CHECKS {
        let is_first = report.checks.is_empty();
        if !is_first && !only.is_empty() && !only.iter().any(|name| name == check.name) {
            continue;
        }
        let findings = (check.run)(patient).await;
        let unreachable = is_first && findings.iter().any(Finding::fails);
        report.add(check.name, check.why, findings);
        if unreachable {
            break;
        }
    }
    report
}
