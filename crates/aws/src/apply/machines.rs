//! What pool Machines ask for: the lifecycle hook, the ends of instances, answers to what it holds.

use remuda_cloud::{Applied, CloudError, answer::gone_already};
use remuda_plan::aws::{
    group::{HOOK_RESULT, HOOK_TRANSITION},
    names::HOOK,
};

use crate::{calls, clients::Clients, wire::group};

/// Puts our hook, or changes it: the call does both.
pub(super) async fn put_hook(
    clients: &Clients,
    name: &str,
    heartbeat_seconds: i64,
) -> Result<Applied, CloudError> {
    clients
        .call(&calls::PUT_HOOK, name, || {
            clients
                .autoscaling
                .put_lifecycle_hook()
                .auto_scaling_group_name(name)
                .lifecycle_hook_name(HOOK)
                .lifecycle_transition(HOOK_TRANSITION)
                .heartbeat_timeout(group::count(heartbeat_seconds))
                .default_result(HOOK_RESULT)
                .send()
        })
        .await?;
    Ok(Applied::Done)
}

/// Deletes our hook; AWS lets go what it holds.
pub(super) async fn delete_hook(clients: &Clients, name: &str) -> Result<Applied, CloudError> {
    let sent = clients
        .call(&calls::DELETE_HOOK, name, || {
            clients
                .autoscaling
                .delete_lifecycle_hook()
                .auto_scaling_group_name(name)
                .lifecycle_hook_name(HOOK)
                .send()
        })
        .await;
    gone_already(sent.map(|_| Applied::Done))
}

/// Ends exactly one instance. One that has left the group has ended.
pub(super) async fn end(
    clients: &Clients,
    name: &str,
    instance_id: &str,
    decrement: bool,
) -> Result<Applied, CloudError> {
    let sent = clients
        .call(&calls::END_INSTANCE, name, || {
            clients
                .autoscaling
                .terminate_instance_in_auto_scaling_group()
                .instance_id(instance_id)
                .should_decrement_desired_capacity(decrement)
                .send()
        })
        .await;
    gone_already(sent.map(|_| Applied::Done))
}

/// Lets a held instance go.
pub(super) async fn complete(
    clients: &Clients,
    name: &str,
    instance_id: &str,
) -> Result<Applied, CloudError> {
    let sent = clients
        .call(&calls::COMPLETE_HOOK, name, || {
            clients
                .autoscaling
                .complete_lifecycle_action()
                .auto_scaling_group_name(name)
                .lifecycle_hook_name(HOOK)
                .instance_id(instance_id)
                .lifecycle_action_result(HOOK_RESULT)
                .send()
        })
        .await;
    gone_already(sent.map(|_| Applied::Done))
}

/// Keeps a held instance for another heartbeat.
pub(super) async fn prolong(
    clients: &Clients,
    name: &str,
    instance_id: &str,
) -> Result<Applied, CloudError> {
    let sent = clients
        .call(&calls::PROLONG_HOOK, name, || {
            clients
                .autoscaling
                .record_lifecycle_action_heartbeat()
                .auto_scaling_group_name(name)
                .lifecycle_hook_name(HOOK)
                .instance_id(instance_id)
                .send()
        })
        .await;
    gone_already(sent.map(|_| Applied::Done))
}
