//! One arm per action, one call per arm. All are safe to repeat.

mod group;
mod machines;
mod payload;
mod template;

use remuda_cloud::{Applied, CloudError, calls::Call};
use remuda_plan::{
    aws::{action::Action, observed::Handle},
    error::FailureClass,
};

use crate::{calls, errors, observe::Region, operations, wire};

impl Region {
    /// Makes one call for the pool of `handle`.
    pub(crate) async fn apply(
        &self,
        handle: &Handle,
        action: &Action,
    ) -> Result<Applied, CloudError> {
        let applied = Box::pin(self.make_call(action)).await;
        // Whatever came of it: a failed write may have arrived all the same.
        if touches_group(action) {
            self.sweep.void(&handle.group_name);
        }
        applied
    }

    async fn make_call(&self, action: &Action) -> Result<Applied, CloudError> {
        match action {
            Action::PutPayload(spec) => self.put_payload(spec).await,
            Action::TagPayload { bucket, key, tags } => self.tag_payload(bucket, key, tags).await,
            Action::DeletePayload { bucket, key } => self.delete_payload(bucket, key).await,
            Action::CreateTemplate {
                name,
                description,
                data,
                tags,
            } => {
                let parameters = wire::template::create(name, description, data, tags);
                self.send_template(&calls::CREATE_TEMPLATE, name, parameters)
                    .await
            }
            Action::CreateTemplateVersion {
                name,
                description,
                data,
            } => {
                let parameters = wire::template::create_version(name, description, data);
                self.send_template(&calls::CREATE_TEMPLATE_VERSION, name, parameters)
                    .await
            }
            Action::SetDefaultVersion { name, version } => {
                self.set_default_version(name, *version).await
            }
            Action::TagTemplate { id, tags } => self.tag_template(id, tags).await,
            Action::UntagTemplate { id, keys } => self.untag_template(id, keys).await,
            Action::DeleteTemplate { name } => self.delete_template(name).await,
            Action::CreateGroup {
                group,
                template_name,
            } => self.create_group(group, template_name).await,
            Action::UpdateGroup(update) => self.update_group(update).await,
            Action::TagGroup { group, tags } => self.tag_group(group, tags).await,
            Action::UntagGroup { group, keys } => self.untag_group(group, keys).await,
            Action::SuspendProcesses { group, processes } => {
                self.suspend_processes(group, processes).await
            }
            Action::ResumeProcesses { group, processes } => {
                self.resume_processes(group, processes).await
            }
            Action::PutCpuPolicy {
                group,
                target_percent,
            } => self.put_cpu_policy(group, *target_percent).await,
            Action::DeleteCpuPolicy { group } => self.delete_cpu_policy(group).await,
            Action::StartRefresh {
                group,
                warmup_seconds,
            } => operations::start_refresh(&self.clients, group, *warmup_seconds).await,
            Action::CancelRefresh { group } => {
                operations::cancel_refresh(&self.clients, group).await
            }
            Action::PutHook {
                group,
                heartbeat_seconds,
            } => machines::put_hook(&self.clients, group, *heartbeat_seconds).await,
            Action::DeleteHook { group } => machines::delete_hook(&self.clients, group).await,
            Action::EndInstance {
                group,
                instance_id,
                decrement,
            } => machines::end(&self.clients, group, instance_id, *decrement).await,
            Action::CompleteHook { group, instance_id } => {
                machines::complete(&self.clients, group, instance_id).await
            }
            Action::ProlongHook { group, instance_id } => {
                machines::prolong(&self.clients, group, instance_id).await
            }
            Action::UnprotectInstances {
                group,
                instance_ids,
            } => operations::unprotect(&self.clients, group, instance_ids).await,
            Action::DeleteGroup { group } => self.delete_group(group).await,
        }
    }
}

/// The sweep holds groups and instances; a write to anything else leaves it true.
fn touches_group(action: &Action) -> bool {
    !matches!(
        action,
        Action::PutPayload(_)
            | Action::TagPayload { .. }
            | Action::DeletePayload { .. }
            | Action::CreateTemplate { .. }
            | Action::CreateTemplateVersion { .. }
            | Action::SetDefaultVersion { .. }
            | Action::TagTemplate { .. }
            | Action::UntagTemplate { .. }
            | Action::DeleteTemplate { .. }
    )
}

/// A request that the SDK refuses to build is a fault of ours.
fn unbuildable(call: &Call, why: impl ToString) -> CloudError {
    errors::failure(FailureClass::Bug, call.name, why.to_string()).into()
}
