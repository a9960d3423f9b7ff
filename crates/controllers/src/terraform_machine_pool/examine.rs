//! What a pool's cloud says about what the pool needs, without doing anything: for `remuda doctor`.

use remuda_cloud::examined::Fact;
use remuda_plan::{
    pool::gate::{Findings, Next},
    status::{pass::PassEnd, wire::Operation},
};

use super::{
    PoolKey, PreviewSource,
    attempt::{Access, desired, handle, session},
    gather::gather,
    preview::{announced, make_due},
};
use crate::{context::Context, objects::ApiError};

/// What was found out.
#[derive(Debug, Clone, PartialEq)]
pub struct Examination {
    /// What is in the way before the cloud is asked.
    pub findings: Findings,
    /// Machines that the pool still lacks.
    pub missing: i64,
    /// How it came out.
    pub outcome: Examined,
}

/// How an examination came out.
#[derive(Debug, Clone, PartialEq)]
pub enum Examined {
    /// What the cloud said.
    Facts(Vec<Fact>),
    /// The gate holds the pool; `findings` say why.
    Held,
    /// The inputs are refused, or the credential is of no use.
    Stopped(PassEnd),
    /// Not this manager's pool.
    NotOurs,
}

/// Asks the cloud of a pool. Reads and dry runs: nothing changes.
///
/// # Errors
/// The pool could not be read; `Ok(None)`: there is none.
pub async fn examine(key: &PoolKey, ctx: &Context) -> Result<Option<Examination>, ApiError> {
    let source = PreviewSource::live(ctx);
    let Some(mut gathered) = gather(key, &source, &ctx.manager).await? else {
        return Ok(None);
    };
    make_due(&mut gathered.world, ctx.now());
    let gate = announced(&mut gathered.world, ctx.now());
    let owner = gathered.world.owner.found();
    let wanted = owner.map_or(0, |owner| owner.spec.replicas.unwrap_or(1));
    let members = gathered.world.pool.spec.provider_id_list.len();
    let missing = wanted - i64::try_from(members).unwrap_or(i64::MAX);
    let outcome = match gate.next {
        Next::Ignore => Examined::NotOurs,
        Next::Go(mut goal) => {
            if goal.operation != Operation::Destroy && !gate.findings.deleting {
                goal.operation = Operation::Apply;
            }
            let asked = async {
                let desired = desired(&goal)?;
                let Some(handle) = handle(&goal, desired.as_ref()) else {
                    return Ok(None);
                };
                let session = session(&Access::of(&goal), &gathered.credentials, ctx).await?;
                let facts = session.examine(&handle, desired.as_ref()).await;
                let facts = facts.map_err(|error| PassEnd::Failed(error.failure))?;
                Ok(Some(facts))
            };
            match asked.await {
                Ok(Some(facts)) => Examined::Facts(facts),
                Ok(None) => Examined::Held,
                Err(stop) => Examined::Stopped(stop),
            }
        }
        Next::Release(_) | Next::AddFinalizer | Next::Prepare(_) | Next::Rest => Examined::Held,
    };
    Ok(Some(Examination {
        findings: gate.findings,
        missing: missing.max(0),
        outcome,
    }))
}
