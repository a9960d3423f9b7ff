//! What outlives a call: instance refreshes, and the protection that holds up a teardown.

use std::collections::BTreeSet;

use aws_sdk_autoscaling::types::RefreshStrategy;
use remuda_cloud::{Applied, CloudError, answer::gone_already};
use remuda_plan::error::FailureClass;

use crate::{calls, clients::Clients, wire::group};

/// A cancelled refresh is looked at again after this long. Ours: AWS stops launching at once and
/// needs a moment for the instance it is at.
const CANCEL_LOOK_SECONDS: u32 = 10;

/// Starts a rolling refresh. While another runs AWS refuses, and the failure is `Contended`: the
/// next pass sees the other one and cancels it.
pub(crate) async fn start_refresh(
    clients: &Clients,
    name: &str,
    warmup_seconds: u32,
) -> Result<Applied, CloudError> {
    clients
        .call(&calls::START_REFRESH, name, || {
            clients
                .autoscaling
                .start_instance_refresh()
                .auto_scaling_group_name(name)
                .strategy(RefreshStrategy::Rolling)
                .preferences(group::refresh_preferences(warmup_seconds))
                .send()
        })
        .await?;
    Ok(Applied::Done)
}

/// Asks AWS to stop the running refresh. None active counts as stopped.
pub(crate) async fn cancel_refresh(clients: &Clients, name: &str) -> Result<Applied, CloudError> {
    let sent = clients
        .call(&calls::CANCEL_REFRESH, name, || {
            clients
                .autoscaling
                .cancel_instance_refresh()
                .auto_scaling_group_name(name)
                .send()
        })
        .await
        .map(|answer| Applied::Pending {
            what: answer.instance_refresh_id.map_or_else(
                || "instance refresh to be cancelled".to_owned(),
                |id| format!("instance refresh {id} to be cancelled"),
            ),
            look_again_seconds: CANCEL_LOOK_SECONDS,
        });
    gone_already(sent)
}

/// Takes scale-in protection off instances. One that has left the group is no obstacle any more.
pub(crate) async fn unprotect(
    clients: &Clients,
    name: &str,
    instance_ids: &BTreeSet<String>,
) -> Result<Applied, CloudError> {
    let sent = clients
        .call(&calls::SET_PROTECTION, name, || {
            clients
                .autoscaling
                .set_instance_protection()
                .auto_scaling_group_name(name)
                .set_instance_ids(Some(instance_ids.iter().cloned().collect()))
                .protected_from_scale_in(false)
                .send()
        })
        .await
        .map(|_| Applied::Done);
    match sent {
        Err(error)
            if error.class() == FailureClass::Rejected
                && error
                    .failure
                    .message
                    .to_lowercase()
                    .contains("not part of auto scaling group") =>
        {
            Ok(Applied::AlreadySo)
        }
        sent => gone_already(sent),
    }
}
