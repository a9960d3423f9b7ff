//! The `TerraformClusterIdentity` controller (captf document, IDN-4).
//!
//! Owns: the identity's status. Runs only where captf's own manager does not: two writers of one
//! status would fight. It reads key names of the source Secret, never values, and copies nothing.

mod credential;
mod status;
mod users;
mod watch;

use std::time::Duration;

use remuda_plan::{pool::objects::IdentityObject, status::publication::Requeue};
use serde_json::{Value, json};

pub use self::credential::{Credential, credential};
use self::status::{SecretFinding, Verdict, judge};
pub(crate) use self::{users::Users, watch::routes};
use crate::{
    conditions,
    context::{Context, FIELD_MANAGER},
    events::{Note, Regarding},
    kinds::Kind,
    objects::{ApiError, Objects, Target},
    patch,
};

/// Looks again this long after everything was fine (captf document, IDN-4).
const WHEN_READY: Duration = Duration::from_mins(5);
/// Looks again this long after something was missing (captf document, IDN-4).
const WHEN_NOT: Duration = Duration::from_secs(30);

/// One pass over one identity.
///
/// # Errors
/// A read of the identity or a write to it failed.
pub(crate) async fn reconcile(
    name: &str,
    users: &Users,
    ctx: &Context,
) -> Result<Requeue, ApiError> {
    let Some(live) = ctx
        .objects
        .get(Kind::TerraformClusterIdentity, "", name)
        .await?
    else {
        return Ok(Requeue::OnChange);
    };
    let identity: IdentityObject =
        serde::Deserialize::deserialize(&live).map_err(|error| ApiError::Failed {
            what: format!("read TerraformClusterIdentity {name}"),
            why: format!("unexpected shape: {error}"),
        })?;
    if !ctx.is_ours(&identity.metadata) {
        return Ok(Requeue::OnChange);
    }
    let secret = secret(&identity, ctx).await?;
    let verdict = judge(&identity, &secret);
    publish(&live, &identity, &verdict, &users.namespaces(name), ctx).await?;
    Ok(Requeue::After(if verdict.ready {
        WHEN_READY
    } else {
        WHEN_NOT
    }))
}

/// Key names of the source Secret.
async fn secret(identity: &IdentityObject, ctx: &Context) -> Result<SecretFinding, ApiError> {
    let Some(source) = &identity.spec.secret_ref else {
        return Ok(SecretFinding::Unnamed);
    };
    let secret = ctx
        .objects
        .get(Kind::Secret, &source.namespace, &source.name)
        .await?;
    Ok(match secret {
        None => SecretFinding::Missing,
        Some(secret) => SecretFinding::Keys(
            secret
                .get("data")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
                .map(|(key, _)| key.clone())
                .collect(),
        ),
    })
}

async fn publish(
    live: &Value,
    identity: &IdentityObject,
    verdict: &Verdict,
    namespaces: &[String],
    ctx: &Context,
) -> Result<(), ApiError> {
    let metadata = &identity.metadata;
    let before = live.pointer("/status/conditions");
    let was = conditions::status_of(before, "Ready");
    let mut status = json!({
        "conditions": conditions::merged(
            before,
            &[verdict.condition()],
            metadata.generation,
            ctx.now(),
        ),
    });
    if !namespaces.is_empty() {
        status["namespaces"] = Value::from(namespaces.to_vec());
    }
    let stored = live.get("status").cloned().unwrap_or(Value::Null);
    let Some(change) = patch::between(&stored, &status) else {
        return Ok(());
    };
    let resource = Kind::TerraformClusterIdentity.resource();
    let target = Target {
        resource: &resource,
        namespace: None,
        name: &metadata.name,
        subresource: Some("status"),
    };
    ctx.objects
        .merge_patch(&target, &json!({ "status": change }), FIELD_MANAGER)
        .await?;
    if was.as_deref() == Some(verdict.status()) {
        return Ok(());
    }
    let regarding = Regarding {
        kind: Kind::TerraformClusterIdentity,
        namespace: "",
        name: &metadata.name,
        uid: &metadata.uid,
    };
    ctx.events
        .write(
            regarding,
            Note {
                severity: if verdict.ready { "Normal" } else { "Warning" },
                reason: if verdict.ready {
                    "IdentitySecretFound"
                } else {
                    "IdentitySecretNotFound"
                },
                note: &verdict.message,
            },
        )
        .await;
    Ok(())
}
