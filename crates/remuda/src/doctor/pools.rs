//! What pools need: inputs that make a pool, and of their cloud permissions, images, room below
//! quotas, and addresses.

use remuda_cloud::examined::Need;
use remuda_controllers::{
    objects::ApiError,
    terraform_machine_pool::{Examination, Examined, PoolKey},
};

use super::{finding::Finding, judge, patient::Patient};
use crate::preview_view::stopped;

/// Whether the inputs of each pool are there and make sense.
pub(super) async fn inputs(patient: &Patient) -> Vec<Finding> {
    let examined = match patient.examined().await {
        Ok(examined) => examined,
        Err(error) => return vec![unread(error)],
    };
    let lines = examined.iter();
    lines
        .filter_map(|(key, pool)| input(&name(key), pool))
        .collect()
}

/// Whether each pool's identity may make the calls.
pub(super) async fn permissions(patient: &Patient) -> Vec<Finding> {
    of(Need::Permission, patient).await
}

/// Whether each pool's image is there.
pub(super) async fn images(patient: &Patient) -> Vec<Finding> {
    of(Need::Image, patient).await
}

/// What is left of the quotas that pools count against.
pub(super) async fn quotas(patient: &Patient) -> Vec<Finding> {
    of(Need::Quota, patient).await
}

/// Free addresses of the pools' subnets.
pub(super) async fn subnets(patient: &Patient) -> Vec<Finding> {
    of(Need::Addresses, patient).await
}

async fn of(need: Need, patient: &Patient) -> Vec<Finding> {
    // That pools could not be read was said before.
    let examined = patient.examined().await.unwrap_or_default();
    let mut findings = Vec::new();
    for (key, pool) in examined {
        if let Examined::Facts(facts) = &pool.outcome {
            findings.extend(judge::lines(&name(key), need, facts, pool.missing));
        }
    }
    findings
}

fn input(pool: &str, examination: &Examination) -> Option<Finding> {
    let problems = examination.findings.problems();
    Some(match &examination.outcome {
        Examined::NotOurs => return None,
        Examined::Facts(_) if problems.is_empty() => Finding::ok(pool, "its inputs are complete"),
        Examined::Facts(_) => {
            let remedy = "it is looked after with what was applied last; correct its inputs";
            Finding::warn(pool, problems.join("; "), remedy)
        }
        Examined::Held if problems.is_empty() => Finding::ok(pool, "nothing is to be done"),
        Examined::Held => {
            let remedy = "it waits until that is there; `remuda plan` shows what follows";
            Finding::fail(pool, problems.join("; "), remedy)
        }
        Examined::Stopped(end) => {
            let remedy = "correct what is refused; its conditions say more";
            Finding::fail(pool, stopped(end).join("; "), remedy)
        }
    })
}

fn unread(error: &ApiError) -> Finding {
    let remedy = "run with the manager's rights (--as), or in a namespace that may be read (-n)";
    Finding::warn("pools", format!("could not be read: {error}"), remedy)
}

fn name(key: &PoolKey) -> String {
    format!("pool {}/{}", key.namespace, key.name)
}
